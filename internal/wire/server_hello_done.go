package wire

// ServerHelloDone is RFC 5246, section 7.4.5. It has no body.
type ServerHelloDone struct{}

// Parse reads the message's body.
func (m *ServerHelloDone) Parse(body []byte) error {
	r := reader{rest: body}
	return r.end("ServerHelloDone")
}

// Append appends the message with its header.
func (m *ServerHelloDone) Append(b []byte) []byte {
	return AppendHandshakeHeader(b, TypeServerHelloDone, 0)
}
