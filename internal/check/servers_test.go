package check

import (
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"shakedown"
	"shakedown/handshake"
	"shakedown/internal/server"
)

// startServer starts a server that ends with the test, or skips the test where
// its program is missing.
func startServer(t *testing.T, d server.Driver, spec server.Spec) *server.Server {
	t.Helper()
	if err := d.Available(); err != nil {
		t.Skipf("%s is needed: %v", d.Name(), err)
	}
	s, err := d.Start(context.Background(), spec, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Errorf("stopping %s: %v", d.Name(), err)
		}
		if t.Failed() && s.Log != "" {
			text, _ := os.ReadFile(s.Log)
			t.Logf("%s: %.2000s", filepath.Base(s.Log), text)
		}
	})
	return s
}

// targetOf returns the server as a target.
func targetOf(s *server.Server) Target {
	return Target{
		Target: shakedown.Target{
			Host: s.Addr.Addr().String(), Port: s.Addr.Port(), Addresses: []netip.Addr{s.Addr.Addr()},
			ServerName: s.Name, Transport: shakedown.TCP, Path: "/",
		},
		Config:  handshake.Config{ServerName: s.Name},
		Request: []byte("GET / HTTP/1.1\r\nHost: " + s.Name + "\r\n\r\n"),
	}
}

// check runs the plan for servers, with defaults that suit a test.
func check(t *testing.T, plan Plan, servers ...*server.Server) *Report {
	t.Helper()
	for _, s := range servers {
		plan.Targets = append(plan.Targets, targetOf(s))
		if plan.Roots == nil && len(servers) == 1 {
			plan.Roots = s.Roots
		}
	}
	if plan.Rate == 0 {
		plan.Rate = 500
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	r, err := Run(ctx, plan)
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range r.Targets {
		if t.Failed() || testing.Verbose() {
			t.Logf("%s: %d connections", target.Address, target.Connections)
			for _, a := range target.Observation.Answers {
				t.Logf("  %-18s %-12s %s [%d]", a.ID, a.Verdict, a.Evidence, a.Connections)
			}
			for _, f := range target.Findings {
				t.Logf("  %s %s: %s | %s | %s | %s", f.Severity, f.ID, f.Title, f.Evidence, f.Cost, f.Nginx)
			}
		}
	}
	for _, f := range r.Findings {
		t.Logf("all: %s %s: %s | %s | %s", f.Severity, f.ID, f.Title, f.Evidence, f.Cost)
	}
	return r
}
