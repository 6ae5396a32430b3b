package wire

// KeyUpdate is RFC 8446, section 4.6.3.
type KeyUpdate struct {
	Requested bool // the peer is to update its keys too
}

// Parse reads the message's body.
func (m *KeyUpdate) Parse(body []byte) error {
	r := reader{rest: body}
	v := r.uint8("request_update")
	if v > 1 { // RFC 8446, section 4.6.3, prescribes the alert
		r.illegal("its request_update is neither 0 nor 1")
	}
	m.Requested = v == 1
	return r.end("KeyUpdate")
}

// Append appends the message with its header.
func (m *KeyUpdate) Append(b []byte) []byte {
	b = AppendHandshakeHeader(b, TypeKeyUpdate, 1)
	if m.Requested {
		return append(b, 1)
	}
	return append(b, 0)
}
