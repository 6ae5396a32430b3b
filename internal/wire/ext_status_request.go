package wire

import "shakedown"

// AppendStatusRequest appends the client's status_request (RFC 6066, section
// 8): for an OCSP response of any responder. The server's is empty in TLS 1.2;
// in TLS 1.3 see [AppendCertificateStatusBody].
func AppendStatusRequest(b []byte) []byte {
	return append(b, statusOCSP, 0, 0, 0, 0) // no responder_id_list, no request_extensions
}

// ParseStatusRequest checks the client's status_request.
func ParseStatusRequest(data []byte) error {
	r := reader{rest: data}
	if t := r.uint8("status_type"); t != statusOCSP {
		r.illegal("its status_type is not ocsp, the only one defined")
	}
	after := r.open(2, 0, "responder_id_list")
	for r.more() {
		r.vector(2, 1, "responder_id")
	}
	r.close(after)
	r.vector(2, 0, "request_extensions")
	return r.endExtension(shakedown.ExtStatusRequest)
}

// AppendCertificateStatusBody appends the status_request of a
// [CertificateEntry] (RFC 8446, section 4.4.2.1). The response is in DER.
func AppendCertificateStatusBody(b, response []byte) []byte {
	return appendVector(append(b, statusOCSP), 3, response)
}

// ParseCertificateStatusBody returns the OCSP response in the status_request of
// a [CertificateEntry].
func ParseCertificateStatusBody(data []byte) ([]byte, error) {
	r := reader{rest: data}
	response := r.certificateStatus()
	return response, r.endExtension(shakedown.ExtStatusRequest)
}
