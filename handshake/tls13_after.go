package handshake

import (
	"time"

	"shakedown"
	"shakedown/internal/suite"
	"shakedown/internal/wire"
)

// What comes after a TLS 1.3 handshake: tickets and new keys (RFC 8446, section
// 4.6).

func (m *Machine) readPostHandshake13(msg message) error {
	switch msg.kind {
	case wire.TypeNewSessionTicket:
		return m.readTicket13(msg)
	case wire.TypeKeyUpdate:
		return m.readKeyUpdate(msg)
	}
	return m.unexpected(msg)
}

// readTicket13 takes a NewSessionTicket (RFC 8446, section 4.6.1).
func (m *Machine) readTicket13(msg message) error {
	t := &m.ws.ticket13
	if err := t.Parse(msg.body); err != nil {
		return malformed(err)
	}
	if t.Lifetime > 7*24*60*60 {
		return misbehaved(shakedown.AlertIllegalParameter, "the server gave a ticket a lifetime of %d s, over seven days (RFC 8446, section 4.6.1)", t.Lifetime)
	}
	var early uint32
	for _, e := range t.Extensions {
		if e.Type == shakedown.ExtEarlyData {
			var err error
			if early, err = wire.ParseMaxEarlyData(e.Data); err != nil {
				return malformed(err)
			}
		}
	}
	m.ticket.set(t.Ticket, t.Nonce, t.AgeAdd)
	return m.addTicket(shakedown.Ticket{Bytes: len(t.Ticket), Lifetime: time.Duration(t.Lifetime) * time.Second, MaxEarlyData: early}, t.Ticket)
}

func (m *Machine) readKeyUpdate(msg message) error {
	var update wire.KeyUpdate
	if err := update.Parse(msg.body); err != nil {
		return malformed(err)
	}
	if len(m.records.messages) > 0 {
		return misbehaved(shakedown.AlertUnexpectedMessage, "the server sent more messages in the record of its KeyUpdate (RFC 8446, section 5.1)")
	}
	if err := m.countUseless(msg); err != nil {
		return err
	}
	t := &m.tls13
	t.server = t.server.Next()
	m.records.read = m.info.Protection13(t.server)
	if !update.Requested {
		return nil
	}
	// Not by sendHandshake: the transcript ends with the client's Finished.
	m.ws.message = (&wire.KeyUpdate{}).Append(m.ws.message[:0])
	if m.LogMessages {
		m.tell(shakedown.Sent, wire.TypeKeyUpdate.String(), len(m.ws.message), 1, true)
	}
	m.writeRecords(wire.Handshake, m.ws.message)
	m.flush()
	if !t.writeReady {
		digest := t.atServerFinished[:m.info.Hash.Size()]
		t.client = t.master.Client(digest)
	}
	t.client, t.writeReady = t.client.Next(), true
	m.records.write = m.info.Protection13(t.client)
	return nil
}

// session13 makes a session of the latest ticket (RFC 8446, section 4.6.1).
func (m *Machine) session13(s *Session) {
	resumption := m.tls13.master.Resumption(m.transcript.sum())
	s.Secret = resumption.PSK(nil, m.ticket.nonce)
	s.AgeAdd = m.ticket.ageAdd
}

// lazyProtection makes the application keys of one direction when first used,
// and then gives way to them.
type lazyProtection struct {
	m      *Machine
	server bool
}

func (l *lazyProtection) real() suite.Protection {
	m := l.m
	t := &m.tls13
	digest := t.atServerFinished[:m.info.Hash.Size()]
	if l.server {
		t.server = t.master.Server(digest)
		m.records.read = m.info.Protection13(t.server)
		return m.records.read
	}
	t.client, t.writeReady = t.master.Client(digest), true
	m.records.write = m.info.Protection13(t.client)
	return m.records.write
}

func (l *lazyProtection) Seal(dst []byte, typ uint8, plaintext []byte) []byte {
	return l.real().Seal(dst, typ, plaintext)
}

func (l *lazyProtection) Open(record []byte) (uint8, []byte, error) { return l.real().Open(record) }

func (l *lazyProtection) Overhead() int { return l.real().Overhead() }
