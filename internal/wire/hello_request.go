package wire

// HelloRequest is RFC 5246, section 7.4.1.1. It has no body.
type HelloRequest struct{}

// Parse reads the message's body.
func (m *HelloRequest) Parse(body []byte) error {
	r := reader{rest: body}
	return r.end("HelloRequest")
}

// Append appends the message with its header.
func (m *HelloRequest) Append(b []byte) []byte { return AppendHandshakeHeader(b, TypeHelloRequest, 0) }
