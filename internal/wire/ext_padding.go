package wire

import "shakedown"

// AppendPadding appends the client's padding of n bytes (RFC 7685, section 3).
func AppendPadding(b []byte, n int) []byte {
	for range n {
		b = append(b, 0)
	}
	return b
}

// ParsePadding checks that the padding is zeroes and nothing else.
func ParsePadding(data []byte) error {
	r := reader{rest: data}
	for _, v := range r.remainder() {
		if v != 0 {
			r.illegal("is not all zeroes")
		}
	}
	return r.endExtension(shakedown.ExtPadding)
}
