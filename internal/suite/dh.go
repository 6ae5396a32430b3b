package suite

import (
	"fmt"
	"io"
	"math/big"
	"sync"

	"shakedown"
)

// Sizes of primes accepted in TLS 1.2, in bits. Below, the discrete logarithm is
// within reach (https://weakdh.org); above, one exponentiation would stall a load loop.
const (
	MinDHBits = 1024
	MaxDHBits = 8192
)

// dhKey is a key pair in a finite field. math/big is not constant time; the secrets
// live for one handshake of a measurement.
type dhKey struct {
	p, x       *big.Int
	minimal    bool
	stripZeros bool // TLS 1.2: RFC 5246, section 8.1.2
	scratch    []byte
}

// GenerateDH makes a share for the parameters of a TLS 1.2 ServerKeyExchange (RFC
// 5246, section 7.4.3): prime p and generator g, big-endian. Parameters out of range
// are the peer's fault.
func (s *Share) GenerateDH(p, g []byte, w shakedown.Work, rand io.Reader) error {
	prime, generator := new(big.Int).SetBytes(p), new(big.Int).SetBytes(g)
	if n := prime.BitLen(); n < MinDHBits {
		return &alertError{shakedown.AlertInsufficientSecurity,
			fmt.Sprintf("peer's DH prime has %d bits, fewer than %d", n, MinDHBits)}
	} else if n > MaxDHBits {
		return illegal("peer's DH prime has %d bits, more than %d", n, MaxDHBits)
	}
	if prime.Bit(0) == 0 {
		return illegal("peer's DH prime is even")
	}
	if !inRange(generator, prime) {
		return illegal("peer's DH generator is not between 1 and p-1")
	}
	s.group, s.parts = groupOfPrime(prime), parts{}
	var err error
	s.public, err = s.dh.generate(s.public[:0], prime, generator, w == shakedown.WorkMinimal, rand)
	if err != nil {
		return err
	}
	s.parts.finite, s.dh.stripZeros = true, true
	return nil
}

// Bits returns the size of the prime of a finite-field share, 0 for other shares.
func (s *Share) Bits() int {
	if !s.parts.finite {
		return 0
	}
	return s.dh.p.BitLen()
}

func (k *dhKey) generateNamed(dst []byte, g shakedown.Group, minimal bool, rand io.Reader) ([]byte, error) {
	k.stripZeros = false
	return k.generate(dst, prime(g), big.NewInt(2), minimal, rand)
}

// generate makes a key pair and appends its public value to dst, as long as p (RFC
// 8446, section 4.2.8.1).
func (k *dhKey) generate(dst []byte, p, g *big.Int, minimal bool, rand io.Reader) ([]byte, error) {
	k.p, k.minimal = p, minimal
	public := g
	if !minimal {
		k.scratch = append(k.scratch[:0], make([]byte, exponentBits(p.BitLen())/8)...)
		if _, err := io.ReadFull(rand, k.scratch); err != nil {
			return dst, noRandom(err)
		}
		k.scratch[0] |= 0x80 // never 0, always of full length
		k.x = new(big.Int).SetBytes(k.scratch)
		public = new(big.Int).Exp(g, k.x, p)
	}
	return k.appendPadded(dst, public), nil
}

// secret appends the secret shared with the peer to dst.
func (k *dhKey) secret(dst, peer []byte) ([]byte, error) {
	y := new(big.Int).SetBytes(peer)
	// TLS 1.3 fixes the length of the share (RFC 8446, section 4.2.8.1), TLS 1.2 does not.
	if size := (k.p.BitLen() + 7) / 8; !k.stripZeros && len(peer) != size {
		return dst, illegal("peer's DH share has %d bytes, not %d", len(peer), size)
	}
	if !inRange(y, k.p) {
		return dst, illegal("peer's DH share is not between 1 and p-1") // RFC 7919, section 5.1
	}
	if !k.minimal {
		y.Exp(y, k.x, k.p)
	}
	if k.stripZeros {
		return append(dst, y.Bytes()...), nil
	}
	return k.appendPadded(dst, y), nil
}

// appendPadded appends n to dst with as many bytes as p has.
func (k *dhKey) appendPadded(dst []byte, n *big.Int) []byte {
	start, size := len(dst), (k.p.BitLen()+7)/8
	dst = append(dst, make([]byte, size)...)
	n.FillBytes(dst[start:])
	return dst
}

// inRange reports whether 1 < n < p-1.
func inRange(n, p *big.Int) bool {
	one := big.NewInt(1)
	return n.Cmp(one) > 0 && new(big.Int).Add(n, one).Cmp(p) < 0
}

// exponentBits returns how long a private exponent is for a prime of so many bits,
// rounded up to bytes: twice the strength of the prime (RFC 7919, section 5.2 and
// appendix A), a tenth of the work of an exponent as long as p.
func exponentBits(p int) int {
	switch {
	case p <= 2048:
		return 232
	case p <= 3072:
		return 280
	case p <= 4096:
		return 328
	case p <= 6144:
		return 376
	}
	return 400
}

// primeAddends has the X of each prime of RFC 7919, appendix A, by its bits b:
//
//	p = 2^b - 2^(b-64) + (floor(2^(b-130) * e) + X) * 2^64 - 1
var primeAddends = map[shakedown.Group]struct {
	bits uint
	x    int64
}{
	shakedown.FFDHE2048: {2048, 560316},
	shakedown.FFDHE3072: {3072, 2625351},
	shakedown.FFDHE4096: {4096, 5736041},
	shakedown.FFDHE6144: {6144, 15705020},
	shakedown.FFDHE8192: {8192, 10965728},
}

// primes has the primes of RFC 7919, computed when first wanted: a few milliseconds.
var primes = sync.OnceValue(func() map[shakedown.Group]*big.Int {
	m := map[shakedown.Group]*big.Int{}
	for g, a := range primeAddends {
		p := scaledE(a.bits - 130)
		p.Add(p, big.NewInt(a.x))
		p.Lsh(p, 64)
		p.Add(p, new(big.Int).Lsh(big.NewInt(1), a.bits))
		p.Sub(p, new(big.Int).Lsh(big.NewInt(1), a.bits-64))
		m[g] = p.Sub(p, big.NewInt(1))
	}
	return m
})

func prime(g shakedown.Group) *big.Int { return primes()[g] }

// groupOfPrime returns the group of RFC 7919 that has the prime, or 0.
func groupOfPrime(p *big.Int) shakedown.Group {
	for g, known := range primes() {
		if known.Cmp(p) == 0 {
			return g
		}
	}
	return 0
}

// scaledE returns floor(2^bits * e): the sum of 1/n!, with spare bits for what each
// term loses.
func scaledE(bits uint) *big.Int {
	const spare = 64
	term := new(big.Int).Lsh(big.NewInt(1), bits+spare)
	sum := new(big.Int).Set(term)
	for n := int64(1); term.Sign() > 0; n++ {
		term.Quo(term, big.NewInt(n))
		sum.Add(sum, term)
	}
	return sum.Rsh(sum, spare)
}
