package wire

import "shakedown"

// CertificateRequestTLS12 is the CertificateRequest of TLS 1.2 and, without
// signature schemes, of the versions before it (RFC 5246 and RFC 4346, section
// 7.4.4).
type CertificateRequestTLS12 struct {
	Types            []byte // ClientCertificateType: rsa_sign is 1, ecdsa_sign 64
	SignatureSchemes []shakedown.SignatureScheme
	Authorities      [][]byte // distinguished names in DER
}

// Parse reads the message's body as TLS 1.2 has it.
func (m *CertificateRequestTLS12) Parse(body []byte) error { return m.parse(body, true) }

// ParseLegacy reads the message's body as TLS 1.1 and 1.0 have it.
func (m *CertificateRequestTLS12) ParseLegacy(body []byte) error { return m.parse(body, false) }

func (m *CertificateRequestTLS12) parse(body []byte, schemes bool) error {
	r := reader{rest: body}
	m.Types = r.vector(1, 1, "certificate_types")
	m.SignatureSchemes = m.SignatureSchemes[:0]
	if schemes {
		m.SignatureSchemes = codes(m.SignatureSchemes, &r, 2, "supported_signature_algorithms")
	}
	m.Authorities = m.Authorities[:0]
	after := r.open(2, 0, "certificate_authorities")
	for r.more() {
		m.Authorities = append(m.Authorities, r.vector(2, 1, "distinguished_name"))
	}
	r.close(after)
	return r.end("CertificateRequest")
}

// Append appends the message with its header as TLS 1.2 has it.
func (m *CertificateRequestTLS12) Append(b []byte) []byte { return m.append(b, true) }

// AppendLegacy appends the message with its header as TLS 1.1 and 1.0 have it.
func (m *CertificateRequestTLS12) AppendLegacy(b []byte) []byte { return m.append(b, false) }

func (m *CertificateRequestTLS12) append(b []byte, schemes bool) []byte {
	at := len(b)
	b = AppendHandshakeHeader(b, TypeCertificateRequest, 0)
	b = appendVector(b, 1, m.Types)
	if schemes {
		b = appendCodes(b, 2, m.SignatureSchemes)
	}
	list := len(b)
	b = reserve(b, 2)
	for _, name := range m.Authorities {
		b = appendVector(b, 2, name)
	}
	return sealMessage(seal(b, list, 2), at)
}
