package wire

// EncryptedExtensions is RFC 8446, section 4.3.1.
type EncryptedExtensions struct {
	Extensions Extensions
}

// Parse reads the message's body.
func (m *EncryptedExtensions) Parse(body []byte) error {
	r := reader{rest: body}
	m.Extensions.parse(&r, 0)
	return r.end("EncryptedExtensions")
}

// Append appends the message with its header.
func (m *EncryptedExtensions) Append(b []byte) []byte {
	at := len(b)
	b = AppendHandshakeHeader(b, TypeEncryptedExtensions, 0)
	b = AppendExtensions(b, m.Extensions)
	return sealMessage(b, at)
}
