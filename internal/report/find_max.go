package report

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"shakedown"
	"shakedown/internal/host"
	"shakedown/internal/load"
	"shakedown/internal/stats"
)

// FindMaxSchema names the JSON of [FindMax].
const FindMaxSchema = "shakedown/find-max/v1"

// FindMax is what came of the search for the highest rate that keeps thresholds.
type FindMax struct {
	Schema      string           `json:"schema"`
	Target      shakedown.Target `json:"target"`
	Asked       shakedown.Asked  `json:"asked"`
	Plan        load.Plan        `json:"plan"` // of each step, but for its rate
	Environment host.Environment `json:"environment"`
	Started     time.Time        `json:"started"`
	Duration    time.Duration    `json:"duration_ns"` // of the whole search
	Interrupted bool             `json:"interrupted"`
	// Thresholds are all to be kept, and no arrival is to be missed.
	Thresholds []string   `json:"thresholds"`
	Steps      []FindStep `json:"steps"`
	// Best is the highest rate kept, Broken the lowest not kept, per second; each
	// null if there is none.
	Best   *float64 `json:"best_rate_per_s"`
	Broken *float64 `json:"broken_rate_per_s"`
	// Limit is what limited the run at Broken. By is "threshold" if the rate was
	// made, only not within the thresholds.
	Limit *load.Limit `json:"limited_by"`
	// Problem is why the search did not come to its end; empty if it did.
	Problem string `json:"problem,omitempty"`

	thresholds []Expectation
}

// FindStep is one rate that was tried.
type FindStep struct {
	Rate       float64           `json:"rate_per_s"`
	Kept       bool              `json:"kept"`
	Reason     string            `json:"reason,omitempty"` // why it was not kept
	Thresholds []Judgement       `json:"thresholds"`
	Handshakes int64             `json:"handshakes"`
	Failures   int64             `json:"failures"`
	Missed     int64             `json:"missed"`
	Mismatched int64             `json:"mismatched"`
	PerSecond  stats.Estimate    `json:"handshakes_per_s"`
	Total      stats.Percentiles `json:"latency_total"`
	ClientCPU  time.Duration     `json:"client_cpu_per_handshake_ns"`
	ServerCPU  *time.Duration    `json:"server_cpu_per_handshake_ns"` // null when not seen
	Limit      load.Limit        `json:"limited_by"`
}

// noneFails is what a search demands of failures unless a threshold is about
// them: latencies are those of complete handshakes, so that a server which turns
// most away would seem fast.
const noneFails = "failed=0%"

// NewFindMax begins the document of a search with the thresholds.
func NewFindMax(target shakedown.Target, asked shakedown.Asked, environment host.Environment, plan load.Plan, thresholds []Expectation) (*FindMax, error) {
	if !slices.ContainsFunc(thresholds, func(e Expectation) bool { return e.metric.name == "failed" }) {
		e, err := ParseExpectation(noneFails)
		if err != nil {
			return nil, err
		}
		thresholds = append(slices.Clip(thresholds), e)
	}
	f := &FindMax{Schema: FindMaxSchema, Target: target, Asked: asked, Plan: plan, Environment: environment, Started: time.Now(),
		Thresholds: []string{}, Steps: []FindStep{}, thresholds: thresholds}
	for _, e := range thresholds {
		f.Thresholds = append(f.Thresholds, e.Expression)
	}
	return f, nil
}

// Keeps reports whether a run keeps all thresholds.
func (f *FindMax) Keeps(s *load.Summary) bool {
	return !slices.ContainsFunc(f.thresholds, func(e Expectation) bool { return !e.Judge(s).Met })
}

// Add adds a step.
func (f *FindMax) Add(step load.SearchStep) {
	s := step.Summary
	n := FindStep{
		Rate: step.Rate, Kept: step.Kept, Thresholds: []Judgement{},
		Handshakes: s.Handshakes, Failures: s.Failures, Missed: s.Missed, Mismatched: s.Mismatches(),
		PerSecond: s.PerSecond, Total: s.Total, ClientCPU: s.Client.PerHandshake, Limit: s.Limit,
	}
	if s.Server != nil {
		n.ServerCPU = &s.Server.PerHandshake
	}
	var broken []string
	for _, e := range f.thresholds {
		j := e.Judge(s)
		n.Thresholds = append(n.Thresholds, j)
		if !j.Met {
			broken = append(broken, e.metric.name+" is "+j.Text)
		}
	}
	switch {
	case step.Kept:
	case s.Interrupted:
		n.Reason = "it was interrupted"
		f.Interrupted = true
	case s.Missed > 0:
		n.Reason = count(s.Missed, "arrival") + " missed, for want of a free connection"
	default:
		n.Reason = strings.Join(broken, ", ")
	}
	f.Steps = append(f.Steps, n)
}

// Conclude says what the steps come to. The error is that of the search.
func (f *FindMax) Conclude(err error) {
	f.Duration = time.Since(f.Started)
	if err != nil && !errors.Is(err, context.Canceled) {
		f.Problem = err.Error()
	}
	var broken *FindStep
	for i := range f.Steps {
		s := &f.Steps[i]
		switch {
		case s.Kept && (f.Best == nil || s.Rate > *f.Best):
			f.Best = &s.Rate
		case !s.Kept && !(f.Interrupted && i == len(f.Steps)-1) && (broken == nil || s.Rate < broken.Rate):
			broken = s
		}
	}
	if broken == nil {
		return
	}
	f.Broken = &broken.Rate
	limit := broken.Limit
	if limit.By == "rate asked" {
		limit = load.Limit{By: "threshold", Evidence: append([]string{"the rate was made, but " + broken.Reason}, limit.Evidence...)}
	} else {
		limit.Evidence = append([]string{broken.Reason}, limit.Evidence...)
	}
	f.Limit = &limit
}

// Mismatched returns how many handshakes were not as asked.
func (f *FindMax) Mismatched() (n int64) {
	for _, s := range f.Steps {
		n += s.Mismatched
	}
	return n
}

// String tells a step in a line.
func (s *FindStep) String() string {
	line := significant(s.Rate) + "/s "
	if s.Kept {
		line += "kept: " + s.figures()
	} else {
		line += "not kept: " + s.Reason
	}
	return fmt.Sprintf("%s (n = %s)", line, number(s.Handshakes+s.Failures))
}

// figures are those that the thresholds are about.
func (s *FindStep) figures() string {
	var parts []string
	for _, j := range s.Thresholds {
		parts = append(parts, strings.TrimSpace(j.Expression[:strings.IndexAny(j.Expression, "<>=")])+" "+j.Text)
	}
	return strings.Join(parts, ", ")
}

// WriteText writes the steps and what they come to.
func (f *FindMax) WriteText(w io.Writer, s Style) error {
	var t strings.Builder
	head := Bench{Target: f.Target, Asked: f.Asked, Plan: f.Plan}
	head.writeWho(&t, s)
	how := "evenly spaced"
	if f.Plan.Arrivals.Poisson {
		how = "Poisson"
	}
	t.WriteString(wrap("", fmt.Sprintf("search for the highest rate that keeps %s and misses no arrival: an open loop of %s arrivals, %s for each rate after %s of warm-up; at most %s at once%s",
		strings.Join(f.Thresholds, " and "), how, f.Plan.Duration, f.Plan.Warmup, count(f.Plan.Connections, "connection"), network(f.Plan))) + "\n")
	rows := newTable("  ", "rlrrrl")
	rows.add("rate", "kept", "n", "missed", "server CPU", "figures")
	for i, step := range f.Steps {
		kept, cpu := "no", "not seen"
		switch {
		case step.Kept:
			kept = "yes"
		case f.Interrupted && i == len(f.Steps)-1:
			kept = "cut short"
		}
		if step.ServerCPU != nil {
			cpu = Duration(*step.ServerCPU)
		}
		rows.add(significant(step.Rate)+"/s", kept, number(step.Handshakes+step.Failures), number(step.Missed), cpu, step.figures())
	}
	lines := rows.lines()
	t.WriteString(s.Faint(lines[0]) + "\n")
	for i, line := range lines[1:] {
		if f.Steps[i].Kept {
			line = s.Good(line)
		}
		t.WriteString(line + "\n")
	}
	t.WriteString("\n")
	t.WriteString(s.Bold(wrap("highest rate  ", f.best())))
	if f.Broken != nil {
		t.WriteString(wrap("not kept at   ", significant(*f.Broken)+"/s"))
		t.WriteString(wrap("limited by    ", f.Limit.By+": "+strings.Join(f.Limit.Evidence, "; ")))
	}
	if f.Problem != "" {
		t.WriteString(s.Bad(wrap("note: ", f.Problem)))
	}
	_, err := io.WriteString(w, t.String())
	return err
}

func (f *FindMax) best() string {
	switch {
	case f.Best == nil && f.Interrupted:
		return "not known: the search was interrupted before one was kept"
	case f.Best == nil:
		return "none: no rate tried was kept"
	case f.Broken == nil:
		return significant(*f.Best) + "/s and more: no rate was tried that is not kept"
	}
	return significant(*f.Best) + "/s"
}
