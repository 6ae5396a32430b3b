package suite

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"

	gmcipher "github.com/emmansun/gmsm/cipher"
	"golang.org/x/crypto/chacha20poly1305"

	"shakedown"
)

// Protection seals or opens the records of one direction under one set of keys. It
// counts them itself.
type Protection interface {
	// Seal appends plaintext to dst as one whole record of the content type, header
	// included. More than MaxPlaintext bytes become as many records as they need.
	Seal(dst []byte, typ uint8, plaintext []byte) []byte
	// Open decrypts one whole record, header included, in place and returns its
	// content type and its plaintext, which lies within record. After an error the
	// record's bytes are lost, and the connection with them.
	Open(record []byte) (typ uint8, plaintext []byte, err error)
	// Overhead returns the most bytes by which a record, header included, is
	// longer than its plaintext.
	Overhead() int
}

// Lengths of records in bytes (RFC 8446, section 5; RFC 5246, section 6.2).
const (
	MaxPlaintext = 1 << 14

	headerSize      = 5
	maxCiphertext13 = MaxPlaintext + 256
	maxCiphertext12 = MaxPlaintext + 2048
)

// Content types that this package must know (RFC 8446, section 5.1).
const (
	typeAlert           = 21
	typeHandshake       = 22
	typeApplicationData = 23
)

// sequence counts the records of one direction.
type sequence struct {
	next uint64
	used bool // all 2^64 numbers are
}

// take returns the number of the coming record.
func (s *sequence) take() (uint64, error) {
	if s.used {
		return 0, ErrSequenceOverflow
	}
	n := s.next
	s.next++
	s.used = s.next == 0
	return n, nil
}

// appendHeader appends a record header with the version of TLS 1.2, which is the
// legacy_record_version of TLS 1.3 too.
func appendHeader(dst []byte, typ uint8, length int) []byte {
	return append(dst, typ, uint8(shakedown.TLS12>>8), uint8(shakedown.TLS12&0xFF), uint8(length>>8), uint8(length))
}

// checkHeader reports a record that is not as long as its header says or longer than
// the version allows.
func checkHeader(record []byte, most int) error {
	if len(record) < headerSize || int(binary.BigEndian.Uint16(record[3:])) != len(record)-headerSize {
		return ErrRecordLength
	}
	if len(record)-headerSize > most {
		return ErrRecordOverflow
	}
	return nil
}

// pieces calls seal for each part of plaintext that fits in a record, at least once.
func pieces(dst, plaintext []byte, seal func(dst, piece []byte) []byte) []byte {
	for len(plaintext) > MaxPlaintext {
		dst = seal(dst, plaintext[:MaxPlaintext])
		plaintext = plaintext[MaxPlaintext:]
	}
	return seal(dst, plaintext)
}

// aead returns the suite's AEAD. The key has the length that the table of suites
// tells, so none of the constructors can fail.
func (i *Info) aead(key []byte) cipher.AEAD {
	var a cipher.AEAD
	var err error
	switch i.Cipher {
	case CipherAESGCM:
		a, err = cipher.NewGCM(aesBlock(key))
	case CipherAESCCM, CipherAESCCM8:
		tag := 16
		if i.Cipher == CipherAESCCM8 {
			tag = 8
		}
		a, err = gmcipher.NewCCMWithTagSize(aesBlock(key), tag)
		a = &ccmAEAD{AEAD: a}
	case CipherChaCha20Poly1305:
		a, err = chacha20poly1305.New(key)
	}
	if err != nil {
		panic("suite: " + i.ID.String() + ": " + err.Error())
	}
	return a
}

func aesBlock(key []byte) cipher.Block {
	b, err := aes.NewCipher(key)
	if err != nil {
		panic("suite: " + err.Error())
	}
	return b
}

// ccmAEAD is gmsm's CCM, made to seal in place: it encrypts the plaintext before it
// authenticates it, so that when both lie in one place it authenticates the ciphertext.
type ccmAEAD struct {
	cipher.AEAD
	plaintext []byte
}

// Seal implements [cipher.AEAD].
func (c *ccmAEAD) Seal(dst, nonce, plaintext, additional []byte) []byte {
	c.plaintext = append(c.plaintext[:0], plaintext...)
	return c.AEAD.Seal(dst, nonce, c.plaintext, additional)
}
