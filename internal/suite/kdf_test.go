package suite

import (
	"bytes"
	"crypto/hkdf"
	"crypto/hmac"
	"encoding/hex"
	"hash"
	"testing"
)

var hashes = []Hash{SHA256, SHA384}

// pattern returns n bytes that differ from each other and by seed.
func pattern(n, seed int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + seed*31)
	}
	return b
}

// TestKDFHMAC compares with crypto/hmac around every limit of a block.
func TestKDFHMAC(t *testing.T) {
	for _, h := range hashes {
		k := NewKDF(h)
		for keyLength := range 300 {
			for _, length := range []int{0, 1, 55, 56, 63, 64, 65, 111, 112, 127, 128, 129, 1000} {
				key, message := pattern(keyLength, 1), pattern(length, 2)
				m := hmac.New(h.New, key)
				m.Write(message)
				got := make([]byte, h.Size())
				k.hmac(got, key, message[:length/2], nil, message[length/2:])
				if want := m.Sum(nil); !bytes.Equal(got, want) {
					t.Fatalf("HMAC-%v, key of %d bytes, message of %d:\ngot  %x\nwant %x", h, keyLength, length, got, want)
				}
			}
		}
	}
}

// expandLabel is HKDF-Expand-Label (RFC 8446, section 7.1) with crypto/hkdf.
func expandLabel(t *testing.T, h Hash, secret []byte, label string, context []byte, length int) []byte {
	t.Helper()
	label = "tls13 " + label
	info := append([]byte{0, uint8(length), uint8(len(label))}, label...)
	info = append(append(info, uint8(len(context))), context...)
	out, err := hkdf.Expand(h.New, secret, string(info), length)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestSchedule13 computes every secret a second time, after RFC 8446, section 7.1, with
// crypto/hkdf.
func TestSchedule13(t *testing.T) {
	for _, h := range hashes {
		size := h.Size()
		hash := pattern(size, 3)
		empty := h.New().Sum(nil)
		extract := func(secret, salt []byte) []byte {
			out, err := hkdf.Extract(h.New, secret, salt)
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		derive := func(secret []byte, label string, context []byte) []byte {
			return expandLabel(t, h, secret, label, context, size)
		}
		finished := func(secret []byte) []byte {
			m := hmac.New(h.New, derive(secret, "finished", nil))
			m.Write(hash)
			return m.Sum(nil)
		}
		k := NewKDF(h)
		for _, psk := range [][]byte{nil, pattern(size, 4), pattern(200, 5)} {
			for _, shared := range [][]byte{nil, pattern(32, 6), pattern(1024, 7)} {
				zeroIfNil := func(b []byte) []byte {
					if b == nil {
						return make([]byte, size)
					}
					return b
				}
				check := func(name string, got, want []byte) {
					t.Helper()
					if !bytes.Equal(got, want) {
						t.Errorf("%v, PSK of %d bytes, secret of %d: %s:\ngot  %x\nwant %x", h, len(psk), len(shared), name, got, want)
					}
				}
				early := extract(zeroIfNil(psk), nil)
				e := k.Early(psk)
				check("early", e.s.slice(), early)
				check("binder", e.Binder(nil, hash), finished(derive(early, "res binder", empty)))
				check("c e traffic", e.ClientEarlyTraffic(hash).Bytes(), derive(early, "c e traffic", hash))
				check("e exp master", e.Exporter(hash).Bytes(), derive(early, "e exp master", hash))
				handshake := extract(zeroIfNil(shared), derive(early, "derived", empty))
				hs := e.Handshake(shared)
				check("handshake", hs.s.slice(), handshake)
				check("c hs traffic", hs.Client(hash).Bytes(), derive(handshake, "c hs traffic", hash))
				server := derive(handshake, "s hs traffic", hash)
				check("s hs traffic", hs.Server(hash).Bytes(), server)
				check("finished", hs.Server(hash).Finished([]byte("x"), hash), append([]byte("x"), finished(server)...))
				check("traffic upd", hs.Server(hash).Next().Bytes(), derive(server, "traffic upd", nil))
				master := extract(make([]byte, size), derive(handshake, "derived", empty))
				m := hs.Master()
				check("master", m.s.slice(), master)
				check("c ap traffic", m.Client(hash).Bytes(), derive(master, "c ap traffic", hash))
				check("s ap traffic", m.Server(hash).Bytes(), derive(master, "s ap traffic", hash))
				check("exp master", m.Exporter(hash).Bytes(), derive(master, "exp master", hash))
				resumption := derive(master, "res master", hash)
				check("res master", m.Resumption(hash).Bytes(), resumption)
				nonce := pattern(255, 8)
				check("psk", m.Resumption(hash).PSK([]byte("x"), nonce), append([]byte("x"), derive(resumption, "resumption", nonce)...))
			}
		}
	}
}

// prf12 is the PRF of RFC 5246, section 5, written as it stands there.
func prf12(h func() hash.Hash, secret []byte, label string, seed []byte, length int) []byte {
	mac := func(data ...[]byte) []byte {
		m := hmac.New(h, secret)
		for _, d := range data {
			m.Write(d)
		}
		return m.Sum(nil)
	}
	seed = append([]byte(label), seed...)
	a := seed
	var out []byte
	for len(out) < length {
		a = mac(a)
		out = append(out, mac(a, seed)...)
	}
	return out[:length]
}

func TestSchedule12(t *testing.T) {
	client, server := pattern(32, 1), pattern(32, 2)
	for _, h := range hashes {
		k := NewKDF(h)
		for _, pre := range [][]byte{pattern(32, 3), pattern(48, 4), pattern(1024, 5), nil} {
			master := prf12(h.New, pre, "master secret", append(bytes.Clone(client), server...), 48)
			m := k.Master12(pre, client, server)
			if !bytes.Equal(m.Bytes(), master) {
				t.Errorf("%v: master secret %x, want %x", h, m.Bytes(), master)
			}
			session := pattern(h.Size(), 6)
			extended := k.ExtendedMaster12(pre, session)
			if want := prf12(h.New, pre, "extended master secret", session, 48); !bytes.Equal(extended.Bytes(), want) {
				t.Errorf("%v: extended master secret %x, want %x", h, extended.Bytes(), want)
			}
			if loaded := k.LoadMaster12(master); loaded != m {
				t.Errorf("%v: the master secret loaded is another one", h)
			}
			for length := range 200 {
				block := make([]byte, length)
				m.KeyBlock(block, client, server)
				if want := prf12(h.New, master, "key expansion", append(bytes.Clone(server), client...), length); !bytes.Equal(block, want) {
					t.Fatalf("%v: key block of %d bytes %x, want %x", h, length, block, want)
				}
			}
			for label, finished := range map[string]func(dst, transcript []byte) []byte{
				"client finished": m.ClientFinished, "server finished": m.ServerFinished,
			} {
				want := append([]byte("x"), prf12(h.New, master, label, session, 12)...)
				if got := finished([]byte("x"), session); !bytes.Equal(got, want) {
					t.Errorf("%v: %s %x, want %x", h, label, got, want)
				}
			}
		}
	}
}

// TestPRF has the vectors for P_SHA256 and P_SHA384 that were posted to the TLS working
// group's list in 2009 and that most implementations test with.
func TestPRF(t *testing.T) {
	tests := []struct {
		hash              Hash
		secret, seed, out string
	}{
		{SHA256, "9bbe436ba940f017b17652849a71db35", "a0ba9f936cda311827a6f796ffd5198c",
			"e3f229ba727be17b8d122620557cd453c2aab21d07c3d495329b52d4e61edb5a6b301791e90d35c9c9a46b4e14baf9af" +
				"0fa022f7077def17abfd3797c0564bab4fbc91666e9def9b97fce34f796789baa48082d122ee42c5a72e5a5110fff70187347b66"},
		{SHA384, "b80b733d6ceefcdc71566ea48e5567df", "cd665cf6a8447dd6ff8b27555edb7465",
			"7b0c18e9ced410ed1804f2cfa34a336a1c14dffb4900bb5fd7942107e81c83cde9ca0faa60be9fe34f82b1233c9146a0" +
				"e534cb400fed2700884f9dc236f80edd8bfa961144c9e8d792eca722a7b32fc3d416d473ebc2c5fd4abfdad05d9184259b5bf8cd" +
				"4d90fa0d31e2dec479e4f1a26066f2eea9a69236a3e52655c9e9aee691c8f3a26854308d5eaa3be85e0990703d73e56f"},
	}
	for _, test := range tests {
		unhex := func(s string) []byte {
			b, err := hex.DecodeString(s)
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		want := unhex(test.out)
		got := make([]byte, len(want))
		NewKDF(test.hash).prf(got, unhex(test.secret), "test label", unhex(test.seed), nil)
		if !bytes.Equal(got, want) {
			t.Errorf("P_%v:\ngot  %x\nwant %x", test.hash, got, want)
		}
	}
}

// TestScheduleAllocates: nothing, once the KDF is made.
func TestScheduleAllocates(t *testing.T) {
	for _, h := range hashes {
		k := NewKDF(h)
		shared, hash, out := make([]byte, 32), make([]byte, h.Size()), make([]byte, 0, 64)
		block := make([]byte, 100)
		n := testing.AllocsPerRun(100, func() {
			early := k.Early(hash)
			early.Binder(out, hash)
			hs := early.Handshake(shared)
			hs.Server(hash).Finished(out, hash)
			master := hs.Master()
			master.Client(hash)
			master.Resumption(hash).PSK(out, hash[:2])
			m := k.ExtendedMaster12(shared, hash)
			m.KeyBlock(block, shared, shared)
			m.ClientFinished(out, hash)
		})
		if n != 0 {
			t.Errorf("%v: %v allocations for a schedule", h, n)
		}
	}
}
