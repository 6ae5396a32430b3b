package suite

import (
	"bytes"
	"crypto/rand"
	"math/big"
	"testing"

	"shakedown"
)

// TestPrimes: the formula of RFC 7919, appendix A, gives safe primes, of which a wrong
// constant has no chance, and the ends that the RFC prints.
func TestPrimes(t *testing.T) {
	for g, a := range primeAddends {
		p := prime(g)
		if p.BitLen() != int(a.bits) {
			t.Errorf("%v has %d bits", g, p.BitLen())
		}
		q := new(big.Int).Rsh(p, 1)
		if !p.ProbablyPrime(0) || !q.ProbablyPrime(0) {
			t.Errorf("%v is not a safe prime", g)
		}
		// The high bits hold 1s and then those of e, the same in all five groups.
		const head = "FFFFFFFFFFFFFFFFADF85458A2BB4A9AAFDC5620273D3CF1D8B9C583CE2D3695"
		b := p.Bytes()
		if want, _ := new(big.Int).SetString(head, 16); !bytes.HasPrefix(b, want.Bytes()) {
			t.Errorf("%v begins with %x", g, b[:32])
		}
	}
}

// TestShareDH: TLS 1.2 with custom primes. The secret has no leading zeros (RFC 5246,
// section 8.1.2).
func TestShareDH(t *testing.T) {
	for _, bits := range []int{1024, 1031, 2048} {
		p, err := rand.Prime(rand.Reader, bits)
		if err != nil {
			t.Fatal(err)
		}
		g := big.NewInt(5)
		var s Share
		for _, w := range works {
			if err := s.GenerateDH(p.Bytes(), g.Bytes(), w, rand.Reader); err != nil {
				t.Fatal(err)
			}
			if s.Bits() != bits || s.Group() != 0 {
				t.Errorf("Bits() = %d, Group() = %v", s.Bits(), s.Group())
			}
			server := answerDH(t, p, g, s.Public())
			secret, err := s.Secret(nil, server.public)
			if err != nil {
				t.Fatal(err)
			}
			if want := bytes.TrimLeft(server.secret, "\x00"); !bytes.Equal(secret, want) {
				t.Fatalf("client has %x, server %x", secret, want)
			}
		}
		// A share with leading zeros shows the stripping, in minimal work, where the
		// secret is the peer's share.
		y := []byte{0, 0, 7}
		if secret, err := s.Secret(nil, y); err != nil || !bytes.Equal(secret, []byte{7}) {
			t.Errorf("peer's share 7 makes secret %x, error %v", secret, err)
		}
	}
	var s Share
	p := prime(shakedown.FFDHE3072).Bytes()
	if err := s.GenerateDH(p, []byte{2}, shakedown.WorkMinimal, nil); err != nil || s.Group() != shakedown.FFDHE3072 {
		t.Errorf("ffdhe3072 in TLS 1.2: group %v, error %v", s.Group(), err)
	}
}

func TestShareDHRefuses(t *testing.T) {
	ones := func(bits int) []byte {
		p := new(big.Int).Lsh(big.NewInt(1), uint(bits))
		return p.Sub(p, big.NewInt(1)).Bytes()
	}
	even := append(ones(2040), 0)
	minusOne := append(ones(2040), 0xFE)
	tests := []struct {
		name  string
		p, g  []byte
		alert shakedown.Alert
	}{
		{"no prime", nil, []byte{2}, shakedown.AlertInsufficientSecurity},
		{"1023 bits", ones(1023), []byte{2}, shakedown.AlertInsufficientSecurity},
		{"8193 bits", ones(8193), []byte{2}, shakedown.AlertIllegalParameter},
		{"even", even, []byte{2}, shakedown.AlertIllegalParameter},
		{"no generator", ones(2048), nil, shakedown.AlertIllegalParameter},
		{"generator 1", ones(2048), []byte{1}, shakedown.AlertIllegalParameter},
		{"generator p-1", ones(2048), minusOne, shakedown.AlertIllegalParameter},
		{"generator p", ones(2048), ones(2048), shakedown.AlertIllegalParameter},
	}
	for _, test := range tests {
		for _, w := range works {
			var s Share
			err := s.GenerateDH(test.p, test.g, w, rand.Reader)
			if err == nil || AlertFor(err) != test.alert {
				t.Errorf("%s: error %v deserves %v, want %v", test.name, err, AlertFor(err), test.alert)
			}
		}
	}
}
