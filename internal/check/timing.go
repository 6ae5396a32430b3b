package check

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"shakedown"
	"shakedown/internal/host"
	"shakedown/internal/stats"
)

// rounds is how many handshakes of each kind are timed: the fewest from which an
// interval of the median can be had, and from which a paired comparison can tell
// a difference.
const rounds = stats.MinMedian

// alpha is the level of the comparisons.
const alpha = 0.05

// series is one kind of handshake that is timed.
type series struct {
	mode      shakedown.Mode
	version   shakedown.Version
	mechanism *mechanism // nil: full
	outcomes  []*outcome // one for each round; nil if it was not of this kind
	cpu       []float64  // likewise; ns
}

// askTime times the version that clients of today get.
func askTime(ctx context.Context, p *prober) shakedown.Answer {
	a := p.askTime(ctx, p.seen.Usual.Version)
	p.unstall(ctx, p.seen.Usual.Version)
	return a
}

func askTime12(ctx context.Context, p *prober) shakedown.Answer {
	switch {
	case p.seen.Usual == nil:
		return unsure("no handshake was made")
	case p.seen.Usual.Version == shakedown.TLS12:
		return yes("it is the usual version")
	case len(p.timed(shakedown.TLS12)) == 1:
		return unsure("there is nothing to compare with: no mechanism is accepted by all")
	}
	return p.askTime(ctx, shakedown.TLS12)
}

// askTime takes one handshake of each kind in each round, one at a time, so that
// what slows down a round slows down all of it.
func (p *prober) askTime(ctx context.Context, v shakedown.Version) shakedown.Answer {
	kinds := p.timed(v)
	if p.left() < rounds*len(kinds) {
		return unsure("%d kinds in %d rounds: %v", len(kinds), rounds, ErrBudget)
	}
	p.time(ctx, kinds)
	var done []string
	least := rounds
	for _, k := range kinds {
		t := k.timing(kinds[0])
		p.seen.Timing = append(p.seen.Timing, t)
		done = append(done, fmt.Sprintf("%s n=%d", k.mode, t.Complete.N))
		least = min(least, t.Complete.N)
	}
	if least < rounds {
		return unsure("%s, interleaved: not every handshake was of its kind", strings.Join(done, ", "))
	}
	return yes("%s, interleaved", strings.Join(done, ", "))
}

// timed returns the kinds of handshake of a version that the server was seen to
// make each time it was asked, the full one first.
func (p *prober) timed(v shakedown.Version) []*series {
	kinds := []*series{{mode: shakedown.ModeFull, version: v}}
	for _, m := range []*mechanism{psk, ticket, sessionID} {
		r := p.seen.resumption(m.name, true)
		if r != nil && r.State == StateAccepted && p.config(m.mode).Versions[0] == v {
			kinds = append(kinds, &series{mode: m.mode, version: v, mechanism: m})
		}
	}
	return kinds
}

// time fills the series of one version, round by round.
func (p *prober) time(ctx context.Context, group []*series) {
	watch := p.watch()
	for round := range rounds {
		// Who comes first changes, for the first may find things cold.
		for i := range group {
			k := group[(i+round)%len(group)]
			k.outcomes, k.cpu = append(k.outcomes, nil), append(k.cpu, 0)
			a := ask{config: p.config(shakedown.ModeFull, k.version), purpose: forTime}
			if k.mechanism != nil {
				if a = k.mechanism.try(p, k.mechanism.pick(p)); a.session == nil {
					continue
				}
				a.purpose = forTime
			}
			before, _ := watch()
			o := p.once(ctx, a)
			after, seen := watch()
			if k.mechanism != nil {
				k.mechanism.tally(p, p.seen.resumption(k.mechanism.name, false), []*outcome{o})
			}
			if o.kind() == taken && o.Observed.Mode == k.mode {
				k.outcomes[round] = o
				if seen {
					k.cpu[round] = float64(after - before)
				}
			}
		}
	}
}

// watch returns a function that tells the CPU time of the server's processes so
// far, and whether it can be seen. That takes a server on this machine that is
// not this process.
func (p *prober) watch() func() (time.Duration, bool) {
	blind := func() (time.Duration, bool) { return 0, false }
	listeners, err := host.Listeners(p.address)
	if err != nil {
		return blind
	}
	var pids []int
	for _, l := range listeners {
		pids = append(pids, l.PID)
	}
	w, err := host.Start(pids...)
	if err != nil {
		return blind
	}
	return func() (time.Duration, bool) {
		// The server has yet to see the end of the connection.
		time.Sleep(2 * time.Millisecond)
		u, err := w.Sample()
		return u.CPU, err == nil
	}
}

// timing sums up a series, and compares it with the full handshakes of its
// version.
func (k *series) timing(full *series) Timing {
	t := Timing{Mode: k.mode, Version: k.version}
	for _, o := range k.outcomes {
		if o != nil {
			t.RoundTrips = max(t.RoundTrips, o.Observed.RoundTrips)
			t.FlightBytes = max(t.FlightBytes, flightBytes(&o.Observed))
		}
	}
	t.Connect = k.estimate(shakedown.PhaseStarted, shakedown.PhaseConnected)
	t.ServerHello = k.estimate(shakedown.PhaseConnected, shakedown.PhaseServerHello)
	t.Flight = k.estimate(shakedown.PhaseConnected, shakedown.PhaseServerFlight)
	t.FlightSpan = k.estimate(shakedown.PhaseServerHello, shakedown.PhaseServerFlight)
	t.Complete = k.estimate(shakedown.PhaseConnected, shakedown.PhaseComplete)
	t.Ticket = k.estimate(shakedown.PhaseConnected, shakedown.PhaseTicket)
	t.Response = k.estimate(shakedown.PhaseConnected, shakedown.PhaseResponse)
	t.ServerCPU = stats.Median(positive(k.cpu))
	if k == full {
		return t
	}
	complete := func(s *series) []float64 {
		values := make([]float64, len(s.outcomes))
		for i, o := range s.outcomes {
			if o != nil {
				d, _ := o.took(shakedown.PhaseConnected, shakedown.PhaseComplete)
				values[i] = float64(d)
			}
		}
		return values
	}
	t.Saves = compare(complete(full), complete(k))
	t.SavesCPU = compare(full.cpu, k.cpu)
	return t
}

func (k *series) estimate(from, to shakedown.Phase) stats.Estimate {
	var values []float64
	for _, o := range k.outcomes {
		if o != nil {
			if d, ok := o.took(from, to); ok {
				values = append(values, float64(d))
			}
		}
	}
	return stats.Median(values)
}

func positive(values []float64) []float64 {
	return slices.DeleteFunc(slices.Clone(values), func(v float64) bool { return v <= 0 })
}

// compare compares the rounds that both have; nil if there are none.
func compare(full, other []float64) *stats.Comparison {
	var a, b []float64
	for i := range min(len(full), len(other)) {
		if full[i] > 0 && other[i] > 0 {
			a, b = append(a, full[i]), append(b, other[i])
		}
	}
	c, err := stats.ComparePaired(a, b, alpha)
	if err != nil {
		return nil
	}
	return &c
}

// markSlower tells resumptions that take longer than full handshakes.
func (p *prober) markSlower() {
	for _, t := range p.seen.Timing {
		if t.Saves == nil || t.Saves.Verdict != stats.Higher {
			continue
		}
		for i := range p.seen.Resumption {
			if r := &p.seen.Resumption[i]; r.Mechanism == string(t.Mode) && r.State == StateAccepted {
				r.State = StateSlower
			}
		}
	}
}

// stalled counts the handshakes with a pause of about 40 ms between two of
// their phases, which no round trip explains: Nagle's algorithm on one side and
// delayed acknowledgement on the other (RFC 1122, section 4.2.3.4).
func (p *prober) stalled(why purpose) (stalls, of int, where shakedown.Phase) {
	const low, high = 36 * time.Millisecond, 60 * time.Millisecond
	for _, o := range p.log {
		rtt, ok := o.took(shakedown.PhaseStarted, shakedown.PhaseConnected)
		if o.ask.purpose != why || o.kind() != taken || !ok || rtt > low/4 {
			continue
		}
		of++
		last, _ := o.Phases.At(shakedown.PhaseConnected)
		for ph := shakedown.PhaseServerHello; ph <= shakedown.PhaseResponse; ph++ {
			at, ok := o.Phases.At(ph)
			if !ok || at < last {
				continue
			}
			if gap := at - last; gap >= low && gap <= high {
				stalls, where = stalls+1, ph
				break
			}
			last = at
		}
	}
	return stalls, of, where
}

// unstall makes a few handshakes in which the client acknowledges at once what it
// gets, if those before stood still: a pause of Nagle's goes away then, that of a
// slow application does not.
func (p *prober) unstall(ctx context.Context, v shakedown.Version) {
	const tries = 3
	if stalls, of, _ := p.stalled(forTime); of == 0 || 2*stalls < of || p.left() < tries || !canAcknowledge {
		return
	}
	for range tries {
		p.once(ctx, ask{config: p.config(shakedown.ModeFull, v), purpose: forStall, prompt: true})
	}
}

// near is the shortest round trip against which a pause within a flight can be told
// from computing.
const near = 2 * time.Millisecond

// waits says how many round trips the server's flight stood still for, in the
// median; ok is false if the server is too near to tell, or it was not timed.
func (t *Timing) waits() (n float64, ok bool) {
	if t.FlightSpan.N < rounds || t.Connect.Median < float64(near) {
		return 0, false
	}
	return t.FlightSpan.Median / t.Connect.Median, true
}
