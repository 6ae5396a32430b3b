package report

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"time"

	"shakedown/internal/stats"
)

// CompareSchema names the JSON of [Compare].
const CompareSchema = "shakedown/compare/v1"

// alpha is the level of the tests: 5%.
const alpha = 0.05

// Compare says what two benches, made one after the other, tell about B
// against A.
type Compare struct {
	Schema string            `json:"schema"`
	A      Compared          `json:"a"`
	B      Compared          `json:"b"`
	Gap    time.Duration     `json:"apart_ns"`         // between their starts
	Rate   *stats.Comparison `json:"handshakes_per_s"` // null if a run has no whole second
	// ServerCPU per handshake by second, in ns; null if a run did not see its
	// server for a second.
	ServerCPU *stats.Comparison `json:"server_cpu_per_handshake_ns"`
	// Single are figures of which each run has one only, so that no test can
	// tell a difference from chance.
	Single []SingleFigure `json:"single"`
	// Differences in what was asked and on what machine.
	Differences []string `json:"differences"`
	// Warnings say why a difference may not come from what was changed.
	Warnings []string `json:"warnings"`
	Slower   bool     `json:"slower"` // B costs more CPU or is slower, by a test
}

// Compared is one of the runs.
type Compared struct {
	File       string    `json:"file"`
	Target     string    `json:"target"`
	Started    time.Time `json:"started"`
	Handshakes int64     `json:"handshakes"`
	Failures   int64     `json:"failures"`
	LimitedBy  string    `json:"limited_by"`
}

// SingleFigure is a figure of which each run has one.
type SingleFigure struct {
	Name  string   `json:"name"`
	A     float64  `json:"a"`
	B     float64  `json:"b"`
	NA    int64    `json:"n_a"` // measurements behind it
	NB    int64    `json:"n_b"`
	Ratio *float64 `json:"ratio"` // B/A; null if A is 0
	unit  unit
}

// ReadBench reads the JSON of a bench.
func ReadBench(data []byte) (*Bench, error) {
	var b Bench
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	if head.Schema != BenchSchema {
		return nil, fmt.Errorf("its schema is %q, not %q", head.Schema, BenchSchema)
	}
	if err := json.Unmarshal(data, &b); err != nil {
		return nil, err
	}
	return &b, nil
}

// NewCompare compares two runs.
func NewCompare(fileA string, a *Bench, fileB string, b *Bench) (*Compare, error) {
	for file, run := range map[string]*Bench{fileA: a, fileB: b} {
		if run.Summary.Handshakes == 0 {
			return nil, fmt.Errorf("%s holds no complete handshake: there is nothing to compare", file)
		}
	}
	c := &Compare{
		Schema: CompareSchema, A: compared(fileA, a), B: compared(fileB, b), Gap: b.Summary.Started.Sub(a.Summary.Started),
		Single: []SingleFigure{}, Differences: differences(a, b),
	}
	var err error
	if c.Rate, err = compareSeconds(rates(a), rates(b)); err != nil {
		return nil, fmt.Errorf("comparing rates: %w", err)
	}
	if c.ServerCPU, err = compareSeconds(costs(a), costs(b)); err != nil {
		return nil, fmt.Errorf("comparing server CPU: %w", err)
	}
	c.Slower = c.Rate != nil && c.Rate.Verdict == stats.Lower || c.ServerCPU != nil && c.ServerCPU.Verdict == stats.Higher
	for _, f := range []struct {
		name string
		of   func(*Latency) *stats.Percentiles
	}{
		{"connect", func(l *Latency) *stats.Percentiles { return &l.Connect }},
		{"handshake", func(l *Latency) *stats.Percentiles { return &l.Handshake }},
		{"total", func(l *Latency) *stats.Percentiles { return &l.Total }},
	} {
		pa, pb := f.of(&a.Latency), f.of(&b.Latency)
		c.single(f.name+"_p50_ns", unitTime, float64(pa.P50), float64(pb.P50), pa.N, pb.N)
		c.single(f.name+"_p99_ns", unitTime, float64(pa.P99), float64(pb.P99), pa.N, pb.N)
	}
	endedA, endedB := a.Summary.Handshakes+a.Summary.Failures, b.Summary.Handshakes+b.Summary.Failures
	c.single("client_cpu_per_handshake_ns", unitTime, float64(a.Summary.ClientCPU), float64(b.Summary.ClientCPU), endedA, endedB)
	if endedA > 0 && endedB > 0 {
		c.single("failed", unitShare, float64(a.Summary.Failures)/float64(endedA), float64(b.Summary.Failures)/float64(endedB), endedA, endedB)
	}
	c.warn(a, b)
	return c, nil
}

func compared(file string, b *Bench) Compared {
	s := b.Summary
	return Compared{file, b.Target.String(), s.Started, s.Handshakes, s.Failures, s.Limit.By}
}

// compareSeconds compares a figure of which both runs have one for each second;
// nil if one of them has none.
func compareSeconds(a, b []float64) (*stats.Comparison, error) {
	if len(a) == 0 || len(b) == 0 {
		return nil, nil
	}
	// The seed is fixed so that the same files give the same interval.
	c, err := stats.Compare(a, b, alpha, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		return nil, err
	}
	return &c, nil
}

// rates returns the handshakes of each whole second. Seconds without one, which
// have no ratio, are left out and are visible as failures or as the server's end.
func rates(b *Bench) []float64 {
	var list []float64
	for _, s := range b.wholeSeconds() {
		if s.Handshakes > 0 {
			list = append(list, float64(s.Handshakes))
		}
	}
	return list
}

// costs returns the server's CPU per handshake of each second. Seconds in which
// it did nothing have no ratio.
func costs(b *Bench) []float64 {
	if b.Server == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(b.Server.Series), func(v float64) bool { return v <= 0 })
}

func (c *Compare) single(name string, u unit, a, b float64, na, nb int64) {
	f := SingleFigure{Name: name, A: a, B: b, NA: na, NB: nb, unit: u}
	if a > 0 {
		ratio := b / a
		f.Ratio = &ratio
	}
	c.Single = append(c.Single, f)
}

// differences lists what was asked differently and what machine was another.
func differences(a, b *Bench) []string {
	list := []string{}
	add := func(what string, x, y any) {
		if !reflect.DeepEqual(x, y) {
			list = append(list, fmt.Sprintf("%s: %v, then %v", what, x, y))
		}
	}
	add("target", a.Target.String(), b.Target.String())
	add("server name", a.Target.ServerName, b.Target.ServerName)
	add("mode", a.Asked.Mode, b.Asked.Mode)
	add("versions", a.Asked.Versions, b.Asked.Versions)
	add("cipher suites", a.Asked.CipherSuites, b.Asked.CipherSuites)
	add("groups", a.Asked.Groups, b.Asked.Groups)
	add("signature schemes", a.Asked.SignatureSchemes, b.Asked.SignatureSchemes)
	add("work", a.Asked.Work, b.Asked.Work)
	add("completion", a.Asked.Complete, b.Asked.Complete)
	add("mix", a.Plan.Mix, b.Plan.Mix)
	add("loop", loop(a.Plan), loop(b.Plan))
	add("threads", a.Plan.Threads, b.Plan.Threads)
	add("close", a.Plan.Close, b.Plan.Close)
	add("certificate", keys(a.Observed.Certificate), keys(b.Observed.Certificate))
	add("CPU", a.Environment.CPU, b.Environment.CPU)
	add("CPUs", a.Environment.CPUs, b.Environment.CPUs)
	add("kernel", a.Environment.Kernel, b.Environment.Kernel)
	add("software", a.Environment.Software, b.Environment.Software)
	return list
}

func keys(m map[string]int64) []string {
	var list []string
	for k := range m {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}

// warn says why a difference may not come from what was changed.
func (c *Compare) warn(a, b *Bench) {
	c.Warnings = []string{"the runs were made one after the other: whatever else changed between them, " +
		"such as the load of the machine or its clock, is in the difference too"}
	for _, r := range []struct {
		name  string
		bench *Bench
	}{{"A", a}, {"B", b}} {
		s := r.bench.Summary
		if s.Steal != nil && *s.Steal >= 1 {
			c.Warnings = append(c.Warnings, fmt.Sprintf("%s lost %.1f%% of its machine's time to others (steal)", r.name, *s.Steal))
		}
		if s.Limit.By == "client" {
			c.Warnings = append(c.Warnings, r.name+" was limited by the client: its rate says nothing of the server")
		}
		if s.Limit.By == "rate asked" {
			c.Warnings = append(c.Warnings, r.name+" made the rate that was asked for: compare its latency and CPU, not its rate")
		}
		if s.Interrupted {
			c.Warnings = append(c.Warnings, r.name+" was interrupted")
		}
		if s.Mismatched > 0 {
			c.Warnings = append(c.Warnings, fmt.Sprintf("%s has %s not as asked", r.name, count(s.Mismatched, "handshake")))
		}
	}
}

// WriteText writes the comparison.
func (c *Compare) WriteText(w io.Writer, s Style) error {
	var t strings.Builder
	for _, r := range []struct {
		name string
		run  Compared
	}{{"A", c.A}, {"B", c.B}} {
		fmt.Fprintf(&t, "%s  %s: %s at %s\n   %s, %s failed, limited by %s\n", s.Bold(r.name), r.run.File, r.run.Target, r.run.Started.UTC().Format("2006-01-02 15:04:05 UTC"),
			count(r.run.Handshakes, "handshake"), number(r.run.Failures), r.run.LimitedBy)
	}
	t.WriteString("\n")
	c.writeTested(&t, s)
	rows := newTable("  ", "lrrrl")
	rows.add("", "A", "B", "B/A", "")
	for _, f := range c.Single {
		ratio := "-"
		if f.Ratio != nil {
			ratio = significant(*f.Ratio)
		}
		name := strings.NewReplacer("_ns", "", "_", " ", "cpu", "CPU").Replace(f.Name)
		rows.add(name, f.unit.format(f.A), f.unit.format(f.B), ratio, fmt.Sprintf("n = %s, %s", number(f.NA), number(f.NB)))
	}
	t.WriteString(s.Bold("one value for each run, so without a test") + "\n" + rows.String() + "\n")
	for _, d := range c.Differences {
		t.WriteString(wrap("differs: ", d))
	}
	for _, warning := range c.Warnings {
		t.WriteString(wrap("note: ", warning))
	}
	_, err := io.WriteString(w, t.String())
	return err
}

func (c *Compare) writeTested(t *strings.Builder, s Style) {
	t.WriteString(s.Bold("by second") + "\n")
	for _, row := range []struct {
		name    string
		r       *stats.Comparison
		format  func(float64) string
		without string
	}{
		{"  handshakes/s  ", c.Rate, significant, "a run has no whole second"},
		{"  server CPU    ", c.ServerCPU, nanoseconds, "a run did not see its server for a second"},
	} {
		if r := row.r; r != nil {
			t.WriteString(wrap(row.name, fmt.Sprintf("A %s (%s); B %s (%s): %s", row.format(r.A.Median), interval(r.A, "second", row.format),
				row.format(r.B.Median), interval(r.B, "second", row.format), r)))
		} else {
			t.WriteString(row.name + "not compared: " + row.without + "\n")
		}
	}
	t.WriteString("\n")
}
