package suite

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"math/big"
	mrand "math/rand/v2"
	"testing"

	"shakedown"
)

// decrypt is the server's part of RFC 5246, section 7.4.7.1.
func decrypt(t *testing.T, key *rsa.PrivateKey, ciphertext []byte) []byte {
	t.Helper()
	secret := make([]byte, PreMasterSizeRSA)
	//lint:ignore SA1019 it is the only PKCS #1 v1.5 decryption there is
	if err := rsa.DecryptPKCS1v15SessionKey(nil, key, ciphertext, secret); err != nil {
		t.Fatal(err)
	}
	return secret
}

func TestPreMasterRSA(t *testing.T) {
	var keys []*rsa.PrivateKey
	for _, bits := range []int{1024, 2048, 2049} {
		key, err := rsa.GenerateKey(rand.Reader, bits)
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key)
	}
	for _, w := range works {
		var m PreMasterRSA
		seen := map[string]int{}
		for range 3 {
			for _, key := range keys {
				secret, ciphertext, err := m.Encrypt(&key.PublicKey, shakedown.TLS12, w, rand.Reader)
				if err != nil {
					t.Fatal(err)
				}
				if got := decrypt(t, key, ciphertext); !bytes.Equal(got, secret) {
					t.Errorf("%s work, RSA-%d: server has %x, client %x", w, key.N.BitLen(), got, secret)
				}
				if secret[0] != 3 || secret[1] != 3 || len(ciphertext) != key.Size() {
					t.Errorf("%s work, RSA-%d: secret begins with %x, ciphertext has %d bytes", w, key.N.BitLen(), secret[:2], len(ciphertext))
				}
				seen[string(ciphertext)]++
			}
		}
		want := 9
		if w == shakedown.WorkMinimal {
			want = len(keys)
		}
		if len(seen) != want {
			t.Errorf("%s work: %d different ciphertexts, want %d", w, len(seen), want)
		}
		secret, _, err := m.Encrypt(&keys[0].PublicKey, shakedown.TLS10, w, rand.Reader)
		if err != nil || secret[1] != 1 {
			t.Errorf("%s work: secret for TLS 1.0 begins with %x, error %v", w, secret[:2], err)
		}
	}
}

// TestPreMasterRSAReplays: the same random bytes make the same ciphertext, and none of
// the padding is zero even when the source gives many.
func TestPreMasterRSAReplays(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	var a, b PreMasterRSA
	_, first, err := a.Encrypt(&key.PublicKey, shakedown.TLS12, shakedown.WorkFull, halfZero{mrand.NewChaCha8([32]byte{})})
	if err != nil {
		t.Fatal(err)
	}
	decrypt(t, key, first)
	_, second, err := b.Encrypt(&key.PublicKey, shakedown.TLS12, shakedown.WorkFull, halfZero{mrand.NewChaCha8([32]byte{})})
	if err != nil || !bytes.Equal(first, second) {
		t.Errorf("two ciphertexts of the same random bytes, error %v", err)
	}
}

// halfZero gives about as many zeros as other bytes.
type halfZero struct{ source *mrand.ChaCha8 }

func (h halfZero) Read(b []byte) (int, error) {
	for i := range b {
		if n := h.source.Uint64(); n&1 == 0 {
			b[i] = 0
		} else {
			b[i] = byte(n >> 8)
		}
	}
	return len(b), nil
}

// TestPreMasterRSABounded: a server with ever new keys costs no ever growing memory.
func TestPreMasterRSABounded(t *testing.T) {
	var m PreMasterRSA
	for i := range int64(5 * maxKeptPreMasters) {
		n := new(big.Int).Lsh(big.NewInt(1), 1024)
		pub := &rsa.PublicKey{N: n.Add(n, big.NewInt(2*i+1)), E: 65537}
		if _, _, err := m.Encrypt(pub, shakedown.TLS12, shakedown.WorkMinimal, rand.Reader); err != nil {
			t.Fatal(err)
		}
		if len(m.kept) > maxKeptPreMasters {
			t.Fatalf("%d kept", len(m.kept))
		}
	}
}

func TestPreMasterRSARefuses(t *testing.T) {
	odd := func(bits uint) *big.Int {
		n := new(big.Int).Lsh(big.NewInt(1), bits)
		return n.Sub(n, big.NewInt(1))
	}
	for name, pub := range map[string]*rsa.PublicKey{
		"small":         {N: odd(58*8 + 0), E: 3},
		"even":          {N: new(big.Int).Lsh(big.NewInt(1), 1024), E: 65537},
		"exponent 1":    {N: odd(1024), E: 1},
		"even exponent": {N: odd(1024), E: 4},
	} {
		var m PreMasterRSA
		_, _, err := m.Encrypt(pub, shakedown.TLS12, shakedown.WorkFull, rand.Reader)
		if err == nil || AlertFor(err) != shakedown.AlertIllegalParameter {
			t.Errorf("%s: error %v", name, err)
		}
	}
	var m PreMasterRSA
	pub := &rsa.PublicKey{N: odd(1024), E: 3}
	for name, source := range map[string]*bytes.Reader{"no": bytes.NewReader(nil), "too few": bytes.NewReader(bytes.Repeat([]byte{1}, 80))} {
		if _, _, err := m.Encrypt(pub, shakedown.TLS12, shakedown.WorkFull, source); err == nil {
			t.Errorf("%s random bytes make a secret", name)
		}
	}
	if _, _, err := m.Encrypt(pub, shakedown.TLS12, shakedown.WorkFull, zeros{}); err == nil {
		t.Error("zeros make a padding")
	}
}
