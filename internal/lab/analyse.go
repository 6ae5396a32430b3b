package lab

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"shakedown"
	"shakedown/internal/stats"
)

// alpha is the chance, for each comparison, of a difference where there is none.
const alpha = 0.05

// Analyse works out what the complete rounds say.
func Analyse(r *Record) (*Outcome, error) {
	o := &Outcome{
		Environment: r.Environment, Started: r.state.Started, Rounds: len(r.Rounds), Stopped: r.state.Stopped,
		Plan: PlanFacts{
			Name: r.Plan.Name, Title: r.Plan.Title, Question: r.Plan.Question, Published: r.Plan.Published, Server: r.Plan.Server,
			Rounds: r.Plan.Rounds, Turn: r.Plan.Turn, Warmup: r.Plan.Warmup, Budget: r.Plan.Budget, Seed: r.Plan.Seed, Steal: r.Plan.StealLimit, Text: string(r.Plan.text),
		},
		Caveats: []string{}, Effects: []Effect{}, Interactions: []Interaction{}, Contributions: []Contribution{},
		Primitives: []PrimitiveFact{}, Parts: []Part{}, Agreements: []Agreement{}, Curves: []Curve{},
	}
	for _, f := range r.Plan.Factors {
		facts := FactorFacts{Name: f.Name}
		for _, l := range f.Levels {
			facts.Levels = append(facts.Levels, l.Name)
		}
		o.Plan.Factors = append(o.Plan.Factors, facts)
	}
	for _, c := range r.Cells {
		o.Cells = append(o.Cells, cellOutcome(r, c))
	}
	t := newTableau(o)
	var err error
	if o.Effects, err = t.effects(); err != nil {
		return nil, err
	}
	if o.Interactions, err = t.interactions(); err != nil {
		return nil, err
	}
	if o.Contributions, err = t.contributions(); err != nil {
		return nil, err
	}
	decompose(o, r)
	o.Curves = curves(o)
	o.Caveats = caveats(o, r)
	return o, nil
}

// cellOutcome gathers a cell's turns.
func cellOutcome(r *Record, c *Cell) CellOutcome {
	out := CellOutcome{
		ID: c.ID, Name: c.Name, Factors: map[string]string{}, Status: Pending, Server: c.Driver.Name(), Spec: c.Spec, Load: c.Load,
		ByRound: map[string][]float64{}, RoundNumbers: []int{}, Modes: map[shakedown.Mode]int64{}, Observed: []string{},
		LimitedBy: map[string]int{}, Evidence: []string{}, Confirmed: []string{}, Total: []Quantile{}, Waterfall: []Mark{}, Slices: []Slice{},
	}
	for i, f := range r.Plan.Factors {
		out.Factors[f.Name] = c.Levels[i]
	}
	var turns []*Measurement
	for _, round := range r.Rounds {
		if m := round.Measurements[c.ID]; m != nil {
			turns = append(turns, m)
			out.RoundNumbers = append(out.RoundNumbers, round.Number)
		}
	}
	out.Rounds = len(turns)
	reason, failed := r.state.Failed[c.ID]
	switch {
	case c.Impossible != "":
		out.Status, out.Reason = Impossible, c.Impossible
	case failed:
		out.Status, out.Reason = Failed, reason
	case len(turns) > 0:
		out.Status = Measured
	}
	out.figures(turns)
	out.observe(c, turns)
	out.shapes(turns)
	return out
}

// figures fills in medians and the values behind them.
func (o *CellOutcome) figures(turns []*Measurement) {
	values := map[string][]float64{}
	add := func(metric string, v float64) { values[metric] = append(values[metric], v) }
	for _, m := range turns {
		s := m.Summary
		o.Handshakes += s.Handshakes
		o.Failures += s.Failures
		o.Missed += s.Missed
		if len(s.Failed) > 0 && o.Failure == "" {
			o.Failure = s.Failed[0].Text
		}
		add(Rate, m.Rate)
		add(P50, float64(s.Total.P50))
		add(P99, float64(s.Total.P99))
		add("p90", float64(s.Total.P90))
		add("p999", float64(s.Total.P999))
		add("client", float64(s.Client.PerHandshake))
		if s.Server != nil {
			add(ServerCPU, float64(s.Server.PerHandshake))
			add("memory", float64(s.Server.Memory.PSS))
		}
		if len(m.Visits) > 0 {
			add(Visit, middle(m.Visits))
		}
		o.Visits += len(m.Visits)
		o.AskedCA += m.AskedCA
		o.LimitedBy[s.Limit.By]++
		o.Evidence = s.Limit.Evidence
		if e := m.Confirmed.Evidence; len(e) > len(o.Confirmed) { // a cell is questioned once
			o.Confirmed = e
		}
		o.Sent, o.Received = m.Confirmed.Sent, m.Confirmed.Received
	}
	o.ServerCPU, o.Rate, o.P50, o.P90, o.P99, o.P999 = stats.Median(values[ServerCPU]), stats.Median(values[Rate]), stats.Median(values[P50]),
		stats.Median(values["p90"]), stats.Median(values[P99]), stats.Median(values["p999"])
	o.ClientCPU, o.Memory, o.Visit = stats.Median(values["client"]), stats.Median(values["memory"]), stats.Median(values[Visit])
	for _, metric := range Metrics() {
		// A metric that some round lacks has no pairs.
		if len(turns) > 0 && len(values[metric]) == len(turns) && !slices.ContainsFunc(values[metric], func(v float64) bool { return !(v > 0) }) {
			o.ByRound[metric] = values[metric]
		}
	}
}

// observe counts what the handshakes were.
func (o *CellOutcome) observe(c *Cell, turns []*Measurement) {
	ways := map[string]int64{}
	var asked, did int64
	for _, m := range turns {
		for _, w := range m.Summary.Observed {
			o.Modes[w.Mode] += w.N
			if w.Asked.Resumes() {
				asked += w.N
				if w.Mode.Resumes() {
					did += w.N
				}
			}
			text := fmt.Sprintf("%s, %s, %s", w.Mode, w.Version, w.CipherSuite)
			group := w.Group.String()
			if w.DHBits > 0 {
				group = dhName(w.DHBits)
			}
			if w.Group == 0 && w.DHBits == 0 {
				group = ""
			}
			if group != "" {
				text += ", " + group
			}
			if w.Certificate != "" {
				text += ", " + w.Certificate
			}
			ways[text] += w.N
			o.modes = append(o.modes, observedWay{w.Mode, w.Certificate, group, w.CipherSuite.String(), w.N})
		}
	}
	for text := range ways {
		o.Observed = append(o.Observed, text)
	}
	slices.SortFunc(o.Observed, func(a, b string) int {
		if ways[a] != ways[b] {
			return int(ways[b] - ways[a])
		}
		return strings.Compare(a, b)
	})
	for i, text := range o.Observed {
		o.Observed[i] = fmt.Sprintf("%d: %s", ways[text], text)
	}
	if asked > 0 {
		low, high := stats.Wilson(did, asked)
		o.Resumption = &Share{did, asked, low, high}
	}
}

// shapes fills in what is drawn: latency by quantile, phases and slices, each
// the median over rounds.
func (o *CellOutcome) shapes(turns []*Measurement) {
	if len(turns) == 0 {
		return
	}
	across := func(of func(*Measurement) float64) float64 {
		var values []float64
		for _, m := range turns {
			values = append(values, of(m))
		}
		return middle(values)
	}
	for i, q := range turns[0].Total {
		o.Total = append(o.Total, Quantile{q.Q, across(func(m *Measurement) float64 { return m.Total[i].At })})
	}
	for p := shakedown.PhaseConnected; p < shakedown.PhaseClosed; p++ {
		var values []float64
		for _, m := range turns {
			if d, ok := m.Confirmed.Phases.At(p); ok {
				values = append(values, float64(d))
			}
		}
		if len(values) == len(turns) {
			o.Waterfall = append(o.Waterfall, Mark{p.String(), middle(values)})
		}
	}
	for i, s := range turns[0].Slices {
		if slices.ContainsFunc(turns, func(m *Measurement) bool { return len(m.Slices) <= i }) {
			return
		}
		get := func(of func(Slice) float64) float64 {
			return across(func(m *Measurement) float64 { return of(m.Slices[i]) })
		}
		s.Handshakes = int64(get(func(s Slice) float64 { return float64(s.Handshakes) }))
		s.Failures = int64(get(func(s Slice) float64 { return float64(s.Failures) }))
		s.Resumed = int64(get(func(s Slice) float64 { return float64(s.Resumed) }))
		s.P50 = nanos(get(func(s Slice) float64 { return float64(s.P50) }))
		s.P99 = nanos(get(func(s Slice) float64 { return float64(s.P99) }))
		s.ServerCPU = nanos(get(func(s Slice) float64 { return float64(s.ServerCPU) }))
		o.Slices = append(o.Slices, s)
	}
}

// middle is the median of values, NaN for none.
func middle(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n == 0 {
		return math.NaN()
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
