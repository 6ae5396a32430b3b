package wire

// ClientKeyExchangeECDHE is the ClientKeyExchange of the ECDHE suites (RFC 8422,
// section 5.7).
type ClientKeyExchangeECDHE struct {
	Public []byte // the client's point
}

// Parse reads the message's body.
func (m *ClientKeyExchangeECDHE) Parse(body []byte) (err error) {
	m.Public, err = parseClientKeyExchange(body, 1, "ecdh_Yc")
	return err
}

// Append appends the message with its header.
func (m *ClientKeyExchangeECDHE) Append(b []byte) []byte {
	return appendClientKeyExchange(b, 1, m.Public)
}

// ClientKeyExchangeDHE is the ClientKeyExchange of the DHE suites (RFC 5246,
// section 7.4.7.2).
type ClientKeyExchangeDHE struct {
	Y []byte // the client's public value, big-endian
}

// Parse reads the message's body.
func (m *ClientKeyExchangeDHE) Parse(body []byte) (err error) {
	m.Y, err = parseClientKeyExchange(body, 2, "dh_Yc")
	return err
}

// Append appends the message with its header.
func (m *ClientKeyExchangeDHE) Append(b []byte) []byte { return appendClientKeyExchange(b, 2, m.Y) }

// ClientKeyExchangeRSA is the ClientKeyExchange of the static RSA suites (RFC
// 5246, section 7.4.7.1).
type ClientKeyExchangeRSA struct {
	Encrypted []byte // the premaster secret
}

// Parse reads the message's body.
func (m *ClientKeyExchangeRSA) Parse(body []byte) (err error) {
	m.Encrypted, err = parseClientKeyExchange(body, 2, "encrypted_pre_master_secret")
	return err
}

// Append appends the message with its header.
func (m *ClientKeyExchangeRSA) Append(b []byte) []byte {
	return appendClientKeyExchange(b, 2, m.Encrypted)
}

func parseClientKeyExchange(body []byte, width int, field string) ([]byte, error) {
	r := reader{rest: body}
	v := r.vector(width, 1, field)
	return v, r.end("ClientKeyExchange")
}

func appendClientKeyExchange(b []byte, width int, v []byte) []byte {
	at := len(b)
	b = AppendHandshakeHeader(b, TypeClientKeyExchange, 0)
	return sealMessage(appendVector(b, width, v), at)
}
