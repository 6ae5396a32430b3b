package suite

import (
	"crypto/subtle"
	"encoding/binary"
)

// KDF derives secrets with one [Hash]: HMAC (RFC 2104), HKDF (RFC 5869) and what
// the key schedules make of them. A handshake calls HMAC some twenty times on
// inputs of a few dozen bytes, and crypto/hkdf allocates ten times in each call. A KDF
// lays key and message out in one buffer of its own and hashes that at once; it
// allocates nothing once it is made.
//
// A KDF is not safe for concurrent use, nor are the secrets made from it. The
// secrets hold their own bytes: any number of handshakes may share a KDF in turn.
type KDF struct {
	hash  Hash
	inner []byte                           // ipad block, then the message
	outer [maxBlockSize + maxHashSize]byte // opad block, then the inner digest
	info  []byte                           // HkdfLabel and the counter 1

	empty [maxHashSize]byte // Hash("")
	zero  [maxHashSize]byte
	// The secrets that depend on nothing but the hash when there is no PSK: the
	// early secret and the salt of the handshake secret derived from it.
	early0, salt0 [maxHashSize]byte
}

// NewKDF returns a KDF for the hash.
func NewKDF(h Hash) *KDF {
	k := &KDF{hash: h}
	h.sum(k.empty[:h.Size()], nil)
	n := h.Size()
	k.hmac(k.early0[:n], k.zero[:n], k.zero[:n])
	k.expand(k.salt0[:n], k.early0[:n], "derived", k.empty[:n])
	return k
}

// Hash returns the hash that the KDF was made for.
func (k *KDF) Hash() Hash { return k.hash }

// The pads of HMAC, repeated over the longest block.
var ipad, opad = func() (i, o [maxBlockSize]byte) {
	for n := range i {
		i[n], o[n] = 0x36, 0x5C
	}
	return i, o
}()

// hmac writes HMAC(key, message...) to out, which is as long as the digest and may
// be part of key or message.
func (k *KDF) hmac(out, key []byte, message ...[]byte) {
	size, block := k.hash.Size(), k.hash.blockSize()
	var digest [maxHashSize]byte
	if len(key) > block {
		k.hash.sum(digest[:size], key)
		key = digest[:size]
	}
	k.inner = append(k.inner[:0], ipad[:block]...)
	subtle.XORBytes(k.inner, key, ipad[:len(key)])
	for _, m := range message {
		k.inner = append(k.inner, m...)
	}
	copy(k.outer[:], opad[:block])
	subtle.XORBytes(k.outer[:], key, opad[:len(key)])
	k.hash.sum(k.outer[block:block+size], k.inner)
	k.hash.sum(out, k.outer[:block+size])
}

// expand is HKDF-Expand-Label (RFC 8446, section 7.1) for outputs of at most one
// digest, which every secret, key and IV of TLS 1.3 is.
func (k *KDF) expand(out, secret []byte, label string, context []byte) {
	info := binary.BigEndian.AppendUint16(k.info[:0], uint16(len(out)))
	info = append(info, uint8(len("tls13 ")+len(label)))
	info = append(info, "tls13 "...)
	info = append(info, label...)
	info = append(info, uint8(len(context)))
	info = append(info, context...)
	k.info = append(info, 1) // HKDF-Expand's counter
	var block [maxHashSize]byte
	k.hmac(block[:k.hash.Size()], secret, k.info)
	copy(out, block[:k.hash.Size()])
}

// prf is the PRF of TLS 1.2 (RFC 5246, section 5), filling out. The seed is given
// in two parts.
func (k *KDF) prf(out, secret []byte, label string, seed1, seed2 []byte) {
	n := k.hash.Size()
	seed := append(append(append(k.info[:0], label...), seed1...), seed2...)
	k.info = seed
	var a, block [maxHashSize]byte
	k.hmac(a[:n], secret, seed)
	for {
		k.hmac(block[:n], secret, a[:n], seed)
		out = out[copy(out, block[:n]):]
		if len(out) == 0 {
			return
		}
		k.hmac(a[:n], secret, a[:n])
	}
}
