package wire

import "shakedown"

// AppendCookie appends cookie (RFC 8446, section 4.2.2), of a HelloRetryRequest
// and of the ClientHello after it.
func AppendCookie(b, cookie []byte) []byte { return appendVector(b, 2, cookie) }

// ParseCookie returns the cookie.
func ParseCookie(data []byte) ([]byte, error) {
	r := reader{rest: data}
	cookie := r.vector(2, 1, "cookie")
	return cookie, r.endExtension(shakedown.ExtCookie)
}
