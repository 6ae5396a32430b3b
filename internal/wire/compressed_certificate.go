package wire

import "encoding/binary"

// CompressedCertificate stands for a Certificate of TLS 1.3 (RFC 8879, section
// 4). Decompressed, Data is the body of one.
type CompressedCertificate struct {
	Algorithm uint16 // such as [CompressionZlib]
	// UncompressedLength in bytes, as the sender says: the caller limits it
	// before it decompresses, and compares it after.
	UncompressedLength int
	Data               []byte
}

// Parse reads the message's body.
func (m *CompressedCertificate) Parse(body []byte) error {
	r := reader{rest: body}
	m.Algorithm = r.uint16("algorithm")
	m.UncompressedLength = r.uint24("uncompressed_length")
	m.Data = r.vector(3, 1, "compressed_certificate_message")
	return r.end("CompressedCertificate")
}

// Append appends the message with its header.
func (m *CompressedCertificate) Append(b []byte) []byte {
	at := len(b)
	b = AppendHandshakeHeader(b, TypeCompressedCertificate, 0)
	b = binary.BigEndian.AppendUint16(b, m.Algorithm)
	n := m.UncompressedLength
	b = append(b, byte(n>>16), byte(n>>8), byte(n))
	return sealMessage(appendVector(b, 3, m.Data), at)
}
