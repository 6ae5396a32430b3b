package wire

import "shakedown"

// nameTypeHost is the only NameType in use (RFC 6066, section 3).
const nameTypeHost = 0

// AppendServerName appends the client's server_name (RFC 6066, section 3). The
// server's is empty: see [ParseEmpty].
func AppendServerName(b []byte, name string) []byte {
	at := len(b)
	b = append(reserve(b, 2), nameTypeHost)
	host := len(b)
	b = append(reserve(b, 2), name...)
	return seal(seal(b, host, 2), at, 2)
}

// ParseServerName returns the host name in the client's server_name. Names of
// other types are passed over. The spelling is not judged.
func ParseServerName(data []byte) (string, error) {
	r := reader{rest: data}
	var name []byte
	after := r.open(2, 1, "server_name_list")
	for r.more() {
		// Every type of name begins with its length, the RFC promises.
		t, v := r.uint8("name_type"), r.vector(2, 1, "name")
		if t != nameTypeHost {
			continue
		}
		if name != nil { // RFC 6066, section 3: one name of a type
			r.illegal("has two host names")
		}
		name = v
	}
	r.close(after)
	if name == nil {
		r.malformed("has no host name")
	}
	return string(name), r.endExtension(shakedown.ExtServerName)
}
