package peertest

import (
	"encoding/binary"
	"errors"
)

// clientHello is what the forge needs of a ClientHello.
type clientHello struct {
	random     []byte
	sessionID  []byte
	extensions map[uint16][]byte
}

// parseClientHello reads a ClientHello message (RFC 8446, section 4.1.2).
func parseClientHello(message []byte) (*clientHello, error) {
	r := reader(message)
	hello := &clientHello{extensions: map[uint16][]byte{}}
	r.take(4 + 2) // header, version
	hello.random = r.take(32)
	hello.sessionID = r.take(int(r.number(1)))
	r.take(int(r.number(2))) // suites
	r.take(int(r.number(1))) // compression methods
	extensions := reader(r.take(int(r.number(2))))
	for len(extensions) > 0 {
		extensionType := uint16(extensions.number(2))
		hello.extensions[extensionType] = extensions.take(int(extensions.number(2)))
	}
	if r == nil || extensions == nil {
		return nil, errors.New("the client sent a malformed ClientHello")
	}
	return hello, nil
}

// The extensions the forge knows.
const (
	extensionExtendedMasterSecret = 23
	extensionSupportedVersions    = 43
	extensionKeyShare             = 51
	extensionRenegotiationInfo    = 65281
)

// x25519Share returns the client's share for X25519 (RFC 8446, section 4.2.8).
func (h *clientHello) x25519Share() ([]byte, error) {
	r := reader(h.extensions[extensionKeyShare])
	r.number(2)
	for len(r) > 0 {
		group, share := r.number(2), []byte(nil)
		share = r.take(int(r.number(2)))
		if group == 29 && len(share) == 32 {
			return share, nil
		}
	}
	return nil, errors.New("the client sent no key share for X25519")
}

// reader takes bytes off the front; too few make it nil, and everything after
// that is empty.
type reader []byte

// take returns the next n bytes.
func (r *reader) take(n int) []byte {
	if len(*r) < n {
		*r = nil
		return nil
	}
	b := (*r)[:n]
	*r = (*r)[n:]
	return b
}

// number returns the next n bytes, at most 4, as a big-endian number.
func (r *reader) number(n int) uint32 {
	var b [4]byte
	copy(b[4-n:], r.take(n))
	return binary.BigEndian.Uint32(b[:])
}

// vector returns b behind its length in n bytes.
func vector(n int, b []byte) []byte {
	length := binary.BigEndian.AppendUint32(nil, uint32(len(b)))
	return append(length[4-n:], b...)
}

// Extension returns an extension as it stands in a message.
func Extension(extensionType uint16, body []byte) []byte {
	return append(binary.BigEndian.AppendUint16(nil, extensionType), vector(2, body)...)
}

// concat joins byte strings into a new one.
func concat(parts ...[]byte) []byte {
	var all []byte
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}
