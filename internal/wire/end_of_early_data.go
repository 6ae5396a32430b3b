package wire

// EndOfEarlyData is RFC 8446, section 4.5. It has no body.
type EndOfEarlyData struct{}

// Parse reads the message's body.
func (m *EndOfEarlyData) Parse(body []byte) error {
	r := reader{rest: body}
	return r.end("EndOfEarlyData")
}

// Append appends the message with its header.
func (m *EndOfEarlyData) Append(b []byte) []byte {
	return AppendHandshakeHeader(b, TypeEndOfEarlyData, 0)
}
