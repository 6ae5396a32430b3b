package suite

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"slices"
	"strings"

	"github.com/cloudflare/circl/sign/ed448"
	"github.com/cloudflare/circl/sign/mldsa/mldsa44"
	"github.com/cloudflare/circl/sign/mldsa/mldsa65"
	"github.com/cloudflare/circl/sign/mldsa/mldsa87"
	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"

	"shakedown"
)

// PSSPublicKey is an RSA key of which the certificate says that it signs with PSS and
// does nothing else (id-RSASSA-PSS, RFC 4055, section 1.2).
type PSSPublicKey struct {
	Key *rsa.PublicKey
	// Hash is the one that the certificate demands, or 0 when it leaves the choice.
	Hash crypto.Hash
}

// Ed448PublicKey is a public key of Ed448 (RFC 8032, section 5.2).
type Ed448PublicKey []byte

// MLDSAPublicKey is a public key of ML-DSA (FIPS 204). It is made by ParsePublicKey.
type MLDSAPublicKey struct {
	Scheme shakedown.SignatureScheme // which of the three sizes
	Bytes  []byte
	verify func(message, sig []byte) bool
}

// The algorithms of keys, of which crypto/x509 parses RSA, ECDSA and Ed25519.
var (
	oidRSA     = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 1}      // RFC 3279, section 2.3.1
	oidECDSA   = asn1.ObjectIdentifier{1, 2, 840, 10045, 2, 1}          // RFC 5480, section 2.1.1
	oidEd25519 = asn1.ObjectIdentifier{1, 3, 101, 112}                  // RFC 8410, section 3
	oidPSS     = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 10}     // RFC 4055, section 3.1
	oidEd448   = asn1.ObjectIdentifier{1, 3, 101, 113}                  // RFC 8410, section 3
	oidMLDSA44 = asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 3, 17} // RFC 9881, section 2
	oidMLDSA65 = asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 3, 18} // RFC 9881, section 2
	oidMLDSA87 = asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 3, 19} // RFC 9881, section 2
	oidSHA256  = asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 1}  // RFC 4055, section 2.1
	oidSHA384  = asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 2}  // RFC 4055, section 2.1
	oidSHA512  = asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 3}  // RFC 4055, section 2.1
	// P-224, P-256, P-384 and P-521: RFC 5480, section 2.1.1.1.
	oidCurves = []asn1.ObjectIdentifier{
		{1, 3, 132, 0, 33}, {1, 2, 840, 10045, 3, 1, 7}, {1, 3, 132, 0, 34}, {1, 3, 132, 0, 35},
	}
)

// ParsePublicKey parses a SubjectPublicKeyInfo in DER. Keys that crypto/x509 knows come
// back as its types, others as the types of this package. An unknown algorithm is
// ErrNotSupported.
func ParsePublicKey(spki []byte) (crypto.PublicKey, error) {
	var info struct {
		Algorithm pkix.AlgorithmIdentifier
		Key       asn1.BitString
	}
	if rest, err := asn1.Unmarshal(spki, &info); err != nil {
		return nil, badCertificate("peer's public key is not DER: %v", err)
	} else if len(rest) > 0 {
		return nil, badCertificate("peer's public key has %d bytes after its end", len(rest))
	}
	key := info.Key.RightAlign()
	switch oid := info.Algorithm.Algorithm; {
	case oid.Equal(oidPSS):
		return parsePSS(info.Algorithm.Parameters.FullBytes, key)
	case oid.Equal(oidEd448):
		if len(key) != ed448.PublicKeySize {
			return nil, badCertificate("peer's Ed448 key has %d bytes", len(key))
		}
		return Ed448PublicKey(key), nil
	case oid.Equal(oidMLDSA44):
		return newMLDSA[mldsa44.PublicKey](shakedown.MLDSA44, key, mldsa44.Verify)
	case oid.Equal(oidMLDSA65):
		return newMLDSA[mldsa65.PublicKey](shakedown.MLDSA65, key, mldsa65.Verify)
	case oid.Equal(oidMLDSA87):
		return newMLDSA[mldsa87.PublicKey](shakedown.MLDSA87, key, mldsa87.Verify)
	}
	if !parsedByX509(info.Algorithm) {
		return nil, fmt.Errorf("public key algorithm %v: %w", info.Algorithm.Algorithm, ErrNotSupported)
	}
	pub, err := x509.ParsePKIXPublicKey(spki)
	if err != nil {
		return nil, badCertificate("peer's public key: %v", err)
	}
	return pub, nil
}

// parsedByX509 reports whether a key that crypto/x509 refuses is malformed, and not
// only of a kind that it does not know.
func parsedByX509(algorithm pkix.AlgorithmIdentifier) bool {
	oid := algorithm.Algorithm
	if !oid.Equal(oidECDSA) {
		return oid.Equal(oidRSA) || oid.Equal(oidEd25519)
	}
	var curve asn1.ObjectIdentifier
	if rest, err := asn1.Unmarshal(algorithm.Parameters.FullBytes, &curve); err != nil || len(rest) > 0 {
		return true
	}
	return slices.ContainsFunc(oidCurves, curve.Equal)
}

// newMLDSA makes a key whose verification is bound to the parsed form, P.
func newMLDSA[P any, PP interface {
	*P
	UnmarshalBinary([]byte) error
}](scheme shakedown.SignatureScheme, key []byte, verify func(key PP, message, context, sig []byte) bool) (crypto.PublicKey, error) {
	parsed := PP(new(P))
	if err := parsed.UnmarshalBinary(key); err != nil {
		return nil, badCertificate("peer's %v key: %v", scheme, err)
	}
	return &MLDSAPublicKey{scheme, key, func(message, sig []byte) bool {
		return verify(parsed, message, nil, sig) // no context: draft-ietf-tls-mldsa
	}}, nil
}

// parsePSS parses a key of id-RSASSA-PSS and its RSASSA-PSS-params, of which only the
// hash matters: TLS fixes the rest (RFC 8446, section 4.2.3).
func parsePSS(params, key []byte) (crypto.PublicKey, error) {
	rsaKey, err := x509.ParsePKCS1PublicKey(key)
	if err != nil {
		return nil, badCertificate("peer's RSA-PSS key: %v", err)
	}
	pub := &PSSPublicKey{Key: rsaKey}
	if len(params) == 0 {
		return pub, nil
	}
	s := cryptobyte.String(params)
	var seq, field, algorithm cryptobyte.String
	var present bool
	var oid asn1.ObjectIdentifier
	if !s.ReadASN1(&seq, cbasn1.SEQUENCE) ||
		!seq.ReadOptionalASN1(&field, &present, cbasn1.Tag(0).ContextSpecific().Constructed()) {
		return nil, badCertificate("peer's RSA-PSS key has malformed parameters")
	}
	if !present {
		pub.Hash = crypto.SHA1 // the default of RFC 4055, section 3.1
		return pub, nil
	}
	if !field.ReadASN1(&algorithm, cbasn1.SEQUENCE) || !algorithm.ReadASN1ObjectIdentifier(&oid) {
		return nil, badCertificate("peer's RSA-PSS key has malformed parameters")
	}
	switch {
	case oid.Equal(oidSHA256):
		pub.Hash = crypto.SHA256
	case oid.Equal(oidSHA384):
		pub.Hash = crypto.SHA384
	case oid.Equal(oidSHA512):
		pub.Hash = crypto.SHA512
	default:
		return nil, fmt.Errorf("RSA-PSS key bound to hash %v: %w", oid, ErrNotSupported)
	}
	return pub, nil
}

// KeyName returns the name of a public key's algorithm and size, such as "RSA-2048",
// "RSA-PSS-2048", "ECDSA-P256", "Ed25519", "Ed448" or "ML-DSA-65".
func KeyName(pub crypto.PublicKey) string {
	switch k := pub.(type) {
	case *rsa.PublicKey:
		return fmt.Sprintf("RSA-%d", k.N.BitLen())
	case *PSSPublicKey:
		return fmt.Sprintf("RSA-PSS-%d", k.Key.N.BitLen())
	case *ecdsa.PublicKey:
		return "ECDSA-" + strings.ReplaceAll(k.Curve.Params().Name, "-", "")
	case ed25519.PublicKey:
		return "Ed25519"
	case Ed448PublicKey:
		return "Ed448"
	case *MLDSAPublicKey:
		switch k.Scheme {
		case shakedown.MLDSA44:
			return "ML-DSA-44"
		case shakedown.MLDSA65:
			return "ML-DSA-65"
		case shakedown.MLDSA87:
			return "ML-DSA-87"
		}
	}
	return "unknown"
}

// badCertificate returns an error that deserves the alert bad_certificate.
func badCertificate(format string, args ...any) error {
	return &alertError{shakedown.AlertBadCertificate, fmt.Sprintf(format, args...)}
}
