package suite

import (
	"crypto/ecdh"
	"fmt"
	"io"
	"sync"

	"github.com/cloudflare/circl/dh/x25519"
	"github.com/cloudflare/circl/dh/x448"

	"shakedown"
)

// curveKey is a key pair on an elliptic curve (RFC 8446, section 4.2.8.2).
//
// X25519 and X448 are circl's, which crypto/ecdh has not (X448) or has at 1.4 times
// the cost and nine allocations (X25519).
type curveKey struct {
	group   shakedown.Group
	minimal bool
	x25519  struct{ public, private x25519.Key }
	x448    struct{ public, private x448.Key }
	nist    *ecdh.PrivateKey
	scalar  [66]byte // scratch for rand
}

// curveSizes has the lengths of public values and of secrets in bytes.
var curveSizes = map[shakedown.Group]struct{ public, secret int }{
	shakedown.X25519:    {x25519.Size, x25519.Size},
	shakedown.X448:      {x448.Size, x448.Size},
	shakedown.Secp256r1: {1 + 2*32, 32},
	shakedown.Secp384r1: {1 + 2*48, 48},
	shakedown.Secp521r1: {1 + 2*66, 66},
}

// uncompressed begins a point that is given with both coordinates (RFC 8422, section
// 5.4.1), the only form that TLS still knows.
const uncompressed = 4

func nistCurve(g shakedown.Group) ecdh.Curve {
	switch g {
	case shakedown.Secp256r1:
		return ecdh.P256()
	case shakedown.Secp384r1:
		return ecdh.P384()
	case shakedown.Secp521r1:
		return ecdh.P521()
	}
	return nil
}

// generate makes a key pair and appends its public value to dst.
func (k *curveKey) generate(dst []byte, g shakedown.Group, minimal bool, rand io.Reader) ([]byte, error) {
	k.group, k.minimal = g, minimal
	if minimal {
		return append(dst, generators()[g]...), nil
	}
	switch g {
	case shakedown.X25519:
		if _, err := io.ReadFull(rand, k.x25519.private[:]); err != nil {
			return dst, noRandom(err)
		}
		x25519.KeyGen(&k.x25519.public, &k.x25519.private)
		return append(dst, k.x25519.public[:]...), nil
	case shakedown.X448:
		if _, err := io.ReadFull(rand, k.x448.private[:]); err != nil {
			return dst, noRandom(err)
		}
		x448.KeyGen(&k.x448.public, &k.x448.private)
		return append(dst, k.x448.public[:]...), nil
	}
	scalar := k.scalar[:curveSizes[g].secret]
	// A scalar is good when it is not 0 and below the order. P-256 misses that once
	// in 2^32 times, P-384 and the 521 bits of P-521 almost never: a source that
	// fails this often is not random.
	for range 16 {
		if _, err := io.ReadFull(rand, scalar); err != nil {
			return dst, noRandom(err)
		}
		if g == shakedown.Secp521r1 {
			scalar[0] &= 1
		}
		// Not GenerateKey: it ignores rand.
		if key, err := nistCurve(g).NewPrivateKey(scalar); err == nil {
			k.nist = key
			return append(dst, key.PublicKey().Bytes()...), nil
		}
	}
	return dst, fmt.Errorf("random source gives no scalar of %v", g)
}

// secret appends the secret shared with the peer to dst (RFC 8446, section 7.4.2).
func (k *curveKey) secret(dst, peer []byte) ([]byte, error) {
	size := curveSizes[k.group]
	if len(peer) != size.public {
		return dst, illegal("peer's %v share has %d bytes, not %d", k.group, len(peer), size.public)
	}
	switch k.group {
	case shakedown.X25519:
		return k.secretX25519(dst, peer)
	case shakedown.X448:
		return k.secretX448(dst, peer)
	}
	if peer[0] != uncompressed {
		return dst, illegal("peer's %v point is not uncompressed", k.group)
	}
	if k.minimal {
		return append(dst, peer[1:1+size.secret]...), nil // the x coordinate
	}
	point, err := nistCurve(k.group).NewPublicKey(peer)
	if err != nil {
		return dst, illegal("peer's %v point is not on the curve", k.group)
	}
	shared, err := k.nist.ECDH(point)
	if err != nil {
		return dst, illegal("peer's %v share: %v", k.group, err)
	}
	return append(dst, shared...), nil
}

func (k *curveKey) secretX25519(dst, peer []byte) ([]byte, error) {
	shared := x25519.Key(peer)
	ok := shared != x25519.Key{}
	if !k.minimal {
		public := shared
		ok = x25519.Shared(&shared, &k.x25519.private, &public)
	}
	if !ok {
		return dst, illegal("peer's x25519 share makes an all-zero secret")
	}
	return append(dst, shared[:]...), nil
}

func (k *curveKey) secretX448(dst, peer []byte) ([]byte, error) {
	shared := x448.Key(peer)
	ok := shared != x448.Key{}
	if !k.minimal {
		public := shared
		ok = x448.Shared(&shared, &k.x448.private, &public)
	}
	if !ok {
		return dst, illegal("peer's x448 share makes an all-zero secret")
	}
	return append(dst, shared[:]...), nil
}

// generators has the base points: what the private key 1 would have as its public
// value. u is 9 and 5 on the Montgomery curves (RFC 7748, section 4).
var generators = sync.OnceValue(func() map[shakedown.Group][]byte {
	m := map[shakedown.Group][]byte{
		shakedown.X25519: append([]byte{9}, make([]byte, x25519.Size-1)...),
		shakedown.X448:   append([]byte{5}, make([]byte, x448.Size-1)...),
	}
	for _, g := range []shakedown.Group{shakedown.Secp256r1, shakedown.Secp384r1, shakedown.Secp521r1} {
		one := make([]byte, curveSizes[g].secret)
		one[len(one)-1] = 1
		key, err := nistCurve(g).NewPrivateKey(one)
		if err != nil {
			panic("suite: " + err.Error()) // 1 is a scalar of every curve
		}
		m[g] = key.PublicKey().Bytes()
	}
	return m
})

// noRandom says that the random source failed.
func noRandom(err error) error { return fmt.Errorf("reading random bytes: %w", err) }
