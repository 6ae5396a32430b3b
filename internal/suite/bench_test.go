package suite

import (
	"crypto/rand"
	"io"
	mrand "math/rand/v2"
	"testing"

	"shakedown"
)

// BenchmarkSchedule13 is every secret that a client derives in one full TLS 1.3
// handshake, key log and session included.
func BenchmarkSchedule13(b *testing.B) {
	for _, h := range []Hash{SHA256, SHA384} {
		b.Run(h.String(), func(b *testing.B) {
			k := NewKDF(h)
			shared, transcript := make([]byte, 32), make([]byte, h.Size())
			buf := make([]byte, 0, 64)
			b.ReportAllocs()
			for b.Loop() {
				hs := k.Early(nil).Handshake(shared)
				client, server := hs.Client(transcript), hs.Server(transcript)
				master := hs.Master()
				buf = server.Finished(buf[:0], transcript)
				buf = client.Finished(buf[:0], transcript)
				master.Client(transcript)
				master.Server(transcript)
				master.Exporter(transcript)
				buf = master.Resumption(transcript).PSK(buf[:0], []byte{0})
			}
		})
	}
}

func BenchmarkSchedule12(b *testing.B) {
	k := NewKDF(SHA256)
	shared, random, transcript := make([]byte, 32), make([]byte, 32), make([]byte, 32)
	buf, block := make([]byte, 0, 64), make([]byte, 40)
	b.ReportAllocs()
	for b.Loop() {
		m := k.ExtendedMaster12(shared, transcript)
		m.KeyBlock(block, random, random)
		buf = m.ClientFinished(buf[:0], transcript)
		buf = m.ServerFinished(buf[:0], transcript)
	}
}

// BenchmarkProtection is setting up one direction, and sealing and opening one record
// of 1,000 bytes with it.
func BenchmarkProtection(b *testing.B) {
	for _, id := range []shakedown.CipherSuite{
		shakedown.TLS_AES_128_GCM_SHA256, shakedown.TLS_AES_256_GCM_SHA384,
		shakedown.TLS_CHACHA20_POLY1305_SHA256, shakedown.TLS_AES_128_CCM_SHA256,
	} {
		i, _ := Lookup(id)
		secret := NewKDF(i.Hash).Early(nil).Handshake(nil).Client(make([]byte, i.Hash.Size()))
		data := make([]byte, 1000)
		b.Run(id.String()+"/setup", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				i.Protection13(secret)
			}
		})
		b.Run(id.String()+"/seal+open", func(b *testing.B) {
			seal, open := i.Protection13(secret), i.Protection13(secret)
			var buf []byte
			b.ReportAllocs()
			for b.Loop() {
				buf = seal.Seal(buf[:0], typeApplicationData, data)
				if _, _, err := open.Open(buf); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	for _, id := range []shakedown.CipherSuite{
		shakedown.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, shakedown.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA,
	} {
		i, _ := Lookup(id)
		m := NewKDF(i.Hash).LoadMaster12(make([]byte, 48))
		random, data := make([]byte, 32), make([]byte, 1000)
		b.Run(id.String()+"/setup both", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				i.Protections12(m, random, random, false)
			}
		})
		b.Run(id.String()+"/seal+open", func(b *testing.B) {
			seal, _ := i.Protections12(m, random, random, false)
			open, _ := i.Protections12(m, random, random, false)
			var buf []byte
			b.ReportAllocs()
			for b.Loop() {
				buf = seal.Seal(buf[:0], typeApplicationData, data)
				if _, _, err := open.Open(buf); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkShare is our half of a key exchange: making the share and the secret.
func BenchmarkShare(b *testing.B) {
	for _, g := range Groups(shakedown.TLS13) {
		for _, w := range []shakedown.Work{shakedown.WorkFull, shakedown.WorkMinimal} {
			b.Run(g.String()+"/"+string(w), func(b *testing.B) {
				var s Share
				var source io.Reader = mrand.NewChaCha8([32]byte{1})
				if err := s.Generate(g, w, source); err != nil {
					b.Fatal(err)
				}
				peer := answer(b, g, s.Public(), rand.Reader)
				var buf []byte
				b.ReportAllocs()
				for b.Loop() {
					if err := s.Generate(g, w, source); err != nil {
						b.Fatal(err)
					}
					var err error
					if buf, err = s.Secret(buf[:0], peer.public); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
