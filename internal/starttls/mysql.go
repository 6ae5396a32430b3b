package starttls

import (
	"bytes"
	"encoding/binary"
)

// Capability flags (MySQL manual, "Capabilities Flags").
const (
	mysqlProtocol41       = 1 << 9
	mysqlSSL              = 1 << 11
	mysqlSecureConnection = 1 << 15
)

var mysqlSteps = []step{
	{"", nil, "greeting", mysqlGreeting},
	{said: "SSLRequest", send: mysqlRequest(), heard: "end of SSLRequest"},
}

// mysqlRequest returns the SSLRequest packet: the beginning of a login, behind
// which TLS begins at once.
func mysqlRequest() []byte {
	const payload = 32
	b := []byte{payload, 0, 0, 1} // length, and number in sequence
	b = binary.LittleEndian.AppendUint32(b, mysqlProtocol41|mysqlSSL|mysqlSecureConnection)
	b = binary.LittleEndian.AppendUint32(b, 1<<24) // longest packet accepted
	b = append(b, 45)                              // character set: utf8mb4
	return append(b, make([]byte, 23)...)          // reserved
}

// mysqlGreeting parses the server's first packet: a greeting of protocol 10
// (Protocol::HandshakeV10) or an error (ERR_Packet).
func mysqlGreeting(b []byte) (int, error) {
	const header = 4
	if len(b) < header {
		return 0, nil
	}
	size := int(b[0]) | int(b[1])<<8 | int(b[2])<<16
	if size == 0 || size > maxAnswer-header || b[3] != 0 {
		return 0, misbehaved(b, "its header tells of packet %d and of %d bytes", b[3], size)
	}
	if len(b) < header+size {
		return 0, nil
	}
	n := header + size
	payload := b[header:n]
	switch payload[0] {
	case 10:
	case 0xff:
		return 0, refused(payload[min(3, size):], noService, hintService) // behind the error's number
	default:
		return 0, misbehaved(b, "it is of protocol %d, not 10", payload[0])
	}
	version, rest, ok := bytes.Cut(payload[1:], []byte{0})
	const toFlags = 4 + 8 + 1 // thread, beginning of the challenge, filler
	if !ok || len(rest) < toFlags+2 {
		return 0, misbehaved(b, "it ends before its capability flags")
	}
	flags := binary.LittleEndian.Uint16(rest[toFlags:])
	if flags&mysqlSSL == 0 || flags&mysqlProtocol41 == 0 {
		return 0, refused(version, noTLS, hintOff)
	}
	return n, nil
}
