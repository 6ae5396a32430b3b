package wire

// CertificateRequestTLS13 is the CertificateRequest of TLS 1.3 (RFC 8446,
// section 4.3.2).
type CertificateRequestTLS13 struct {
	Context    []byte // empty during the handshake
	Extensions Extensions
}

// Parse reads the message's body.
func (m *CertificateRequestTLS13) Parse(body []byte) error {
	r := reader{rest: body}
	m.Context = r.vector(1, 0, "certificate_request_context")
	m.Extensions.parse(&r, 2)
	return r.end("CertificateRequest")
}

// Append appends the message with its header.
func (m *CertificateRequestTLS13) Append(b []byte) []byte {
	at := len(b)
	b = AppendHandshakeHeader(b, TypeCertificateRequest, 0)
	b = appendVector(b, 1, m.Context)
	b = AppendExtensions(b, m.Extensions)
	return sealMessage(b, at)
}
