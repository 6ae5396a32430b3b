package handshake_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"shakedown"
	"shakedown/handshake"
	"shakedown/internal/server"
)

// explainers are the servers that the reasons are tried on.
var explainers = []server.Driver{server.Nginx{}, server.OpenSSL{}, server.Embedded{}, server.HAProxy{}, server.GnuTLS{}}

// withBoth are the servers that take their ECDSA certificate whatever the groups,
// though they have one of RSA.
var withBoth = map[string]string{"haproxy": "ECDSA-P256", "gnutls": "ECDSA-P256"}

// TestPreflight: whether x25519 alone will do in TLS 1.2 hangs on the certificate.
func TestPreflight(t *testing.T) {
	x25519 := handshake.Config{Versions: versions(v12), Groups: []shakedown.Group{shakedown.X25519}}
	withTLS13 := x25519
	withTLS13.Versions = versions(v13, v12)
	only12 := versions(v12)
	for _, d := range explainers {
		t.Run(d.Name(), func(t *testing.T) {
			for _, c := range []struct {
				name       string
				spec       server.Spec
				cfg        handshake.Config
				text, hint string // empty: it goes
			}{
				{"RSA", server.Spec{Certificates: []server.KeyKind{server.RSA2048}, Versions: only12}, x25519, "", ""},
				{"both", server.Spec{Certificates: both, Versions: only12}, x25519, withBoth[d.Name()], ""},
				{"P-256", server.Spec{Certificates: []server.KeyKind{server.P256}, Versions: only12}, x25519,
					"ECDSA-P256", "add --group P-256, or use --version 1.3 if the server has that"},
				{"P-384", server.Spec{Certificates: []server.KeyKind{server.P384}, Versions: only12}, x25519,
					"ECDSA-P384", "add --group P-384, or use --version 1.3 if the server has that"},
				{"P-256, 1.3 offered to 1.2", server.Spec{Certificates: []server.KeyKind{server.P256}, Versions: only12}, withTLS13, "ECDSA-P256", "add --group P-256"},
				{"P-256, 1.3 taken", server.Spec{Certificates: []server.KeyKind{server.P256}}, withTLS13, "", ""},
			} {
				t.Run(c.name, func(t *testing.T) {
					s := startServer(t, d, c.spec)
					c.cfg.ServerName = s.Name
					f := handshake.Preflight(t.Context(), newClient(t, c.cfg), dialing(s, nil))
					if c.text == "" {
						if f != nil {
							t.Errorf("refused: %v", f)
						}
						return
					}
					if f == nil || !strings.Contains(f.Text, c.text) || !strings.Contains(f.Text, "RFC 8422") || !strings.HasPrefix(f.Hint, c.hint) {
						t.Errorf("%v, hint %q; want a text with %q and the hint %q", f, hintOf(f), c.text, c.hint)
					}
				})
			}
		})
	}
}

// TestPreflightIsRare: what is offered as a rule takes no connection.
func TestPreflightIsRare(t *testing.T) {
	dial := func(context.Context) (net.Conn, error) {
		t.Error("a connection was made")
		return nil, errors.New("none")
	}
	for name, cfg := range map[string]handshake.Config{
		"default":                 {},
		"TLS 1.3":                 {Versions: versions(v13), Groups: []shakedown.Group{shakedown.X25519}},
		"P-256":                   {Versions: versions(v12), Groups: []shakedown.Group{shakedown.Secp256r1}},
		"suites for RSA":          {Versions: versions(v12), Groups: []shakedown.Group{shakedown.X25519}, CipherSuites: []shakedown.CipherSuite{shakedown.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256}},
		"resumption, as a rule":   {Mode: shakedown.ModeTicket},
		"resumption with TLS 1.3": {Mode: shakedown.ModePSK, Groups: []shakedown.Group{shakedown.X25519}},
	} {
		if f := handshake.Preflight(t.Context(), newClient(t, cfg), dial); f != nil {
			t.Errorf("%s: %v", name, f)
		}
	}
}

// TestExplain: what a refused offer lacked, and that the server takes it with that.
func TestExplain(t *testing.T) {
	rsa, ecdsa := shakedown.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, shakedown.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256
	for _, d := range explainers {
		t.Run(d.Name(), func(t *testing.T) {
			for _, c := range []struct {
				name       string
				spec       server.Spec
				cfg        handshake.Config
				text, hint string
			}{
				{"suites for RSA", server.Spec{Certificates: []server.KeyKind{server.P256}},
					handshake.Config{Versions: versions(v12), CipherSuites: []shakedown.CipherSuite{rsa}},
					"the server's certificate is ECDSA-P256, and none of the cipher suites offered is for such a key", "add --suite TLS_ECDHE_ECDSA_"},
				{"suites for static RSA", server.Spec{Certificates: []server.KeyKind{server.P256}},
					handshake.Config{Versions: versions(v12), CipherSuites: []shakedown.CipherSuite{shakedown.TLS_RSA_WITH_AES_128_GCM_SHA256}},
					"the server's certificate is ECDSA-P256, and none of the cipher suites offered is for such a key", "add --suite TLS_ECDHE_ECDSA_"},
				{"suites for ECDSA", server.Spec{Certificates: []server.KeyKind{server.RSA2048}},
					handshake.Config{Versions: versions(v12), CipherSuites: []shakedown.CipherSuite{ecdsa}},
					"the server's certificate is RSA-2048, and none of the cipher suites offered is for such a key", "add --suite TLS_"},
				{"suites and curve", server.Spec{Certificates: []server.KeyKind{server.P256}},
					handshake.Config{Versions: versions(v12), CipherSuites: []shakedown.CipherSuite{rsa}, Groups: []shakedown.Group{shakedown.X25519}},
					"the server's certificate is ECDSA-P256", " --group P-256"},
				{"schemes for RSA in 1.3", server.Spec{Certificates: []server.KeyKind{server.P256}},
					handshake.Config{Versions: versions(v13), SignatureSchemes: []shakedown.SignatureScheme{shakedown.RSAPSSRSAESHA256}},
					"the server's certificate is ECDSA-P256, and of the signature schemes offered, [rsa_pss_rsae_sha256], it can use none", "add --sig ecdsa_secp256r1_sha256"},
				{"schemes for ECDSA in 1.3", server.Spec{Certificates: []server.KeyKind{server.RSA2048}},
					handshake.Config{Versions: versions(v13), SignatureSchemes: []shakedown.SignatureScheme{shakedown.ECDSASecp256r1}},
					"the server's certificate is RSA-2048, and of the signature schemes offered", "add --sig rsa_pss_rsae_sha256"},
				{"groups in 1.3", server.Spec{Certificates: []server.KeyKind{server.RSA2048}, Groups: []shakedown.Group{shakedown.Secp384r1}},
					handshake.Config{Versions: versions(v13), Groups: []shakedown.Group{shakedown.X25519}},
					"the server takes none of the groups [x25519], but secp384r1", "add --group secp384r1"},
			} {
				t.Run(c.name, func(t *testing.T) {
					s := startServer(t, d, c.spec)
					c.cfg.ServerName = s.Name
					r := connect(t, s, c.cfg, handshake.Recorder{})
					if r.Failure == nil {
						t.Fatal("the server took it")
					}
					dials := 0
					f := handshake.Explain(t.Context(), newClient(t, c.cfg), r.Failure, dialing(s, &dials))
					if f == nil || !strings.HasPrefix(f.Text, c.text) || !strings.Contains(f.Hint, c.hint) {
						t.Errorf("after %v: %v, hint %q; want %q and a hint with %q", r.Failure, f, hintOf(f), c.text, c.hint)
					}
					if dials > 3 {
						t.Errorf("%d connections were made", dials)
					}
				})
			}
		})
	}
}

// TestExplainNothing: other failures are none of its business.
func TestExplainNothing(t *testing.T) {
	handshakeFailure, unknownName := shakedown.AlertHandshakeFailure, shakedown.AlertUnrecognizedName
	for name, f := range map[string]*shakedown.Failure{
		"network":           {Class: shakedown.ClassNetwork},
		"another alert":     {Class: shakedown.ClassAlert, Phase: shakedown.PhaseConnected, Alert: &unknownName},
		"our alert":         {Class: shakedown.ClassAlert, Phase: shakedown.PhaseConnected, Alert: &handshakeFailure, AlertSent: true},
		"after ServerHello": {Class: shakedown.ClassAlert, Phase: shakedown.PhaseServerHello, Alert: &handshakeFailure},
	} {
		dial := func(context.Context) (net.Conn, error) {
			t.Errorf("%s: a connection was made", name)
			return nil, errors.New("none")
		}
		if reason := handshake.Explain(t.Context(), newClient(t, handshake.Config{}), f, dial); reason != nil {
			t.Errorf("%s: %v", name, reason)
		}
	}
}

func newClient(t *testing.T, cfg handshake.Config) *handshake.Client {
	t.Helper()
	client, err := handshake.NewClient(&cfg)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// dialing connects to s and counts.
func dialing(s *server.Server, dials *int) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		if dials != nil {
			*dials++
		}
		return new(net.Dialer).DialContext(ctx, "tcp", s.Addr.String())
	}
}

func hintOf(f *shakedown.Failure) string {
	if f == nil {
		return ""
	}
	return f.Hint
}
