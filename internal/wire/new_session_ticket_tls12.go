package wire

import "encoding/binary"

// NewSessionTicketTLS12 is the NewSessionTicket of TLS 1.2 and before it (RFC
// 5077, section 3.3).
type NewSessionTicketTLS12 struct {
	LifetimeHint uint32 // seconds; 0 when the server does not say
	Ticket       []byte // empty when the server changed its mind
}

// Parse reads the message's body.
func (m *NewSessionTicketTLS12) Parse(body []byte) error {
	r := reader{rest: body}
	m.LifetimeHint = r.uint32("ticket_lifetime_hint")
	m.Ticket = r.vector(2, 0, "ticket")
	return r.end("NewSessionTicket")
}

// Append appends the message with its header.
func (m *NewSessionTicketTLS12) Append(b []byte) []byte {
	at := len(b)
	b = AppendHandshakeHeader(b, TypeNewSessionTicket, 0)
	b = binary.BigEndian.AppendUint32(b, m.LifetimeHint)
	return sealMessage(appendVector(b, 2, m.Ticket), at)
}
