package wire

import (
	"encoding/binary"

	"shakedown"
)

// maxSessionID is the size in bytes of the longest session identifier (RFC
// 5246, section 7.4.1.2).
const maxSessionID = 32

// ClientHello is RFC 8446, section 4.1.2, and RFC 5246, section 7.4.1.2.
type ClientHello struct {
	Version            shakedown.Version // legacy_version
	Random             [32]byte
	SessionID          []byte // up to 32 bytes
	CipherSuites       []shakedown.CipherSuite
	CompressionMethods []byte
	// Extensions, none of which is the same as a message without the block.
	Extensions Extensions
}

// Parse reads the message's body.
func (m *ClientHello) Parse(body []byte) error {
	r := reader{rest: body}
	m.Version = shakedown.Version(r.uint16("legacy_version"))
	copy(m.Random[:], r.bytes(len(m.Random), "random"))
	m.SessionID = r.sessionID()
	m.CipherSuites = codes(m.CipherSuites, &r, 2, "cipher_suites")
	m.CompressionMethods = r.vector(1, 1, "legacy_compression_methods")
	m.Extensions.optional(&r)
	return r.end("ClientHello")
}

func (r *reader) sessionID() []byte {
	id := r.vector(1, 0, "session_id")
	if len(id) > maxSessionID {
		r.malformed("session_id has more than 32 bytes")
	}
	return id
}

// Append appends the message with its header.
func (m *ClientHello) Append(b []byte) []byte {
	at := len(b)
	b = AppendHandshakeHeader(b, TypeClientHello, 0)
	b = binary.BigEndian.AppendUint16(b, uint16(m.Version))
	b = append(b, m.Random[:]...)
	b = appendVector(b, 1, m.SessionID)
	b = appendCodes(b, 2, m.CipherSuites)
	b = appendVector(b, 1, m.CompressionMethods)
	b = appendOptional(b, m.Extensions)
	return sealMessage(b, at)
}
