package suite

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"testing"
)

func TestSM2(t *testing.T) {
	key, err := GenerateSM2(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	message := []byte("what is signed")
	sig, err := key.Sign(rand.Reader, message, crypto.Hash(0))
	if err != nil {
		t.Fatal(err)
	}
	if err := VerifySM2(key.Public(), message, sig); err != nil {
		t.Errorf("a good signature: %v", err)
	}
	if err := VerifySM2(key.Public(), []byte("something else"), sig); !errors.Is(err, ErrBadSignature) {
		t.Errorf("a signature of another message: %v", err)
	}
	if err := VerifySM2(nil, message, sig); !errors.Is(err, ErrNotSupported) {
		t.Errorf("no key: %v", err)
	}
}

// The example of RFC 8439, section 2.8.2.
func TestChaCha20Poly1305(t *testing.T) {
	key := make([]byte, 32)
	for i := range key {
		key[i] = byte(0x80 + i)
	}
	aead, err := NewChaCha20Poly1305(key)
	if err != nil {
		t.Fatal(err)
	}
	nonce := []byte{7, 0, 0, 0, 0x40, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47}
	additional := []byte{0x50, 0x51, 0x52, 0x53, 0xC0, 0xC1, 0xC2, 0xC3, 0xC4, 0xC5, 0xC6, 0xC7}
	text := "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would be it."
	sealed := aead.Seal(nil, nonce, []byte(text), additional)
	tag, err := hex.DecodeString("1ae10b594f09e26a7e902ecbd0600691")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(sealed, []byte{0xD3, 0x1A, 0x8D, 0x34}) || !bytes.HasSuffix(sealed, tag) {
		t.Errorf("sealed as %x", sealed)
	}
	if _, err := NewChaCha20Poly1305(key[:31]); err == nil {
		t.Error("a key of 31 bytes was taken")
	}
}
