package suite

import (
	"bytes"
	"crypto/ecdh"
	"crypto/mlkem"
	"crypto/rand"
	"errors"
	"io"
	"math/big"
	mrand "math/rand/v2"
	"slices"
	"testing"

	"github.com/cloudflare/circl/dh/x448"

	"shakedown"
)

var works = []shakedown.Work{shakedown.WorkFull, shakedown.WorkMinimal}

// reply is what a server makes of a client's share.
type reply struct{ public, secret []byte }

// answer is a server written with other means than Share: crypto/ecdh and
// crypto/mlkem for what they have, math/big for finite fields.
func answer(tb testing.TB, g shakedown.Group, client []byte, random io.Reader) reply {
	tb.Helper()
	join := func(a, b reply) reply {
		return reply{slices.Concat(a.public, b.public), slices.Concat(a.secret, b.secret)}
	}
	curve := func(c ecdh.Curve, client []byte) reply {
		peer, err := c.NewPublicKey(client)
		if err != nil {
			tb.Fatalf("server refuses the client's %v share: %v", c, err)
		}
		key, err := c.GenerateKey(random)
		if err != nil {
			tb.Fatal(err)
		}
		secret, err := key.ECDH(peer)
		if err != nil {
			tb.Fatal(err)
		}
		return reply{key.PublicKey().Bytes(), secret}
	}
	kem768 := func(client []byte) reply {
		key, err := mlkem.NewEncapsulationKey768(client)
		if err != nil {
			tb.Fatalf("server refuses the client's encapsulation key: %v", err)
		}
		secret, ciphertext := key.Encapsulate()
		return reply{ciphertext, secret}
	}
	switch g {
	case shakedown.X25519:
		return curve(ecdh.X25519(), client)
	case shakedown.Secp256r1:
		return curve(ecdh.P256(), client)
	case shakedown.Secp384r1:
		return curve(ecdh.P384(), client)
	case shakedown.Secp521r1:
		return curve(ecdh.P521(), client)
	case shakedown.X25519MLKEM768:
		n := mlkem.EncapsulationKeySize768
		return join(kem768(client[:n]), curve(ecdh.X25519(), client[n:]))
	case shakedown.SecP256r1MLKEM768:
		return join(curve(ecdh.P256(), client[:65]), kem768(client[65:]))
	case shakedown.SecP384r1MLKEM1024:
		key, err := mlkem.NewEncapsulationKey1024(client[97:])
		if err != nil {
			tb.Fatalf("server refuses the client's encapsulation key: %v", err)
		}
		secret, ciphertext := key.Encapsulate()
		return join(curve(ecdh.P384(), client[:97]), reply{ciphertext, secret})
	case shakedown.X448:
		var public, private, shared, peer x448.Key
		copy(peer[:], client)
		if _, err := io.ReadFull(random, private[:]); err != nil || len(client) != x448.Size {
			tb.Fatal(err, len(client))
		}
		x448.KeyGen(&public, &private)
		if !x448.Shared(&shared, &private, &peer) {
			tb.Fatal("server refuses the client's x448 share")
		}
		return reply{public[:], shared[:]}
	}
	return answerDH(tb, prime(g), big.NewInt(2), client)
}

func answerDH(tb testing.TB, p, g *big.Int, client []byte) reply {
	tb.Helper()
	size := (p.BitLen() + 7) / 8
	x, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 256))
	if err != nil {
		tb.Fatal(err)
	}
	peer := new(big.Int).SetBytes(client)
	if len(client) != size || peer.Cmp(big.NewInt(1)) <= 0 || peer.Cmp(new(big.Int).Sub(p, big.NewInt(1))) >= 0 {
		tb.Fatal("server refuses the client's DH share")
	}
	return reply{
		new(big.Int).Exp(g, x, p).FillBytes(make([]byte, size)),
		new(big.Int).Exp(peer, x, p).FillBytes(make([]byte, size)),
	}
}

// TestShareAgrees: in both kinds of work client and server have the same secret, and a
// used Share does as well as a fresh one.
func TestShareAgrees(t *testing.T) {
	var s Share
	for _, g := range Groups(shakedown.TLS13) {
		for _, w := range works {
			t.Run(g.String()+"/"+string(w), func(t *testing.T) {
				rounds := 8
				if groupParts[g].finite {
					rounds = 2
				}
				for range rounds {
					if err := s.Generate(g, w, rand.Reader); err != nil {
						t.Fatal(err)
					}
					if s.Group() != g {
						t.Errorf("Group() = %v", s.Group())
					}
					server := answer(t, g, s.Public(), rand.Reader)
					secret, err := s.Secret([]byte("before"), server.public)
					if err != nil {
						t.Fatal(err)
					}
					if want := append([]byte("before"), server.secret...); !bytes.Equal(secret, want) {
						t.Fatalf("client has %x, server %x", secret, want)
					}
				}
			})
		}
	}
}

// TestShareReplays: the same random bytes make the same share, in full work another
// one than other bytes, in minimal work always the same.
func TestShareReplays(t *testing.T) {
	public := func(g shakedown.Group, w shakedown.Work, seed byte) string {
		var s Share
		if err := s.Generate(g, w, mrand.NewChaCha8([32]byte{seed})); err != nil {
			t.Fatal(err)
		}
		return string(s.Public())
	}
	for _, g := range Groups(shakedown.TLS13) {
		for _, w := range works {
			a, b, c := public(g, w, 1), public(g, w, 1), public(g, w, 2)
			if a != b {
				t.Errorf("%v in %s work: two shares of the same random bytes", g, w)
			}
			if fresh := a != c; fresh != (w == shakedown.WorkFull) {
				t.Errorf("%v in %s work: other random bytes give another share: %v", g, w, fresh)
			}
		}
	}
}

// TestShareRefuses: values that no honest peer sends are the peer's fault.
func TestShareRefuses(t *testing.T) {
	for _, g := range Groups(shakedown.TLS13) {
		for _, w := range works {
			var s Share
			if err := s.Generate(g, w, rand.Reader); err != nil {
				t.Fatal(err)
			}
			good := answer(t, g, s.Public(), rand.Reader).public
			for n := 0; n < len(good); n += 1 + len(good)/100 {
				refused(t, &s, good[:n], "cut")
			}
			refused(t, &s, append(slices.Clone(good), 0), "long")
			if groupParts[g].kem == 0 {
				refused(t, &s, make([]byte, len(good)), "all-zero")
			}
		}
	}
	for _, g := range []shakedown.Group{shakedown.Secp256r1, shakedown.Secp384r1, shakedown.Secp521r1} {
		var s Share
		if err := s.Generate(g, shakedown.WorkFull, rand.Reader); err != nil {
			t.Fatal(err)
		}
		point := answer(t, g, s.Public(), rand.Reader).public
		point[len(point)-1] ^= 1
		refused(t, &s, point, "off the curve")
	}
	// The low-order points of Curve25519 (RFC 7748, section 6.1) whose u is 0, 1 and
	// p-1; x448 has the same three.
	for _, g := range []shakedown.Group{shakedown.X25519, shakedown.X448} {
		var s Share
		if err := s.Generate(g, shakedown.WorkFull, rand.Reader); err != nil {
			t.Fatal(err)
		}
		one := append([]byte{1}, make([]byte, curveSizes[g].public-1)...)
		refused(t, &s, one, "low order")
		minusOne := bytes.Repeat([]byte{0xFF}, curveSizes[g].public)
		if g == shakedown.X25519 { // 2^255 - 20
			minusOne[0], minusOne[31] = 0xEC, 0x7F
		} else { // 2^448 - 2^224 - 2
			minusOne[0], minusOne[28] = 0xFE, 0xFE
		}
		refused(t, &s, minusOne, "low order")
	}
	// RFC 7919, section 5.1: 1 < y < p-1.
	for _, w := range works {
		var s Share
		if err := s.Generate(shakedown.FFDHE2048, w, rand.Reader); err != nil {
			t.Fatal(err)
		}
		p := prime(shakedown.FFDHE2048)
		for _, y := range []*big.Int{big.NewInt(1), new(big.Int).Sub(p, big.NewInt(1)), p} {
			refused(t, &s, y.FillBytes(make([]byte, 256)), "out of range")
		}
	}
}

func refused(t *testing.T, s *Share, peer []byte, what string) {
	t.Helper()
	if secret, err := s.Secret(nil, peer); err == nil {
		t.Errorf("%v: %s value of %d bytes makes the secret %x", s.Group(), what, len(peer), secret)
	} else if AlertFor(err) != shakedown.AlertIllegalParameter {
		t.Errorf("%v: %s value: error %q deserves %v", s.Group(), what, err, AlertFor(err))
	}
}

// TestShareMinimalKEM is the proof that decoding the message from v alone is right: as
// many encapsulations as may show an error of one in a hundred, for both sizes.
func TestShareMinimalKEM(t *testing.T) {
	const rounds = 1000
	for _, set := range []kem{mlkem768, mlkem1024} {
		var k kemKey
		public, err := k.generate(nil, set, true, nil)
		if err != nil {
			t.Fatal(err)
		}
		encapsulate := func() (secret, ciphertext []byte) {
			if set == mlkem768 {
				key, err := mlkem.NewEncapsulationKey768(public)
				if err != nil {
					t.Fatal(err)
				}
				return key.Encapsulate()
			}
			key, err := mlkem.NewEncapsulationKey1024(public)
			if err != nil {
				t.Fatal(err)
			}
			return key.Encapsulate()
		}
		equal := 0
		for range rounds {
			want, ciphertext := encapsulate()
			got, err := k.secret(nil, ciphertext)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Equal(got, want) {
				equal++
			}
		}
		if equal != rounds {
			t.Errorf("ML-KEM-%d: %d of %d secrets equal", set, equal, rounds)
		}
	}
}

// TestShareRandom: a source that ends or gives no scalar is an error, and the share is
// not usable afterwards.
func TestShareRandom(t *testing.T) {
	for _, g := range Groups(shakedown.TLS13) {
		var s Share
		err := s.Generate(g, shakedown.WorkFull, bytes.NewReader([]byte{1, 2, 3}))
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%v from three random bytes: error %v", g, err)
		}
		if _, err := s.Secret(nil, nil); err == nil {
			t.Errorf("%v: a share that could not be made has a secret", g)
		}
	}
	var s Share
	if err := s.Generate(shakedown.Secp256r1, shakedown.WorkFull, zeros{}); err == nil {
		t.Error("secp256r1: zeros make a key")
	}
	if err := s.Generate(0x6399, shakedown.WorkFull, rand.Reader); !errors.Is(err, ErrNotSupported) {
		t.Errorf("X25519Kyber768Draft00: error %v", err)
	}
	if _, err := new(Share).Secret(nil, nil); err == nil {
		t.Error("the zero Share has a secret")
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }
