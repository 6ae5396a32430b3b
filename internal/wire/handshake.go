package wire

import "fmt"

// HandshakeType is the type of a handshake message (RFC 8446, section 4).
type HandshakeType uint8

// The handshake messages of RFC 8446 and of the versions before it.
const (
	TypeHelloRequest          HandshakeType = 0
	TypeClientHello           HandshakeType = 1
	TypeServerHello           HandshakeType = 2
	TypeNewSessionTicket      HandshakeType = 4
	TypeEndOfEarlyData        HandshakeType = 5
	TypeEncryptedExtensions   HandshakeType = 8
	TypeCertificate           HandshakeType = 11
	TypeServerKeyExchange     HandshakeType = 12
	TypeCertificateRequest    HandshakeType = 13
	TypeServerHelloDone       HandshakeType = 14
	TypeCertificateVerify     HandshakeType = 15
	TypeClientKeyExchange     HandshakeType = 16
	TypeFinished              HandshakeType = 20
	TypeCertificateStatus     HandshakeType = 22 // RFC 6066
	TypeKeyUpdate             HandshakeType = 24
	TypeCompressedCertificate HandshakeType = 25  // RFC 8879
	TypeMessageHash           HandshakeType = 254 // never sent
)

var handshakeNames = map[HandshakeType]string{
	TypeHelloRequest:          "HelloRequest",
	TypeClientHello:           "ClientHello",
	TypeServerHello:           "ServerHello",
	TypeNewSessionTicket:      "NewSessionTicket",
	TypeEndOfEarlyData:        "EndOfEarlyData",
	TypeEncryptedExtensions:   "EncryptedExtensions",
	TypeCertificate:           "Certificate",
	TypeServerKeyExchange:     "ServerKeyExchange",
	TypeCertificateRequest:    "CertificateRequest",
	TypeServerHelloDone:       "ServerHelloDone",
	TypeCertificateVerify:     "CertificateVerify",
	TypeClientKeyExchange:     "ClientKeyExchange",
	TypeFinished:              "Finished",
	TypeCertificateStatus:     "CertificateStatus",
	TypeKeyUpdate:             "KeyUpdate",
	TypeCompressedCertificate: "CompressedCertificate",
	TypeMessageHash:           "MessageHash",
}

// String returns the name of the message's structure in the RFC, such as
// "ServerHello", or the number, such as "0x43".
func (t HandshakeType) String() string {
	if s, ok := handshakeNames[t]; ok {
		return s
	}
	return fmt.Sprintf("0x%02X", uint8(t))
}

// HandshakeHeaderLen is the size in bytes of a handshake message's header.
const HandshakeHeaderLen = 4

// ParseHandshakeHeader reads the header at the front of b. The length is that
// of the body in bytes, up to 1<<24 - 1. It is not ok when b has fewer than
// [HandshakeHeaderLen] bytes.
func ParseHandshakeHeader(b []byte) (t HandshakeType, length int, ok bool) {
	if len(b) < HandshakeHeaderLen {
		return 0, 0, false
	}
	return HandshakeType(b[0]), int(b[1])<<16 | int(b[2])<<8 | int(b[3]), true
}

// AppendHandshakeHeader appends the header of a message with a body of length
// bytes.
func AppendHandshakeHeader(b []byte, t HandshakeType, length int) []byte {
	return append(b, byte(t), byte(length>>16), byte(length>>8), byte(length))
}

// sealMessage writes the length of the message whose header is at index at.
func sealMessage(b []byte, at int) []byte { return seal(b, at+1, HandshakeHeaderLen-1) }

// AppendMessageHash appends the message that stands for the first ClientHello in
// the transcript after a HelloRetryRequest (RFC 8446, section 4.4.1).
func AppendMessageHash(b, hash []byte) []byte {
	return append(AppendHandshakeHeader(b, TypeMessageHash, len(hash)), hash...)
}
