package suite

import (
	"crypto/cipher"
	"encoding/binary"
)

// aead12 is the record protection of TLS 1.2 with an AEAD (RFC 5246, section
// 6.2.3.3). AES-GCM (RFC 5288, section 3) and AES-CCM (RFC 6655, section 3) send half
// of their nonce in the record; ChaCha20-Poly1305 (RFC 7905, section 2) makes its
// nonce as TLS 1.3 does.
type aead12 struct {
	aead     cipher.AEAD
	seq      sequence
	explicit int // bytes of the nonce that are sent: 8 or 0
	iv       [12]byte
	// nonce and additional are fields because what is passed to an interface goes
	// to the heap.
	nonce      [12]byte
	additional [13]byte
}

// explicitNonce is the length of the nonce part in a GCM or CCM record, in bytes.
const explicitNonce = 8

// ivLength12 returns the length of the IV in the key block, in bytes.
func (i *Info) ivLength12() int {
	switch i.Cipher {
	case CipherAESGCM, CipherAESCCM, CipherAESCCM8:
		return 12 - explicitNonce
	case CipherChaCha20Poly1305:
		return 12
	}
	return 0 // CBC: every record brings its own
}

// Protections12 returns the protections of both directions of a TLS 1.2 connection.
// The keys are taken from the session's key block (RFC 5246, section 6.3).
// encryptThenMAC (RFC 7366) concerns CBC suites alone.
func (i *Info) Protections12(m Master12, clientRandom, serverRandom []byte, encryptThenMAC bool) (client, server Protection) {
	const most = 2 * (48 + 32 + 16) // MAC key, key, IV
	var storage [most]byte
	mac, key, iv := i.MAC.Size(), i.KeyLength, i.ivLength12()
	block := storage[:2*(mac+key+iv)]
	m.KeyBlock(block, clientRandom, serverRandom)
	cut := func(n int) (client, server []byte) {
		client, server, block = block[:n], block[n:2*n], block[2*n:]
		return client, server
	}
	clientMAC, serverMAC := cut(mac)
	clientKey, serverKey := cut(key)
	clientIV, serverIV := cut(iv)
	if i.Cipher == CipherAESCBC {
		return newCBC(i, clientMAC, clientKey, encryptThenMAC), newCBC(i, serverMAC, serverKey, encryptThenMAC)
	}
	return newAEAD12(i, clientKey, clientIV), newAEAD12(i, serverKey, serverIV)
}

func newAEAD12(i *Info, key, iv []byte) *aead12 {
	p := &aead12{aead: i.aead(key), explicit: 12 - len(iv)}
	copy(p.iv[:], iv)
	return p
}

// Overhead implements [Protection].
func (p *aead12) Overhead() int { return headerSize + p.explicit + p.aead.Overhead() }

// Seal implements [Protection].
func (p *aead12) Seal(dst []byte, typ uint8, plaintext []byte) []byte {
	return pieces(dst, plaintext, func(dst, piece []byte) []byte {
		n, err := p.seq.take()
		if err != nil {
			return dst // see aead13.Seal
		}
		header := len(dst)
		dst = appendHeader(dst, typ, p.explicit+len(piece)+p.aead.Overhead())
		if p.explicit > 0 {
			// The sequence number never repeats, and costs no random bytes.
			dst = binary.BigEndian.AppendUint64(dst, n)
		}
		p.setNonce(n, dst[len(dst)-p.explicit:])
		p.setAdditional(n, dst[header:], len(piece))
		body := len(dst)
		dst = append(dst, piece...)
		return p.aead.Seal(dst[:body], p.nonce[:], dst[body:], p.additional[:])
	})
}

// Open implements [Protection].
func (p *aead12) Open(record []byte) (typ uint8, plaintext []byte, err error) {
	if err := checkHeader(record, maxCiphertext12); err != nil {
		return 0, nil, err
	}
	n, err := p.seq.take()
	if err != nil {
		return 0, nil, err
	}
	body := record[headerSize:]
	length := len(body) - p.explicit - p.aead.Overhead()
	if length < 0 {
		return 0, nil, ErrBadRecordMAC
	}
	p.setNonce(n, body[:p.explicit])
	p.setAdditional(n, record, length)
	body = body[p.explicit:]
	plaintext, err = p.aead.Open(body[:0], p.nonce[:], body, p.additional[:])
	if err != nil {
		return 0, nil, ErrBadRecordMAC
	}
	if len(plaintext) > MaxPlaintext {
		return 0, nil, ErrRecordOverflow
	}
	return record[0], plaintext, nil
}

// setNonce sets the nonce of record n: the IV followed by the explicit part or, when
// there is none, the IV with the number added to its end.
func (p *aead12) setNonce(n uint64, explicit []byte) {
	p.nonce = p.iv
	if copy(p.nonce[4:], explicit) == 0 {
		low := binary.BigEndian.Uint64(p.iv[4:])
		binary.BigEndian.PutUint64(p.nonce[4:], low^n)
	}
}

// setAdditional sets what the AEAD authenticates besides the plaintext, whose length
// is in bytes: the number, and type and version as the record has them.
func (p *aead12) setAdditional(n uint64, record []byte, length int) {
	binary.BigEndian.PutUint64(p.additional[:], n)
	copy(p.additional[8:11], record)
	binary.BigEndian.PutUint16(p.additional[11:], uint16(length))
}
