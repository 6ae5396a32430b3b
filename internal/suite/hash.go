package suite

import (
	"crypto"
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"hash"
)

// Hash is the hash of a cipher suite's transcript, key schedule and PRF. MACs of
// CBC suites, where SHA-1 lives on, are [MAC].
type Hash uint8

const (
	SHA256 Hash = iota + 1
	SHA384
)

// maxHashSize and maxBlockSize are those of the largest Hash, in bytes.
const (
	maxHashSize  = sha512.Size384
	maxBlockSize = sha512.BlockSize
)

// Size returns the length of a digest in bytes.
func (h Hash) Size() int {
	if h == SHA384 {
		return sha512.Size384
	}
	return sha256.Size
}

// New returns a running hash, for transcripts.
func (h Hash) New() hash.Hash {
	if h == SHA384 {
		return sha512.New384()
	}
	return sha256.New()
}

// Crypto returns the standard library's number of the hash.
func (h Hash) Crypto() crypto.Hash {
	if h == SHA384 {
		return crypto.SHA384
	}
	return crypto.SHA256
}

// String returns the hash's name, such as "SHA256".
func (h Hash) String() string {
	switch h {
	case SHA256:
		return "SHA256"
	case SHA384:
		return "SHA384"
	}
	return fmt.Sprintf("Hash(%d)", uint8(h))
}

// blockSize returns the length in bytes of the blocks that HMAC pads its key to.
func (h Hash) blockSize() int {
	if h == SHA384 {
		return sha512.BlockSize
	}
	return sha256.BlockSize
}

// sum writes the digest of data to out, which is h.Size() long.
func (h Hash) sum(out, data []byte) {
	if h == SHA384 {
		d := sha512.Sum384(data)
		copy(out, d[:])
		return
	}
	d := sha256.Sum256(data)
	copy(out, d[:])
}
