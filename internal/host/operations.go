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
	"fmt"
)

// An Operation is something a TLS server does for each handshake or record.
type Operation struct {
	Name, Work string // Work says what counts as one
	// Prepare makes what one thread needs, apart from keys that are shared, and
	// returns a function that carries out the operation once.
	Prepare func() (func() error, error)
}

// recordSize is the largest TLS record's content in bytes (RFC 8446, 5.1).
const recordSize = 16384

const (
	aSignature = "one signature of a SHA-256 digest"
	anExchange = "one key pair made and one shared secret computed"
	aRecord    = "one record of 16,384 bytes sealed"
)

// standard returns the operations the standard library offers. ChaCha20-Poly1305
// is not among them: it has that only within crypto/tls. Finding the
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
		all = append(all, Signing(fmt.Sprintf("rsa-%d sign", bits), key, pss))
	}
	for _, curve := range []elliptic.Curve{elliptic.P256(), elliptic.P384()} {
		key, err := ecdsa.GenerateKey(curve, rand.Reader)
		if err != nil {
			return nil, fmt.Errorf("host: make ECDSA key: %w", err)
		}
		all = append(all, Signing(fmt.Sprintf("ecdsa-p%d sign", curve.Params().BitSize), key, crypto.SHA256))
	}
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("host: make Ed25519 key: %w", err)
	}
	all = append(all, Signing("ed25519 sign", key, crypto.Hash(0)))

	encapsulation, err := encapsulating()
	if err != nil {
		return nil, err
	}
	return append(all,
		exchanging("x25519 exchange", ecdh.X25519()),
		exchanging("p256 exchange", ecdh.P256()),
		encapsulation,
		Sealing("aes-128-gcm seal", 16, func(key []byte) (cipher.AEAD, error) {
			block, err := aes.NewCipher(key)
			if err != nil {
				return nil, err
			}
			return cipher.NewGCM(block)
		}),
	), nil
}

// Signing is the operation of signing a SHA-256 digest. Options crypto.Hash(0)
// are for keys that sign the message itself, as Ed25519 does; it is as long as
// a digest.
func Signing(name string, key crypto.Signer, opts crypto.SignerOpts) Operation {
	digest := sha256.Sum256([]byte(name))
	return Operation{name, aSignature, func() (func() error, error) {
		return func() error {
			_, err := key.Sign(rand.Reader, digest[:], opts)
			return err
		}, nil
	}}
}

// exchanging does what a server does: it makes its own key pair and meets the
// client's share.
func exchanging(name string, curve ecdh.Curve) Operation {
	return Operation{name, anExchange, func() (func() error, error) {
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
	return Operation{"mlkem768 encapsulate", "one key parsed and one secret encapsulated to it", func() (func() error, error) {
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
	return Operation{name, aRecord, func() (func() error, error) {
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
