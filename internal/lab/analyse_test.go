package lab

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"shakedown"
	"shakedown/internal/load"
	"shakedown/internal/stats"
)

const twoByTwo = `
name: two-by-two
server: nginx
factors:
  - name: certificate
    levels:
      - {name: RSA, server: {certificates: [rsa2048]}}
      - {name: ECDSA, server: {certificates: [p256]}}
  - name: tickets
    levels:
      - {name: "off", server: {tickets: "off"}}
      - {name: "on", server: {tickets: key-file}}
rounds: 8
`

// synthetic makes a record with the server CPU per handshake that cost returns
// for a cell, times noise and, for each round, a factor that all its cells
// share. Rates are as if the server did nothing else.
func synthetic(t *testing.T, plan string, rounds int, noise float64, seed uint64, cost func(*Cell) float64) *Record {
	t.Helper()
	p, err := Parse("synthetic.yaml", []byte(plan))
	if err != nil {
		t.Fatal(err)
	}
	r := &Record{Plan: p, state: state{Failed: map[string]string{}}}
	if r.Cells, err = p.Cells(); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	for n := range rounds {
		round := Round{Number: n + 1, Measurements: map[string]*Measurement{}}
		slow := math.Exp(rng.NormFloat64() * 0.3) // the machine's mood
		for _, c := range r.Cells {
			cpu := cost(c) * slow * math.Exp(rng.NormFloat64()*noise)
			s := &load.Summary{
				Duration: time.Second, Handshakes: int64(1e9 / cpu), Server: &load.ServerUse{PerHandshake: time.Duration(cpu)}, Limit: load.Limit{By: "server"},
				Total:    stats.Percentiles{P50: time.Duration(16 * cpu), P99: time.Duration(30 * cpu)},
				Observed: []load.Observed{{Asked: shakedown.ModeFull, Mode: shakedown.ModeFull, Group: shakedown.X25519, Certificate: chainName(c.Spec.Certificates[0]), N: int64(1e9 / cpu)}},
			}
			round.Measurements[c.ID] = &Measurement{Cell: c.ID, Round: n + 1, Summary: s, Rate: 1e9 / cpu, Total: []Quantile{{0.5, 16 * cpu}, {0.99, 30 * cpu}}}
		}
		r.Rounds = append(r.Rounds, round)
	}
	return r
}

func analyse(t *testing.T, r *Record) *Outcome {
	t.Helper()
	o, err := Analyse(r)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// find returns the main effect of a factor on server CPU.
func find(t *testing.T, o *Outcome, factor, given string) Effect {
	t.Helper()
	i := slices.IndexFunc(o.Effects, func(e Effect) bool { return e.Metric == ServerCPU && e.Factor == factor && e.Given == given })
	if i < 0 {
		t.Fatalf("no effect of %s given %q", factor, given)
	}
	return o.Effects[i]
}

// covers reports whether the interval holds v.
func covers(c Compared, v float64) bool {
	return c.Low != nil && c.High != nil && *c.Low <= v && v <= *c.High
}

// TestKnownEffects gives the analysis cells whose costs are known: RSA 1.6
// times as dear, tickets a quarter cheaper, and no interaction.
func TestKnownEffects(t *testing.T) {
	held, interacted := 0, 0
	const runs = 100
	for seed := range uint64(runs) {
		o := analyse(t, synthetic(t, twoByTwo, 8, 0.03, seed, func(c *Cell) float64 {
			cost := 400e3
			if c.Levels[0] == "RSA" {
				cost *= 1.6
			}
			if c.Levels[1] == "on" {
				cost *= 0.75
			}
			return cost
		}))
		e := find(t, o, "certificate", "")
		if e.Verdict != stats.Lower || e.Rounds != 8 {
			t.Fatalf("seed %d: certificate: %+v", seed, e)
		}
		if covers(e.Compared, 1/1.6) {
			held++
		}
		if math.Abs(e.Ratio*1.6-1) > 0.08 {
			t.Errorf("seed %d: the ratio is %g, want about %g: the rounds' mood must cancel out", seed, e.Ratio, 1/1.6)
		}
		if tickets := find(t, o, "tickets", "certificate=ECDSA"); tickets.Verdict != stats.Lower {
			t.Errorf("seed %d: tickets given ECDSA: %+v", seed, tickets)
		}
		for _, i := range o.Interactions {
			if i.Metric == ServerCPU && i.Verdict != stats.NoDifference {
				interacted++
			}
		}
	}
	// 95% intervals: fewer than 88 of 100 has a chance below one in a hundred.
	if held < 88 {
		t.Errorf("the interval held the true ratio in %d of %d runs", held, runs)
	}
	if interacted > 12 {
		t.Errorf("an interaction was seen in %d of %d runs that have none", interacted, runs)
	}
}

// TestNoDifference gives the analysis two equal levels.
func TestNoDifference(t *testing.T) {
	wrong := 0
	const runs = 200
	for seed := range uint64(runs) {
		o := analyse(t, synthetic(t, strings.Split(twoByTwo, "  - name: tickets")[0]+"rounds: 10\n", 10, 0.05, seed, func(*Cell) float64 { return 500e3 }))
		if e := find(t, o, "certificate", ""); e.Verdict != stats.NoDifference {
			wrong++
		} else if !covers(e.Compared, 1) {
			t.Errorf("seed %d: no difference, but the interval leaves out 1: %+v", seed, e)
		}
	}
	// At 5%, more than 20 of 200 has a chance below one in a hundred.
	if wrong > 20 {
		t.Errorf("a difference was seen in %d of %d runs that have none", wrong, runs)
	}
}

// TestInteraction gives the analysis tickets that halve the cost with RSA and
// change next to nothing with ECDSA.
func TestInteraction(t *testing.T) {
	o := analyse(t, synthetic(t, twoByTwo, 8, 0.02, 1, func(c *Cell) float64 {
		switch strings.Join(c.Levels, " ") {
		case "RSA off":
			return 600e3
		case "RSA on":
			return 300e3
		case "ECDSA off":
			return 250e3
		}
		return 240e3
	}))
	i := o.Interactions[0]
	if i.Metric != ServerCPU || i.Verdict != stats.Higher || !covers(i.Compared, 240.0/250*2) {
		t.Errorf("got %+v, want a ratio of ratios of 1.92", i)
	}
	// Forward the certificate brings nearly all, backward the tickets do.
	forward, backward := o.Contributions[0], o.Contributions[1]
	if forward.Steps[0].Factor != "certificate" || backward.Steps[0].Factor != "tickets" {
		t.Fatalf("orders: %+v, %+v", forward, backward)
	}
	if share := forward.Steps[0].Share; share < 0.9 || share > 1.1 {
		t.Errorf("forward, the certificate has a share of %g", share)
	}
	if share := backward.Steps[0].Share; share < 0.7 || share > 0.9 {
		t.Errorf("backward, the tickets have a share of %g", share)
	}
	for _, c := range o.Contributions {
		sum := 0.0
		for _, s := range c.Steps {
			sum += s.Share
		}
		if math.Abs(sum-1) > 0.1 {
			t.Errorf("%s %s: the shares add up to %g", c.Metric, c.Order, sum)
		}
	}
}

// TestTooFewRounds must not claim anything.
func TestTooFewRounds(t *testing.T) {
	o := analyse(t, synthetic(t, twoByTwo, 3, 0.001, 1, func(c *Cell) float64 {
		if c.Levels[0] == "RSA" {
			return 1e6
		}
		return 1e5
	}))
	for _, e := range o.Effects {
		if e.Verdict != stats.Inconclusive || e.Low != nil || e.Needed != 6 {
			t.Errorf("got %+v", e)
		}
	}
	if !slices.ContainsFunc(o.Caveats, func(c string) bool { return strings.Contains(c, "too few for intervals") }) {
		t.Errorf("no caveat: %q", o.Caveats)
	}
}

// TestMissingCell: with a cell gone the main effects rest on the cells that
// have both levels, and a way that leads over it says so.
func TestMissingCell(t *testing.T) {
	r := synthetic(t, twoByTwo, 8, 0.01, 1, func(c *Cell) float64 {
		return map[string]float64{"RSA off": 800e3, "RSA on": 400e3, "ECDSA off": 300e3, "ECDSA on": 200e3}[strings.Join(c.Levels, " ")]
	})
	r.state.Failed["c02"] = "it broke" // RSA on
	o := analyse(t, r)
	if e := find(t, o, "certificate", ""); math.Abs(e.Ratio-300.0/800) > 0.02 {
		t.Errorf("certificate: %+v, want the effect without tickets alone", e)
	}
	if len(o.Interactions) != 0 {
		t.Errorf("interactions without a fourth cell: %+v", o.Interactions)
	}
	if s := o.Contributions[1].Steps[0]; s.Missing == "" || s.Ratio != 0 {
		t.Errorf("the way over the missing cell: %+v", s)
	}
	if c := o.Cells[1]; c.Status != Failed || c.Reason != "it broke" {
		t.Errorf("got %s: %s", c.Status, c.Reason)
	}
}

func TestDecomposition(t *testing.T) {
	r := synthetic(t, twoByTwo, 8, 1e-9, 1, func(c *Cell) float64 {
		if c.Levels[0] == "RSA" {
			return 700e3
		}
		return 400e3
	})
	for i := range r.Rounds {
		// The mood of the machine is not what this test is about.
		for _, m := range r.Rounds[i].Measurements {
			m.Summary.Server.PerHandshake = 400e3
			if m.Cell == "c01" || m.Cell == "c02" {
				m.Summary.Server.PerHandshake = 700e3
			}
		}
		r.Rounds[i].Primitives = []Primitive{
			{Operation{openSSL, signing("RSA-2048")}, 330e3}, {Operation{openSSL, signing("ECDSA-P256")}, 30e3}, {Operation{openSSL, exchanging("x25519")}, 40e3},
		}
	}
	o := analyse(t, r)
	want := Part{Cell: "c01", Name: "certificate=RSA, tickets=off", Whole: 700e3, Signature: 330e3, Exchange: 40e3, Rest: 330e3}
	if len(o.Parts) != 4 || o.Parts[0] != want {
		t.Errorf("got %+v, want %+v first of 4", o.Parts, want)
	}
	if len(o.Agreements) != 2 || o.Agreements[0].Measured != 300e3 || o.Agreements[0].Primitives != 300e3 || o.Agreements[0].Ratio != 1 {
		t.Errorf("agreement: %+v", o.Agreements)
	}
	// Without the exchange nothing is claimed of the parts.
	for i := range r.Rounds {
		r.Rounds[i].Primitives = r.Rounds[i].Primitives[:2]
	}
	if o := analyse(t, r); len(o.Parts) != 0 {
		t.Errorf("parts without the exchange: %+v", o.Parts)
	}
}

// TestOutcomeIsJSON: no figure may be one that JSON cannot hold.
func TestOutcomeIsJSON(t *testing.T) {
	for _, rounds := range []int{0, 1, 8} {
		o := analyse(t, synthetic(t, twoByTwo, rounds, 0.01, 1, func(*Cell) float64 { return 3e5 }))
		if _, err := json.Marshal(o); err != nil {
			t.Errorf("%d rounds: %v", rounds, err)
		}
	}
}

// TestRateLeavesOutTheDrain: with 10,000 connections the drain of a turn of one
// second is most of what a summary counts.
func TestRateLeavesOutTheDrain(t *testing.T) {
	series := []stats.Second{{At: 0, Handshakes: 3000}, {At: time.Second, Handshakes: 3100}, {At: 2 * time.Second, Handshakes: 6900}}
	for name, c := range map[string]struct {
		s    load.Summary
		want float64
	}{
		"whole seconds": {load.Summary{Duration: 2500 * time.Millisecond, Handshakes: 13000, Series: series, Plan: load.Plan{Connections: 10000}}, 3050},
		"closed loop":   {load.Summary{Duration: 500 * time.Millisecond, Handshakes: 1016, Series: series[:1], Plan: load.Plan{Connections: 16}}, 2000},
		"open loop":     {load.Summary{Duration: 500 * time.Millisecond, Handshakes: 1000, Plan: load.Plan{Connections: 16, Arrivals: load.Arrivals{Stages: []load.Stage{{Rate: 2000}}}}}, 2000},
		"none":          {load.Summary{Duration: 500 * time.Millisecond, Handshakes: 7, Plan: load.Plan{Connections: 16}}, 0},
	} {
		if got := rate(&c.s); got != c.want {
			t.Errorf("%s: got %g, want %g", name, got, c.want)
		}
	}
}

// TestDisturbed: a turn with steal above the limit is repeated; one in which it
// is not seen, or that was interrupted anyway, is not.
func TestDisturbed(t *testing.T) {
	steal := func(v float64) *float64 { return &v }
	for _, c := range []struct {
		s    load.Summary
		want bool
	}{
		{load.Summary{Steal: steal(3.1)}, true},
		{load.Summary{Steal: steal(3)}, false},
		{load.Summary{Steal: steal(9), Interrupted: true}, false},
		{load.Summary{}, false},
	} {
		if got := disturbed(&c.s, 3); got != c.want {
			t.Errorf("%+v: got %t", c.s, got)
		}
	}
}
