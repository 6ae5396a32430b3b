package wire

// CertificateTLS12 is the Certificate of TLS 1.2 and before it (RFC 5246,
// section 7.4.2). A client without a certificate sends an empty list.
type CertificateTLS12 struct {
	List [][]byte // of DER, the sender's own first
}

// Parse reads the message's body.
func (m *CertificateTLS12) Parse(body []byte) error {
	r := reader{rest: body}
	m.List = m.List[:0]
	after := r.open(3, 0, "certificate_list")
	for r.more() {
		m.List = append(m.List, r.vector(3, 1, "certificate"))
	}
	r.close(after)
	return r.end("Certificate")
}

// Append appends the message with its header.
func (m *CertificateTLS12) Append(b []byte) []byte {
	at := len(b)
	b = AppendHandshakeHeader(b, TypeCertificate, 0)
	list := len(b)
	b = reserve(b, 3)
	for _, der := range m.List {
		b = appendVector(b, 3, der)
	}
	return sealMessage(seal(b, list, 3), at)
}
