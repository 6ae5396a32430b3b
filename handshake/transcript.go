package handshake

import (
	"hash"

	"shakedown/internal/suite"
	"shakedown/internal/wire"
)

// maxHashSize is the size of the largest hash of a cipher suite, SHA-384.
const maxHashSize = 48

// transcript is the running hash of all handshake messages (RFC 8446, section
// 4.4.1). Until the server has chosen the hash the messages are kept.
type transcript struct {
	messages []byte // all so far, while the hash is unknown or keep is set
	keep     bool   // keep the messages: a TLS 1.2 CertificateVerify signs them
	hash     hash.Hash
	hashes   [suite.SHA384 + 1]hash.Hash // made once for each hash and reused
	buffer   [maxHashSize]byte
}

func (t *transcript) reset() {
	t.messages, t.keep, t.hash = t.messages[:0], false, nil
}

// add appends a message with its header.
func (t *transcript) add(message []byte) {
	if t.hash != nil {
		t.hash.Write(message)
		if !t.keep {
			return
		}
	}
	t.messages = append(t.messages, message...)
}

// start fixes the hash.
func (t *transcript) start(h suite.Hash) {
	t.hash = t.fresh(h)
	t.hash.Write(t.messages)
	if !t.keep {
		t.messages = t.messages[:0]
	}
}

// retry replaces ClientHello1 by its message_hash, as a HelloRetryRequest
// demands (RFC 8446, section 4.4.1).
func (t *transcript) retry(h suite.Hash) {
	t.start(h)
	digest := t.sum()
	t.messages = wire.AppendMessageHash(t.messages[:0], digest)
	t.hash = nil
}

// sum returns the hash of the messages so far. It is valid until the next call.
func (t *transcript) sum() []byte { return t.hash.Sum(t.buffer[:0]) }

// digestWith returns the hash h of the messages so far and of part behind them,
// while no hash is fixed. It is valid until the next call.
func (t *transcript) digestWith(h suite.Hash, part []byte) []byte {
	scratch := t.fresh(h)
	scratch.Write(t.messages)
	scratch.Write(part)
	return scratch.Sum(t.buffer[:0])
}

// fresh returns the reset state of hash h.
func (t *transcript) fresh(h suite.Hash) hash.Hash {
	if t.hashes[h] == nil {
		t.hashes[h] = h.New()
	}
	t.hashes[h].Reset()
	return t.hashes[h]
}
