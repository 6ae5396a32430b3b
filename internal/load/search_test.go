package load_test

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"shakedown/internal/load"
	"shakedown/internal/peertest"
	"shakedown/internal/server"
)

// TestFindMax searches with a judge that keeps up to a known rate, so that the
// search itself is tested and not the machine.
func TestFindMax(t *testing.T) {
	s := startServer(t, server.Embedded{}, server.Spec{Certificates: []server.KeyKind{server.P256}})
	p := plan(s)
	p.Count = 0
	limit := 70.0
	rate := func(sum *load.Summary) float64 { return sum.Plan.Arrivals.Stages[0].Rate }
	steps, best, err := load.FindMax(t.Context(), load.Search{
		Plan: p, Begin: 20, Step: 200 * time.Millisecond, Precision: 0.1,
		Keeps: func(sum *load.Summary) (bool, error) { return rate(sum) <= limit, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if best > limit || best < limit/1.1 {
		t.Errorf("found %.1f, the limit is %.1f: %d steps", best, limit, len(steps))
	}
}

// TestFindMaxNotKept has a judge that keeps nothing: the search goes down to the
// lowest rate, and says so.
func TestFindMaxNotKept(t *testing.T) {
	s := startServer(t, server.Embedded{}, server.Spec{Certificates: []server.KeyKind{server.P256}})
	p := plan(s)
	steps, best, err := load.FindMax(t.Context(), load.Search{
		Plan: p, Begin: 30, Step: 100 * time.Millisecond,
		Keeps: func(*load.Summary) (bool, error) { return false, nil },
	})
	if !errors.Is(err, load.ErrNotKept) || best != 0 || len(steps) != 5 {
		t.Errorf("%d steps, best %v, error %v; want 30, 15, 7.5, 3.75, 1.875 and ErrNotKept", len(steps), best, err)
	}
}

// TestFindMaxNothing has a server that answers nothing: the search ends at once,
// and says so.
func TestFindMaxNothing(t *testing.T) {
	addr := peertest.Serve(t, peertest.CloseAtOnce)
	p := load.Plan{Targets: []netip.AddrPort{addr}, Connections: 4}
	steps, _, err := load.FindMax(t.Context(), load.Search{
		Plan: p, Begin: 40, Step: 200 * time.Millisecond,
		Keeps: func(*load.Summary) (bool, error) { return true, nil },
	})
	if !errors.Is(err, load.ErrNoneComplete) || len(steps) != 1 {
		t.Errorf("%d steps, error %v, want 1 and ErrNoneComplete", len(steps), err)
	}
}
