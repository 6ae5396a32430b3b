package report

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"shakedown/internal/load"
	"shakedown/internal/stats"
)

// Expectation is a threshold for a figure of a load, such as "p99<30ms".
type Expectation struct {
	Expression string
	metric     metric
	operator   string
	bound      float64 // in the metric's base unit
}

// Judgement is whether an expectation was met, and by which figure.
type Judgement struct {
	Expression string `json:"expression"`
	// Value in nanoseconds, handshakes per second, or as a fraction of 1; null
	// if there is none, for the reason in Problem.
	Value   *float64 `json:"value"`
	N       int64    `json:"n"` // measurements behind the value
	Met     bool     `json:"met"`
	Problem string   `json:"problem,omitempty"`
	Text    string   `json:"text"` // the value with its unit
}

// unit is what a bound is written in.
type unit uint8

const (
	unitTime  unit = iota // a Go duration; base unit ns
	unitShare             // a percentage; base unit 1
	unitRate              // a number per second
)

// metric is a figure that can be expected to be so and so.
type metric struct {
	name  string
	unit  unit
	value func(*load.Summary) (value float64, n int64, err error)
}

// metrics are all but the percentiles, which are p50, connect_p99 and so on.
var metrics = []metric{
	{"handshakes_per_s", unitRate, func(s *load.Summary) (float64, int64, error) {
		if s.PerSecond.N == 0 {
			return 0, 0, errors.New("the run has no whole second")
		}
		return s.PerSecond.Median, int64(s.PerSecond.N), nil
	}},
	{"server_cpu_per_handshake", unitTime, func(s *load.Summary) (float64, int64, error) {
		if s.Server == nil {
			return 0, 0, errors.New("the server was not seen: " + s.Why)
		}
		return float64(s.Server.PerHandshake), s.Handshakes + s.Failures, nil
	}},
	{"client_cpu_per_handshake", unitTime, func(s *load.Summary) (float64, int64, error) {
		return float64(s.Client.PerHandshake), s.Handshakes + s.Failures, nil
	}},
	{"resumed", unitShare, ofComplete(func(o *load.Observed) bool { return o.Mode.Resumes() })},
	{"full", unitShare, ofComplete(func(o *load.Observed) bool { return !o.Mode.Resumes() })},
	{"stapled", unitShare, ofComplete(func(o *load.Observed) bool { return o.Staple })},
	{"retried", unitShare, ofComplete(func(o *load.Observed) bool { return o.Retried })},
	{"as_asked", unitShare, ofComplete(func(o *load.Observed) bool { return len(o.Mismatch) == 0 })},
	{"failed", unitShare, func(s *load.Summary) (float64, int64, error) {
		n := s.Handshakes + s.Failures
		return float64(s.Failures) / float64(n), n, nil
	}},
	{"missed", unitShare, func(s *load.Summary) (float64, int64, error) {
		n := s.Handshakes + s.Failures + s.Missed
		return float64(s.Missed) / float64(n), n, nil
	}},
}

// ofComplete is the share of the complete handshakes that are so.
func ofComplete(so func(*load.Observed) bool) func(*load.Summary) (float64, int64, error) {
	return func(s *load.Summary) (float64, int64, error) {
		var k, n int64
		for i := range s.Observed {
			n += s.Observed[i].N
			if so(&s.Observed[i]) {
				k += s.Observed[i].N
			}
		}
		return float64(k) / float64(n), n, nil
	}
}

// MetricNames lists what can be expected, for help.
func MetricNames() string {
	names := []string{"p50", "p99", "p99.9", "mean", "max", "connect_p99", "handshake_p99"}
	for _, m := range metrics {
		names = append(names, m.name)
	}
	return strings.Join(names, ", ")
}

// operators, the longer before those they begin with.
var operators = []string{"<=", ">=", "<", ">", "="}

// ParseExpectation reads an expectation such as "p99<30ms", "resumed>=99%" or
// "handshakes_per_s>1000".
func ParseExpectation(text string) (Expectation, error) {
	at := strings.IndexAny(text, "<>=")
	if at < 0 {
		return Expectation{}, fmt.Errorf("expectation %q: want figure, comparison and bound, such as p99<30ms", text)
	}
	e := Expectation{Expression: strings.TrimSpace(text)}
	e.operator = operators[slices.IndexFunc(operators, func(o string) bool { return strings.HasPrefix(text[at:], o) })]
	var err error
	if e.metric, err = findMetric(strings.TrimSpace(text[:at])); err != nil {
		return Expectation{}, fmt.Errorf("expectation %q: %w", text, err)
	}
	if e.bound, err = e.metric.unit.parse(strings.TrimSpace(text[at+len(e.operator):])); err != nil {
		return Expectation{}, fmt.Errorf("expectation %q: %w", text, err)
	}
	return e, nil
}

func findMetric(name string) (metric, error) {
	if i := slices.IndexFunc(metrics, func(m metric) bool { return m.name == name }); i >= 0 {
		return metrics[i], nil
	}
	which, figure := 2, name // of Summary.Recorders: the total
	for i, prefix := range []string{"connect_", "handshake_", "total_"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			which, figure = i, rest
		}
	}
	of := func(read func(*stats.Recorder) time.Duration) (metric, error) {
		return metric{name, unitTime, func(s *load.Summary) (float64, int64, error) {
			r := s.Recorders[which]
			return float64(read(r)), r.N(), nil
		}}, nil
	}
	switch figure {
	case "mean":
		return of(func(r *stats.Recorder) time.Duration { return r.Percentiles().Mean })
	case "min":
		return of(func(r *stats.Recorder) time.Duration { return r.Quantile(0) })
	case "max":
		return of(func(r *stats.Recorder) time.Duration { return r.Quantile(1) })
	}
	if q, ok := quantile(figure); ok {
		return of(func(r *stats.Recorder) time.Duration { return r.Quantile(q) })
	}
	return metric{}, fmt.Errorf("unknown figure %q (some are %s)", name, MetricNames())
}

// quantile reads p50, p99, p99.9 and p999, which is the same.
func quantile(name string) (float64, bool) {
	digits, ok := strings.CutPrefix(name, "p")
	if !ok || digits == "" || strings.Trim(digits, "0123456789.") != "" {
		return 0, false
	}
	if len(digits) > 2 && !strings.Contains(digits, ".") {
		digits = digits[:2] + "." + digits[2:]
	}
	p, err := strconv.ParseFloat(digits, 64)
	return p / 100, err == nil && p > 0 && p < 100
}

// parse reads a bound.
func (u unit) parse(text string) (float64, error) {
	switch u {
	case unitTime:
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 {
			return 0, fmt.Errorf("%q is not a duration such as 30ms", text)
		}
		return float64(d), nil
	case unitShare:
		digits, ok := strings.CutSuffix(text, "%")
		p, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
		if !ok || err != nil || !(p >= 0 && p <= 100) {
			return 0, fmt.Errorf("%q is not a percentage such as 99%%", text)
		}
		return p / 100, nil
	}
	v, err := strconv.ParseFloat(strings.TrimSuffix(text, "/s"), 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%q is not a number such as 1000", text)
	}
	return v, nil
}

// format prints a value with its unit.
func (u unit) format(v float64) string {
	switch u {
	case unitTime:
		return nanoseconds(v)
	case unitShare:
		return percent(v)
	}
	return significant(v) + "/s"
}

// Judge holds the expectation against a summary. Without a figure it is not met.
func (e Expectation) Judge(s *load.Summary) Judgement {
	j := Judgement{Expression: e.Expression}
	v, n, err := e.metric.value(s)
	if err == nil && n == 0 {
		err = errors.New("no handshake came to an end")
	}
	if err != nil {
		j.Problem, j.Text = err.Error(), "not known: "+err.Error()
		return j
	}
	j.Value, j.N, j.Text = &v, n, e.metric.unit.format(v)
	switch e.operator {
	case "<":
		j.Met = v < e.bound
	case "<=":
		j.Met = v <= e.bound
	case ">":
		j.Met = v > e.bound
	case ">=":
		j.Met = v >= e.bound
	case "=":
		j.Met = v == e.bound
	}
	return j
}
