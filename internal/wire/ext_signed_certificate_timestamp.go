package wire

import "shakedown"

// AppendSignedCertificateTimestamps appends the server's
// signed_certificate_timestamp (RFC 6962, section 3.3). The client's is empty:
// see [ParseEmpty].
func AppendSignedCertificateTimestamps(b []byte, scts [][]byte) []byte {
	at := len(b)
	b = reserve(b, 2)
	for _, sct := range scts {
		b = appendVector(b, 2, sct)
	}
	return seal(b, at, 2)
}

// ParseSignedCertificateTimestamps reads the serialized SCTs into dst[:0].
func ParseSignedCertificateTimestamps(dst [][]byte, data []byte) ([][]byte, error) {
	r := reader{rest: data}
	dst = dst[:0]
	after := r.open(2, 1, "sct_list")
	for r.more() {
		dst = append(dst, r.vector(2, 1, "serialized_sct"))
	}
	r.close(after)
	return dst, r.endExtension(shakedown.ExtSignedCertificateTimestamp)
}
