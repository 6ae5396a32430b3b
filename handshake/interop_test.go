package handshake_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"shakedown"
	"shakedown/handshake"
	"shakedown/internal/server"
)

// startServer starts the server that a test needs, or skips the test by the
// server's name.
func startServer(t testing.TB, d server.Driver, spec server.Spec) *server.Server {
	t.Helper()
	if err := d.Available(); err != nil {
		t.Skipf("%s is not installed: %v", d.Name(), err)
	}
	if err := d.Can(spec); err != nil {
		t.Skipf("%s cannot: %v", d.Name(), err)
	}
	s, err := d.Start(t.Context(), spec, t.TempDir())
	if err != nil {
		t.Fatalf("starting %s: %v", d.Name(), err)
	}
	t.Cleanup(func() { s.Stop() })
	return s
}

// connect takes one handshake with s and returns its result.
func connect(t testing.TB, s *server.Server, cfg handshake.Config, rec handshake.Recorder) shakedown.Result {
	t.Helper()
	c, r := dial(t, s, cfg, rec, nil)
	c.Close()
	return r
}

// dial takes one handshake with s and leaves the connection open. collect, when
// given, says when enough was read after it.
func dial(t testing.TB, s *server.Server, cfg handshake.Config, rec handshake.Recorder, collect func() bool) (net.Conn, shakedown.Result) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	conn, err := net.Dial("tcp", s.Addr.String())
	if err != nil {
		t.Fatal(err)
	}
	client, err := handshake.NewClient(&cfg)
	if err != nil {
		t.Fatal(err)
	}
	c := handshake.NewConn(conn, client, time.Now(), rec)
	if err := c.Handshake(ctx, cfg.Session); err != nil {
		t.Fatal(err)
	}
	if collect != nil {
		c.Collect(ctx, collect)
	}
	return conn, c.Result
}

var both = []server.KeyKind{server.RSA2048, server.P256}

// TestFullHandshakes takes full handshakes of every version, suite, group and
// signature scheme with every server, in both kinds of work, and holds what was
// observed against what was asked.
func TestFullHandshakes(t *testing.T) {
	for _, d := range server.Drivers() {
		t.Run(d.Name(), func(t *testing.T) {
			t.Parallel()
			s := startServer(t, d, server.Spec{Certificates: both, Versions: []shakedown.Version{shakedown.TLS12, shakedown.TLS13}})
			for _, c := range fullCases() {
				for _, work := range []shakedown.Work{shakedown.WorkFull, shakedown.WorkMinimal} {
					t.Run(c.name()+"/"+string(work), func(t *testing.T) {
						cfg := c.config(s, work)
						r := connect(t, s, cfg, handshake.Recorder{})
						if reason, ok := exception(d.Name(), c.name()); ok {
							if r.Failure == nil {
								t.Errorf("it does after all, though: %s", reason)
							}
							t.Skip(reason)
						}
						if r.Failure != nil {
							t.Fatalf("%v (%s)", r.Failure, r.Failure.Class)
						}
						if m := r.Asked.Mismatch(&r.Observed); m != nil {
							t.Error(m)
						}
						c.check(t, &r.Observed, work)
					})
				}
			}
		})
	}
}

type fullCase struct {
	version shakedown.Version
	suite   shakedown.CipherSuite
	group   shakedown.Group
	scheme  shakedown.SignatureScheme
}

func (c fullCase) name() string {
	return fmt.Sprintf("%s/%s/%s/%s", c.version, c.suite, c.group, c.scheme)
}

// fullCases varies one thing at a time around two usual handshakes.
func fullCases() (cases []fullCase) {
	add13 := func(s shakedown.CipherSuite, g shakedown.Group, sig shakedown.SignatureScheme) {
		cases = append(cases, fullCase{shakedown.TLS13, s, g, sig})
	}
	add12 := func(s shakedown.CipherSuite, g shakedown.Group, sig shakedown.SignatureScheme) {
		cases = append(cases, fullCase{shakedown.TLS12, s, g, sig})
	}
	const ecdsa, pss, pkcs1 = shakedown.ECDSASecp256r1, shakedown.RSAPSSRSAESHA256, shakedown.RSAPKCS1SHA256
	groups := []shakedown.Group{shakedown.X25519, shakedown.Secp256r1, shakedown.Secp384r1, shakedown.Secp521r1}
	for _, g := range groups {
		add13(shakedown.TLS_AES_128_GCM_SHA256, g, ecdsa)
		add12(shakedown.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, g, pkcs1)
	}
	for _, s := range []shakedown.CipherSuite{shakedown.TLS_AES_256_GCM_SHA384, shakedown.TLS_CHACHA20_POLY1305_SHA256} {
		add13(s, shakedown.X25519, ecdsa)
	}
	for _, sig := range []shakedown.SignatureScheme{pss, shakedown.RSAPSSRSAESHA384, shakedown.RSAPSSRSAESHA512} {
		add13(shakedown.TLS_AES_128_GCM_SHA256, shakedown.X25519, sig)
		add12(shakedown.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, shakedown.X25519, sig)
	}
	for _, sig := range []shakedown.SignatureScheme{shakedown.RSAPKCS1SHA384, shakedown.RSAPKCS1SHA512} {
		add12(shakedown.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256, shakedown.X25519, sig)
	}
	for _, s := range []shakedown.CipherSuite{
		shakedown.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
		shakedown.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
		shakedown.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
	} {
		add12(s, shakedown.Secp256r1, ecdsa)
	}
	return cases
}

func (c fullCase) config(s *server.Server, work shakedown.Work) handshake.Config {
	cfg := handshake.Config{
		Versions: []shakedown.Version{c.version}, CipherSuites: []shakedown.CipherSuite{c.suite},
		Groups: []shakedown.Group{c.group}, SignatureSchemes: []shakedown.SignatureScheme{c.scheme},
		ServerName: s.Name, Work: work,
	}
	if work == shakedown.WorkFull {
		cfg.Roots = s.Roots
	}
	return cfg
}

func (c fullCase) check(t *testing.T, o *shakedown.Observed, work shakedown.Work) {
	t.Helper()
	if o.Version != c.version || o.CipherSuite != c.suite || o.Group != c.group || o.SignatureScheme != c.scheme {
		t.Errorf("observed %s %s %s %s", o.Version, o.CipherSuite, o.Group, o.SignatureScheme)
	}
	want := shakedown.VerificationSkipped
	if work == shakedown.WorkFull {
		want = shakedown.VerificationOK
	}
	if o.Verification != want {
		t.Errorf("verification %q, want %q", o.Verification, want)
	}
	trips := 1
	if c.version == shakedown.TLS12 {
		trips = 2
		if !o.ExtendedMasterSecret || !o.SecureRenegotiation {
			t.Errorf("extended_master_secret %v, renegotiation_info %v", o.ExtendedMasterSecret, o.SecureRenegotiation)
		}
	}
	if o.RoundTrips != trips {
		t.Errorf("%d round trips, want %d", o.RoundTrips, trips)
	}
	if n := len(o.Chain.Certificates); n != 2 || !o.Chain.Ordered {
		t.Errorf("chain of %d certificates, ordered %v", n, o.Chain.Ordered)
	}
}
