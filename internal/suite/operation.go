package suite

import (
	"crypto"
	"crypto/cipher"
	"crypto/ecdsa"
	"fmt"
	"io"

	"github.com/emmansun/gmsm/sm2"
	"golang.org/x/crypto/chacha20poly1305"
)

// What follows is for those who measure a machine: the algorithms that the
// standard library does not have, by themselves.

// NewChaCha20Poly1305 returns the AEAD of RFC 8439 for a key of 32 bytes.
func NewChaCha20Poly1305(key []byte) (cipher.AEAD, error) {
	aead, err := chacha20poly1305.New(key)
	if err != nil {
		return nil, fmt.Errorf("suite: %w", err)
	}
	return aead, nil
}

// SM2 is a key of the Chinese signature algorithm (GB/T 32918.2-2016; RFC 8998,
// section 3.2.1).
type SM2 struct{ key *sm2.PrivateKey }

// GenerateSM2 makes a key.
func GenerateSM2(random io.Reader) (SM2, error) {
	key, err := sm2.GenerateKey(random)
	if err != nil {
		return SM2{}, fmt.Errorf("suite: make SM2 key: %w", err)
	}
	return SM2{key}, nil
}

// sm2ID is the signer's identifier in TLS 1.3 (RFC 8998, section 3.2.1).
var sm2ID = []byte("TLSv1.3+GM+Cipher+Suite")

// Public implements [crypto.Signer].
func (k SM2) Public() crypto.PublicKey { return &k.key.PublicKey }

// Sign implements [crypto.Signer]. It signs the message itself, which it hashes
// with SM3 together with signer and key.
func (k SM2) Sign(random io.Reader, message []byte, _ crypto.SignerOpts) ([]byte, error) {
	sig, err := k.key.SignWithSM2(random, sm2ID, message)
	if err != nil {
		return nil, fmt.Errorf("suite: sign with SM2: %w", err)
	}
	return sig, nil
}

// VerifySM2 checks a signature over message. A wrong one is ErrBadSignature.
func VerifySM2(public crypto.PublicKey, message, sig []byte) error {
	key, ok := public.(*ecdsa.PublicKey)
	if !ok {
		return fmt.Errorf("SM2 key of type %T: %w", public, ErrNotSupported)
	}
	if !sm2.VerifyASN1WithSM2(key, sm2ID, message, sig) {
		return fmt.Errorf("SM2: %w", ErrBadSignature)
	}
	return nil
}
