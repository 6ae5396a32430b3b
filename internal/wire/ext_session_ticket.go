package wire

// AppendSessionTicket appends the client's session_ticket (RFC 5077, section
// 3.2): the ticket itself without a length, or nothing to ask for one. The
// server's is empty: see [ParseEmpty].
func AppendSessionTicket(b, ticket []byte) []byte { return append(b, ticket...) }

// ParseSessionTicket returns the ticket. Nothing can be wrong with its form.
func ParseSessionTicket(data []byte) []byte { return data }
