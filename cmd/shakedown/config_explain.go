package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"shakedown/internal/lab"
	"shakedown/internal/lint/config"
)

// choice is what a configuration decides on, with the directives that do.
type choice struct {
	name       string
	directives []string
	// made reports whether two cells of an experiment differ in it.
	made func(a, b *lab.CellOutcome) bool
}

// choices a run can have figures of. Resumption is seen in the load: whoever was given a ticket makes other handshakes.
var choices = []choice{
	{"versions", []string{"ssl_protocols"}, func(a, b *lab.CellOutcome) bool {
		return !slices.Equal(a.Spec.Versions, b.Spec.Versions) || !slices.Equal(a.Load.Versions, b.Load.Versions)
	}},
	{"certificates", []string{"ssl_certificate"}, func(a, b *lab.CellOutcome) bool {
		return !slices.Equal(a.Spec.Certificates, b.Spec.Certificates)
	}},
	{"suites and whose order counts", []string{"ssl_ciphers", "ssl_prefer_server_ciphers"}, func(a, b *lab.CellOutcome) bool {
		return !slices.Equal(a.Spec.Suites, b.Spec.Suites) || a.Spec.PreferServer != b.Spec.PreferServer || !slices.Equal(a.Load.CipherSuites, b.Load.CipherSuites)
	}},
	{"groups", []string{"ssl_ecdh_curve"}, func(a, b *lab.CellOutcome) bool {
		return !slices.Equal(a.Spec.Groups, b.Spec.Groups) || !slices.Equal(a.Load.Groups, b.Load.Groups)
	}},
	{"resumption", []string{"ssl_session_cache", "ssl_session_tickets", "ssl_session_ticket_key"}, func(a, b *lab.CellOutcome) bool {
		return a.Load.Mode != b.Load.Mode && !early(a, b) || a.Load.Mix != b.Load.Mix || a.Spec.Tickets != b.Spec.Tickets || a.Spec.Cache != b.Spec.Cache
	}},
	{"early data", []string{"ssl_early_data"}, func(a, b *lab.CellOutcome) bool {
		return early(a, b) || a.Spec.EarlyData != b.Spec.EarlyData
	}},
	{"stapling", []string{"ssl_stapling"}, func(a, b *lab.CellOutcome) bool { return a.Spec.Stapling != b.Spec.Stapling }},
	{"client certificates", []string{"ssl_verify_client"}, func(a, b *lab.CellOutcome) bool {
		return a.Spec.ClientAuth != b.Spec.ClientAuth
	}},
	{"workers", []string{"worker_processes"}, func(a, b *lab.CellOutcome) bool { return a.Spec.Workers != b.Spec.Workers }},
}

func early(a, b *lab.CellOutcome) bool {
	return (a.Load.Mode == "early-data") != (b.Load.Mode == "early-data")
}

// explain tells each choice with its lines, and what it costs as far as the run has an effect of it.
func explain(w io.Writer, f config.File, run *lab.Outcome) error {
	var b strings.Builder
	if run != nil {
		fmt.Fprintf(&b, "measured by run %s: %s on %s, %d rounds\n", run.Plan.Name, run.Plan.Server, run.Environment.CPU, run.Rounds)
		for _, c := range run.Caveats {
			fmt.Fprintf(&b, "note: %s\n", c)
		}
		b.WriteByte('\n')
	}
	for _, c := range choices {
		var lines []string
		for _, l := range f {
			if words := strings.Fields(l.Text); len(words) > 0 && slices.Contains(c.directives, words[0]) && !slices.Contains(lines, strings.TrimSpace(l.Text)) {
				lines = append(lines, strings.TrimSpace(l.Text))
			}
		}
		if len(lines) == 0 {
			continue
		}
		fmt.Fprintf(&b, "%s\n", c.name)
		for _, l := range lines {
			fmt.Fprintf(&b, "    %s\n", l)
		}
		costs := c.costs(run)
		for _, cost := range costs {
			fmt.Fprintf(&b, "  %s\n", cost)
		}
		switch {
		case run == nil:
			b.WriteString("  not measured: no run is given (--run)\n")
		case len(costs) == 0:
			b.WriteString("  not measured: the run has no effect of it\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// costs are the effects of a run that are about the choice, on the server's CPU. One given levels of other
// factors is left out where there is their mean.
func (c *choice) costs(run *lab.Outcome) []string {
	if run == nil {
		return nil
	}
	var list []string
	for _, e := range run.Effects {
		from, to := pair(run, e.Factor, e.From, e.To)
		if e.Metric != lab.ServerCPU || from == nil || !c.made(from, to) {
			continue
		}
		mean := func(o lab.Effect) bool {
			return o.Metric == e.Metric && o.Factor == e.Factor && o.To == e.To && o.Given == ""
		}
		what := fmt.Sprintf("%s: %s -> %s", e.Factor, e.From, e.To)
		if e.Given != "" {
			if slices.ContainsFunc(run.Effects, mean) {
				continue
			}
			what += ", " + e.Given
		}
		interval := "no interval"
		if e.Low != nil && e.High != nil {
			interval = fmt.Sprintf("95%% interval %.3g to %.3g", *e.Low, *e.High)
		}
		text := fmt.Sprintf("server CPU per handshake, %s: %.3g times (%s, p = %.2g, %d rounds)", what, e.Ratio, interval, e.P, e.Compared.Rounds)
		var beside []string
		for _, other := range choices {
			if other.name != c.name && other.made(from, to) {
				beside = append(beside, other.name)
			}
		}
		if len(beside) > 0 {
			text += "; it changes " + strings.Join(beside, " and ") + " too"
		}
		list = append(list, text)
	}
	return list
}

// pair returns two measured cells that have two levels of a factor, all else being equal; nil if there are none.
func pair(run *lab.Outcome, factor, from, to string) (a, b *lab.CellOutcome) {
	for i := range run.Cells {
		a := &run.Cells[i]
		if a.Factors[factor] != from || a.Status != lab.Measured {
			continue
		}
		for j := range run.Cells {
			b := &run.Cells[j]
			if b.Factors[factor] == to && b.Status == lab.Measured && sameBut(a, b, factor) {
				return a, b
			}
		}
	}
	return nil, nil
}

// sameBut reports whether two cells have the same level of every other factor.
func sameBut(a, b *lab.CellOutcome, factor string) bool {
	for name, level := range a.Factors {
		if name != factor && b.Factors[name] != level {
			return false
		}
	}
	return true
}

// readRun works out what a run directory says.
func readRun(dir string) (*lab.Outcome, error) {
	record, err := lab.Read(dir)
	if err != nil {
		return nil, failed("it is what shakedown lab run --dir writes", "--run: %w", err)
	}
	o, err := lab.Analyse(record)
	if err != nil {
		return nil, failed("", "--run: %w", err)
	}
	return o, nil
}
