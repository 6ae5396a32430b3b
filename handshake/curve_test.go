package handshake_test

import (
	"strings"
	"testing"

	"shakedown"
	"shakedown/handshake"
	"shakedown/internal/server"
)

// TestCurveOfCertificate offers TLS 1.2 with x25519 alone. That goes with an RSA
// certificate, which nobody knows before the handshake; where the certificate is
// ECDSA the failure says why it had to come.
func TestCurveOfCertificate(t *testing.T) {
	for _, d := range []server.Driver{server.Nginx{}, server.OpenSSL{}, server.Embedded{}} {
		t.Run(d.Name(), func(t *testing.T) {
			for key, works := range map[server.KeyKind]bool{server.RSA2048: true, server.P256: false} {
				s := startServer(t, d, server.Spec{Certificates: []server.KeyKind{key}, Versions: versions(v12)})
				r := connect(t, s, handshake.Config{Versions: versions(v12), Groups: []shakedown.Group{shakedown.X25519}, ServerName: s.Name}, handshake.Recorder{})
				switch {
				case works && r.Failure != nil:
					t.Errorf("%s: %v", key, r.Failure)
				case !works && r.Failure == nil:
					t.Errorf("%s: the server took a group list without its certificate's curve", key)
				case !works && !strings.Contains(r.Failure.Hint+r.Failure.Text, "curve"):
					t.Errorf("%s: %v, hint %q", key, r.Failure, r.Failure.Hint)
				}
			}
		})
	}
}
