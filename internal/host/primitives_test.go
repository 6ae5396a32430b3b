package host

import (
	"context"
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPrimitives(t *testing.T) {
	extra := Sealing("another seal", 32, newGCM)
	rates, err := Primitives(t.Context(), time.Second, extra)
	if err != nil {
		t.Fatal(err)
	}
	threads := threadCounts(min(runtime.NumCPU(), runtime.GOMAXPROCS(0)))
	names := []string{"rsa-2048 sign", "rsa-2048 verify", "rsa-3072 sign", "rsa-3072 verify", "rsa-4096 sign", "rsa-4096 verify",
		"ecdsa-p256 sign", "ecdsa-p256 verify", "ecdsa-p384 sign", "ecdsa-p384 verify", "ed25519 sign", "ed25519 verify",
		"x25519 exchange", "p256 exchange", "p384 exchange", "mlkem768 encapsulate", "aes-128-gcm seal", "aes-256-gcm seal", "another seal"}
	perS := map[string]float64{}
	i := 0
	for _, name := range names {
		for _, n := range threads {
			p := rates.Primitives[i]
			i++
			if p.Name != name || p.Threads != n || p.N != rounds || p.Work == "" {
				t.Errorf("primitive %+v; want %s with %d threads in %d rounds", p, name, n, rounds)
			}
			if !(0 < p.Low && p.Low <= p.PerS && p.PerS <= p.High) {
				t.Errorf("%s with %d threads: %v is not within %v to %v", name, n, p.PerS, p.Low, p.High)
			}
			switch sealing := strings.HasSuffix(name, " seal"); {
			case sealing != (p.BytesPerS != nil):
				t.Errorf("%s: bytes per second %v", name, p.BytesPerS)
			case sealing && *p.BytesPerS != recordSize*p.PerS:
				t.Errorf("%s: %v bytes in %v records a second", name, *p.BytesPerS, p.PerS)
			}
			if n == 1 {
				perS[name] = p.PerS
			}
		}
	}
	if i != len(rates.Primitives) {
		t.Errorf("%d primitives; want %d", len(rates.Primitives), i)
	}
	// The work of RSA signatures grows with the cube of the key's length, and
	// that of P-256 is an order less: these hold on any machine.
	for _, pair := range [][2]string{{"rsa-2048 sign", "rsa-4096 sign"}, {"rsa-2048 verify", "rsa-2048 sign"}, {"ecdsa-p256 sign", "rsa-2048 sign"}, {"ecdsa-p256 sign", "ecdsa-p384 sign"}} {
		if perS[pair[0]] <= perS[pair[1]] {
			t.Errorf("%s %v/s is not faster than %s %v/s", pair[0], perS[pair[0]], pair[1], perS[pair[1]])
		}
	}
	if len(threads) == 1 {
		if len(rates.Scaling) != 0 {
			t.Errorf("scaling on one CPU: %v", rates.Scaling)
		}
		return
	}
	for i, s := range rates.Scaling {
		if s.Name != names[i] || s.Threads != threads[len(threads)-1] || s.N != rounds || !(0 < s.Low && s.Low <= s.Ratio && s.Ratio <= s.High) {
			t.Errorf("scaling %+v; want %s with %d threads", s, names[i], threads[len(threads)-1])
		}
	}
	if len(rates.Scaling) != len(names) {
		t.Errorf("%d scalings; want %d", len(rates.Scaling), len(names))
	}
}

func TestThreadCounts(t *testing.T) {
	for n, want := range map[int][]int{1: {1}, 2: {1, 2}, 3: {1, 2, 3}, 4: {1, 2, 4}, 6: {1, 2, 4, 6}, 64: {1, 2, 4, 8, 16, 32, 64}} {
		if got := threadCounts(n); !slices.Equal(got, want) {
			t.Errorf("%d CPUs are measured with %v threads; want %v", n, got, want)
		}
	}
}

// counted is an operation that does nothing but call f.
func counted(f func() error) Operation {
	return Operation{Name: "count", Work: "one count", Prepare: func() (func() error, error) { return f, nil }}
}

func TestMeasureWithoutBudgetDoesEachOnce(t *testing.T) {
	var n atomic.Int64
	rates, err := measure(t.Context(), 0, []Operation{counted(func() error { n.Add(1); time.Sleep(time.Microsecond); return nil })}, []int{1, 3})
	if err != nil {
		t.Fatal(err)
	}
	if want := int64(rounds * (1 + 3)); n.Load() != want {
		t.Errorf("done %d times; want %d", n.Load(), want)
	}
	if len(rates.Primitives) != 2 || len(rates.Scaling) != 1 {
		t.Errorf("%+v; want two thread counts and the ratio of both", rates)
	}
}

func TestMeasureCancelled(t *testing.T) {
	for _, test := range []struct {
		during, wantN int // N of the primitives reported; 0 for none
	}{{3, 0}, {5, 0}, {6, 6}, {8, 8}} {
		ctx, cancel := context.WithCancel(t.Context())
		done := 0
		op := counted(func() error {
			if done++; done == test.during {
				cancel()
			}
			return nil
		})
		rates, err := measure(ctx, 0, []Operation{op}, []int{1})
		cancel()
		if !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled in round %d: %v", test.during, err)
		}
		switch {
		case test.wantN == 0 && len(rates.Primitives) != 0:
			t.Errorf("cancelled in round %d: %+v; want nothing", test.during, rates)
		case test.wantN != 0 && (len(rates.Primitives) != 1 || rates.Primitives[0].N != test.wantN):
			t.Errorf("cancelled in round %d: %+v; want %d rounds", test.during, rates, test.wantN)
		}
	}
}

func TestMeasureFails(t *testing.T) {
	broken := errors.New("broken")
	run := counted(func() error { return broken })
	prepare := Operation{Name: "count", Prepare: func() (func() error, error) { return nil, broken }}
	for _, op := range []Operation{run, prepare} {
		if _, err := measure(t.Context(), 0, []Operation{op}, []int{2}); !errors.Is(err, broken) {
			t.Errorf("measured a broken operation: %v", err)
		}
	}
}

func TestMedianOfRounds(t *testing.T) {
	tests := []struct {
		values []float64
		want   [3]float64
	}{
		{[]float64{9, 8, 7, 6, 5, 4, 3, 2, 1}, [3]float64{5, 2, 8}},
		{[]float64{6, 5, 4, 3, 2, 1}, [3]float64{3.5, 1, 6}},
		{[]float64{1, 2, 3, 4, 5, 6, 7, 8}, [3]float64{4.5, 1, 8}},
	}
	for _, test := range tests {
		middle, low, high := median(test.values)
		if diff := cmp.Diff(test.want, [3]float64{middle, low, high}); diff != "" {
			t.Errorf("median of %v (-want +got):\n%s", test.values, diff)
		}
	}
}

// A signer that keeps what it signed.
type recorder struct {
	crypto.Signer
	digest, signature []byte
}

func (r *recorder) Sign(random io.Reader, digest []byte, opts crypto.SignerOpts) (signature []byte, err error) {
	r.digest = digest
	r.signature, err = r.Signer.Sign(random, digest, opts)
	return r.signature, err
}

// What is timed must be the real thing: signatures that verify.
func TestSigningSigns(t *testing.T) {
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	ecdsaKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	public, ed25519Key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	pss := &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash, Hash: crypto.SHA256}
	tests := []struct {
		name   string
		key    crypto.Signer
		opts   crypto.SignerOpts
		verify func(digest, signature []byte) bool
	}{
		{"RSA-PSS", rsaKey, pss, func(digest, signature []byte) bool {
			return rsa.VerifyPSS(&rsaKey.PublicKey, crypto.SHA256, digest, signature, pss) == nil
		}},
		{"ECDSA", ecdsaKey, crypto.SHA256, func(digest, signature []byte) bool {
			return ecdsa.VerifyASN1(&ecdsaKey.PublicKey, digest, signature)
		}},
		{"Ed25519", ed25519Key, crypto.Hash(0), func(digest, signature []byte) bool {
			return ed25519.Verify(public, digest, signature)
		}},
	}
	for _, test := range tests {
		r := &recorder{Signer: test.key}
		run, err := Signing(test.name, r, test.opts).Prepare()
		if err != nil {
			t.Fatal(err)
		}
		if err := run(); err != nil {
			t.Fatal(err)
		}
		if len(r.digest) != crypto.SHA256.Size() || !test.verify(r.digest, r.signature) {
			t.Errorf("%s: the signature of a digest of %d bytes does not verify", test.name, len(r.digest))
		}
	}
}

// An AEAD that counts the bytes it seals.
type meter struct {
	cipher.AEAD
	sealed int
}

func (m *meter) Seal(dst, nonce, plaintext, additional []byte) []byte {
	m.sealed += len(plaintext)
	return m.AEAD.Seal(dst, nonce, plaintext, additional)
}

func TestSealingSealsAFullRecord(t *testing.T) {
	m := &meter{}
	run, err := Sealing("", 16, func(key []byte) (cipher.AEAD, error) {
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, err
		}
		m.AEAD, err = cipher.NewGCM(block)
		return m, err
	}).Prepare()
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(10, func() {
		if err := run(); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("each record allocates %v times, which would be timed too", n)
	}
	if want := 11 * recordSize; m.sealed != want { // AllocsPerRun runs once more
		t.Errorf("sealed %d bytes in 11 runs; want %d", m.sealed, want)
	}
	if _, err := Sealing("", 15, func(key []byte) (cipher.AEAD, error) {
		_, err := aes.NewCipher(key)
		return nil, err
	}).Prepare(); err == nil {
		t.Error("an AES key of 15 bytes was accepted")
	}
}

func TestPrimitivesCancelledAtOnce(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if rates, err := Primitives(ctx, time.Hour); !errors.Is(err, context.Canceled) || len(rates.Primitives) != 0 {
		t.Errorf("%+v, %v; want nothing but the context's error", rates, err)
	}
}
