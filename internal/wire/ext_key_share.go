package wire

import (
	"encoding/binary"

	"shakedown"
)

// KeyShare is a KeyShareEntry (RFC 8446, section 4.2.8).
type KeyShare struct {
	Group  shakedown.Group
	Public []byte // key_exchange
}

// AppendKeyShares appends the key_share of a ClientHello.
func AppendKeyShares(b []byte, shares []KeyShare) []byte {
	at := len(b)
	b = reserve(b, 2)
	for _, s := range shares {
		b = AppendKeyShare(b, s)
	}
	return seal(b, at, 2)
}

// ParseKeyShares reads the key_share of a ClientHello into dst[:0]. None at all
// is a client that waits for a HelloRetryRequest.
func ParseKeyShares(dst []KeyShare, data []byte) ([]KeyShare, error) {
	r := reader{rest: data}
	dst = dst[:0]
	after := r.open(2, 0, "client_shares")
	for r.more() {
		dst = append(dst, r.keyShare())
	}
	r.close(after)
	// RFC 8446, section 4.2.8, prescribes the alert.
	if repeated(dst, func(s KeyShare) uint16 { return uint16(s.Group) }) {
		r.illegal("has two shares for one group")
	}
	return dst, r.endExtension(shakedown.ExtKeyShare)
}

// AppendKeyShare appends the key_share of a ServerHello.
func AppendKeyShare(b []byte, s KeyShare) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(s.Group))
	return appendVector(b, 2, s.Public)
}

// ParseKeyShare reads the key_share of a ServerHello.
func ParseKeyShare(data []byte) (KeyShare, error) {
	r := reader{rest: data}
	s := r.keyShare()
	return s, r.endExtension(shakedown.ExtKeyShare)
}

func (r *reader) keyShare() KeyShare {
	return KeyShare{
		Group:  shakedown.Group(r.uint16("group")),
		Public: r.vector(2, 1, "key_exchange"),
	}
}

// AppendSelectedGroup appends the key_share of a HelloRetryRequest.
func AppendSelectedGroup(b []byte, g shakedown.Group) []byte {
	return binary.BigEndian.AppendUint16(b, uint16(g))
}

// ParseSelectedGroup reads the key_share of a HelloRetryRequest.
func ParseSelectedGroup(data []byte) (shakedown.Group, error) {
	r := reader{rest: data}
	g := shakedown.Group(r.uint16("selected_group"))
	return g, r.endExtension(shakedown.ExtKeyShare)
}
