package wire

import "shakedown"

// AppendChangeCipherSpec appends the content of a change_cipher_spec record (RFC
// 5246, section 7.1).
func AppendChangeCipherSpec(b []byte) []byte { return append(b, 1) }

// ParseChangeCipherSpec checks the content of a change_cipher_spec record.
func ParseChangeCipherSpec(content []byte) error {
	r := reader{rest: content}
	if v := r.uint8("type"); v != 1 { // RFC 8446, section 5, prescribes the alert
		r.fail(shakedown.AlertUnexpectedMessage, "it is not the byte 1")
	}
	return r.end("ChangeCipherSpec")
}
