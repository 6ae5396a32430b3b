package wire

import "shakedown"

// ServerKeyExchangeDHE is the ServerKeyExchange of the DHE suites (RFC 5246,
// section 7.4.3). Its numbers are big-endian and may begin with zeroes.
type ServerKeyExchangeDHE struct {
	P, G      []byte // the group
	Y         []byte // the server's public value
	Params    []byte // what is signed after the randoms; set by parsing, not appended
	Scheme    shakedown.SignatureScheme
	Signature []byte
}

// Parse reads the message's body as TLS 1.2 has it.
func (m *ServerKeyExchangeDHE) Parse(body []byte) error { return m.parse(body, signed) }

// ParseLegacy reads the message's body as TLS 1.1 and 1.0 have it, without a
// scheme.
func (m *ServerKeyExchangeDHE) ParseLegacy(body []byte) error { return m.parse(body, signedLegacy) }

// ParseAnonymous reads the message's body as the DH_anon suites have it, not
// signed.
func (m *ServerKeyExchangeDHE) ParseAnonymous(body []byte) error { return m.parse(body, anonymous) }

func (m *ServerKeyExchangeDHE) parse(body []byte, how signing) error {
	r := reader{rest: body}
	m.P = r.vector(2, 1, "dh_p")
	m.G = r.vector(2, 1, "dh_g")
	m.Y = r.vector(2, 1, "dh_Ys")
	m.Params = body[: len(body)-len(r.rest) : len(body)-len(r.rest)]
	m.Scheme, m.Signature = r.signature(how)
	return r.end("ServerKeyExchange")
}

// Append appends the message with its header as TLS 1.2 has it.
func (m *ServerKeyExchangeDHE) Append(b []byte) []byte { return m.append(b, signed) }

// AppendLegacy appends the message with its header as TLS 1.1 and 1.0 have it.
func (m *ServerKeyExchangeDHE) AppendLegacy(b []byte) []byte { return m.append(b, signedLegacy) }

// AppendAnonymous appends the message with its header, not signed.
func (m *ServerKeyExchangeDHE) AppendAnonymous(b []byte) []byte { return m.append(b, anonymous) }

// AppendParams appends what a server signs after the randoms.
func (m *ServerKeyExchangeDHE) AppendParams(b []byte) []byte {
	b = appendVector(b, 2, m.P)
	b = appendVector(b, 2, m.G)
	return appendVector(b, 2, m.Y)
}

func (m *ServerKeyExchangeDHE) append(b []byte, how signing) []byte {
	at := len(b)
	b = AppendHandshakeHeader(b, TypeServerKeyExchange, 0)
	b = m.AppendParams(b)
	b = appendSignature(b, how, m.Scheme, m.Signature)
	return sealMessage(b, at)
}
