package handshake_test

import (
	"net"
	"os/exec"
	"testing"
	"time"

	"shakedown"
	"shakedown/handshake"
	"shakedown/internal/server"
)

// TestPSKOnly resumes by psk_ke with the one server that can be told to: it
// needs a switch that the driver does not set, since hardly anyone does.
func TestPSKOnly(t *testing.T) {
	if err := (server.OpenSSL{}).Available(); err != nil {
		t.Skipf("openssl is not installed: %v", err)
	}
	authority, err := server.NewAuthority(server.FamilyFor(server.P256))
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := authority.Issue(server.LeafRequest{Key: server.P256})
	if err != nil {
		t.Fatal(err)
	}
	files, err := leaf.Write(t.TempDir(), "leaf")
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := listener.Addr().(*net.TCPAddr).AddrPort()
	listener.Close()
	cmd := exec.Command("openssl", "s_server", "-accept", addr.String(), "-cert", files.Leaf, "-key", files.Key, "-tls1_3", "-allow_no_dhe_kex", "-www")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill() //nolint:errcheck // it may have ended
		cmd.Wait()         //nolint:errcheck // it was killed
	})
	s := &counted{Server: &server.Server{Addr: addr, Name: server.DefaultName}}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if conn, err := net.Dial("tcp", addr.String()); err == nil {
			conn.Close()
			break
		} else if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	for _, work := range []shakedown.Work{shakedown.WorkFull, shakedown.WorkMinimal} {
		for _, mode := range []bool{true, false} {
			row := interopRow{config: handshake.Config{Mode: shakedown.ModePSK, PSKOnly: mode}, check: func(e exchanged) error {
				if (e.Observed.Group == 0) != mode {
					t.Errorf("work %s, psk_ke %v: group %s", work, mode, e.Observed.Group)
				}
				return nil
			}}
			if err := s.attempt(t.Context(), row, work); err != nil {
				t.Errorf("work %s, psk_ke %v: %v", work, mode, err)
			}
		}
	}
}
