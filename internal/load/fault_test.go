package load_test

import (
	"context"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"shakedown"
	"shakedown/handshake"
	"shakedown/internal/load"
	"shakedown/internal/peertest"
	"shakedown/internal/server"
)

// run makes the load of p, which has to be possible.
func run(t *testing.T, ctx context.Context, p load.Plan) *load.Summary {
	t.Helper()
	sum, err := load.Run(ctx, p, nil)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// TestClosingServer has a server close 2% of its connections: all are counted,
// and the load keeps its concurrency to the end.
func TestClosingServer(t *testing.T) {
	s := startServer(t, server.Embedded{}, server.Spec{Certificates: []server.KeyKind{server.P256}})
	proxy := peertest.StartProxy(t, s.Addr, peertest.ProxyConfig{Close: peertest.CloseShare(0.02, 7)})
	p := plan(s)
	p.Targets = []netip.AddrPort{proxy.Addr}
	p.Count, p.Connections = 2000, 16
	sum := run(t, t.Context(), p)
	if sum.Handshakes+sum.Failures != p.Count {
		t.Errorf("%d handshakes and %d failures do not make the %d asked for", sum.Handshakes, sum.Failures, p.Count)
	}
	if sum.Failures != int64(proxy.Closed()) || sum.Failures == 0 {
		t.Errorf("%d failures, but the server closed %d connections", sum.Failures, proxy.Closed())
	}
	if sum.Client.PeakInFlight != p.Connections {
		t.Errorf("%d in flight at the most, want %d", sum.Client.PeakInFlight, p.Connections)
	}
	for _, f := range sum.Failed {
		if f.Class != shakedown.ClassNetwork {
			t.Errorf("failure of class %s: %s", f.Class, f.Text)
		}
	}
}

// TestFaults has servers that do everything wrong: the load ends, and every
// handshake is counted as a failure of the right class.
func TestFaults(t *testing.T) {
	for _, fault := range peertest.Faults() {
		t.Run(fault.Name, func(t *testing.T) {
			t.Parallel()
			addr := peertest.Serve(t, fault.Do)
			p := load.Plan{
				Targets: []netip.AddrPort{addr}, Connections: 4, Count: 40, Duration: 20 * time.Second, Timeout: 300 * time.Millisecond,
				Config: handshake.Config{ServerName: "shakedown.test", Work: shakedown.WorkMinimal},
			}
			sum := run(t, t.Context(), p)
			if sum.Handshakes != 0 || sum.Failures != p.Count {
				t.Fatalf("%d handshakes, %d failures of %d", sum.Handshakes, sum.Failures, p.Count)
			}
			for _, f := range sum.Failed {
				if f.Class == shakedown.ClassOurs || f.Class == shakedown.ClassLocal || f.Text == "" {
					t.Errorf("%d failures of class %s: %q", f.N, f.Class, f.Text)
				}
			}
		})
	}
}

// TestRestart kills the server in mid-run and starts it again on the same port:
// the failures are classified and the load recovers.
func TestRestart(t *testing.T) {
	spec := server.Spec{Certificates: []server.KeyKind{server.P256}, PKI: t.TempDir()}
	s := startServer(t, server.Embedded{}, spec)
	p := plan(s)
	p.Count, p.Duration = 0, 3*time.Second
	ended := make(chan *load.Summary)
	go func() {
		sum, err := load.Run(t.Context(), p, nil)
		if err != nil {
			t.Error(err)
		}
		ended <- sum
	}()
	time.Sleep(time.Second)
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(500 * time.Millisecond)
	spec.Port = s.Addr.Port()
	startServer(t, server.Embedded{}, spec)
	sum := <-ended
	if sum == nil {
		t.FailNow()
	}
	if sum.Failures == 0 {
		t.Error("no failure seen while the server was down")
	}
	for _, f := range sum.Failed {
		if f.Class != shakedown.ClassNetwork {
			t.Errorf("%d failures of class %s: %s", f.N, f.Class, f.Text)
		}
	}
	last := sum.Series[len(sum.Series)-1]
	if last.Handshakes == 0 {
		t.Errorf("no handshake in the last second: %+v", sum.Series)
	}
}

// TestInterrupt ends a run before its time: it still gives a summary, at once.
func TestInterrupt(t *testing.T) {
	s := startServer(t, server.Embedded{}, server.Spec{})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(300*time.Millisecond, cancel)
	p := plan(s)
	p.Count = 0
	sum := run(t, ctx, p)
	if !sum.Interrupted || sum.Handshakes == 0 {
		t.Errorf("interrupted %v, %d handshakes", sum.Interrupted, sum.Handshakes)
	}
}

// TestInterruptStalled ends a run whose server never answers.
func TestInterruptStalled(t *testing.T) {
	addr := peertest.Serve(t, peertest.NeverAnswer)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(200*time.Millisecond, cancel)
	sum := run(t, ctx, load.Plan{
		Targets: []netip.AddrPort{addr}, Connections: 8, Duration: time.Hour, Timeout: time.Hour,
		Config: handshake.Config{Work: shakedown.WorkMinimal},
	})
	if sum.Abandoned != 8 {
		t.Errorf("%d handshakes abandoned, want 8", sum.Abandoned)
	}
}

// TestRefused has nothing listen: the load rests between its tries instead of
// making millions.
func TestRefused(t *testing.T) {
	s := startServer(t, server.Embedded{}, server.Spec{})
	p := plan(s)
	s.Stop()
	p.Count, p.Duration, p.Connections = 0, 500*time.Millisecond, 4
	sum := run(t, t.Context(), p)
	if sum.Failures == 0 || sum.Handshakes != 0 {
		t.Fatalf("%d handshakes, %d failures", sum.Handshakes, sum.Failures)
	}
	// Four connections, a rest of 50 ms each, over half a second.
	if sum.Failures > 4*12 {
		t.Errorf("%d tries in half a second", sum.Failures)
	}
}

// TestOpenLoop keeps a rate, counts from the planned instant and counts what it
// could not begin.
func TestOpenLoop(t *testing.T) {
	s := startServer(t, server.Embedded{}, server.Spec{Certificates: []server.KeyKind{server.P256}})
	p := plan(s)
	p.Count, p.Duration = 0, 2*time.Second
	p.Arrivals = load.Arrivals{Stages: []load.Stage{{Duration: 2 * time.Second, Rate: 100}}}
	for _, poisson := range []bool{false, true} {
		p.Arrivals.Poisson = poisson
		sum := run(t, t.Context(), p)
		// All arrivals of the plan are accounted for, whatever the machine's
		// speed. Of a Poisson process 200 are expected, +-5 standard deviations.
		all := sum.Handshakes + sum.Failures + sum.Missed
		if low, high := int64(200-71), int64(200+71); poisson && (all < low || all > high) || !poisson && (all < 198 || all > 202) {
			t.Errorf("poisson %v: %d handshakes, %d failures, %d missed", poisson, sum.Handshakes, sum.Failures, sum.Missed)
		}
	}
}

// TestOpenLoopStalled gives a server that never answers too many arrivals: what
// cannot begin is missed, and said to be.
func TestOpenLoopStalled(t *testing.T) {
	addr := peertest.Serve(t, peertest.NeverAnswer)
	sum := run(t, t.Context(), load.Plan{
		Targets: []netip.AddrPort{addr}, Connections: 4, Duration: time.Second, Timeout: 10 * time.Second,
		Config: handshake.Config{Work: shakedown.WorkMinimal}, Threads: 1,
		Arrivals: load.Arrivals{Stages: []load.Stage{{Duration: time.Second, Rate: 50}}},
	})
	if sum.Missed+sum.Failures < 49 || sum.Failures < 4 {
		t.Errorf("%d missed, %d failed, %d abandoned", sum.Missed, sum.Failures, sum.Abandoned)
	}
}

// TestMemory makes many handshakes, and holds the heap after them against that
// after the first few.
func TestMemory(t *testing.T) {
	s := startServer(t, server.Nginx{}, server.Spec{Certificates: []server.KeyKind{server.P256}})
	p := plan(s)
	heap := func(n int64) uint64 {
		p.Count = n
		run(t, t.Context(), p)
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap(100)
	if after := heap(5000); after > before+1<<20 {
		t.Errorf("the heap grew from %d to %d bytes", before, after)
	}
}
