package wire

import "shakedown"

// FragmentLength is a value of max_fragment_length (RFC 6066, section 4).
type FragmentLength uint8

// The values of max_fragment_length, by their bytes of plaintext in a record.
const (
	Fragment512  FragmentLength = 1
	Fragment1024 FragmentLength = 2
	Fragment2048 FragmentLength = 3
	Fragment4096 FragmentLength = 4
)

// Bytes returns how many bytes of plaintext a record holds at most.
func (l FragmentLength) Bytes() int { return 256 << l }

// AppendMaxFragmentLength appends max_fragment_length, the same from client and
// server.
func AppendMaxFragmentLength(b []byte, l FragmentLength) []byte { return append(b, byte(l)) }

// ParseMaxFragmentLength reads max_fragment_length.
func ParseMaxFragmentLength(data []byte) (FragmentLength, error) {
	r := reader{rest: data}
	l := FragmentLength(r.uint8("max_fragment_length"))
	if l < Fragment512 || l > Fragment4096 { // RFC 6066, section 4, prescribes the alert
		r.illegal("is none of the four lengths")
	}
	return l, r.endExtension(shakedown.ExtMaxFragmentLength)
}
