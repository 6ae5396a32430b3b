package wire

import (
	"encoding/binary"
	"strconv"

	"shakedown"
)

// reader is a cursor over a message. After its first failure it is at its end
// and reads zeroes, so that a parser runs straight through, loops end, and the
// verdict is asked for once, with end.
type reader struct {
	rest   []byte
	reason string // of the first failure, or empty
	alert  shakedown.Alert
}

// fail records why the message is malformed, unless that is known already.
func (r *reader) fail(alert shakedown.Alert, reason string) {
	if r.reason == "" {
		r.reason, r.alert = reason, alert
	}
	r.rest = nil
}

// malformed fails for a wrong form, illegal for a forbidden value.
func (r *reader) malformed(reason string) { r.fail(shakedown.AlertDecodeError, reason) }
func (r *reader) illegal(reason string)   { r.fail(shakedown.AlertIllegalParameter, reason) }

// more reports whether anything is left, which it is not after a failure.
func (r *reader) more() bool { return len(r.rest) > 0 }

// bytes takes the next n bytes. Their capacity is n: to append to them does not
// write into the message.
func (r *reader) bytes(n int, field string) []byte {
	if len(r.rest) < n {
		r.malformed("ends within " + field)
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

// remainder takes all that is left.
func (r *reader) remainder() []byte { return r.bytes(len(r.rest), "") }

func (r *reader) uint8(field string) uint8 {
	if b := r.bytes(1, field); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) uint16(field string) uint16 {
	if b := r.bytes(2, field); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (r *reader) uint24(field string) int {
	if b := r.bytes(3, field); b != nil {
		return int(b[0])<<16 | int(b[1])<<8 | int(b[2])
	}
	return 0
}

func (r *reader) uint32(field string) uint32 {
	if b := r.bytes(4, field); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

// vector takes a vector of at least least bytes after a length of width bytes
// (RFC 8446, section 3.4).
func (r *reader) vector(width, least int, field string) []byte {
	var n int
	switch width {
	case 1:
		n = int(r.uint8(field))
	case 2:
		n = int(r.uint16(field))
	case 3:
		n = r.uint24(field)
	}
	if n < least && r.reason == "" {
		r.malformed(field + " has " + count(n) + ", fewer than " + strconv.Itoa(least))
	}
	return r.bytes(n, field)
}

// open narrows the reader to the vector that comes next. What it returns is for
// close, which goes on after the vector.
func (r *reader) open(width, least int, field string) (after []byte) {
	v := r.vector(width, least, field)
	after = r.rest
	r.rest = v
	return after
}

func (r *reader) close(after []byte) {
	if r.done() {
		r.rest = after
	}
}

// done reports whether all was in order and nothing is left. Something left is a
// failure.
func (r *reader) done() bool {
	if r.more() {
		r.malformed(count(len(r.rest)) + " too many")
	}
	return r.reason == ""
}

// end returns nil when the message was read to its last byte and was in order,
// else an [*Error] that names it.
func (r *reader) end(message string) error {
	if r.done() {
		return nil
	}
	return &Error{Message: message, Reason: r.reason, Alert: r.alert}
}

// endExtension is end for the body of an extension.
func (r *reader) endExtension(t shakedown.Extension) error {
	if r.done() {
		return nil
	}
	return r.end(t.String() + " extension")
}

func count(n int) string {
	if n == 1 {
		return "1 byte"
	}
	return strconv.Itoa(n) + " bytes"
}
