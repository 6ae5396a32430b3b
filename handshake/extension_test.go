package handshake_test

import (
	"bytes"
	"compress/zlib"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"math/big"
	"strings"
	"testing"

	"shakedown"
	"shakedown/handshake"
	"shakedown/internal/wire"
)

// identityRoots has the certificates of the servers in memory.
func identityRoots() *x509.CertPool {
	pool := x509.NewCertPool()
	for _, id := range identities {
		pool.AddCert(must(x509.ParseCertificate(id().chain[0])))
	}
	return pool
}

// TestExtensions has what no server at hand sends: compressed certificates and
// signed certificate timestamps, and answers to everything else at once.
func TestExtensions(t *testing.T) {
	staple := wire.AppendCertificateStatusBody(nil, []byte("staple"))
	scts := wire.AppendSignedCertificateTimestamps(nil, [][]byte{{1}, {2, 3}})
	cfg := config13()
	cfg.SCTs, cfg.CompressCertificate, cfg.GREASE, cfg.Roots = true, []uint16{1, 2, 3}, true, identityRoots()
	s := script13{
		extensions: func(ee *wire.EncryptedExtensions) {
			ee.Extensions = append(ee.Extensions, extension(shakedown.ExtServerName), extension(shakedown.ExtALPN, 0, 9, 8, 'h', 't', 't', 'p', '/', '1', '.', '1'),
				extension(shakedown.ExtSupportedGroups, 0, 2, 0, 29))
		},
		certificate: func(c *wire.CertificateTLS13) {
			c.Entries[0].Extensions = wire.Extensions{extension(shakedown.ExtStatusRequest, staple...), extension(shakedown.ExtSignedCertificateTimestamp, scts...)}
		},
		alter: func(typ wire.HandshakeType, raw []byte) []byte {
			if typ != wire.TypeCertificate {
				return raw
			}
			var packed bytes.Buffer
			z := zlib.NewWriter(&packed)
			z.Write(raw[wire.HandshakeHeaderLen:])
			z.Close()
			return (&wire.CompressedCertificate{Algorithm: 1, UncompressedLength: len(raw) - wire.HandshakeHeaderLen, Data: packed.Bytes()}).Append(nil)
		},
	}
	p := play13(t, cfg, nil, s)
	if f := p.machine.Failure(); f != nil {
		t.Fatal(f)
	}
	o := p.machine.Observed()
	if o.CertificateCompression != "zlib" || o.SCTs != 2 || !o.ServerNameAcknowledged || o.ALPN != "http/1.1" ||
		p.machine.StapleBytes() != 6 || o.Verification != shakedown.VerificationOK {
		t.Errorf("observed %+v", o)
	}
	if staple := p.machine.Staple(); staple == nil || staple.Status != "unreadable" {
		t.Errorf("staple %+v", staple)
	}
}

// TestExtensions12 is the same in TLS 1.2.
func TestExtensions12(t *testing.T) {
	cfg := config12()
	cfg.SCTs = true
	p := play12(t, cfg, nil, script12{staple: []byte("staple"), hello: func(sh *wire.ServerHello) {
		sh.Extensions = append(sh.Extensions, extension(shakedown.ExtServerName), extension(shakedown.ExtALPN, 0, 3, 2, 'h', '2'), extension(shakedown.ExtECPointFormats, 1, 0),
			extension(shakedown.ExtSignedCertificateTimestamp, wire.AppendSignedCertificateTimestamps(nil, [][]byte{{1}})...))
	}})
	if f := p.machine.Failure(); f != nil {
		t.Fatal(f)
	}
	if o := p.machine.Observed(); o.SCTs != 1 || !o.ServerNameAcknowledged || o.ALPN != "h2" || p.machine.StapleBytes() != 6 || !o.ExtendedMasterSecret || !o.SecureRenegotiation {
		t.Errorf("observed %+v", o)
	}
}

// TestVerification holds what full work refuses of a chain, with the alert.
func TestVerification(t *testing.T) {
	none := x509.NewCertPool()
	for _, c := range []struct {
		name  string
		roots *x509.CertPool
		want  verdict
	}{
		{"peer", none, verdict{class: shakedown.ClassVerification, alert: shakedown.AlertUnknownCA, phase: atHello, text: "does not verify"}},
		{"another", identityRoots(), verdict{class: shakedown.ClassVerification, alert: shakedown.AlertBadCertificate, phase: atHello, text: "does not verify"}},
	} {
		cfg := config13()
		cfg.ServerName, cfg.Roots = c.name, c.roots
		play13(t, cfg, nil, script13{}).expect(c.want)
		cfg = config12()
		cfg.ServerName, cfg.Roots = c.name, c.roots
		play12(t, cfg, nil, script12{}).expect(c.want)
	}
}

// TestVerifyName: the name to verify is another than the one that is sent.
func TestVerifyName(t *testing.T) {
	for _, name := range []string{"", "another"} {
		cfg := config13()
		cfg.ServerName, cfg.VerifyName, cfg.Roots = name, "peer", identityRoots()
		p := play13(t, cfg, nil, script13{})
		if f := p.machine.Failure(); f != nil || p.machine.Observed().Verification != shakedown.VerificationOK {
			t.Errorf("sent %q, verified for peer: %s, %v", name, p.machine.Observed().Verification, f)
		}
		cfg.ServerName, cfg.VerifyName = "peer", "another"
		play13(t, cfg, nil, script13{}).expect(verdict{class: shakedown.ClassVerification, alert: shakedown.AlertBadCertificate, phase: atHello, text: "does not verify"})
	}
}

// TestVerifyAfterwards verifies a chain when the handshake is over, which it is
// whatever the chain.
func TestVerifyAfterwards(t *testing.T) {
	for _, c := range []struct {
		name  string
		roots *x509.CertPool
		want  shakedown.Verification
		text  string // of the error
	}{
		{"peer", identityRoots(), shakedown.VerificationOK, ""},
		{"peer", x509.NewCertPool(), shakedown.VerificationFailed, "trusted"},
		{"another", identityRoots(), shakedown.VerificationFailed, `not for "another"`},
	} {
		cfg := config13()
		cfg.ServerName = c.name
		p := play13(t, cfg, nil, script13{})
		if f, v := p.machine.Failure(), p.machine.Observed().Verification; f != nil || !p.done || v != shakedown.VerificationSkipped {
			t.Fatalf("before: done %v, %s, %v", p.done, v, f)
		}
		err := p.machine.Verify(c.roots)
		if got := p.machine.Observed().Verification; got != c.want || (err == nil) != (c.text == "") || err != nil && !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %s, %v; want %s", c.name, got, err, c.want)
		}
	}
	if err := newPeer(t, nil, config13(), nil).machine.Verify(identityRoots()); err != nil {
		t.Errorf("without a chain: %v", err)
	}
}

// TestHugeKey refuses a key that would take seconds to use, in any kind of work.
func TestHugeKey(t *testing.T) {
	n := new(big.Int).Lsh(big.NewInt(1), 16384)
	pub := &rsa.PublicKey{N: n.SetBit(n, 0, 1), E: 65537}
	signer := identities["p256"]()
	parent := must(x509.ParseCertificate(signer.chain[0]))
	der := must(x509.CreateCertificate(rand.Reader, &x509.Certificate{SerialNumber: big.NewInt(2)}, parent, pub, signer.key))
	for _, work := range []shakedown.Work{shakedown.WorkFull, shakedown.WorkMinimal} {
		cfg := config13()
		cfg.Work = work
		play13(t, cfg, nil, script13{certificate: func(c *wire.CertificateTLS13) { c.Entries[0].DER = der }}).
			expect(verdict{class: shakedown.ClassIncompatible, alert: shakedown.AlertUnsupportedCertificate, phase: atHello, text: "16385 bits"})
	}
}

// TestProbe ends with the server's hello, whatever of old it says.
func TestProbe(t *testing.T) {
	cfg := handshake.Config{ProbeOnly: true, Versions: versions(shakedown.TLS11), CipherSuites: []shakedown.CipherSuite{0x000A}}
	p := newPeer(t, nil, cfg, nil)
	p.readHello()
	sh := wire.ServerHello{Version: shakedown.TLS11, CipherSuite: 0x000A}
	p.feed(plainRecord(wire.Handshake, sh.Append(nil)))
	if o := p.machine.Observed(); !p.done || o.Version != shakedown.TLS11 || o.CipherSuite != 0x000A || p.told(shakedown.PhaseComplete) != 0 || p.machine.Session() != nil {
		t.Errorf("done %v, observed %+v: %v", p.done, o, p.machine.Failure())
	}
}

// TestSentLimits has the server limit our records: the certificate and the data
// of the client come in pieces.
func TestSentLimits(t *testing.T) {
	long := identities["rsa"]()
	cert := &handshake.ClientCertificate{Chain: long.chain, Signer: long.key}
	pieces := func(p *peer, kind wire.ContentType) (sizes []int) {
		for {
			got, content, ok := p.next()
			if !ok {
				return sizes
			}
			if got == kind {
				sizes = append(sizes, len(content))
			}
		}
	}
	within := func(t *testing.T, sizes []int, limit int) {
		t.Helper()
		if len(sizes) < 2 {
			t.Errorf("records of %v bytes: not divided", sizes)
		}
		for _, n := range sizes {
			if n > limit {
				t.Errorf("records of %v bytes, the limit is %d", sizes, limit)
			}
		}
	}
	request := certificateRequest()
	request.Extensions[0].Data = wire.AppendSignatureAlgorithms(nil, []shakedown.SignatureScheme{shakedown.RSAPSSRSAESHA256})
	t.Run("record_size_limit in TLS 1.3", func(t *testing.T) {
		cfg := config13()
		cfg.RecordSizeLimit, cfg.Certificate = 16385, cert
		p := play13(t, cfg, nil, script13{request: request, stop: true, extensions: addToExtensions(extension(shakedown.ExtRecordSizeLimit, 0, 101)).extensions})
		within(t, pieces(p, wire.Handshake), 100)
		if send, receive := p.machine.RecordLimits(); send != 100 || receive != 16384 {
			t.Errorf("limits %d and %d", send, receive)
		}
	})
	t.Run("max_fragment_length in TLS 1.2", func(t *testing.T) {
		cfg := config12()
		cfg.MaxFragmentLength, cfg.Certificate = 1, cert
		p := play12(t, cfg, nil, script12{
			request: &wire.CertificateRequestTLS12{Types: []byte{1}, SignatureSchemes: []shakedown.SignatureScheme{shakedown.RSAPSSRSAESHA256}}, stop: true,
			hello: func(sh *wire.ServerHello) {
				sh.Extensions = append(sh.Extensions, extension(shakedown.ExtMaxFragmentLength, 1))
			},
		})
		if f := p.machine.Failure(); f != nil {
			t.Fatal(f)
		}
		within(t, pieces(p, wire.Handshake), 512)
	})
}

// TestReuse has one Machine take right handshakes after ones that failed in every
// way: nothing of those is left.
func TestReuse(t *testing.T) {
	m := handshake.NewMachine(nil)
	right := func() {
		t.Helper()
		for _, play := range []func() *peer{
			func() *peer { return play13(t, config13(), nil, script13{machine: m, request: certificateRequest()}) },
			func() *peer {
				return play13(t, configEarly(), session13(shakedown.TLS_AES_128_GCM_SHA256), script13{machine: m, psk: true, early: true})
			},
			func() *peer { return play12(t, config12(), nil, script12{machine: m, ticket: []byte("ticket")}) },
			func() *peer {
				return play12(t, configMode12(shakedown.ModeTicket)(), session12(), script12{machine: m, resume: true})
			},
		} {
			if p := play(); p.machine.Failure() != nil || !p.done {
				t.Fatalf("failure %v", p.machine.Failure())
			}
		}
	}
	right()
	for message := range 6 {
		n := -1
		spoil := func(_ wire.HandshakeType, raw []byte) []byte {
			if n++; n == message {
				return changeLength(raw, 1)
			}
			return raw
		}
		if p := play13(t, config13(), nil, script13{machine: m, request: certificateRequest(), alter: spoil}); p.machine.Failure() == nil {
			t.Fatalf("message %d spoiled, and the client went on", message)
		}
		right()
		n = -1
		if p := play12(t, config12(), nil, script12{machine: m, ticket: []byte("t"), alter: spoil}); p.machine.Failure() == nil {
			t.Fatalf("message %d of TLS 1.2 spoiled, and the client went on", message)
		}
		right()
		// One that was given up half way.
		p := newPeer(t, m, config13(), nil)
		p.readHello()
		p.feed([]byte{22, 3, 3, 0, 100, 2, 0})
		right()
	}
}
