package suite

import (
	"crypto/cipher"
	"encoding/binary"
)

// aead13 is the record protection of TLS 1.3 (RFC 8446, section 5.2).
type aead13 struct {
	aead cipher.AEAD
	seq  sequence
	iv   [12]byte
	// nonce is a field because what is passed to an interface goes to the heap.
	nonce [12]byte
}

// Protection13 returns the protection of the direction that s is the secret of
// (RFC 8446, section 7.3).
func (i *Info) Protection13(s TrafficSecret) Protection {
	p := new(aead13)
	kdf := s.s.kdf
	var key [32]byte
	kdf.expand(key[:i.KeyLength], s.s.slice(), "key", nil)
	kdf.expand(p.iv[:], s.s.slice(), "iv", nil)
	p.aead = i.aead(key[:i.KeyLength])
	return p
}

// Overhead implements [Protection].
func (p *aead13) Overhead() int { return headerSize + 1 + p.aead.Overhead() }

// Seal implements [Protection]. It adds no padding.
func (p *aead13) Seal(dst []byte, typ uint8, plaintext []byte) []byte {
	return pieces(dst, plaintext, func(dst, piece []byte) []byte {
		start := len(dst)
		dst = appendHeader(dst, typeApplicationData, len(piece)+1+p.aead.Overhead())
		body := len(dst)
		dst = append(dst, piece...)
		dst = append(dst, typ)
		if p.setNonce() != nil {
			// 2^64 records sent: more than a connection of centuries. Sending
			// nothing is better than sending under a nonce used before.
			return dst[:start]
		}
		return p.aead.Seal(dst[:body], p.nonce[:], dst[body:], dst[start:body])
	})
}

// Open implements [Protection].
func (p *aead13) Open(record []byte) (typ uint8, plaintext []byte, err error) {
	if err := checkHeader(record, maxCiphertext13); err != nil {
		return 0, nil, err
	}
	if err := p.setNonce(); err != nil {
		return 0, nil, err
	}
	body := record[headerSize:]
	inner, err := p.aead.Open(body[:0], p.nonce[:], body, record[:headerSize])
	if err != nil {
		return 0, nil, ErrBadRecordMAC
	}
	if len(inner) > MaxPlaintext+1 {
		return 0, nil, ErrRecordOverflow
	}
	// The content type is the last byte that is not padding (section 5.4).
	end := len(inner)
	for end > 0 && inner[end-1] == 0 {
		end--
	}
	if end == 0 {
		return 0, nil, ErrNoContentType
	}
	typ, plaintext = inner[end-1], inner[:end-1]
	if len(plaintext) == 0 && (typ == typeHandshake || typ == typeAlert) {
		return 0, nil, ErrEmptyContent
	}
	return typ, plaintext, nil
}

// setNonce sets the nonce of the coming record (section 5.3).
func (p *aead13) setNonce() error {
	n, err := p.seq.take()
	if err != nil {
		return err
	}
	p.nonce = p.iv
	low := binary.BigEndian.Uint64(p.iv[4:])
	binary.BigEndian.PutUint64(p.nonce[4:], low^n)
	return nil
}
