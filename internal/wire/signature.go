package wire

import (
	"encoding/binary"

	"shakedown"
)

// signing is how a message of TLS 1.2 or before it is signed.
type signing uint8

const (
	signed       signing = iota // scheme and signature (RFC 5246, section 4.7)
	signedLegacy                // a signature whose scheme the suite implies (RFC 4346, section 4.7)
	anonymous                   // not at all: DH_anon and ECDH_anon
)

// signature reads scheme and signature, each zero where there is none.
func (r *reader) signature(how signing) (scheme shakedown.SignatureScheme, signature []byte) {
	if how == signed {
		scheme = shakedown.SignatureScheme(r.uint16("algorithm"))
	}
	if how != anonymous {
		signature = r.vector(2, 0, "signature")
	}
	return scheme, signature
}

func appendSignature(b []byte, how signing, scheme shakedown.SignatureScheme, signature []byte) []byte {
	if how == signed {
		b = binary.BigEndian.AppendUint16(b, uint16(scheme))
	}
	if how != anonymous {
		b = appendVector(b, 2, signature)
	}
	return b
}
