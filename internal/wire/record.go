package wire

import (
	"encoding/binary"
	"fmt"

	"shakedown"
)

// ContentType is the type of a record (RFC 8446, section 5.1).
type ContentType uint8

// The content types of RFC 8446 and RFC 6520.
const (
	ChangeCipherSpec ContentType = 20
	AlertRecord      ContentType = 21
	Handshake        ContentType = 22
	ApplicationData  ContentType = 23
	Heartbeat        ContentType = 24
)

var contentNames = map[ContentType]string{
	ChangeCipherSpec: "change_cipher_spec", AlertRecord: "alert", Handshake: "handshake",
	ApplicationData: "application_data", Heartbeat: "heartbeat",
}

// String returns the type's name in the RFC's spelling, such as
// "application_data", or the number, such as "0x80".
func (t ContentType) String() string {
	if s, ok := contentNames[t]; ok {
		return s
	}
	return fmt.Sprintf("0x%02X", uint8(t))
}

// Sizes of records in bytes.
const (
	RecordHeaderLen = 5
	// MaxPlaintext is the most a record holds (RFC 8446, section 5.1).
	MaxPlaintext = 1 << 14
	// MaxCiphertext12 is the longest record of TLS 1.2 and before it (RFC 5246,
	// section 6.2.3), MaxCiphertext13 that of TLS 1.3 (RFC 8446, section 5.2).
	MaxCiphertext12 = MaxPlaintext + 2048
	MaxCiphertext13 = MaxPlaintext + 256
)

// RecordHeader is what precedes the content of a record.
type RecordHeader struct {
	Type    ContentType
	Version shakedown.Version
	Length  int // of the content, in bytes, as the sender says: up to 65,535
}

// ParseRecordHeader reads the header at the front of b. It is not ok when b has
// fewer than [RecordHeaderLen] bytes; the values are not judged.
func ParseRecordHeader(b []byte) (h RecordHeader, ok bool) {
	if len(b) < RecordHeaderLen {
		return RecordHeader{}, false
	}
	return RecordHeader{
		Type:    ContentType(b[0]),
		Version: shakedown.Version(binary.BigEndian.Uint16(b[1:])),
		Length:  int(binary.BigEndian.Uint16(b[3:])),
	}, true
}

// Append appends the header.
func (h RecordHeader) Append(b []byte) []byte {
	b = append(b, byte(h.Type))
	b = binary.BigEndian.AppendUint16(b, uint16(h.Version))
	return binary.BigEndian.AppendUint16(b, uint16(h.Length))
}
