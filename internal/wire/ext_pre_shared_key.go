package wire

import (
	"encoding/binary"

	"shakedown"
)

// minBinder is the size in bytes of the shortest binder (RFC 8446, section
// 4.2.11).
const minBinder = 32

// PSKIdentity is a pre-shared key that a client offers (RFC 8446, section
// 4.2.11).
type PSKIdentity struct {
	Identity      []byte // the ticket
	ObfuscatedAge uint32 // obfuscated_ticket_age: milliseconds plus ticket_age_add, modulo 1<<32
}

// AppendOfferedPSKs appends the pre_shared_key of a ClientHello, which must be
// its last extension. There is a binder for each identity.
func AppendOfferedPSKs(b []byte, ids []PSKIdentity, binders [][]byte) []byte {
	at := len(b)
	b = reserve(b, 2)
	for _, id := range ids {
		b = appendVector(b, 2, id.Identity)
		b = binary.BigEndian.AppendUint32(b, id.ObfuscatedAge)
	}
	b = seal(b, at, 2)
	at = len(b)
	b = reserve(b, 2)
	for _, binder := range binders {
		b = appendVector(b, 1, binder)
	}
	return seal(b, at, 2)
}

// BindersLen returns how many bytes at the end of the ClientHello hold the
// binders. They are cut off the message whose hash the binders are made of (RFC
// 8446, section 4.2.11.2).
func BindersLen(binders [][]byte) int {
	n := 2
	for _, binder := range binders {
		n += 1 + len(binder)
	}
	return n
}

// ParseOfferedPSKs reads the pre_shared_key of a ClientHello into ids[:0] and
// binders[:0].
func ParseOfferedPSKs(ids []PSKIdentity, binders [][]byte, data []byte) ([]PSKIdentity, [][]byte, error) {
	r := reader{rest: data}
	ids, binders = ids[:0], binders[:0]
	after := r.open(2, 1, "identities")
	for r.more() {
		ids = append(ids, PSKIdentity{
			Identity:      r.vector(2, 1, "identity"),
			ObfuscatedAge: r.uint32("obfuscated_ticket_age"),
		})
	}
	r.close(after)
	after = r.open(2, 1, "binders")
	for r.more() {
		binders = append(binders, r.vector(1, minBinder, "binder"))
	}
	r.close(after)
	if len(ids) != len(binders) { // RFC 8446, section 4.2.11: one for each
		r.illegal("has more identities than binders, or fewer")
	}
	return ids, binders, r.endExtension(shakedown.ExtPreSharedKey)
}

// AppendSelectedIdentity appends the pre_shared_key of a ServerHello.
func AppendSelectedIdentity(b []byte, index uint16) []byte {
	return binary.BigEndian.AppendUint16(b, index)
}

// ParseSelectedIdentity reads the pre_shared_key of a ServerHello: an index
// into the client's identities.
func ParseSelectedIdentity(data []byte) (uint16, error) {
	r := reader{rest: data}
	index := r.uint16("selected_identity")
	return index, r.endExtension(shakedown.ExtPreSharedKey)
}
