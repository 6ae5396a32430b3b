package wire

import (
	"encoding/binary"

	"shakedown"
)

// namedCurve is the only ECCurveType that RFC 8422, section 5.4, left.
const namedCurve = 3

// ServerKeyExchangeECDHE is the ServerKeyExchange of the ECDHE suites (RFC
// 8422, section 5.4).
type ServerKeyExchangeECDHE struct {
	Group     shakedown.Group
	Public    []byte // the server's point
	Params    []byte // what is signed after the randoms; set by parsing, not appended
	Scheme    shakedown.SignatureScheme
	Signature []byte
}

// Parse reads the message's body as TLS 1.2 has it.
func (m *ServerKeyExchangeECDHE) Parse(body []byte) error { return m.parse(body, signed) }

// ParseLegacy reads the message's body as TLS 1.1 and 1.0 have it, without a
// scheme.
func (m *ServerKeyExchangeECDHE) ParseLegacy(body []byte) error { return m.parse(body, signedLegacy) }

// ParseAnonymous reads the message's body as the ECDH_anon suites have it, not
// signed.
func (m *ServerKeyExchangeECDHE) ParseAnonymous(body []byte) error { return m.parse(body, anonymous) }

func (m *ServerKeyExchangeECDHE) parse(body []byte, how signing) error {
	r := reader{rest: body}
	if t := r.uint8("curve_type"); t != namedCurve {
		r.illegal("its curve_type is not named_curve, the only one allowed")
	}
	m.Group = shakedown.Group(r.uint16("namedcurve"))
	m.Public = r.vector(1, 1, "point")
	m.Params = body[: len(body)-len(r.rest) : len(body)-len(r.rest)]
	m.Scheme, m.Signature = r.signature(how)
	return r.end("ServerKeyExchange")
}

// Append appends the message with its header as TLS 1.2 has it.
func (m *ServerKeyExchangeECDHE) Append(b []byte) []byte { return m.append(b, signed) }

// AppendLegacy appends the message with its header as TLS 1.1 and 1.0 have it.
func (m *ServerKeyExchangeECDHE) AppendLegacy(b []byte) []byte { return m.append(b, signedLegacy) }

// AppendAnonymous appends the message with its header, not signed.
func (m *ServerKeyExchangeECDHE) AppendAnonymous(b []byte) []byte { return m.append(b, anonymous) }

// AppendParams appends what a server signs after the randoms.
func (m *ServerKeyExchangeECDHE) AppendParams(b []byte) []byte {
	b = append(b, namedCurve)
	b = binary.BigEndian.AppendUint16(b, uint16(m.Group))
	return appendVector(b, 1, m.Public)
}

func (m *ServerKeyExchangeECDHE) append(b []byte, how signing) []byte {
	at := len(b)
	b = AppendHandshakeHeader(b, TypeServerKeyExchange, 0)
	b = m.AppendParams(b)
	b = appendSignature(b, how, m.Scheme, m.Signature)
	return sealMessage(b, at)
}
