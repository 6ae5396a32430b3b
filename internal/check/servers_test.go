package check

import (
	"context"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
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

// check runs the plan for servers, with a rate that suits a test.
func check(t *testing.T, plan Plan, servers ...*server.Server) *Report {
	t.Helper()
	for _, s := range servers {
		plan.Targets = append(plan.Targets, targetOf(s))
		if plan.Roots == nil && len(servers) == 1 {
			plan.Roots = s.Roots
		}
	}
	return run(t, plan)
}

// run runs a plan, and shows what it came to if the test fails.
func run(t *testing.T, plan Plan) *Report {
	t.Helper()
	if plan.Rate == 0 {
		plan.Rate = 500
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	r, err := Run(ctx, plan)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() || testing.Verbose() {
			show(t, r)
		}
	})
	return r
}

func show(t *testing.T, r *Report) {
	for _, target := range r.Targets {
		t.Logf("%s: %d connections", target.Address, target.Connections)
		for _, a := range target.Observation.Answers {
			t.Logf("  %-18s %-12s %s [%d]", a.ID, a.Verdict, a.Evidence, a.Connections)
		}
		for _, f := range target.Findings {
			t.Logf("  %s %s: %s | %s | %s | %s", f.Severity, f.ID, f.Title, f.Evidence, f.Cost, f.Nginx)
		}
	}
	for _, f := range r.Findings {
		t.Logf("all: %s %s: %s | %s | %s", f.Severity, f.ID, f.Title, f.Evidence, f.Cost)
	}
}

// expect checks the answers to questions.
func expect(t *testing.T, o *Observation, want map[string]shakedown.Verdict) {
	t.Helper()
	for id, v := range want {
		if a := o.answer(id); a.Verdict != v {
			t.Errorf("%s: %s, want %s; evidence: %s", id, a.Verdict, v, a.Evidence)
		}
	}
}

// expectState checks the state of a mechanism.
func expectState(t *testing.T, o *Observation, mechanism string, want State) *Resumption {
	t.Helper()
	r := o.resumption(mechanism, true)
	if r == nil {
		t.Fatalf("%s: nothing observed", mechanism)
	}
	if r.State != want {
		t.Errorf("%s: state %q (%s), want %q", mechanism, r.State, proportion(r), want)
	}
	return r
}

// hasFinding reports whether there is a finding of that kind.
func hasFinding(list []shakedown.Finding, id string) bool {
	return slices.ContainsFunc(list, func(f shakedown.Finding) bool { return f.ID == id })
}

// expectFindings checks that these are there, and those not.
func expectFindings(t *testing.T, list []shakedown.Finding, there, not []string) {
	t.Helper()
	for _, id := range there {
		if !hasFinding(list, id) {
			t.Errorf("there is no finding %s", id)
		}
	}
	for _, id := range not {
		if hasFinding(list, id) {
			t.Errorf("there is a finding %s", id)
		}
	}
}

// accounts compares what the report claims of connections with the server's own
// count. Each was followed by a request, so nginx logged how it began.
func accounts(t *testing.T, s *server.Server, r *Report) server.Counts {
	t.Helper()
	c, err := s.Connections(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if c.Accepted != server.NotTold && c.Accepted != int64(r.Connections) {
		t.Errorf("%d connections are reported, the server accepted %d", r.Connections, c.Accepted)
	}
	return c
}

// forward is a balancer in front of servers: connection i goes to server i mod n.
// It closes all connections after the first limit, unless that is 0.
func forward(t *testing.T, limit int, servers ...*server.Server) Target {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var pipes sync.WaitGroup
	pipes.Go(func() {
		for i := 0; ; i++ {
			in, err := l.Accept()
			if err != nil {
				return
			}
			if limit > 0 && i >= limit {
				in.Close()
				continue
			}
			out, err := net.Dial("tcp", servers[i%len(servers)].Addr.String())
			if err != nil {
				in.Close()
				continue
			}
			pipes.Go(func() { io.Copy(out, in); out.Close(); in.Close() }) //nolint:errcheck // either end may close
			pipes.Go(func() { io.Copy(in, out); out.Close(); in.Close() }) //nolint:errcheck // likewise
		}
	})
	t.Cleanup(func() { l.Close(); pipes.Wait() })
	target := targetOf(servers[0])
	target.Port = l.Addr().(*net.TCPAddr).AddrPort().Port()
	return target
}
