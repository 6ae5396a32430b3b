package report

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"shakedown"
	"shakedown/internal/host"
	"shakedown/internal/load"
	"shakedown/internal/stats"
)

// DemoSchema names the JSON of [Demo].
const DemoSchema = "shakedown/demo/v1"

// Demo compares certificates and versions on a server started for it.
type Demo struct {
	Schema      string           `json:"schema"`
	Server      string           `json:"server"`
	Environment host.Environment `json:"environment"`
	Started     time.Time        `json:"started"`
	Duration    time.Duration    `json:"duration_ns"`
	Turn        time.Duration    `json:"turn_ns"` // of load for a cell, in each round
	Rounds      int              `json:"rounds"`  // complete, the first and uncounted one not among them
	Interrupted bool             `json:"interrupted"`
	// ServerCore and ClientCore are the cores that the two are bound to; null
	// if they are not.
	ServerCore *int `json:"server_core"`
	ClientCore *int `json:"client_core"`

	Cells       []*DemoCell      `json:"cells"`
	Comparisons []DemoComparison `json:"comparisons"`
	Counts      []DemoCount      `json:"counts"`
	// Conclusions say what the figures mean.
	Conclusions []string `json:"conclusions"`
	Notes       []string `json:"notes"`
}

// DemoCell is one certificate in one version.
type DemoCell struct {
	Certificate string            `json:"certificate"`
	Version     shakedown.Version `json:"version"`
	Suite       string            `json:"suite"` // observed
	Group       string            `json:"group"`
	Signature   string            `json:"signature"`
	Handshakes  int64             `json:"handshakes"` // complete, in the rounds that count
	Failures    int64             `json:"failures"`
	LimitedBy   []string          `json:"limited_by"` // by round
	PerSecond   stats.Estimate    `json:"handshakes_per_s"`
	// ServerCPU and ClientCPU are per handshake, in ns.
	ServerCPU stats.Estimate `json:"server_cpu_per_handshake_ns"`
	ClientCPU stats.Estimate `json:"client_cpu_per_handshake_ns"`
	// The values by round that the estimates are of.
	Rates       []float64 `json:"handshakes_per_s_by_round"`
	ServerCosts []float64 `json:"server_cpu_by_round_ns"` // empty if it was not seen
	ClientCosts []float64 `json:"client_cpu_by_round_ns"`
	Mismatch    []string  `json:"mismatch"`
}

// DemoComparison compares two cells in the same rounds.
type DemoComparison struct {
	Of     string           `json:"of"`     // what is compared, B against A
	Given  string           `json:"given"`  // what is the same
	Metric string           `json:"metric"` // server_cpu_per_handshake or handshakes_per_s
	Result stats.Comparison `json:"result"`
}

// DemoCount holds the load's own count against the server's.
type DemoCount struct {
	Certificate string `json:"certificate"`
	// Ours are all handshakes of the demo, the uncounted round among them.
	OursComplete   int64  `json:"ours_complete"`
	OursBegun      int64  `json:"ours_begun"`
	TheirsComplete int64  `json:"theirs_complete"`
	TheirsAccepted int64  `json:"theirs_accepted"` // -1: the server does not tell
	Equal          bool   `json:"equal"`
	Basis          string `json:"basis"` // of the server's count
	Problem        string `json:"problem,omitempty"`
}

// Add counts one turn of load for the cell.
func (c *DemoCell) Add(s *load.Summary) {
	c.Handshakes += s.Handshakes
	c.Failures += s.Failures
	c.LimitedBy = append(c.LimitedBy, s.Limit.By)
	if s.Duration > 0 {
		c.Rates = append(c.Rates, float64(s.Handshakes)/s.Duration.Seconds())
	}
	c.ClientCosts = append(c.ClientCosts, float64(s.Client.PerHandshake))
	if s.Server != nil {
		c.ServerCosts = append(c.ServerCosts, float64(s.Server.PerHandshake))
	}
	for _, w := range s.Observed {
		c.Suite, c.Group, c.Signature = w.CipherSuite.String(), groupName(w), w.Signature.String()
		if w.Certificate != c.Certificate {
			c.Mismatch = append(c.Mismatch, fmt.Sprintf("the certificate has a key of %s", w.Certificate))
		}
		c.Mismatch = append(c.Mismatch, w.Mismatch...)
	}
}

// Conclude works out what the cells say, once all rounds are in them. The cells
// of one version are RSA and then ECDSA.
func (d *Demo) Conclude() error {
	d.Comparisons, d.Conclusions = []DemoComparison{}, []string{}
	for _, c := range d.Cells {
		c.PerSecond, c.ServerCPU, c.ClientCPU = stats.Median(c.Rates), stats.Median(c.ServerCosts), stats.Median(c.ClientCosts)
	}
	if d.Rounds == 0 {
		return nil
	}
	d.noteUnsteady()
	for _, pair := range d.pairs() {
		for _, m := range []struct {
			name string
			of   func(*DemoCell) []float64
		}{
			{"server_cpu_per_handshake", func(c *DemoCell) []float64 { return c.ServerCosts }},
			{"handshakes_per_s", func(c *DemoCell) []float64 { return c.Rates }},
		} {
			a, b := m.of(pair.a), m.of(pair.b)
			if len(a) != d.Rounds || len(b) != d.Rounds {
				continue // not seen
			}
			result, err := stats.ComparePaired(a, b, alpha)
			if err != nil {
				return fmt.Errorf("comparing %s in %s: %w", pair.of, pair.given, err)
			}
			d.Comparisons = append(d.Comparisons, DemoComparison{pair.of, pair.given, m.name, result})
			d.conclude(pair, m.name, result)
		}
	}
	return nil
}

// maxRateSpread is how wide the interval of a rate may be, as a fraction of the
// median, before the demo says that something disturbs it.
const maxRateSpread = 0.3

// noteUnsteady says so when rates vary so much that others must be at work.
func (d *Demo) noteUnsteady() {
	for _, c := range d.Cells {
		if e := c.PerSecond; !math.IsInf(e.Low, 0) && (e.High-e.Low)/e.Median > maxRateSpread {
			d.Notes = append(d.Notes, fmt.Sprintf("rates vary widely from round to round (%s in %s: %s to %s per s): other programs use these cores, "+
				"so trust the CPU per handshake and its ratios more", c.Certificate, c.Version, significant(e.Low), significant(e.High)))
			return
		}
	}
}

// pair is two cells that differ in one thing.
type pair struct {
	a, b      *DemoCell
	of, given string
	nameA     string
	nameB     string
	versions  bool // they differ in the version
}

// pairs returns ECDSA against RSA in each version, and TLS 1.2 against 1.3 with
// each certificate.
func (d *Demo) pairs() []pair {
	var certificates, versions []pair
	for i, a := range d.Cells {
		for _, b := range d.Cells[i+1:] {
			switch {
			case a.Version == b.Version:
				certificates = append(certificates, pair{a: b, b: a, of: a.Certificate + " against " + b.Certificate, given: a.Version.String(), nameA: b.Certificate, nameB: a.Certificate})
			case a.Certificate == b.Certificate:
				versions = append(versions, pair{a: a, b: b, of: b.Version.String() + " against " + a.Version.String(), given: a.Certificate, nameA: a.Version.String(), nameB: b.Version.String(), versions: true})
			}
		}
	}
	return append(certificates, versions...)
}

// conclude puts a comparison of costs into a sentence. Rates say the same once
// more where the server is the limit, and nothing of it where it is not.
func (d *Demo) conclude(p pair, metric string, c stats.Comparison) {
	if metric != "server_cpu_per_handshake" {
		return
	}
	lead := "In " + p.given + " a handshake with the " + p.nameB + " certificate"
	other := "one with " + p.nameA
	if p.versions {
		lead, other = "With the "+p.given+" certificate a "+p.nameB+" handshake", "one of "+p.nameA
	}
	bounds := fmt.Sprintf("95%% interval %s to %s", significant(c.Low), significant(c.High))
	text := ""
	switch c.Verdict {
	case stats.Higher:
		text = fmt.Sprintf("%s costs this server %s times (%s) the CPU of %s", lead, significant(c.Ratio), bounds, other)
		if !p.versions {
			text += fmt.Sprintf(": %s is the cheaper certificate, by %s of what a handshake costs", p.nameA, percent(math.Round(1000*(1-1/c.Ratio))/1000))
		}
	case stats.Lower:
		text = fmt.Sprintf("%s costs this server %s of the CPU (ratio %s) of %s", lead, percent(math.Round(1000*c.Ratio)/1000), bounds, other)
	case stats.NoDifference:
		text = fmt.Sprintf("%s costs this server neither more nor less CPU than %s, as far as %s show (ratio %s)", lead, other, count(d.Rounds, "round"), bounds)
	default:
		text = fmt.Sprintf("%s costs %s times the CPU of %s, but %s cannot tell that from chance: it takes %d", lead, significant(c.Ratio), other, count(d.Rounds, "round"), c.Needed)
	}
	d.Conclusions = append(d.Conclusions, text+".")
}

// WriteText writes the table, and what it means.
func (d *Demo) WriteText(w io.Writer, s Style) error {
	var t strings.Builder
	t.WriteString(s.Bold(fmt.Sprintf("full handshakes with the %s server, %s of %s for each line, in shuffled order", d.Server, count(d.Rounds, "round"), d.Turn)) + "\n")
	t.WriteString(wrap("", d.place()) + "\n")
	rows := newTable("", "llrlrlrr")
	rows.add("certificate", "version", "server CPU", "95% interval", "rate", "95% interval", "client CPU", "n")
	for _, c := range d.Cells {
		rows.add(c.Certificate, c.Version.String(), nanoseconds(c.ServerCPU.Median), bounds(c.ServerCPU, nanoseconds),
			significant(c.PerSecond.Median)+"/s", bounds(c.PerSecond, significant), nanoseconds(c.ClientCPU.Median), number(c.Handshakes))
	}
	lines := rows.lines()
	t.WriteString(s.Faint(lines[0]) + "\n" + strings.Join(lines[1:], "\n") + "\n")
	t.WriteString(s.Faint("CPU per handshake; medians over rounds; n handshakes") + "\n\n")
	if len(d.Comparisons) > 0 {
		ratios := newTable("", "lllrll")
		ratios.add("ratio of", "", "given", "", "95% interval", "")
		for _, c := range d.Comparisons {
			what := map[string]string{"server_cpu_per_handshake": "server CPU", "handshakes_per_s": "rate"}[c.Metric]
			low, high := "too few rounds", ""
			if !math.IsInf(c.Result.Low, 0) {
				low, high = significant(c.Result.Low)+" to "+significant(c.Result.High), fmt.Sprintf("p = %.2g", c.Result.P)
			}
			ratios.add(what, c.Of, c.Given, significant(c.Result.Ratio), low, high)
		}
		lines := ratios.lines()
		t.WriteString(s.Faint(lines[0]) + "\n" + strings.Join(lines[1:], "\n") + "\n\n")
	}
	for _, c := range d.Conclusions {
		t.WriteString(wrap("", c))
	}
	t.WriteString("\n")
	d.writeCounts(&t, s)
	for _, c := range d.Cells {
		for _, m := range c.Mismatch {
			t.WriteString(s.Bad(wrap("not as asked: ", fmt.Sprintf("%s in %s: %s", c.Certificate, c.Version, m))))
		}
		if c.Failures > 0 {
			t.WriteString(s.Bad(fmt.Sprintf("%s in %s: %s of %s handshakes failed", c.Certificate, c.Version, number(c.Failures), number(c.Handshakes+c.Failures))) + "\n")
		}
	}
	for _, n := range d.Notes {
		t.WriteString(wrap("note: ", n))
	}
	_, err := io.WriteString(w, t.String())
	return err
}

// place says on what and how it was measured.
func (d *Demo) place() string {
	e := d.Environment
	text := fmt.Sprintf("%s, %s", e.CPU, count(e.CPUs, "CPU"))
	if e.Hypervisor != "" {
		text += " under " + e.Hypervisor
	}
	if d.ServerCore != nil && d.ClientCore != nil {
		text += fmt.Sprintf("; server on core %d, client on core %d", *d.ServerCore, *d.ClientCore)
	}
	return text + "; the client does minimal work, and a handshake counts when its ticket is read"
}

// bounds prints an interval, or that there is none.
func bounds(e stats.Estimate, format func(float64) string) string {
	if math.IsInf(e.Low, 0) || math.IsNaN(e.Median) {
		return "none"
	}
	return format(e.Low) + " to " + format(e.High)
}

func (d *Demo) writeCounts(t *strings.Builder, s Style) {
	for _, c := range d.Counts {
		switch {
		case c.Problem != "":
			t.WriteString(s.Bad(wrap("", fmt.Sprintf("the %s server's own count is not known: %s", c.Certificate, c.Problem))))
		case c.Equal:
			t.WriteString(fmt.Sprintf("the %s server counted %s handshakes, and so did the load\n", c.Certificate, number(c.TheirsComplete)))
		default:
			t.WriteString(s.Bad(wrap("", fmt.Sprintf("the counts differ: the load completed %s of %s connections with the %s server, which says %s handshakes of %s connections (%s)",
				number(c.OursComplete), number(c.OursBegun), c.Certificate, number(c.TheirsComplete), number(c.TheirsAccepted), c.Basis))))
		}
	}
}
