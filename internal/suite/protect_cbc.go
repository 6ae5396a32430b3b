package suite

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/binary"
	"hash"
)

// cbc12 is the record protection of TLS 1.2 with AES-CBC and HMAC, MAC first (RFC
// 5246, section 6.2.3.2) or encryption first (RFC 7366).
//
// The padding is checked without branches, so that it is no padding oracle. The time
// that the MAC takes still depends on the padding's length, which is what Lucky
// Thirteen measures: not from one connection, but from many in which a client
// repeats the same secret to whoever closes them. Shakedown sends no such secret, and
// a check that hides the length would cost more lines than all of this file.
type cbc12 struct {
	block          cipher.Block
	encrypt        cbcMode
	decrypt        cbcMode
	mac            hash.Hash
	encryptThenMAC bool
	seq            sequence
	// These are fields because what is passed to an interface goes to the heap.
	iv     [aes.BlockSize]byte
	header [13]byte
	sum    [maxHashSize]byte
}

// cbcMode is what the CBC modes of crypto/cipher do besides being a BlockMode.
type cbcMode interface {
	cipher.BlockMode
	SetIV(iv []byte)
}

func newCBC(i *Info, macKey, key []byte, encryptThenMAC bool) *cbc12 {
	c := &cbc12{block: aesBlock(key), encryptThenMAC: encryptThenMAC}
	c.encrypt = cipher.NewCBCEncrypter(c.block, c.iv[:]).(cbcMode)
	c.decrypt = cipher.NewCBCDecrypter(c.block, c.iv[:]).(cbcMode)
	switch i.MAC {
	case MACSHA1:
		c.mac = hmac.New(sha1.New, macKey)
	case MACSHA256:
		c.mac = hmac.New(sha256.New, macKey)
	case MACSHA384:
		c.mac = hmac.New(sha512.New384, macKey)
	}
	return c
}

// Overhead implements [Protection].
func (c *cbc12) Overhead() int { return headerSize + 2*aes.BlockSize + c.mac.Size() }

// Seal implements [Protection].
func (c *cbc12) Seal(dst []byte, typ uint8, plaintext []byte) []byte {
	return pieces(dst, plaintext, func(dst, piece []byte) []byte {
		n, err := c.seq.take()
		if err != nil {
			return dst // see aead13.Seal
		}
		start := len(dst)
		dst = appendHeader(dst, typ, 0) // its length is filled in below
		c.setIV(n)
		dst = append(dst, c.iv[:]...)
		body := len(dst)
		dst = append(dst, piece...)
		if !c.encryptThenMAC {
			dst = append(dst, c.tag(n, dst[start:], piece)...)
		}
		pad := aes.BlockSize - (len(dst)-body)%aes.BlockSize // with the length byte
		for range pad {
			dst = append(dst, uint8(pad-1))
		}
		c.encrypt.SetIV(c.iv[:])
		c.encrypt.CryptBlocks(dst[body:], dst[body:])
		if c.encryptThenMAC {
			dst = append(dst, c.tag(n, dst[start:], dst[start+headerSize:])...)
		}
		binary.BigEndian.PutUint16(dst[start+3:], uint16(len(dst)-start-headerSize))
		return dst
	})
}

// Open implements [Protection].
func (c *cbc12) Open(record []byte) (typ uint8, plaintext []byte, err error) {
	if err := checkHeader(record, maxCiphertext12); err != nil {
		return 0, nil, err
	}
	n, err := c.seq.take()
	if err != nil {
		return 0, nil, err
	}
	typ = record[0]
	body := record[headerSize:]
	if c.encryptThenMAC {
		end := len(body) - c.mac.Size()
		if end < 0 || !hmac.Equal(body[end:], c.tag(n, record, body[:end])) {
			return 0, nil, ErrBadRecordMAC
		}
		body = body[:end]
	}
	// IV, and at least one block of which the last byte is padding.
	if len(body) < 2*aes.BlockSize || len(body)%aes.BlockSize != 0 {
		return 0, nil, ErrBadRecordMAC
	}
	c.decrypt.SetIV(body[:aes.BlockSize])
	body = body[aes.BlockSize:]
	c.decrypt.CryptBlocks(body, body)

	pad, good := padding(body)
	end := len(body) - pad
	if c.encryptThenMAC {
		if good != 1 {
			return 0, nil, ErrBadRecordMAC
		}
		plaintext = body[:end]
	} else {
		end -= c.mac.Size()
		if end < 0 {
			return 0, nil, ErrBadRecordMAC
		}
		plaintext = body[:end]
		tag := body[end : end+c.mac.Size()]
		// One error for both, so that they cannot be told apart (RFC 5246, 6.2.3.2).
		if subtle.ConstantTimeCompare(tag, c.tag(n, record, plaintext))&good != 1 {
			return 0, nil, ErrBadRecordMAC
		}
	}
	if len(plaintext) > MaxPlaintext {
		return 0, nil, ErrRecordOverflow
	}
	return typ, plaintext, nil
}

// padding returns how many bytes at the end of body are padding, its length byte
// included, and 1 if all of them are as they must be. Bad padding counts as one byte,
// so that the MAC is computed all the same.
func padding(body []byte) (length, good int) {
	last := int(body[len(body)-1])
	good = subtle.ConstantTimeLessOrEq(last+1, len(body))
	for i := range min(256, len(body)) {
		isPadding := subtle.ConstantTimeLessOrEq(i, last)
		same := subtle.ConstantTimeByteEq(body[len(body)-1-i], uint8(last))
		good &= subtle.ConstantTimeSelect(isPadding, same, 1)
	}
	return subtle.ConstantTimeSelect(good, last+1, 1), good
}

// tag returns the MAC of a record's content, with type and version as the record has
// them; it is valid until the next call.
func (c *cbc12) tag(n uint64, record, content []byte) []byte {
	binary.BigEndian.PutUint64(c.header[:], n)
	copy(c.header[8:11], record)
	binary.BigEndian.PutUint16(c.header[11:], uint16(len(content)))
	c.mac.Reset()
	c.mac.Write(c.header[:])
	c.mac.Write(content)
	return c.mac.Sum(c.sum[:0])
}

// setIV sets the IV of record n to the number encrypted with the record key. It must
// be unpredictable, and this is the first of the two ways that NIST SP 800-38A,
// appendix C, gives; unlike the second, random bytes, it can be replayed.
func (c *cbc12) setIV(n uint64) {
	clear(c.iv[:])
	binary.BigEndian.PutUint64(c.iv[:], n)
	c.block.Encrypt(c.iv[:], c.iv[:])
}
