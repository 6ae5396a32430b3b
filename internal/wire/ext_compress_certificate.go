package wire

import "shakedown"

// The algorithms of RFC 8879, section 7.3.
const (
	CompressionZlib   uint16 = 1
	CompressionBrotli uint16 = 2
	CompressionZstd   uint16 = 3
)

// AppendCompressCertificate appends compress_certificate (RFC 8879, section 3)
// of a ClientHello or CertificateRequest.
func AppendCompressCertificate(b []byte, algorithms []uint16) []byte {
	return appendCodes(b, 1, algorithms)
}

// ParseCompressCertificate reads the algorithms into dst[:0].
func ParseCompressCertificate(dst []uint16, data []byte) ([]uint16, error) {
	r := reader{rest: data}
	dst = codes(dst, &r, 1, "algorithms")
	return dst, r.endExtension(shakedown.ExtCompressCertificate)
}
