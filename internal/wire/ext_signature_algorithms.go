package wire

import "shakedown"

// AppendSignatureAlgorithms appends signature_algorithms or
// signature_algorithms_cert (RFC 8446, section 4.2.3).
func AppendSignatureAlgorithms(b []byte, schemes []shakedown.SignatureScheme) []byte {
	return appendCodes(b, 2, schemes)
}

// ParseSignatureAlgorithms reads the schemes into dst[:0].
func ParseSignatureAlgorithms(dst []shakedown.SignatureScheme, data []byte) ([]shakedown.SignatureScheme, error) {
	r := reader{rest: data}
	dst = codes(dst, &r, 2, "supported_signature_algorithms")
	return dst, r.endExtension(shakedown.ExtSignatureAlgorithms)
}
