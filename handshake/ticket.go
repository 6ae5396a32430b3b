package handshake

import (
	"bytes"

	"shakedown"
)

// ticketState is the latest NewSessionTicket.
type ticketState struct {
	raw    []byte // owned
	nonce  []byte // owned; TLS 1.3
	ageAdd uint32
}

func (t *ticketState) set(raw, nonce []byte, ageAdd uint32) {
	t.raw, t.nonce, t.ageAdd = append(t.raw[:0], raw...), append(t.nonce[:0], nonce...), ageAdd
}

// maxTickets bounds the tickets of one connection. Servers send one to four, and
// can be told to send some hundreds.
const maxTickets = 1024

// addTicket tells a ticket.
func (m *Machine) addTicket(t shakedown.Ticket, raw []byte) error {
	if len(m.observed.Tickets) == maxTickets {
		return misbehaved(shakedown.AlertUnexpectedMessage, "the server sent more than %d tickets", maxTickets)
	}
	copy(t.Name[:], raw)
	m.observed.Tickets = append(m.observed.Tickets, t)
	m.reach(shakedown.PhaseTicket)
	m.push(Event{Kind: EventTicket})
	return nil
}

// Session returns a session made of the latest ticket, or of the session ID, or
// nil when the server gave neither. In TLS 1.3 each EventTicket brings a new
// one. The handshake has to be complete.
func (m *Machine) Session() *Session {
	if m.state < stateComplete || m.info == nil {
		return nil
	}
	s := &Session{
		Version: m.observed.Version, CipherSuite: m.info.ID, Received: m.now(), ALPN: m.observed.ALPN,
		ExtendedMasterSecret: m.observed.ExtendedMasterSecret, EncryptThenMAC: m.observed.EncryptThenMAC,
		ServerName: m.config.ServerName, Certificate: m.keyName(),
	}
	if m.chain == nil && m.session != nil {
		s.Certificate = m.session.Certificate
	}
	if n := len(m.observed.Tickets); n > 0 {
		last := m.observed.Tickets[n-1]
		s.Ticket, s.Lifetime, s.MaxEarlyData = bytes.Clone(m.ticket.raw), last.Lifetime, last.MaxEarlyData
	}
	if m.observed.Version == shakedown.TLS13 {
		if len(s.Ticket) == 0 {
			return nil
		}
		m.session13(s)
		return s
	}
	return m.session12(s)
}
