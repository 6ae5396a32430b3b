package stek

import (
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"shakedown/internal/server"
)

// TestHAProxyTakesTheFile runs haproxy on the file: the last but one key encrypts, and tickets survive a restart and one rotation.
func TestHAProxyTakesTheFile(t *testing.T) {
	binary, err := exec.LookPath("haproxy")
	if err != nil {
		t.Skipf("needs haproxy (apt install haproxy): %v", err)
	}
	dir := t.TempDir()
	authority, err := server.NewAuthority(server.FamilyFor(server.P256))
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := authority.Issue(server.LeafRequest{Key: server.P256, Names: []string{"shop.example"}})
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := leaf.Write(dir, "leaf")
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(leaf.Root)
	keys := HAProxy(filepath.Join(dir, "tickets.keys"))
	set, err := NewSet(SizeAES256, time.Now().Add(-48*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if err := keys.Save(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	// run starts haproxy, lets f visit it and stops it.
	run := func(f func(s *server.Server)) {
		t.Helper()
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		addr := l.Addr().(*net.TCPAddr).AddrPort()
		l.Close()
		text := fmt.Sprintf("defaults\n mode http\n timeout connect 5s\n timeout client 5s\n timeout server 5s\nfrontend f\n bind %s ssl crt %s tls-ticket-keys %s\n http-request return status 200\n", addr, certificate.Both, keys)
		path := filepath.Join(dir, "haproxy.cfg")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(binary, "-db", "-f", path)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			_ = cmd.Wait() // ended by our signal
		}()
		for range 500 {
			if conn, err := net.Dial("tcp", addr.String()); err == nil {
				conn.Close()
				f(&server.Server{Addr: addr, Name: "shop.example", Roots: roots})
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Fatal("haproxy does not answer")
	}
	run(func(s *server.Server) {
		_, session, ticket := visit(t, s, nil)
		if role := set.Which(ticket); role != "current" {
			t.Errorf("ticket made by %q", role)
		}
		run(func(s *server.Server) {
			if resumed, _, _ := visit(t, s, session); !resumed {
				t.Error("no resumption after a restart")
			}
		})
		if set, err = set.Rotate(time.Now(), 24*time.Hour, false); err != nil {
			t.Fatal(err)
		}
		if err := keys.Save(t.Context(), set); err != nil {
			t.Fatal(err)
		}
		run(func(s *server.Server) {
			resumed, _, renewed := visit(t, s, session)
			if !resumed || set.Which(renewed) != "current" {
				t.Errorf("after a rotation: resumed %t, new ticket by %q", resumed, set.Which(renewed))
			}
		})
	})
}
