package wire

// statusOCSP is the only CertificateStatusType in use (RFC 6066, section 8).
const statusOCSP = 1

// CertificateStatus is the stapled OCSP response of TLS 1.2 and before it (RFC
// 6066, section 8). In TLS 1.3 the same bytes are the status_request extension
// of a [CertificateEntry].
type CertificateStatus struct {
	Response []byte // OCSPResponse in DER
}

// Parse reads the message's body.
func (m *CertificateStatus) Parse(body []byte) error {
	r := reader{rest: body}
	m.Response = r.certificateStatus()
	return r.end("CertificateStatus")
}

// Append appends the message with its header.
func (m *CertificateStatus) Append(b []byte) []byte {
	at := len(b)
	b = AppendHandshakeHeader(b, TypeCertificateStatus, 0)
	b = AppendCertificateStatusBody(b, m.Response)
	return sealMessage(b, at)
}

func (r *reader) certificateStatus() []byte {
	if t := r.uint8("status_type"); t != statusOCSP {
		r.illegal("its status_type is not ocsp, the only one a client asks for")
	}
	return r.vector(3, 1, "response")
}
