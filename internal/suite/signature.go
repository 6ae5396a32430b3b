package suite

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/md5"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"errors"
	"fmt"
	"io"

	"github.com/cloudflare/circl/sign/ed448"

	"shakedown"
)

// The context strings of CertificateVerify (RFC 8446, section 4.4.3).
const (
	ServerContext13 = "TLS 1.3, server CertificateVerify"
	ClientContext13 = "TLS 1.3, client CertificateVerify"
)

// Content13 appends what a TLS 1.3 CertificateVerify signs to dst: 64 spaces, the
// context, a zero and the transcript hash (RFC 8446, section 4.4.3).
func Content13(dst []byte, context string, transcript []byte) []byte {
	for range 64 {
		dst = append(dst, ' ')
	}
	dst = append(dst, context...)
	dst = append(dst, 0)
	return append(dst, transcript...)
}

// Verify checks a signature over message, which it hashes itself as the scheme tells.
// A wrong signature is ErrBadSignature, a scheme without an implementation is
// ErrNotSupported, a key of another kind than the scheme's is an error of its own.
// Whether the scheme may be used at all is asked of [CheckKey].
func Verify(scheme shakedown.SignatureScheme, pub crypto.PublicKey, message, sig []byte) error {
	a, ok := algorithms[scheme]
	if !ok {
		return fmt.Errorf("signature scheme %v: %w", scheme, ErrNotSupported)
	}
	var err error
	good := true
	switch key := pub.(type) {
	case *rsa.PublicKey:
		switch a.kind {
		case kindPKCS1:
			err = rsa.VerifyPKCS1v15(key, a.hash, a.digest(message), sig)
		case kindPSSRSAE:
			err = rsa.VerifyPSS(key, a.hash, a.digest(message), sig, a.pssOptions())
		default:
			return mismatch(scheme, pub)
		}
	case *PSSPublicKey:
		if a.kind != kindPSSPSS {
			return mismatch(scheme, pub)
		}
		err = rsa.VerifyPSS(key.Key, a.hash, a.digest(message), sig, a.pssOptions())
	case *ecdsa.PublicKey:
		if a.kind != kindECDSA {
			return mismatch(scheme, pub)
		}
		good = ecdsa.VerifyASN1(key, a.digest(message), sig)
	case ed25519.PublicKey:
		if a.kind != kindEd25519 || len(key) != ed25519.PublicKeySize {
			return mismatch(scheme, pub)
		}
		good = ed25519.Verify(key, message, sig)
	case Ed448PublicKey:
		if a.kind != kindEd448 || len(key) != ed448.PublicKeySize {
			return mismatch(scheme, pub)
		}
		good = ed448.Verify(ed448.PublicKey(key), message, sig, "")
	case *MLDSAPublicKey:
		if a.kind != kindMLDSA || key.Scheme != scheme {
			return mismatch(scheme, pub)
		}
		good = key.verify(message, sig)
	default:
		return fmt.Errorf("public key of type %T: %w", pub, ErrNotSupported)
	}
	if err != nil && !errors.Is(err, rsa.ErrVerification) {
		// crypto/rsa does not compute with keys below 1024 bits.
		return fmt.Errorf("%s key: %v: %w", KeyName(pub), err, ErrNotSupported)
	}
	if err != nil || !good {
		return fmt.Errorf("%v with %s key: %w", scheme, KeyName(pub), ErrBadSignature)
	}
	return nil
}

// CheckKey reports whether a peer may sign with this scheme and this key in a
// handshake of the version; the error says why not (RFC 8446, section 4.2.3; RFC
// 5246, section 7.4.1.4.1; RFC 8422, section 5.10).
func CheckKey(scheme shakedown.SignatureScheme, version shakedown.Version, pub crypto.PublicKey) error {
	a, ok := algorithms[scheme]
	if !ok {
		return fmt.Errorf("signature scheme %v: %w", scheme, ErrNotSupported)
	}
	if !version.AtLeast(a.min) || version.AtLeast(a.max+1) {
		return illegal("signature scheme %v is not allowed in %v", scheme, version)
	}
	bits := 0 // of an RSA modulus
	switch key := pub.(type) {
	case *rsa.PublicKey:
		if a.kind != kindPKCS1 && a.kind != kindPSSRSAE {
			return mismatch(scheme, pub)
		}
		bits = key.N.BitLen()
	case *PSSPublicKey:
		if a.kind != kindPSSPSS || key.Hash != 0 && key.Hash != a.hash {
			return mismatch(scheme, pub)
		}
		bits = key.Key.N.BitLen()
	case *ecdsa.PublicKey:
		if a.kind != kindECDSA {
			return mismatch(scheme, pub)
		}
		// TLS 1.3 binds the curve to the scheme; before, it names the hash alone.
		if version.AtLeast(shakedown.TLS13) && key.Curve != a.curve {
			return mismatch(scheme, pub)
		}
	case ed25519.PublicKey:
		if a.kind != kindEd25519 {
			return mismatch(scheme, pub)
		}
	case Ed448PublicKey:
		if a.kind != kindEd448 {
			return mismatch(scheme, pub)
		}
	case *MLDSAPublicKey:
		if a.kind != kindMLDSA || key.Scheme != scheme {
			return mismatch(scheme, pub)
		}
	default:
		return fmt.Errorf("public key of type %T: %w", pub, ErrNotSupported)
	}
	// A PSS signature with a salt as long as the hash takes two hashes and two bytes
	// (RFC 8017, section 9.1.1): more than RSA-1024 has for SHA-512.
	if a.kind == kindPSSRSAE || a.kind == kindPSSPSS {
		if least := 8*(2*a.hash.Size()+2) - 6; bits < least {
			return illegal("%s key is too small for %v", KeyName(pub), scheme)
		}
	}
	return nil
}

// SchemesFor returns the schemes that a key can sign with in a version, most wanted
// first.
func SchemesFor(version shakedown.Version, pub crypto.PublicKey) []shakedown.SignatureScheme {
	var schemes []shakedown.SignatureScheme
	for _, s := range preference {
		if CheckKey(s, version, pub) == nil {
			schemes = append(schemes, s)
		}
	}
	return schemes
}

// Sign signs message, which it hashes itself as the scheme tells.
func Sign(scheme shakedown.SignatureScheme, signer crypto.Signer, rand io.Reader, message []byte) ([]byte, error) {
	a, ok := algorithms[scheme]
	if !ok {
		return nil, fmt.Errorf("signature scheme %v: %w", scheme, ErrNotSupported)
	}
	switch a.kind {
	case kindPSSRSAE, kindPSSPSS:
		return signer.Sign(rand, a.digest(message), a.pssOptions())
	case kindPKCS1, kindECDSA:
		return signer.Sign(rand, a.digest(message), a.hash)
	}
	return signer.Sign(rand, message, crypto.Hash(0)) // these hash by themselves
}

// kind is a signature algorithm without its hash.
type kind uint8

const (
	kindPKCS1 kind = iota + 1
	kindPSSRSAE
	kindPSSPSS
	kindECDSA
	kindEd25519
	kindEd448
	kindMLDSA
)

// algorithm is what a signature scheme means.
type algorithm struct {
	kind     kind
	hash     crypto.Hash    // 0 for those that hash by themselves
	curve    elliptic.Curve // that TLS 1.3 binds to the scheme
	min, max shakedown.Version
}

// v11 is the last version in which the hash was not negotiated.
const v11 = shakedown.TLS11

// algorithms has the schemes that are implemented. SHA-1, SHA-224 and PKCS #1 ended
// with TLS 1.2 in handshake messages (RFC 8446, section 4.2.3), and ML-DSA begins with
// TLS 1.3 (draft-ietf-tls-mldsa).
var algorithms = map[shakedown.SignatureScheme]algorithm{
	shakedown.LegacyRSAMD5SHA1:    {kindPKCS1, crypto.MD5SHA1, nil, v10, v11},
	shakedown.LegacyECDSASHA1Only: {kindECDSA, crypto.SHA1, nil, v10, v11},
	shakedown.RSAPKCS1SHA1:        {kindPKCS1, crypto.SHA1, nil, v12, v12},
	shakedown.RSAPKCS1SHA224:      {kindPKCS1, crypto.SHA224, nil, v12, v12},
	shakedown.RSAPKCS1SHA256:      {kindPKCS1, crypto.SHA256, nil, v12, v12},
	shakedown.RSAPKCS1SHA384:      {kindPKCS1, crypto.SHA384, nil, v12, v12},
	shakedown.RSAPKCS1SHA512:      {kindPKCS1, crypto.SHA512, nil, v12, v12},
	shakedown.ECDSASHA1:           {kindECDSA, crypto.SHA1, nil, v12, v12},
	shakedown.ECDSASHA224:         {kindECDSA, crypto.SHA224, nil, v12, v12},
	shakedown.ECDSASecp256r1:      {kindECDSA, crypto.SHA256, elliptic.P256(), v12, v13},
	shakedown.ECDSASecp384r1:      {kindECDSA, crypto.SHA384, elliptic.P384(), v12, v13},
	shakedown.ECDSASecp521r1:      {kindECDSA, crypto.SHA512, elliptic.P521(), v12, v13},
	shakedown.RSAPSSRSAESHA256:    {kindPSSRSAE, crypto.SHA256, nil, v12, v13},
	shakedown.RSAPSSRSAESHA384:    {kindPSSRSAE, crypto.SHA384, nil, v12, v13},
	shakedown.RSAPSSRSAESHA512:    {kindPSSRSAE, crypto.SHA512, nil, v12, v13},
	shakedown.RSAPSSPSSSHA256:     {kindPSSPSS, crypto.SHA256, nil, v12, v13},
	shakedown.RSAPSSPSSSHA384:     {kindPSSPSS, crypto.SHA384, nil, v12, v13},
	shakedown.RSAPSSPSSSHA512:     {kindPSSPSS, crypto.SHA512, nil, v12, v13},
	shakedown.Ed25519:             {kindEd25519, 0, nil, v12, v13},
	shakedown.Ed448:               {kindEd448, 0, nil, v12, v13},
	shakedown.MLDSA44:             {kindMLDSA, 0, nil, v13, v13},
	shakedown.MLDSA65:             {kindMLDSA, 0, nil, v13, v13},
	shakedown.MLDSA87:             {kindMLDSA, 0, nil, v13, v13},
}

// preference orders the schemes for SchemesFor.
var preference = []shakedown.SignatureScheme{
	shakedown.ECDSASecp256r1, shakedown.ECDSASecp384r1, shakedown.ECDSASecp521r1, shakedown.Ed25519, shakedown.Ed448,
	shakedown.MLDSA44, shakedown.MLDSA65, shakedown.MLDSA87,
	shakedown.RSAPSSPSSSHA256, shakedown.RSAPSSPSSSHA384, shakedown.RSAPSSPSSSHA512,
	shakedown.RSAPSSRSAESHA256, shakedown.RSAPSSRSAESHA384, shakedown.RSAPSSRSAESHA512,
	shakedown.RSAPKCS1SHA256, shakedown.RSAPKCS1SHA384, shakedown.RSAPKCS1SHA512,
	shakedown.ECDSASHA224, shakedown.RSAPKCS1SHA224, shakedown.ECDSASHA1, shakedown.RSAPKCS1SHA1,
	shakedown.LegacyECDSASHA1Only, shakedown.LegacyRSAMD5SHA1,
}

func (a algorithm) pssOptions() *rsa.PSSOptions {
	return &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash, Hash: a.hash}
}

// digest returns the hash of message.
func (a algorithm) digest(message []byte) []byte {
	switch a.hash {
	case crypto.MD5SHA1: // RFC 4346, section 7.4.3
		m, s := md5.Sum(message), sha1.Sum(message)
		return append(m[:], s[:]...)
	case crypto.SHA1:
		d := sha1.Sum(message)
		return d[:]
	case crypto.SHA224:
		d := sha256.Sum224(message)
		return d[:]
	case crypto.SHA256:
		d := sha256.Sum256(message)
		return d[:]
	case crypto.SHA384:
		d := sha512.Sum384(message)
		return d[:]
	}
	d := sha512.Sum512(message)
	return d[:]
}

// mismatch says that a scheme cannot be used with a key.
func mismatch(scheme shakedown.SignatureScheme, pub crypto.PublicKey) error {
	return illegal("peer's %s key cannot sign with %v", KeyName(pub), scheme)
}
