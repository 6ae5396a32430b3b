package wire

// Finished is RFC 8446, section 4.4.4, and RFC 5246, section 7.4.9.
type Finished struct {
	// VerifyData has 12 bytes in TLS 1.2 and before it, the length of the
	// transcript's hash in TLS 1.3. The caller, who knows which, compares it.
	VerifyData []byte
}

// Parse reads the message's body.
func (m *Finished) Parse(body []byte) error {
	r := reader{rest: body}
	if !r.more() {
		r.malformed("has no verify_data")
	}
	m.VerifyData = r.remainder()
	return r.end("Finished")
}

// Append appends the message with its header.
func (m *Finished) Append(b []byte) []byte {
	return append(AppendHandshakeHeader(b, TypeFinished, len(m.VerifyData)), m.VerifyData...)
}
