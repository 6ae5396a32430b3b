package handshake

import (
	"encoding/binary"
	"fmt"
	"io"
	"time"

	"shakedown"
	"shakedown/internal/suite"
	"shakedown/internal/wire"
)

// sendClientHello writes the first ClientHello and, in ModeEarlyData, the early
// data behind it.
func (m *Machine) sendClientHello() error {
	if err := m.drawRandoms(); err != nil {
		return err
	}
	if m.client.offers13 {
		if err := m.makeShares(m.config.KeyShares); err != nil {
			return err
		}
	}
	m.transcript.keep = m.config.Certificate != nil && m.client.offers12
	if err := m.writeClientHello(); err != nil {
		return err
	}
	if m.early.offered {
		if err := m.sendEarlyData(); err != nil {
			return err
		}
	}
	m.flush()
	m.expect("ServerHello", (*Machine).readServerHello)
	return nil
}

// drawRandoms draws client_random and the legacy_session_id.
func (m *Machine) drawRandoms() error {
	if _, err := io.ReadFull(m.rand, m.random[:]); err != nil {
		return fmt.Errorf("drawing random bytes: %w", err)
	}
	m.sessionID = nil
	switch s := m.session; {
	case m.config.Mode == shakedown.ModeSessionID:
		if s != nil {
			m.sessionID = s.SessionID
		}
		return nil
	case m.client.offers13 && m.config.NoCompatibility, !m.client.offers13 && s == nil:
		return nil
	}
	// TLS 1.3: middlebox compatibility (RFC 8446, appendix D.4). TLS 1.2 with a
	// ticket: the server's echo tells that it resumes (RFC 5077, section 3.4).
	if _, err := io.ReadFull(m.rand, m.idBuffer[:]); err != nil {
		return fmt.Errorf("drawing random bytes: %w", err)
	}
	m.sessionID = m.idBuffer[:]
	return nil
}

// makeShares makes the key shares for groups.
func (m *Machine) makeShares(groups []shakedown.Group) error {
	if cap(m.shares) < len(groups) {
		m.shares = make([]suite.Share, len(groups))
	}
	m.shares = m.shares[:len(groups)]
	for i, g := range groups {
		if err := m.shares[i].Generate(g, m.config.Work, m.rand); err != nil {
			return fmt.Errorf("making a key share: %w", err)
		}
	}
	return nil
}

// writeClientHello builds the ClientHello (RFC 8446, section 4.1.2) from the
// Client's fixed parts and this handshake's own.
func (m *Machine) writeClientHello() error {
	c, s := m.client, m.session
	b := append(m.ws.message[:0], byte(wire.TypeClientHello), 0, 0, 0)
	b = binary.BigEndian.AppendUint16(b, uint16(c.legacyVersion))
	b = append(b, m.random[:]...)
	b = append(b, byte(len(m.sessionID)))
	b = append(b, m.sessionID...)
	b = append(b, c.suites...)
	lengthAt := len(b)
	b = append(b, 0, 0)
	b = append(b, c.extensions...)
	m.offered = c.offered
	add := func(t shakedown.Extension) {
		b = binary.BigEndian.AppendUint16(b, uint16(t))
		m.offered.add(t)
	}
	if c.offers12 && m.config.Mode != shakedown.ModeSessionID && !m.config.NoTickets {
		add(shakedown.ExtSessionTicket)
		var ticket []byte
		if s != nil {
			ticket = s.Ticket
		}
		b = binary.BigEndian.AppendUint16(b, uint16(len(ticket)))
		b = append(b, ticket...)
	}
	if c.offers13 {
		add(shakedown.ExtKeyShare)
		b = m.appendKeyShares(b)
	}
	if m.cookie != nil {
		b = wire.Extension{Type: shakedown.ExtCookie, Data: wire.AppendCookie(nil, m.cookie)}.Append(b)
		m.offered.add(shakedown.ExtCookie)
	}
	m.early.offered = m.config.Mode == shakedown.ModeEarlyData && s != nil && !m.observed.HelloRetryRequest
	if m.early.offered {
		add(shakedown.ExtEarlyData)
		b = append(b, 0, 0)
	}
	psk := c.offers13 && s != nil
	pskSize := 0
	if psk {
		pskSize = m.pskExtensionSize()
	}
	if size := len(b) + pskSize; m.config.PadTo > size {
		// RFC 7685; the extension itself takes four bytes, and pre_shared_key
		// has to stay last.
		add(shakedown.ExtPadding)
		n := max(m.config.PadTo-size-4, 0)
		b = binary.BigEndian.AppendUint16(b, uint16(n))
		b = append(b, make([]byte, n)...)
	}
	if psk {
		add(shakedown.ExtPreSharedKey)
		b = m.appendPSK(b)
	}
	n := len(b) - lengthAt - 2
	if n > 1<<16-1 {
		return fmt.Errorf("the ClientHello's extensions have %d bytes, the limit is 65535", n)
	}
	binary.BigEndian.PutUint16(b[lengthAt:], uint16(n))
	body := len(b) - wire.HandshakeHeaderLen
	b[1], b[2], b[3] = byte(body>>16), byte(body>>8), byte(body)
	if psk {
		m.fillBinder(b)
	}
	m.ws.message = b
	m.observed.ClientHelloBytes = len(b)
	if m.LogMessages {
		m.observed.ClientHelloExtensions = extensionOrder(b[lengthAt+2:])
	}
	m.sendHandshake(wire.TypeClientHello, b)
	return nil
}

// appendKeyShares appends the body of the key_share extension, with its length.
func (m *Machine) appendKeyShares(b []byte) []byte {
	at := len(b)
	b = append(b, 0, 0, 0, 0)
	if m.config.GREASE {
		b = append(b, greaseValue>>8, greaseValue&0xFF, 0, 1, 0)
	}
	for i := range m.shares {
		public := m.shares[i].Public()
		b = binary.BigEndian.AppendUint16(b, uint16(m.shares[i].Group()))
		b = binary.BigEndian.AppendUint16(b, uint16(len(public)))
		b = append(b, public...)
	}
	binary.BigEndian.PutUint16(b[at:], uint16(len(b)-at-2))
	binary.BigEndian.PutUint16(b[at+2:], uint16(len(b)-at-4))
	return b
}

// PSK extension (RFC 8446, section 4.2.11): one identity, one binder.

func (m *Machine) pskHash() suite.Hash {
	info, _ := suite.Lookup(m.session.CipherSuite)
	return info.Hash
}

func (m *Machine) pskExtensionSize() int {
	return 4 + 2 + 2 + len(m.session.Ticket) + 4 + 2 + 1 + m.pskHash().Size()
}

func (m *Machine) appendPSK(b []byte) []byte {
	s := m.session
	size := m.pskHash().Size()
	identities := 2 + len(s.Ticket) + 4
	b = binary.BigEndian.AppendUint16(b, uint16(2+identities+2+1+size))
	b = binary.BigEndian.AppendUint16(b, uint16(identities))
	b = binary.BigEndian.AppendUint16(b, uint16(len(s.Ticket)))
	b = append(b, s.Ticket...)
	age := max(m.now().Sub(s.Received)/time.Millisecond, 0)
	b = binary.BigEndian.AppendUint32(b, uint32(age)+s.AgeAdd)
	b = binary.BigEndian.AppendUint16(b, uint16(1+size))
	b = append(b, byte(size))
	return append(b, make([]byte, size)...)
}

// fillBinder puts the binder at the end of hello (RFC 8446, section 4.2.11.2):
// an HMAC over the transcript up to the binders.
func (m *Machine) fillBinder(hello []byte) {
	h := m.pskHash()
	truncated := hello[:len(hello)-h.Size()-3]
	digest := m.transcript.digestWith(h, truncated)
	early := m.ws.kdf(h).Early(m.session.Secret)
	m.tls13.early, m.tls13.hasPSK = early, true
	early.Binder(hello[len(hello)-h.Size():len(hello)-h.Size()], digest)
}

// earlyState is the state of early data (RFC 8446, section 4.2.10).
type earlyState struct {
	offered bool // in the latest ClientHello
}

// sendEarlyData writes the request under the early traffic key.
func (m *Machine) sendEarlyData() error {
	info, _ := suite.Lookup(m.session.CipherSuite)
	// The server may choose another hash after all: the transcript stays open.
	secret := m.tls13.early.ClientEarlyTraffic(m.transcript.digestWith(info.Hash, nil))
	if err := m.logSecret("CLIENT_EARLY_TRAFFIC_SECRET", secret.Bytes()); err != nil {
		return err
	}
	m.sendCompatibilityCCS()
	m.records.write = info.Protection13(secret)
	if m.LogMessages {
		m.tell(shakedown.Sent, "early data", len(m.config.Request), 1, true)
	}
	m.writeRecords(wire.ApplicationData, m.config.Request)
	m.observed.EarlyData = shakedown.EarlyDataRejected // until accepted
	return nil
}

// sendCompatibilityCCS writes the change_cipher_spec of RFC 8446 appendix D.4,
// once.
func (m *Machine) sendCompatibilityCCS() {
	if m.config.NoCompatibility || m.tls13.ccsSent {
		return
	}
	m.tls13.ccsSent = true
	m.sendChangeCipherSpec()
}

func (m *Machine) sendChangeCipherSpec() {
	if m.LogMessages {
		m.tell(shakedown.Sent, "ChangeCipherSpec", 1, 1, false)
	}
	m.writeRecords(wire.ChangeCipherSpec, []byte{1})
}

// extensionOrder returns the types of encoded extensions, in order.
func extensionOrder(b []byte) (order []shakedown.Extension) {
	for len(b) >= 4 {
		order = append(order, shakedown.Extension(binary.BigEndian.Uint16(b)))
		b = b[4+int(binary.BigEndian.Uint16(b[2:])):]
	}
	return order
}
