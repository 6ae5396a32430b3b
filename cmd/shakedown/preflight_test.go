package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"shakedown"
	"shakedown/internal/server"
)

// TestOfferWithoutCurve types TLS 1.2 with x25519 alone at real servers: with an
// ECDSA certificate it is refused with the reason, before any load, and what the
// hint says works.
func TestOfferWithoutCurve(t *testing.T) {
	for _, d := range []server.Driver{server.Nginx{}, server.OpenSSL{}, server.Embedded{}} {
		t.Run(d.Name(), func(t *testing.T) {
			if err := d.Available(); err != nil {
				t.Skip(err)
			}
			start := func(key server.KeyKind) string {
				s, err := d.Start(t.Context(), server.Spec{Certificates: []server.KeyKind{key}, Versions: []shakedown.Version{shakedown.TLS12, shakedown.TLS13}}, t.TempDir())
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { s.Stop() })
				return s.Addr.String()
			}
			ecdsa, rsa := start(server.P256), start(server.RSA2048)
			bench := []string{"bench", "--count", "10", "--warmup", "0s", "--connections", "2"}
			trace := []string{"trace", "--insecure", "--wait", "0s"}
			const why = "the server's certificate is ECDSA-P256, and in TLS 1.2 a client has to offer its curve in supported_groups (RFC 8422, section 5.1)"
			curve := "hint: " + why
			if d.Name() == "embedded" { // it sends its certificate all the same
				curve = "hint: add --group secp256r1, or use --version 1.3"
			}
			for _, c := range []struct {
				name string
				args []string
				code int
				says string // on stderr
			}{
				{"bench", append(bench, "--version", "1.2", "--group", "x25519", ecdsa), exitFailed, why},
				{"bench, ticket", append(bench, "--mode", "ticket", "--group", "x25519", ecdsa), exitFailed, why},
				{"bench with the hint", append(bench, "--version", "1.2", "--group", "x25519", "--group", "P-256", ecdsa), exitDone, ""},
				{"bench with the other hint", append(bench, "--version", "1.3", "--group", "x25519", ecdsa), exitDone, ""},
				{"bench, RSA", append(bench, "--version", "1.2", "--group", "x25519", rsa), exitDone, ""},
				{"bench, wrong suite", append(bench, "--suite", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", rsa), exitFailed,
					"hint: the server's certificate is RSA-2048, and none of the cipher suites offered is for such a key: add --suite "},
				{"bench, wrong suite for a ticket", append(bench, "--mode", "ticket", "--suite", "TLS_RSA_WITH_AES_128_GCM_SHA256", ecdsa), exitFailed,
					"hint: the server's certificate is ECDSA-P256, and none of the cipher suites offered is for such a key: add --suite "},
				{"trace", append(trace, "--version", "1.2", "--group", "x25519", ecdsa), exitFailed, curve},
				{"trace, ticket", append(trace, "--mode", "ticket", "--group", "x25519", ecdsa), exitFailed, curve},
				{"trace, RSA", append(trace, "--version", "1.2", "--group", "x25519", rsa), exitDone, ""},
				{"trace, wrong scheme", append(trace, "--version", "1.3", "--sig", "rsa_pss_rsae_sha256", ecdsa), exitFailed, "add --sig ecdsa_secp256r1_sha256"},
			} {
				t.Run(c.name, func(t *testing.T) {
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					var stdout, stderr bytes.Buffer
					code := Run(ctx, c.args, strings.NewReader(""), &stdout, &stderr)
					if code != c.code || !strings.Contains(stderr.String(), c.says) || (c.says == "") != (stderr.Len() == 0) {
						t.Errorf("exit code %d, want %d; stderr %q, want it to have %q", code, c.code, &stderr, c.says)
					}
					if c.args[0] == "bench" && strings.HasPrefix(c.says, why) {
						if stdout.Len() > 0 {
							t.Errorf("there was load: %s", &stdout)
						}
						if !strings.Contains(stderr.String(), "\nhint: add --group P-256, or use --version 1.3") {
							t.Errorf("the hint is another: %q", &stderr)
						}
					}
				})
			}
		})
	}
}
