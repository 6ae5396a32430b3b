package load_test

import (
	"context"
	"net/netip"
	"strings"
	"testing"
	"time"

	"shakedown"
	"shakedown/internal/load"
	"shakedown/internal/server"
)

// TestSingleUse offers every session once, in each mode that resumes and for
// each completion: what it takes to get the next ones is counted apart, and a
// server's own account agrees.
func TestSingleUse(t *testing.T) {
	for _, c := range []struct {
		mode     shakedown.Mode
		complete shakedown.Completion
		renewed  bool // nginx gives a new session with each resumption
	}{
		{shakedown.ModePSK, shakedown.CompleteResponse, true},
		{shakedown.ModePSK, shakedown.CompleteFinished, true},
		{shakedown.ModeTicket, shakedown.CompleteResponse, false},
		{shakedown.ModeSessionID, shakedown.CompleteResponse, false},
	} {
		t.Run(string(c.mode)+"/"+string(c.complete), func(t *testing.T) {
			s := startServer(t, server.Nginx{}, server.Spec{Cache: server.CacheShared})
			p := plan(s)
			p.Config.Mode, p.Config.Complete, p.Tickets, p.ServerPIDs = c.mode, c.complete, load.TicketsSingleUse, []int{s.PID}
			p.Config.Request = []byte("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
			sum := run(t, t.Context(), p)
			if sum.Handshakes != p.Count || sum.Failures != 0 || sum.Mismatches() != 0 {
				t.Fatalf("%d handshakes, %d failures, %d mismatches of %d", sum.Handshakes, sum.Failures, sum.Mismatches(), p.Count)
			}
			if !c.renewed && sum.Priming.Handshakes < p.Count {
				t.Errorf("%d sessions were fetched for %d handshakes that use each once", sum.Priming.Handshakes, p.Count)
			}
			if !c.renewed && (sum.Server != nil || !strings.Contains(sum.Why, "new sessions")) {
				t.Errorf("the server's CPU is told though half of it made sessions: %+v, %q", sum.Server, sum.Why)
			}
			if c.complete != shakedown.CompleteResponse {
				return // nginx tells of handshakes with a request alone whether they resumed
			}
			if err := s.Stop(); err != nil {
				t.Fatal(err)
			}
			told, err := s.Connections(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if told.Resumed != p.Count {
				t.Errorf("nginx resumed %d of %d: %s", told.Resumed, p.Count, told)
			}
		})
	}
}

// TestShortRun has a run last at least as long as its slowest handshake.
func TestShortRun(t *testing.T) {
	s := startServer(t, server.Embedded{}, server.Spec{Certificates: []server.KeyKind{server.P256}})
	p := plan(s)
	for _, count := range []int64{1, 10, 40} {
		p.Count = count
		if sum := run(t, t.Context(), p); sum.Duration < sum.Total.Max {
			t.Errorf("%d handshakes took %s, the slowest of them %s", count, sum.Duration, sum.Total.Max)
		}
	}
}

// TestPlanned accounts for every arrival of the measured time when the server
// cannot keep up, those of the warm-up left out.
func TestPlanned(t *testing.T) {
	s := startServer(t, server.Embedded{}, server.Spec{Certificates: []server.KeyKind{server.RSA2048}})
	p := plan(s)
	p.Count, p.Connections, p.Warmup, p.Duration = 0, 2, 200*time.Millisecond, 500*time.Millisecond
	p.Arrivals = load.Arrivals{Stages: []load.Stage{{Duration: p.Warmup + p.Duration, Rate: 20_000}}}
	sum := run(t, t.Context(), p)
	if sum.Missed == 0 {
		t.Skip("this machine keeps up with 20,000 RSA handshakes a second: a slower one would run this")
	}
	if got := sum.Handshakes + sum.Failures + sum.Missed + sum.Abandoned; got < 9_990 || got > 10_010 {
		t.Errorf("%d complete + %d failed + %d missed + %d abandoned = %d of 10,000 planned", sum.Handshakes, sum.Failures, sum.Missed, sum.Abandoned, got)
	}
}

// TestPunctual sees that what an open loop spends on being punctual is told apart
// from what its handshakes cost, and that a closed loop spends nothing.
func TestPunctual(t *testing.T) {
	s := startServer(t, server.Nginx{}, server.Spec{})
	p := plan(s)
	if sum := run(t, t.Context(), p); sum.Client.Looked != 0 {
		t.Errorf("a closed loop looked for events for %s", sum.Client.Looked)
	}
	p.Arrivals = load.Arrivals{Stages: []load.Stage{{Rate: 200, Duration: time.Second}}}
	p.Duration, p.Count = time.Second, 0
	sum := run(t, t.Context(), p)
	if looked := sum.Client.Looked > 0; looked != eventLoops(t) {
		t.Errorf("an open loop looked for events for %s", sum.Client.Looked)
	}
}

// TestInterruptedEarly ends a run in its warm-up and in its priming: nothing was
// measured, and nothing is told as if it had been.
func TestInterruptedEarly(t *testing.T) {
	s := startServer(t, server.Embedded{}, server.Spec{Certificates: []server.KeyKind{server.P256}})
	p := plan(s)
	p.Count, p.Warmup = 0, time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(200*time.Millisecond, cancel)
	sum := run(t, ctx, p)
	if !sum.Interrupted || sum.Handshakes != 0 || sum.Duration != 0 || sum.Client.Busy != 0 || sum.Server != nil || sum.Why == "" {
		t.Errorf("a run that ended in its warm-up: %+v", sum)
	}

	p.Config.Mode, p.Tickets, p.Warmup = shakedown.ModePSK, "pool=100000000", 0
	ctx, cancel = context.WithCancel(t.Context())
	time.AfterFunc(200*time.Millisecond, cancel)
	if _, err := load.Run(ctx, p, nil); err == nil || !strings.Contains(err.Error(), "interrupted after") {
		t.Errorf("a run that ended in its priming: %v", err)
	}
}

// TestForeignSource refuses a source address that is not of this machine, with
// that reason, before the run.
func TestForeignSource(t *testing.T) {
	p := plan(startServer(t, server.Embedded{}, server.Spec{}))
	p.Sources = append(p.Sources, netip.MustParseAddr("192.0.2.1")) // of RFC 5737: nobody's
	if _, err := load.Run(t.Context(), p, nil); err == nil || !strings.Contains(err.Error(), "192.0.2.1") || !strings.Contains(err.Error(), "this machine") {
		t.Errorf("error %v", err)
	}
}
