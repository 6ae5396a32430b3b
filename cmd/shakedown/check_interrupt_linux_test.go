package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"shakedown/internal/server"
)

// TestCheckInterrupted: a check that is ended in its midst reports what it has seen.
func TestCheckInterrupted(t *testing.T) {
	s, err := server.Embedded{}.Start(t.Context(), server.Spec{Certificates: []server.KeyKind{server.P256}}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop() //nolint:errcheck // its context ends it
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(program)
	cmd.Args = []string{"shakedown", "check", "--rate", "10", "--insecure", "--sni", s.Name, s.Addr.String()}
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() }) //nolint:errcheck // it has ended unless the test failed
	await(t, "its first connections", func() bool {
		c, err := s.Connections(t.Context())
		return err == nil && c.Accepted >= 8
	})
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	cmd.Wait() //nolint:errcheck // the exit code is looked at below
	if code := cmd.ProcessState.ExitCode(); code != exitFailed || !strings.Contains(stderr.String(), "interrupted: what was not asked") {
		t.Errorf("exit code %d, stderr %q", code, &stderr)
	}
	if !strings.Contains(stdout.String(), "TLS 1.3 psk") || !strings.Contains(stdout.String(), "inconclusive") {
		t.Errorf("the report is %q", &stdout)
	}
}
