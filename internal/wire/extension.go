package wire

import (
	"encoding/binary"

	"shakedown"
)

// Extension is an extension of a message (RFC 8446, section 4.2).
type Extension struct {
	Type shakedown.Extension
	Data []byte
}

// Append appends the extension.
func (e Extension) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(e.Type))
	return appendVector(b, 2, e.Data)
}

// Extensions are the extensions of one message, in its order.
type Extensions []Extension

// Find returns the data of the extension of type t; ok tells one without data
// from none at all.
func (e Extensions) Find(t shakedown.Extension) (data []byte, ok bool) {
	for i := range e {
		if e[i].Type == t {
			return e[i].Data, true
		}
	}
	return nil, false
}

// AppendExtensions appends the extensions after their length in two bytes.
func AppendExtensions(b []byte, extensions []Extension) []byte {
	at := len(b)
	b = reserve(b, 2)
	for _, e := range extensions {
		b = e.Append(b)
	}
	return seal(b, at, 2)
}

// parse reads a block of extensions of at least least bytes.
func (e *Extensions) parse(r *reader, least int) {
	*e = (*e)[:0]
	after := r.open(2, least, "extensions")
	for r.more() {
		t := shakedown.Extension(r.uint16("extension_type"))
		*e = append(*e, Extension{Type: t, Data: r.vector(2, 0, "extension_data")})
	}
	r.close(after)
	// RFC 8446, section 4.2: no extension twice in a block. The alert is not
	// prescribed; illegal_parameter is the one for values that do not agree.
	if repeated(*e, func(e Extension) uint16 { return uint16(e.Type) }) {
		r.illegal("an extension stands twice")
	}
}

// optional reads a block of extensions that may be absent, as in a hello of TLS
// 1.2 or before it (RFC 5246, section 7.4.1.4).
func (e *Extensions) optional(r *reader) {
	*e = (*e)[:0]
	if r.more() {
		e.parse(r, 0)
	}
}

// appendOptional appends the extensions, or nothing when there are none.
func appendOptional(b []byte, extensions []Extension) []byte {
	if len(extensions) == 0 {
		return b
	}
	return AppendExtensions(b, extensions)
}

// ParseEmpty checks the body of an extension of type t that has none: the
// server's server_name, early_data, extended_master_secret and others.
func ParseEmpty(t shakedown.Extension, data []byte) error {
	r := reader{rest: data}
	return r.endExtension(t)
}
