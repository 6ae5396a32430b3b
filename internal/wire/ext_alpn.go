package wire

import "shakedown"

// AppendALPN appends application_layer_protocol_negotiation (RFC 7301, section
// 3.1). A server's names one protocol.
func AppendALPN(b []byte, protocols []string) []byte {
	at := len(b)
	b = reserve(b, 2)
	for _, p := range protocols {
		name := len(b)
		b = seal(append(reserve(b, 1), p...), name, 1)
	}
	return seal(b, at, 2)
}

// ParseALPN reads the names of the client's protocols into dst[:0].
func ParseALPN(dst []string, data []byte) ([]string, error) {
	r := reader{rest: data}
	dst = dst[:0]
	after := r.open(2, 2, "protocol_name_list")
	for r.more() {
		dst = append(dst, string(r.vector(1, 1, "protocol_name")))
	}
	r.close(after)
	return dst, r.endExtension(shakedown.ExtALPN)
}

// ParseSelectedALPN returns the name of the protocol the server chose.
func ParseSelectedALPN(data []byte) (string, error) {
	r := reader{rest: data}
	after := r.open(2, 2, "protocol_name_list")
	name := r.vector(1, 1, "protocol_name")
	if r.more() { // RFC 7301, section 3.1: exactly one
		r.illegal("has more than one protocol")
	}
	r.close(after)
	return string(name), r.endExtension(shakedown.ExtALPN)
}
