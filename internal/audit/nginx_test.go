package audit

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"shakedown"
	"shakedown/internal/lint"
	"shakedown/internal/nginx"
	"shakedown/internal/server"
)

// live is an nginx on 127.0.0.1 that runs on a file, which can be edited beneath it.
type live struct {
	t       *testing.T
	binary  nginx.Binary
	dir     string
	file    string
	address netip.AddrPort
	cmd     *exec.Cmd
	out     bytes.Buffer
}

// start runs nginx with the inside of http{}, in which PORT is a free port. The directory has certificates (rsa, ecdsa,
// other: .pem and .key) and ticket keys (one, two: .tkt).
func start(t *testing.T, http string) *live {
	t.Helper()
	binary, err := nginx.Installed(t.Context())
	if err != nil || binary.Version.Before(1, 19, 4) {
		t.Skipf("needs nginx 1.19.4 or later (apt install nginx): %s %v", binary.Version, err)
	}
	l := &live{t: t, binary: binary, dir: t.TempDir()}
	l.file = filepath.Join(l.dir, "nginx.conf")
	for name, kind := range map[string]server.KeyKind{"rsa": server.RSA2048, "ecdsa": server.P256, "other": server.P256} {
		authority, err := server.NewAuthority(server.FamilyFor(kind))
		if err != nil {
			t.Fatal(err)
		}
		cert, err := authority.Issue(server.LeafRequest{Key: kind, Names: []string{"a.example", "b.example"}})
		if err != nil {
			t.Fatal(err)
		}
		l.write(name+".pem", cert.ChainPEM())
		l.write(name+".key", cert.KeyPEM)
	}
	for _, name := range []string{"one.tkt", "two.tkt"} {
		if err := server.NewTicketKey(filepath.Join(l.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	l.address = freePort(t)
	l.edit(http)
	l.cmd = exec.Command(binary.Path, "-p", l.dir, "-c", l.file)
	l.cmd.Stdout, l.cmd.Stderr = &l.out, &l.out
	l.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := l.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.stop)
	l.wait("answers", func() bool {
		conn, err := net.Dial("tcp", l.address.String())
		return err == nil && conn.Close() == nil
	})
	return l
}

func freePort(t *testing.T) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).AddrPort()
}

func (l *live) write(name string, content []byte) {
	l.t.Helper()
	if err := os.WriteFile(filepath.Join(l.dir, name), content, 0o600); err != nil {
		l.t.Fatal(err)
	}
}

// edit writes the file and leaves the server as it is.
func (l *live) edit(http string) {
	l.t.Helper()
	http = strings.ReplaceAll(http, "PORT", fmt.Sprintf("127.0.0.1:%d", l.address.Port()))
	l.write("nginx.conf", fmt.Appendf(nil, "worker_processes 2; daemon off; pid nginx.pid; error_log error.log info;\nevents {}\nhttp {\naccess_log off;\n%s\n}\n", http))
}

// reload tells the server to read the file, and waits until the old workers are gone.
func (l *live) reload() {
	l.t.Helper()
	gone := func() int {
		log, err := os.ReadFile(filepath.Join(l.dir, "error.log"))
		if err != nil {
			l.t.Fatal(err)
		}
		return strings.Count(string(log), "exited with code 0")
	}
	before := gone()
	if err := l.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		l.t.Fatal(err)
	}
	l.wait("has reloaded", func() bool { return gone() >= before+2 })
}

func (l *live) wait(what string, done func() bool) {
	l.t.Helper()
	for range 1000 {
		if done() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	log, _ := os.ReadFile(filepath.Join(l.dir, "error.log"))
	l.t.Fatalf("nginx never %s: %s\n%s", what, l.out.String(), log)
}

func (l *live) stop() {
	if err := l.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		l.t.Error(err)
	}
	timer := time.AfterFunc(5*time.Second, func() { _ = syscall.Kill(-l.cmd.Process.Pid, syscall.SIGKILL) })
	defer timer.Stop()
	_ = l.cmd.Wait() // ended by our signal
}

// lint applies the rules to the file as it is now.
func (l *live) lint(rate float64) *lint.Report {
	l.t.Helper()
	r, err := lint.Run(l.file, lint.Rules(), lint.Options{Nginx: l.binary.Version, OpenSSL: l.binary.OpenSSL, SessionsPerSecond: rate})
	if err != nil {
		l.t.Fatal(err)
	}
	return r
}

func (l *live) target() shakedown.Target {
	return shakedown.Target{Host: l.address.Addr().String(), Port: l.address.Port(), Addresses: []netip.Addr{l.address.Addr()}, Transport: shakedown.TCP, Path: "/"}
}

// audit compares the file as it is now with the server for a name.
func (l *live) audit(names ...string) *lint.Report {
	l.t.Helper()
	r := l.lint(0)
	if err := Run(l.t.Context(), Plan{Report: r, Target: l.target(), Names: names, Rate: 1000}); err != nil {
		l.t.Fatal(err)
	}
	return r
}
