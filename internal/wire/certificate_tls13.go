package wire

// CertificateTLS13 is the Certificate of TLS 1.3 (RFC 8446, section 4.4.2).
type CertificateTLS13 struct {
	Context []byte // empty when a server sends it, or that of the CertificateRequest
	// Entries, the sender's own first. A client may send none, a server not:
	// that is for the caller to check.
	Entries []CertificateEntry
}

// CertificateEntry is a certificate and what is said of it: a staple, SCTs.
type CertificateEntry struct {
	DER        []byte
	Extensions Extensions
}

// Parse reads the message's body.
func (m *CertificateTLS13) Parse(body []byte) error {
	r := reader{rest: body}
	m.Entries = m.Entries[:0]
	m.Context = r.vector(1, 0, "certificate_request_context")
	after := r.open(3, 0, "certificate_list")
	for r.more() {
		// An entry from an earlier message lends its list of extensions.
		n := len(m.Entries)
		if n < cap(m.Entries) {
			m.Entries = m.Entries[:n+1]
		} else {
			m.Entries = append(m.Entries, CertificateEntry{})
		}
		e := &m.Entries[n]
		e.DER = r.vector(3, 1, "cert_data")
		e.Extensions.parse(&r, 0)
	}
	r.close(after)
	return r.end("Certificate")
}

// Append appends the message with its header.
func (m *CertificateTLS13) Append(b []byte) []byte {
	at := len(b)
	b = AppendHandshakeHeader(b, TypeCertificate, 0)
	b = appendVector(b, 1, m.Context)
	list := len(b)
	b = reserve(b, 3)
	for i := range m.Entries {
		b = appendVector(b, 3, m.Entries[i].DER)
		b = AppendExtensions(b, m.Entries[i].Extensions)
	}
	return sealMessage(seal(b, list, 3), at)
}
