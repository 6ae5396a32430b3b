package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"shakedown"
	"shakedown/internal/host"
	"shakedown/internal/load"
	"shakedown/internal/stats"
)

// BenchSchema names the JSON of [Bench].
const BenchSchema = "shakedown/bench/v1"

// Bench is what came of a load.
type Bench struct {
	Schema      string           `json:"schema"`
	Target      shakedown.Target `json:"target"`
	Asked       shakedown.Asked  `json:"asked"`
	Plan        load.Plan        `json:"plan"`
	Environment host.Environment `json:"environment"`

	Summary BenchSummary `json:"summary"`
	Latency Latency      `json:"latency"`
	// Targets are the figures of each address; empty if there is only one.
	Targets      []load.TargetSummary `json:"targets"`
	Observed     BenchObserved        `json:"observed"`
	Failed       []load.FailureCount  `json:"failures_by_class"`
	Expectations []Judgement          `json:"expectations"`
	Client       load.ClientUse       `json:"client"`
	Server       *load.ServerUse      `json:"server"` // null when it was not seen
	Link         *load.LinkUse        `json:"link"`   // null without an emulated network
	Priming      load.Priming         `json:"priming"`
	Series       []stats.Second       `json:"series"`
}

// BenchSummary is a load in a few figures.
type BenchSummary struct {
	Started     time.Time     `json:"started"`
	Duration    time.Duration `json:"duration_ns"` // measured
	Interrupted bool          `json:"interrupted"`
	Handshakes  int64         `json:"handshakes"` // complete
	Failures    int64         `json:"failures"`
	Missed      int64         `json:"missed"`     // planned arrivals that were never begun
	Abandoned   int64         `json:"abandoned"`  // under way when it was interrupted
	Mismatched  int64         `json:"mismatched"` // complete, but other than asked
	// PerSecond is the median rate of the whole seconds.
	PerSecond stats.Estimate `json:"handshakes_per_s"`
	ClientCPU time.Duration  `json:"client_cpu_per_handshake_ns"`
	// ServerCPU is null when the server was not seen, for the reason in
	// ServerNotSeen.
	ServerCPU     *time.Duration    `json:"server_cpu_per_handshake_ns"`
	ServerNotSeen string            `json:"server_not_seen,omitempty"`
	Limit         load.Limit        `json:"limited_by"`
	Steal         *float64          `json:"steal_percent"`
	ListenDrops   *host.ListenDrops `json:"listen_drops"`
}

// Latency is how long the complete handshakes took.
type Latency struct {
	Connect   stats.Percentiles `json:"connect"`   // from the planned instant until TCP is connected
	Handshake stats.Percentiles `json:"handshake"` // from there until complete
	Total     stats.Percentiles `json:"total"`
}

// BenchObserved counts complete handshakes by what the server did.
type BenchObserved struct {
	Mode        map[shakedown.Mode]int64 `json:"mode"` // all modes
	Version     map[string]int64         `json:"version"`
	Suite       map[string]int64         `json:"suite"`
	Group       map[string]int64         `json:"group"`       // "none" when resumed without
	Signature   map[string]int64         `json:"signature"`   // "none" when resumed
	Certificate map[string]int64         `json:"certificate"` // key of the leaf; "none" when resumed
	// Ways are the combinations, the most frequent first.
	Ways []load.Observed `json:"ways"`
}

// NewBench makes the document of a summary.
func NewBench(target shakedown.Target, asked shakedown.Asked, environment host.Environment, s *load.Summary, expectations []Expectation) *Bench {
	b := &Bench{
		Schema: BenchSchema, Target: target, Asked: asked, Plan: s.Plan, Environment: environment,
		Summary: BenchSummary{
			Started: s.Started, Duration: s.Duration, Interrupted: s.Interrupted,
			Handshakes: s.Handshakes, Failures: s.Failures, Missed: s.Missed, Abandoned: s.Abandoned, Mismatched: s.Mismatches(),
			PerSecond: s.PerSecond, ClientCPU: s.Client.PerHandshake, ServerNotSeen: s.Why,
			Limit: s.Limit, Steal: s.Steal, ListenDrops: s.ListenDrops,
		},
		Latency:  Latency{s.Connect, s.Handshake, s.Total},
		Targets:  append([]load.TargetSummary{}, s.Targets...),
		Observed: observe(s.Observed),
		Failed:   append([]load.FailureCount{}, s.Failed...),
		Client:   s.Client, Server: s.Server, Link: s.Link, Priming: s.Priming,
		Series: append([]stats.Second{}, s.Series...), Expectations: []Judgement{},
	}
	b.Environment.Steal = s.Steal
	if s.Server != nil {
		b.Summary.ServerCPU = &s.Server.PerHandshake
	}
	for _, e := range expectations {
		b.Expectations = append(b.Expectations, e.Judge(s))
	}
	return b
}

func observe(ways []load.Observed) BenchObserved {
	o := BenchObserved{
		Mode: map[shakedown.Mode]int64{}, Version: map[string]int64{}, Suite: map[string]int64{}, Group: map[string]int64{},
		Signature: map[string]int64{}, Certificate: map[string]int64{}, Ways: append([]load.Observed{}, ways...),
	}
	for _, m := range shakedown.Modes() {
		o.Mode[m] = 0
	}
	for _, w := range ways {
		o.Mode[w.Mode] += w.N
		o.Version[w.Version.String()] += w.N
		o.Suite[w.CipherSuite.String()] += w.N
		o.Group[groupName(w)] += w.N
		o.Signature[orNone(w.Signature != 0, w.Signature.String())] += w.N
		o.Certificate[orNone(w.Certificate != "", w.Certificate)] += w.N
	}
	return o
}

func orNone(known bool, name string) string {
	if !known {
		return "none"
	}
	return name
}

func groupName(w load.Observed) string {
	if w.DHBits > 0 {
		return fmt.Sprintf("DH %d bits", w.DHBits) // the prime may be any
	}
	return orNone(w.Group != 0, w.Group.String())
}

// ExpectsFailures reports whether an expectation says how many handshakes may
// fail; otherwise none may.
func (b *Bench) ExpectsFailures() bool {
	return slices.ContainsFunc(b.Expectations, func(j Judgement) bool { return strings.HasPrefix(j.Expression, "failed") })
}

// Unmet returns the expectations that were not met.
func (b *Bench) Unmet() []Judgement {
	return slices.DeleteFunc(slices.Clone(b.Expectations), func(j Judgement) bool { return j.Met })
}
