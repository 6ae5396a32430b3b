package wire

import "shakedown"

// CertificateVerify is RFC 8446, section 4.4.3, and RFC 5246, section 7.4.8.
type CertificateVerify struct {
	Scheme    shakedown.SignatureScheme
	Signature []byte
}

// Parse reads the message's body as TLS 1.2 and 1.3 have it.
func (m *CertificateVerify) Parse(body []byte) error { return m.parse(body, signed) }

// ParseLegacy reads the message's body as TLS 1.1 and 1.0 have it, without a
// scheme.
func (m *CertificateVerify) ParseLegacy(body []byte) error { return m.parse(body, signedLegacy) }

func (m *CertificateVerify) parse(body []byte, how signing) error {
	r := reader{rest: body}
	m.Scheme, m.Signature = r.signature(how)
	return r.end("CertificateVerify")
}

// Append appends the message with its header as TLS 1.2 and 1.3 have it.
func (m *CertificateVerify) Append(b []byte) []byte { return m.append(b, signed) }

// AppendLegacy appends the message with its header as TLS 1.1 and 1.0 have it.
func (m *CertificateVerify) AppendLegacy(b []byte) []byte { return m.append(b, signedLegacy) }

func (m *CertificateVerify) append(b []byte, how signing) []byte {
	at := len(b)
	b = AppendHandshakeHeader(b, TypeCertificateVerify, 0)
	b = appendSignature(b, how, m.Scheme, m.Signature)
	return sealMessage(b, at)
}
