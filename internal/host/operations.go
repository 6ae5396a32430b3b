package host

import (
	"context"
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/mlkem"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"errors"
	"fmt"
)

// An Operation is something a TLS server does for each handshake or record.
type Operation struct {
	Name, Work string // Work says what counts as one
	Bytes      int    // of data in each, where throughput counts; else 0
	// Prepare makes what one thread needs, apart from keys that are shared, and
	// returns a function that carries out the operation once.
	Prepare func() (func() error, error)
}

// recordSize is the largest TLS record's content in bytes (RFC 8446, 5.1).
const recordSize = 16384

const (
	aSignature = "one signature of 32 bytes"
	aCheck     = "one signature of 32 bytes verified"
	anExchange = "one key pair made and one shared secret computed"
	aRecord    = "one record of 16,384 bytes sealed"
)

// standard returns the operations the standard library offers. ChaCha20-Poly1305
// is not among them: it is found only within crypto/tls. Finding the
// primes of the RSA keys takes from a tenth of a second to several.
func standard(ctx context.Context) ([]Operation, error) {
	var all []Operation
	for _, bits := range []int{2048, 3072, 4096} {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("host: make keys: %w", ctx.Err())
		}
		key, err := rsa.GenerateKey(rand.Reader, bits)
		if err != nil {
			return nil, fmt.Errorf("host: make RSA key: %w", err)
		}
		// TLS 1.3 signs with PSS and a salt as long as the digest (RFC 8446, 4.2.3).
		pss := &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash, Hash: crypto.SHA256}
		name := fmt.Sprintf("rsa-%d", bits)
		all = append(all, Signing(name+" sign", key, pss), Verifying(name+" verify", key, pss, func(digest, sig []byte) error {
			return rsa.VerifyPSS(&key.PublicKey, crypto.SHA256, digest, sig, pss)
		}))
	}
	for _, curve := range []elliptic.Curve{elliptic.P256(), elliptic.P384()} {
		key, err := ecdsa.GenerateKey(curve, rand.Reader)
		if err != nil {
			return nil, fmt.Errorf("host: make ECDSA key: %w", err)
		}
		name := fmt.Sprintf("ecdsa-p%d", curve.Params().BitSize)
		all = append(all, Signing(name+" sign", key, crypto.SHA256), Verifying(name+" verify", key, crypto.SHA256, func(digest, sig []byte) error {
			return held(ecdsa.VerifyASN1(&key.PublicKey, digest, sig))
		}))
	}
	public, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("host: make Ed25519 key: %w", err)
	}
	all = append(all, Signing("ed25519 sign", key, crypto.Hash(0)), Verifying("ed25519 verify", key, crypto.Hash(0), func(message, sig []byte) error {
		return held(ed25519.Verify(public, message, sig))
	}))

	encapsulation, err := encapsulating()
	if err != nil {
		return nil, err
	}
	return append(all,
		exchanging("x25519 exchange", ecdh.X25519()),
		exchanging("p256 exchange", ecdh.P256()),
		exchanging("p384 exchange", ecdh.P384()),
		encapsulation,
		Sealing("aes-128-gcm seal", 16, newGCM),
		Sealing("aes-256-gcm seal", 32, newGCM),
	), nil
}

func newGCM(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// errVerify: a signature made here does not verify here.
var errVerify = errors.New("its own signature does not verify")

func held(ok bool) error {
	if !ok {
		return errVerify
	}
	return nil
}

// Signing is the operation of signing a SHA-256 digest. Options crypto.Hash(0)
// are for keys that sign the message itself, as Ed25519 does; it is as long as
// a digest.
func Signing(name string, key crypto.Signer, opts crypto.SignerOpts) Operation {
	digest := sha256.Sum256([]byte(name))
	return Operation{Name: name, Work: aSignature, Prepare: func() (func() error, error) {
		return func() error {
			_, err := key.Sign(rand.Reader, digest[:], opts)
			return err
		}, nil
	}}
}

// Verifying is the operation of verifying a signature that the key made, as for
// Signing.
func Verifying(name string, key crypto.Signer, opts crypto.SignerOpts, verify func(digest, sig []byte) error) Operation {
	digest := sha256.Sum256([]byte(name))
	return Operation{Name: name, Work: aCheck, Prepare: func() (func() error, error) {
		sig, err := key.Sign(rand.Reader, digest[:], opts)
		if err != nil {
			return nil, err
		}
		return func() error { return verify(digest[:], sig) }, nil
	}}
}

// exchanging does what a server does: it makes its own key pair and meets the
// client's share.
func exchanging(name string, curve ecdh.Curve) Operation {
	return Operation{Name: name, Work: anExchange, Prepare: func() (func() error, error) {
		peer, err := curve.GenerateKey(rand.Reader)
		if err != nil {
			return nil, err
		}
		share := peer.PublicKey()
		return func() error {
			own, err := curve.GenerateKey(rand.Reader)
			if err != nil {
				return err
			}
			_, err = own.ECDH(share)
			return err
		}, nil
	}}
}

// encapsulating does what a server does with a client's key: parse it, check it
// and encapsulate a secret to it (draft-ietf-tls-ecdhe-mlkem, 4.2).
func encapsulating() (Operation, error) {
	peer, err := mlkem.GenerateKey768()
	if err != nil {
		return Operation{}, fmt.Errorf("host: make ML-KEM key: %w", err)
	}
	share := peer.EncapsulationKey().Bytes()
	return Operation{Name: "mlkem768 encapsulate", Work: "one key parsed and one secret encapsulated to it", Prepare: func() (func() error, error) {
		return func() error {
			key, err := mlkem.NewEncapsulationKey768(share)
			if err != nil {
				return err
			}
			key.Encapsulate()
			return nil
		}, nil
	}}, nil
}

// Sealing is the operation of encrypting one full record with an AEAD whose key
// has keySize bytes.
func Sealing(name string, keySize int, newAEAD func(key []byte) (cipher.AEAD, error)) Operation {
	return Operation{Name: name, Work: aRecord, Bytes: recordSize, Prepare: func() (func() error, error) {
		key := make([]byte, keySize)
		if _, err := rand.Read(key); err != nil {
			return nil, err
		}
		aead, err := newAEAD(key)
		if err != nil {
			return nil, err
		}
		nonce := make([]byte, aead.NonceSize())
		record := make([]byte, recordSize, recordSize+aead.Overhead())
		return func() error {
			// The nonce stays: the result is thrown away and never sent.
			aead.Seal(record[:0], nonce, record, nil)
			return nil
		}, nil
	}}
}
