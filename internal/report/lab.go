package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"shakedown"
	"shakedown/internal/lab"
	"shakedown/internal/stats"
)

// LabSchema names the JSON of [Lab].
const LabSchema = "shakedown/lab/v1"

// Lab is what came of an experiment.
type Lab struct {
	Schema string `json:"schema"`
	*lab.Outcome
}

// NewLab makes the document of an outcome.
func NewLab(o *lab.Outcome) *Lab { return &Lab{LabSchema, o} }

// labMetric is how a metric is called and printed.
type labMetric struct {
	name   string
	format func(float64) string
	lower  bool // is better
}

var labMetrics = map[string]labMetric{
	lab.ServerCPU: {"server CPU per handshake", nanoseconds, true},
	lab.Rate:      {"handshakes per second", func(v float64) string { return significant(v) + "/s" }, false},
	lab.P50:       {"latency p50", nanoseconds, true},
	lab.P99:       {"latency p99", nanoseconds, true},
	lab.Visit:     {"first visit", nanoseconds, true},
}

// WriteText writes environment and caveats, then cells, effects and what they
// are made of.
func (l *Lab) WriteText(w io.Writer, s Style) error {
	var t strings.Builder
	l.writeHead(&t, s)
	l.writeCells(&t, s)
	l.writeResumption(&t, s)
	l.writeEffects(&t, s)
	l.writeInteractions(&t, s)
	l.writeContributions(&t, s)
	l.writeParts(&t, s)
	l.writeSlices(&t, s)
	_, err := io.WriteString(w, strings.TrimRight(t.String(), "\n")+"\n")
	return err
}

func (l *Lab) writeHead(t *strings.Builder, s Style) {
	t.WriteString(s.Bold(l.Plan.Name+": "+l.Plan.Title) + "\n")
	if l.Plan.Question != "" {
		t.WriteString(wrap("", l.Plan.Question))
	}
	t.WriteString(wrap("", l.Place()))
	if l.Plan.Published != "" {
		t.WriteString(wrap("published: ", l.Plan.Published))
	}
	for _, c := range l.Caveats {
		t.WriteString(wrap("note: ", c))
	}
	t.WriteString("\n")
}

// Place says on what and how it was measured.
func (l *Lab) Place() string {
	e := l.Environment
	text := fmt.Sprintf("%s, %s", e.CPU, count(e.CPUs, "CPU"))
	if e.Hypervisor != "" {
		text += " under " + e.Hypervisor
	}
	for _, software := range e.Software {
		if slices.ContainsFunc(l.Cells, func(c lab.CellOutcome) bool { return c.Server == software.Name }) {
			text += fmt.Sprintf("; %s %s", software.Name, software.Version)
			if software.Library != "" {
				text += " with " + software.Library
			}
		}
	}
	if slices.ContainsFunc(l.Cells, func(c lab.CellOutcome) bool { return c.Server == "embedded" }) {
		text += "; the embedded server with " + e.GoVersion
	}
	return text + fmt.Sprintf("; %s of %s for each of %s, in shuffled order, seed %d", count(l.Rounds, "complete round"), l.Plan.Turn, count(len(l.measured()), "cell"), l.Plan.Seed)
}

func (l *Lab) measured() []lab.CellOutcome {
	return slices.DeleteFunc(slices.Clone(l.Cells), func(c lab.CellOutcome) bool { return c.Status != lab.Measured })
}

// varied are the factors with several levels.
func (l *Lab) varied() []lab.FactorFacts {
	return slices.DeleteFunc(slices.Clone(l.Plan.Factors), func(f lab.FactorFacts) bool { return len(f.Levels) < 2 })
}

func (l *Lab) writeCells(t *strings.Builder, s Style) {
	visits := slices.ContainsFunc(l.Cells, func(c lab.CellOutcome) bool { return c.Visit.N > 0 })
	layout := "l" + strings.Repeat("l", len(l.varied())) + "rlrlrrr"
	rows := newTable("", layout)
	head := []string{"cell"}
	for _, f := range l.varied() {
		head = append(head, f.Name)
	}
	head = append(head, "server CPU", "95%", "rate/s", "95%", "p50", "p99")
	if visits {
		head = append(head, "visit")
	}
	rows.add(head...)
	for _, c := range l.Cells {
		row := []string{c.ID}
		for _, f := range l.varied() {
			row = append(row, c.Factors[f.Name])
		}
		if c.Status != lab.Measured {
			rows.add(append(row, c.Status)...)
			continue
		}
		cpu := "not seen"
		if c.ServerCPU.N > 0 {
			cpu = nanoseconds(c.ServerCPU.Median)
		}
		row = append(row, cpu, shortBounds(c.ServerCPU, nanoseconds), significant(c.Rate.Median), shortBounds(c.Rate, significant),
			nanoseconds(c.P50.Median), nanoseconds(c.P99.Median))
		if visits {
			row = append(row, nanoseconds(c.Visit.Median))
		}
		rows.add(row...)
	}
	lines := rows.lines()
	t.WriteString(s.Bold("cells") + s.Faint(": medians over rounds with 95% intervals; latency from the planned instant until complete") + "\n")
	t.WriteString(s.Faint(lines[0]) + "\n" + strings.Join(lines[1:], "\n") + "\n")
	for _, by := range l.limits() {
		t.WriteString(wrap("limited by "+by.what+": ", strings.Join(by.cells, ", ")))
	}
	t.WriteString("\n")
}

// limited is what limited some cells.
type limited struct {
	what  string
	cells []string
}

// limits groups the cells by what limited them.
func (l *Lab) limits() []limited {
	var all []limited
	for _, c := range l.measured() {
		what := labLimit(c)
		i := slices.IndexFunc(all, func(o limited) bool { return o.what == what })
		if i < 0 {
			i = len(all)
			all = append(all, limited{what: what})
		}
		all[i].cells = append(all[i].cells, c.ID)
	}
	return all
}

// short names a cell by its levels alone, of the factors that vary.
func (l *Lab) short(c lab.CellOutcome) string {
	var levels []string
	for _, f := range l.varied() {
		levels = append(levels, c.Factors[f.Name])
	}
	return c.ID + " " + strings.Join(levels, ", ")
}

// shortByID is short for a cell that is known by its ID.
func (l *Lab) shortByID(id string) string {
	i := slices.IndexFunc(l.Cells, func(c lab.CellOutcome) bool { return c.ID == id })
	if i < 0 {
		return id
	}
	return l.short(l.Cells[i])
}

// shortBounds prints an interval in a column of its own, the unit once.
func shortBounds(e stats.Estimate, format func(float64) string) string {
	if math.IsInf(e.Low, 0) || math.IsNaN(e.Median) {
		return "-"
	}
	low, high := format(e.Low), format(e.High)
	if a, unit, ok := strings.Cut(low, " "); ok && strings.HasSuffix(high, " "+unit) {
		low = a
	}
	return low + "-" + high
}

// labLimit names what limited most rounds.
func labLimit(c lab.CellOutcome) string {
	best, n := "", 0
	for by, rounds := range c.LimitedBy {
		if rounds > n || rounds == n && by < best {
			best, n = by, rounds
		}
	}
	if n < c.Rounds {
		return fmt.Sprintf("%s (%d of %d)", best, n, c.Rounds)
	}
	return best
}

// writeResumption says how many handshakes resumed where they were to.
func (l *Lab) writeResumption(t *strings.Builder, s Style) {
	rows := newTable("  ", "lrll")
	for _, c := range l.measured() {
		if r := c.Resumption; r != nil {
			rows.add(l.short(c), share(r.K, r.N), fmt.Sprintf("%s of %s", number(r.K), number(r.N)), fmt.Sprintf("95%% interval %s to %s", percent(r.Low), percent(r.High)))
		}
	}
	if len(rows.rows) == 0 {
		return
	}
	t.WriteString(s.Bold("resumed") + s.Faint(", of the handshakes that offered a session") + "\n" + rows.String() + "\n")
}

// labVerdict says in a few words what a comparison shows.
func labVerdict(c lab.Compared) string {
	switch c.Verdict {
	case stats.NoDifference:
		return string(stats.NoDifference)
	case stats.Inconclusive:
		return fmt.Sprintf("inconclusive: %s, %d are needed", count(c.Rounds, "round"), c.Needed)
	}
	return string(c.Verdict)
}

func ratioBounds(c lab.Compared) string {
	if c.Low == nil || c.High == nil {
		return "-"
	}
	return ratio(*c.Low) + " to " + ratio(*c.High)
}

// ratio prints a factor with three decimals below ten: 1.004 is not 1.00.
func ratio(v float64) string {
	if v < 10 {
		return fmt.Sprintf("%.3f", v)
	}
	return significant(v)
}

func pValue(p float64) string {
	if p < 0.001 {
		return "p < 0.001"
	}
	return fmt.Sprintf("p = %.3f", p)
}

func (l *Lab) writeEffects(t *strings.Builder, s Style) {
	for _, metric := range lab.Metrics() {
		rows := newTable("  ", "lrlll")
		for _, e := range l.Effects {
			if e.Metric != metric || e.Given != "" && metric != lab.ServerCPU && metric != lab.Rate {
				continue // the others are in the JSON
			}
			what := e.Factor + ": " + e.From + " -> " + e.To
			if e.Given != "" {
				what = "  " + e.Given
			}
			rows.add(what, ratio(e.Ratio), ratioBounds(e.Compared), pValue(e.P), labVerdict(e.Compared))
		}
		if len(rows.rows) == 0 {
			continue
		}
		t.WriteString(s.Bold("effects on "+labMetrics[metric].name) + s.Faint(": ratio, 95% interval, paired within rounds") + "\n" + rows.String() + "\n")
	}
}

func (l *Lab) writeInteractions(t *strings.Builder, s Style) {
	var lines strings.Builder
	for _, i := range l.Interactions {
		if i.Metric != lab.ServerCPU && i.Metric != lab.Rate {
			continue // the others are in the JSON
		}
		lines.WriteString(wrap("  ", fmt.Sprintf("%s, %s %s -> %s with %s %s -> %s: %s (%s), %s: %s", labMetrics[i.Metric].name, i.FactorA, i.FromA, i.ToA, i.FactorB, i.FromB, i.ToB,
			ratio(i.Ratio), ratioBounds(i.Compared), pValue(i.P), labVerdict(i.Compared))))
	}
	if lines.Len() > 0 {
		t.WriteString(s.Bold("interactions") + s.Faint(": the first's ratio when the second was made too, over that when it was not") + "\n" + lines.String() + "\n")
	}
}

func (l *Lab) writeContributions(t *strings.Builder, s Style) {
	if len(l.Contributions) == 0 {
		return
	}
	t.WriteString(s.Bold("from the worst cell to the best, one change at a time") + "\n")
	for _, c := range l.Contributions {
		m := labMetrics[c.Metric]
		if c.Order == "forward" {
			t.WriteString(wrap("  "+m.name+": ", fmt.Sprintf("%s -> %s: %s times (%s)", c.Worst, c.Best, ratio(c.Total.Ratio), ratioBounds(c.Total))))
		}
		var steps []string
		for _, step := range c.Steps {
			if step.Missing != "" {
				steps = append(steps, step.Factor+" -> "+step.To+": "+step.Missing)
				continue
			}
			steps = append(steps, fmt.Sprintf("%s -> %s x %s (%s; %s of the way)", step.Factor, step.To, ratio(step.Ratio), ratioBounds(step.Compared), fmt.Sprintf("%.0f%%", 100*step.Share)))
		}
		t.WriteString(wrap("    "+c.Order+": ", strings.Join(steps, ", then ")))
	}
	t.WriteString("\n")
}

func (l *Lab) writeParts(t *strings.Builder, s Style) {
	if len(l.Parts) > 0 {
		rows := newTable("  ", "lrrrr")
		rows.add("", "whole", "signature", "exchange", "rest")
		for _, p := range l.Parts {
			cell := func(v float64) string { return fmt.Sprintf("%s (%.0f%%)", nanoseconds(v), 100*v/p.Whole) }
			rows.add(l.shortByID(p.Cell), nanoseconds(p.Whole), cell(p.Signature), cell(p.Exchange), cell(p.Rest))
		}
		t.WriteString(s.Bold("server CPU per handshake in its parts") + "\n" + rows.String())
		for _, p := range l.Parts {
			if p.Note != "" {
				t.WriteString(wrap("  note: ", p.Name+": "+p.Note))
			}
		}
		t.WriteString("\n")
	}
	if len(l.Primitives) > 0 {
		rows := newTable("  ", "lrll")
		source := ""
		for _, p := range l.Primitives {
			rows.add(p.Name, nanoseconds(p.CPU.Median), shortBounds(p.CPU, nanoseconds), fmt.Sprintf("n = %d", p.CPU.N))
			source = p.Source
		}
		t.WriteString(s.Bold("operations by themselves") + "\n" + rows.String() + wrap("  ", source) + "\n")
	}
	for _, a := range l.Agreements {
		t.WriteString(wrap("agreement: ", fmt.Sprintf("%s costs %s more than %s; the signatures alone differ by %s: ratio %s",
			a.From, nanoseconds(a.Measured), a.To, nanoseconds(a.Primitives), ratio(a.Ratio))))
	}
	if len(l.Agreements) > 0 {
		t.WriteString("\n")
	}
}

// writeSlices shows what changed in the course of a turn.
func (l *Lab) writeSlices(t *strings.Builder, s Style) {
	for _, c := range l.measured() {
		if len(c.Slices) == 0 {
			continue
		}
		rows := newTable("  ", "rrrrrl")
		rows.add("at", "handshakes", "resumed", "p99", "server CPU", "")
		for _, slice := range c.Slices {
			note := ""
			if slice.Rotated {
				note = "the key was rotated before"
			}
			rows.add(slice.At.String(), number(slice.Handshakes), share(slice.Resumed, slice.Handshakes), Duration(slice.P99), Duration(slice.ServerCPU), note)
		}
		lines := rows.lines()
		t.WriteString(s.Bold(c.Name) + s.Faint(" in the course of a turn, medians over rounds") + "\n" + s.Faint(lines[0]) + "\n" + strings.Join(lines[1:], "\n") + "\n\n")
	}
}

// labModes lists the modes that a cell's handshakes had.
func labModes(c lab.CellOutcome) string {
	var parts []string
	for _, m := range shakedown.Modes() {
		if n := c.Modes[m]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", m, share(n, c.Handshakes)))
		}
	}
	return strings.Join(parts, ", ")
}
