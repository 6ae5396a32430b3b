package load_test

import (
	"context"
	"testing"
	"time"

	"shakedown"
	"shakedown/handshake"
	"shakedown/internal/load"
	"shakedown/internal/server"

	"net/netip"
)

func startServer(t testing.TB, d server.Driver, spec server.Spec) *server.Server {
	t.Helper()
	if err := d.Available(); err != nil {
		t.Skipf("%s is not installed: %v", d.Name(), err)
	}
	s, err := d.Start(context.Background(), spec, t.TempDir())
	if err != nil {
		t.Fatalf("starting %s: %v", d.Name(), err)
	}
	t.Cleanup(func() { s.Stop() })
	return s
}

func plan(s *server.Server) load.Plan {
	return load.Plan{
		Targets: []netip.AddrPort{s.Addr}, Connections: 8, Duration: time.Minute, Count: 400, Timeout: 10 * time.Second,
		Config: handshake.Config{ServerName: s.Name, Work: shakedown.WorkMinimal},
	}
}

// TestCount makes a counted run in each mode, and holds the load's count
// against the server's own.
func TestCount(t *testing.T) {
	for _, mode := range shakedown.Modes() {
		t.Run(string(mode), func(t *testing.T) {
			s := startServer(t, server.Nginx{}, server.Spec{EarlyData: true, Cache: server.CacheShared})
			p := plan(s)
			p.Config.Mode = mode
			if mode == shakedown.ModeEarlyData {
				p.Config.Request = []byte("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
			}
			sum, err := load.Run(t.Context(), p, nil)
			if err != nil {
				t.Fatal(err)
			}
			if sum.Handshakes != p.Count || sum.Failures != 0 {
				t.Fatalf("%d handshakes, %d failures, want %d and 0: %+v", sum.Handshakes, sum.Failures, p.Count, sum.Failed)
			}
			if n := sum.Mismatches(); n != 0 {
				t.Errorf("%d handshakes not as asked: %+v", n, sum.Observed)
			}
			if len(sum.Observed) != 1 || sum.Observed[0].Mode != mode || sum.Observed[0].N != p.Count {
				t.Errorf("observed %+v", sum.Observed)
			}
		})
	}
}

// TestTargets has two addresses, one of them dead: each has its own figures.
func TestTargets(t *testing.T) {
	s := startServer(t, server.Embedded{}, server.Spec{Certificates: []server.KeyKind{server.P256}})
	dead := startServer(t, server.Embedded{}, server.Spec{Certificates: []server.KeyKind{server.P256}})
	dead.Stop()
	p := plan(s)
	p.Targets = append(p.Targets, dead.Addr)
	p.Count = 40
	sum, err := load.Run(t.Context(), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(sum.Targets) != 2 {
		t.Fatalf("figures of %d targets, want 2", len(sum.Targets))
	}
	for i, target := range sum.Targets {
		good, bad := target.Handshakes, target.Failures
		if i == 1 {
			good, bad = bad, good
		}
		if target.Address != p.Targets[i] || good != 20 || bad != 0 || target.Total.N != target.Handshakes {
			t.Errorf("%s: %d handshakes, %d failures, latency of %d", target.Address, target.Handshakes, target.Failures, target.Total.N)
		}
	}
}

// TestCountAfterWarmup counts what was begun after the warm-up, to the last.
func TestCountAfterWarmup(t *testing.T) {
	s := startServer(t, server.Embedded{}, server.Spec{Certificates: []server.KeyKind{server.P256}})
	p := plan(s)
	p.Count, p.Warmup = 50, 100*time.Millisecond
	sum, err := load.Run(t.Context(), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	if sum.Handshakes != p.Count {
		t.Errorf("%d handshakes, want %d", sum.Handshakes, p.Count)
	}
}
