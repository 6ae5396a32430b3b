package wire

import "encoding/binary"

// NewSessionTicketTLS13 is the NewSessionTicket of TLS 1.3 (RFC 8446, section
// 4.6.1).
type NewSessionTicketTLS13 struct {
	// Lifetime in seconds. More than 604,800 (seven days) is forbidden, yet
	// worth seeing: it is not rejected here.
	Lifetime   uint32
	AgeAdd     uint32 // milliseconds, added to hide the ticket's age
	Nonce      []byte
	Ticket     []byte
	Extensions Extensions
}

// Parse reads the message's body.
func (m *NewSessionTicketTLS13) Parse(body []byte) error {
	r := reader{rest: body}
	m.Lifetime = r.uint32("ticket_lifetime")
	m.AgeAdd = r.uint32("ticket_age_add")
	m.Nonce = r.vector(1, 0, "ticket_nonce")
	m.Ticket = r.vector(2, 1, "ticket")
	m.Extensions.parse(&r, 0)
	return r.end("NewSessionTicket")
}

// Append appends the message with its header.
func (m *NewSessionTicketTLS13) Append(b []byte) []byte {
	at := len(b)
	b = AppendHandshakeHeader(b, TypeNewSessionTicket, 0)
	b = binary.BigEndian.AppendUint32(b, m.Lifetime)
	b = binary.BigEndian.AppendUint32(b, m.AgeAdd)
	b = appendVector(b, 1, m.Nonce)
	b = appendVector(b, 2, m.Ticket)
	b = AppendExtensions(b, m.Extensions)
	return sealMessage(b, at)
}
