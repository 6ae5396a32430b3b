package wire

import (
	"encoding/binary"

	"shakedown"
)

// minRecordSize is the least record_size_limit in bytes (RFC 8449, section 4).
const minRecordSize = 64

// AppendRecordSizeLimit appends record_size_limit (RFC 8449, section 4): the
// bytes of plaintext in a record, content type and padding included in TLS 1.3.
func AppendRecordSizeLimit(b []byte, limit uint16) []byte {
	return binary.BigEndian.AppendUint16(b, limit)
}

// ParseRecordSizeLimit reads record_size_limit, in bytes. One greater than the
// protocol's own limit is allowed.
func ParseRecordSizeLimit(data []byte) (uint16, error) {
	r := reader{rest: data}
	limit := r.uint16("record_size_limit")
	if limit < minRecordSize { // RFC 8449, section 4, prescribes the alert
		r.illegal("is less than 64")
	}
	return limit, r.endExtension(shakedown.ExtRecordSizeLimit)
}
