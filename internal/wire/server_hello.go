package wire

import (
	"encoding/binary"

	"shakedown"
)

// HelloRetryRequestRandom is the random of a ServerHello that is a
// HelloRetryRequest: SHA-256 of "HelloRetryRequest" (RFC 8446, section 4.1.3).
var HelloRetryRequestRandom = [32]byte{
	0xCF, 0x21, 0xAD, 0x74, 0xE5, 0x9A, 0x61, 0x11, 0xBE, 0x1D, 0x8C, 0x02, 0x1E, 0x65, 0xB8, 0x91,
	0xC2, 0xA2, 0x11, 0x16, 0x7A, 0xBB, 0x8C, 0x5E, 0x07, 0x9E, 0x09, 0xE2, 0xC8, 0xA8, 0x33, 0x9C,
}

// ServerHello is RFC 8446, section 4.1.3, and RFC 5246, section 7.4.1.3.
type ServerHello struct {
	Version     shakedown.Version // legacy_version in TLS 1.3
	Random      [32]byte
	SessionID   []byte // up to 32 bytes; legacy_session_id_echo in TLS 1.3
	CipherSuite shakedown.CipherSuite
	Compression uint8
	// Extensions, none of which is the same as a message without the block.
	Extensions Extensions
}

// Parse reads the message's body.
func (m *ServerHello) Parse(body []byte) error {
	r := reader{rest: body}
	m.Version = shakedown.Version(r.uint16("server_version"))
	copy(m.Random[:], r.bytes(len(m.Random), "random"))
	m.SessionID = r.sessionID()
	m.CipherSuite = shakedown.CipherSuite(r.uint16("cipher_suite"))
	m.Compression = r.uint8("compression_method")
	m.Extensions.optional(&r)
	return r.end("ServerHello")
}

// Append appends the message with its header.
func (m *ServerHello) Append(b []byte) []byte {
	at := len(b)
	b = AppendHandshakeHeader(b, TypeServerHello, 0)
	b = binary.BigEndian.AppendUint16(b, uint16(m.Version))
	b = append(b, m.Random[:]...)
	b = appendVector(b, 1, m.SessionID)
	b = binary.BigEndian.AppendUint16(b, uint16(m.CipherSuite))
	b = append(b, m.Compression)
	b = appendOptional(b, m.Extensions)
	return sealMessage(b, at)
}

// IsHelloRetryRequest reports whether the message is a HelloRetryRequest.
func (m *ServerHello) IsHelloRetryRequest() bool { return m.Random == HelloRetryRequestRandom }

// Downgrade returns the version that the last eight bytes of the random say the
// server went down to although it knows a later one: TLS 1.2, or TLS 1.1 for
// that and anything before it. They are a sign of an attack when the client
// offered the later version (RFC 8446, section 4.1.3).
func (m *ServerHello) Downgrade() (shakedown.Version, bool) {
	switch string(m.Random[24:]) {
	case "DOWNGRD\x01":
		return shakedown.TLS12, true
	case "DOWNGRD\x00":
		return shakedown.TLS11, true
	}
	return 0, false
}
