package wire

import (
	"encoding/binary"

	"shakedown"
)

// AppendMaxEarlyData appends the early_data of a NewSessionTicket: how many
// bytes of early data the ticket allows (RFC 8446, section 4.6.1). That of a
// ClientHello or EncryptedExtensions is empty: see [ParseEmpty].
func AppendMaxEarlyData(b []byte, size uint32) []byte {
	return binary.BigEndian.AppendUint32(b, size)
}

// ParseMaxEarlyData reads the early_data of a NewSessionTicket, in bytes.
func ParseMaxEarlyData(data []byte) (uint32, error) {
	r := reader{rest: data}
	size := r.uint32("max_early_data_size")
	return size, r.endExtension(shakedown.ExtEarlyData)
}
