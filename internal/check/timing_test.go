package check

import (
	"testing"
	"time"

	"shakedown"
	"shakedown/internal/server"
	"shakedown/internal/stats"
)

// made is an outcome whose phases were reached at these times, from PhaseStarted on.
func made(mode shakedown.Mode, at ...time.Duration) *outcome {
	o := &outcome{ask: ask{purpose: forTime}}
	o.Observed.Mode = mode
	for i, d := range at {
		o.Phases.Mark(shakedown.PhaseStarted+shakedown.Phase(i), d)
	}
	return o
}

const ms1 = time.Millisecond

func TestStalled(t *testing.T) {
	smooth := []time.Duration{0, 1 * ms1, 2 * ms1, 3 * ms1, 4 * ms1, 4 * ms1, 5 * ms1, 6 * ms1}
	stall := []time.Duration{0, 1 * ms1, 2 * ms1, 42 * ms1, 43 * ms1, 43 * ms1, 44 * ms1, 45 * ms1}
	far := []time.Duration{0, 40 * ms1, 80 * ms1, 81 * ms1, 82 * ms1, 82 * ms1, 122 * ms1, 123 * ms1}
	slow := []time.Duration{0, 1 * ms1, 2 * ms1, 90 * ms1, 91 * ms1, 91 * ms1, 92 * ms1, 93 * ms1}
	for _, test := range []struct {
		name  string
		times []time.Duration
		want  bool
	}{{"smooth", smooth, false}, {"stalls before the flight is complete", stall, true}, {"a round trip of 40 ms", far, false}, {"a slow signature", slow, false}} {
		p := newProber(&Plan{}, &Target{}, targetAddress)
		for range stats.MinMedian {
			p.log = append(p.log, made(shakedown.ModeFull, test.times...))
		}
		if got := len(findStalls(p, time.Time{})) > 0; got != test.want {
			t.Errorf("%s: found %v", test.name, got)
		}
		// What stays when acknowledgements are prompt is no fault of Nagle's.
		o := made(shakedown.ModeFull, test.times...)
		o.ask.purpose = forStall
		p.log = append(p.log, o)
		if len(findStalls(p, time.Time{})) > 0 {
			t.Errorf("%s: found, though it stayed", test.name)
		}
	}
}

// TestSlower: resumptions that take longer than full handshakes are told, those
// that do not differ are not.
func TestSlower(t *testing.T) {
	for _, test := range []struct {
		name    string
		resumed time.Duration
		want    State
	}{{"slower", 30 * ms1, StateSlower}, {"faster", 2 * ms1, StateAccepted}, {"equal", 10 * ms1, StateAccepted}} {
		full := &series{mode: shakedown.ModeFull, version: shakedown.TLS12}
		again := &series{mode: shakedown.ModeSessionID, version: shakedown.TLS12, mechanism: sessionID}
		for i := range time.Duration(rounds) {
			full.outcomes = append(full.outcomes, made(shakedown.ModeFull, 0, 0, 5*ms1, 8*ms1, 9*ms1, 10*ms1+i))
			again.outcomes = append(again.outcomes, made(shakedown.ModeSessionID, 0, 0, 5*ms1, 8*ms1, 9*ms1, test.resumed+i))
		}
		p := newProber(&Plan{}, &Target{}, targetAddress)
		p.seen.Resumption = []Resumption{{Mechanism: MechanismSessionID, AtOnce: 6}, {Mechanism: MechanismSessionID, AtOnce: 1}}
		for i := range p.seen.Resumption {
			p.seen.Resumption[i].join(wave{6, 6})
		}
		sessionID.judge(p)
		p.seen.Timing = []Timing{full.timing(full), again.timing(full)}
		p.markSlower()
		if got := p.seen.Resumption[0].State; got != test.want {
			t.Errorf("%s: %q, want %q (%s)", test.name, got, test.want, p.seen.Timing[1].Saves)
		}
		if hasFinding(findResumption(p, time.Time{}), "resumption-slower") != (test.want == StateSlower) {
			t.Errorf("%s: findings", test.name)
		}
	}
}

// TestServerCPU: a server of this machine shows what a handshake costs it; one in
// this very process does not.
func TestServerCPU(t *testing.T) {
	r := check(t, Plan{}, startServer(t, server.Nginx{}, server.Spec{}))
	for _, row := range r.Targets[0].Observation.Timing {
		if row.ServerCPU.N < rounds/2 || row.Complete.N != rounds || row.RoundTrips == 0 {
			t.Errorf("%s %s: CPU of n=%d, times of n=%d, %d round trips", row.Version, row.Mode, row.ServerCPU.N, row.Complete.N, row.RoundTrips)
		}
	}
	r = check(t, Plan{}, startServer(t, server.Embedded{}, server.Spec{}))
	for _, row := range r.Targets[0].Observation.Timing {
		if row.ServerCPU.N != 0 {
			t.Errorf("the CPU time of our own process is taken for the server's")
		}
	}
}

// TestNothing: tickets that were not sent, or not yet, or not to be told.
func TestNothing(t *testing.T) {
	answered, late, failed := made(shakedown.ModeFull), made(shakedown.ModeFull), made(shakedown.ModeFull)
	answered.answered = true
	failed.Failure = &shakedown.Failure{Class: shakedown.ClassNetwork, Text: "reset"}
	for _, test := range []struct {
		name    string
		primed  []*outcome
		state   State
		verdict shakedown.Verdict
	}{
		{"none sent", []*outcome{late, answered, failed}, StateNoneSent, shakedown.No},
		{"late", []*outcome{late, failed}, StateLate, shakedown.Inconclusive},
		{"failed", []*outcome{failed}, StateNotAnswered, shakedown.Inconclusive},
		{"none made", nil, StateNotAnswered, shakedown.Inconclusive},
	} {
		p := newProber(&Plan{}, &Target{}, targetAddress)
		a := psk.nothing(p, test.primed)
		if a.Verdict != test.verdict || p.seen.Resumption[0].State != test.state || p.seen.Resumption[0].Verdict != test.verdict {
			t.Errorf("%s: %+v, %+v", test.name, a, p.seen.Resumption)
		}
	}
}

// TestTicketFindings: what tickets say of themselves.
func TestTicketFindings(t *testing.T) {
	accepted := Resumption{Mechanism: MechanismPSK, AtOnce: 6, Tried: 6, Resumed: 6, Verdict: shakedown.Yes, State: StateAccepted}
	for _, test := range []struct {
		name string
		k    Tickets
		want string // "": none
	}{
		{"a day", Tickets{Lifetime: 24 * time.Hour, PerFull: 2, PerResumption: 1}, ""},
		{"zero", Tickets{PerFull: 2, PerResumption: 1}, "ticket-lifetime"},
		{"five minutes", Tickets{Lifetime: 5 * time.Minute, PerFull: 2, PerResumption: 1}, "ticket-lifetime"},
		{"eight days", Tickets{Lifetime: 8 * 24 * time.Hour, PerFull: 2, PerResumption: 1}, "ticket-lifetime"},
		{"not renewed", Tickets{Lifetime: 24 * time.Hour, PerFull: 2}, "ticket-renewal"},
		{"stateful", Tickets{Lifetime: 24 * time.Hour, PerFull: 2, PerResumption: 1, Stateful: true}, "stateful-tickets"},
	} {
		p := newProber(&Plan{}, &Target{}, targetAddress)
		test.k.Mechanism = MechanismPSK
		p.seen.Tickets, p.seen.Resumption = []Tickets{test.k}, []Resumption{accepted}
		got := findTickets(p, time.Time{})
		if test.want == "" && len(got) > 0 || test.want != "" && (len(got) != 1 || got[0].ID != test.want) {
			t.Errorf("%s: %+v", test.name, got)
		}
	}
}
