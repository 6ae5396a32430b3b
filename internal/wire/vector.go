package wire

import "encoding/binary"

// appendVector appends v after its length in width bytes.
func appendVector(b []byte, width int, v []byte) []byte {
	at := len(b)
	b = append(reserve(b, width), v...)
	return seal(b, at, width)
}

// reserve appends room for a length of width bytes, which seal fills in.
func reserve(b []byte, width int) []byte {
	var zero [3]byte
	return append(b, zero[:width]...)
}

// seal writes the number of bytes that follow the length of width bytes at
// index at into that length.
func seal(b []byte, at, width int) []byte {
	n := len(b) - at - width
	for i := at + width - 1; i >= at; i-- {
		b[i] = byte(n)
		n >>= 8
	}
	return b
}

// appendCodes appends a list of code points after its length in width bytes.
func appendCodes[T ~uint16](b []byte, width int, codes []T) []byte {
	at := len(b)
	b = reserve(b, width)
	for _, c := range codes {
		b = binary.BigEndian.AppendUint16(b, uint16(c))
	}
	return seal(b, at, width)
}

// codes reads a list of code points, not an empty one, into dst[:0].
func codes[T ~uint16](dst []T, r *reader, width int, field string) []T {
	dst = dst[:0]
	after := r.open(width, 2, field)
	for r.more() {
		dst = append(dst, T(r.uint16(field)))
	}
	r.close(after)
	return dst
}

// repeated reports whether two elements of list have the same code point. A
// list of thousands costs no more than the message that held it.
func repeated[E any](list []E, code func(E) uint16) bool {
	if len(list) > 32 {
		return repeatedInMany(list, code)
	}
	for i := range list {
		for j := range i {
			if code(list[i]) == code(list[j]) {
				return true
			}
		}
	}
	return false
}

// repeatedInMany is apart for its 8 KiB of stack, which are cleared at each call.
//
//go:noinline
func repeatedInMany[E any](list []E, code func(E) uint16) bool {
	var seen [1 << 16 / 64]uint64
	for i := range list {
		c := code(list[i])
		word, bit := &seen[c/64], uint64(1)<<(c%64)
		if *word&bit != 0 {
			return true
		}
		*word |= bit
	}
	return false
}
