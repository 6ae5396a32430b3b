package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"shakedown"
	"shakedown/internal/load"
	"shakedown/internal/stats"
)

// WriteText writes the summary to be read at one glance.
func (b *Bench) WriteText(w io.Writer, s Style) error {
	var t strings.Builder
	b.writeHead(&t, s)
	b.writeSummary(&t, s)
	if b.Summary.Handshakes > 0 {
		writeLatency(&t, s, b.Latency)
	}
	b.writeTargets(&t, s)
	b.writeObserved(&t, s)
	b.writeFailures(&t, s)
	b.writeExpectations(&t, s)
	_, err := io.WriteString(w, t.String())
	return err
}

func (b *Bench) writeHead(t *strings.Builder, s Style) {
	b.writeWho(t, s)
	t.WriteString(wrap("", loop(b.Plan)) + "\n")
}

// writeWho says who is asked for what.
func (b *Bench) writeWho(t *strings.Builder, s Style) {
	name := "without a server name"
	if b.Target.ServerName != "" {
		name = "as " + b.Target.ServerName
	}
	var where []string
	for _, a := range b.Plan.Targets {
		where = append(where, a.String())
	}
	t.WriteString(s.Bold(strings.Join(where, ", ")+" "+name) + "\n")
	p := b.Plan
	var what []string
	if len(p.Mix) > 0 {
		for _, share := range p.Mix {
			what = append(what, fmt.Sprintf("%s %d", share.Mode, share.Weight))
		}
		what = []string{"mix " + strings.Join(what, " : ")}
		if len(p.Mix) == 1 {
			what = []string{"mode " + string(p.Mix[0].Mode)}
		}
	} else {
		what = []string{"mode " + string(b.Asked.Mode)}
	}
	what = append(what, names(b.Asked.Versions), "work "+string(b.Asked.Work), "complete when "+completion(b.Asked.Complete), "closed by "+string(p.Close))
	t.WriteString(wrap("", strings.Join(what, ", ")))
}

func completion(c shakedown.Completion) string {
	switch c {
	case shakedown.CompleteTicket:
		return "the first ticket is read"
	case shakedown.CompleteResponse:
		return "a response begins"
	}
	return "both Finished are done with"
}

// loop says when handshakes begin and for how long.
func loop(p load.Plan) string {
	var text string
	if p.Arrivals.Open() {
		var stages []string
		for _, stage := range p.Arrivals.Stages {
			stages = append(stages, fmt.Sprintf("%s/s for %s", significant(stage.Rate), stage.Duration))
		}
		spacing := "evenly spaced"
		if p.Arrivals.Poisson {
			spacing = "Poisson"
		}
		text = fmt.Sprintf("open loop, %s arrivals: %s; at most %s at once", spacing, strings.Join(stages, ", then "), count(p.Connections, "connection"))
	} else {
		text = "closed loop of " + count(p.Connections, "connection")
	}
	if p.Count > 0 {
		text += fmt.Sprintf("; %s handshakes", number(p.Count))
	}
	if p.Warmup > 0 {
		text += fmt.Sprintf("; %s of warm-up not counted", p.Warmup)
	}
	return text + network(p)
}

// network says what lies between the load and TLS.
func network(p load.Plan) (text string) {
	if p.StartTLS != "" {
		text += fmt.Sprintf("; %s before TLS, whose time is the connection's", p.StartTLS)
	}
	if p.RTT > 0 {
		text += fmt.Sprintf("; each flight held for %s", p.RTT)
	}
	if p.Link != nil {
		text += fmt.Sprintf("; over a link of %s", p.Link)
	}
	return text
}

func (b *Bench) writeSummary(t *strings.Builder, s Style) {
	m := b.Summary
	rows := newTable("", "lll")
	interrupted := ""
	if m.Interrupted {
		interrupted = "; interrupted"
	}
	rows.add("handshakes", number(m.Handshakes), fmt.Sprintf("complete in %s; %s failed (%s)%s", Duration(m.Duration),
		number(m.Failures), share(m.Failures, m.Handshakes+m.Failures), interrupted))
	if m.Missed > 0 || b.Plan.Arrivals.Open() {
		rows.add("missed", number(m.Missed), "planned arrivals for which no connection was free")
	}
	if m.Abandoned > 0 {
		rows.add("abandoned", number(m.Abandoned), "under way when it was interrupted")
	}
	if m.PerSecond.N > 0 {
		rows.add("rate", significant(m.PerSecond.Median)+"/s", interval(m.PerSecond, "second", significant))
	} else if m.Duration > 0 {
		rows.add("rate", significant(float64(m.Handshakes)/m.Duration.Seconds())+"/s", "over the whole time, which has no full second and so no interval")
	}
	if v := b.Server; v != nil {
		rows.add("server CPU", Duration(v.PerHandshake), fmt.Sprintf("per handshake, n = %s", number(m.Handshakes+m.Failures)))
		if v.PerSecond.N > 0 {
			rows.add("", nanoseconds(v.PerSecond.Median), "by second: "+interval(v.PerSecond, "second", nanoseconds))
		}
		rows.add("", fmt.Sprintf("%.2f cores", v.Busy), fmt.Sprintf("in use by %s; %s MB of memory (PSS)", count(v.Processes, "process"), significant(float64(v.Memory.PSS)/1e6)))
		if h := v.Hardware; h != nil {
			where := ""
			if h.UserOnly {
				where = ", without the kernel's part"
			}
			rows.add("", number(int64(h.Instructions)), fmt.Sprintf("instructions per handshake in %s cycles; %s cache misses, %s branch misses%s",
				number(int64(h.Cycles)), number(int64(h.CacheMisses)), number(int64(h.BranchMisses)), where))
		}
	} else {
		rows.add("server CPU", "not seen", m.ServerNotSeen)
	}
	c := b.Client
	rows.add("client CPU", Duration(c.PerHandshake), fmt.Sprintf("per handshake, n = %s; %s of %s busy, loop lag p99 %s", number(m.Handshakes+m.Failures),
		percent(c.Busy), count(c.Threads, "thread"), Duration(c.Lag.P99)))
	if b.Link != nil {
		addLink(rows, b.Link)
	}
	if m.Steal != nil && *m.Steal >= 1 {
		rows.add("steal", fmt.Sprintf("%.1f%%", *m.Steal), "of this machine's time went to others: the figures suffer")
	}
	if p := b.Priming; p.Handshakes+p.Failures > 0 {
		rows.add("priming", number(p.Handshakes), fmt.Sprintf("full handshakes for sessions, not counted above; %s failed", number(p.Failures)))
	}
	t.WriteString(rows.String())
	label := "limited by  "
	t.WriteString(wrap(label, m.Limit.By+": "+strings.Join(m.Limit.Evidence, "; ")) + "\n")
}

// addLink says what an emulated network did, and how far that is what it was
// asked to do.
func addLink(rows *table, l *load.LinkUse) {
	arrived := l.ToServer.Packets + l.ToClient.Packets
	rows.add("link", number(arrived), fmt.Sprintf("packets arrived; %s lost, %s met a full queue",
		number(l.ToServer.Lost+l.ToClient.Lost), number(l.ToServer.QueueFull+l.ToClient.QueueFull)))
	rows.add("", Duration(l.Late.Max), fmt.Sprintf("late at the most, %s on average; %s of packets by more than 1 ms", Duration(l.Late.Mean), share(l.Late.Over1ms, l.Late.N)))
	if overrun := l.ToServer.Overrun + l.ToClient.Overrun; overrun > 0 {
		rows.add("", number(overrun), "packets lost because the emulation did not keep up: the figures suffer")
	}
	if !l.RealTime {
		rows.add("", "", "the system gave the emulation no real-time priority: other work makes packets late")
	}
}

// writeLatency writes the table of percentiles.
func writeLatency(t *strings.Builder, s Style, l Latency) {
	rows := newTable("", "lrrrrrrrr")
	rows.add("ms", "n", "mean", "min", "p50", "p90", "p99", "p99.9", "max")
	for _, row := range []struct {
		name string
		p    stats.Percentiles
	}{{"connect", l.Connect}, {"handshake", l.Handshake}, {"total", l.Total}} {
		cells := []string{row.name, number(row.p.N)}
		for _, d := range []time.Duration{row.p.Mean, row.p.Min, row.p.P50, row.p.P90, row.p.P99, row.p.P999, row.p.Max} {
			cells = append(cells, milliseconds(d))
		}
		rows.add(cells...)
	}
	lines := rows.lines()
	t.WriteString(s.Bold(lines[0]) + "\n" + strings.Join(lines[1:], "\n") + "\n")
	if few := rareTail(l.Total.N); few != "" {
		t.WriteString(s.Faint(few) + "\n")
	}
	t.WriteString("\n")
}

// writeTargets writes the figures of each address, if there are several.
func (b *Bench) writeTargets(t *strings.Builder, s Style) {
	if len(b.Targets) == 0 {
		return
	}
	rows := newTable("  ", "lrrrrrrr")
	rows.add("total, ms", "n", "failed", "mean", "p50", "p90", "p99", "max")
	for _, target := range b.Targets {
		cells := []string{target.Address.String(), number(target.Handshakes), share(target.Failures, target.Handshakes+target.Failures)}
		for _, d := range []time.Duration{target.Total.Mean, target.Total.P50, target.Total.P90, target.Total.P99, target.Total.Max} {
			if target.Handshakes == 0 {
				cells = append(cells, "-")
				continue
			}
			cells = append(cells, milliseconds(d))
		}
		rows.add(cells...)
	}
	lines := rows.lines()
	t.WriteString(s.Bold("by address") + "\n" + s.Faint(lines[0]) + "\n" + strings.Join(lines[1:], "\n") + "\n\n")
}

// rareTail warns of percentiles that a few handshakes decide.
func rareTail(n int64) string {
	const enough = 10 // handshakes beyond a percentile
	switch {
	case n < 100*enough:
		return fmt.Sprintf("fewer than %d of %s handshakes lie beyond p99: it is not stable", enough, number(n))
	case n < 1000*enough:
		return fmt.Sprintf("fewer than %d of %s handshakes lie beyond p99.9: it is not stable", enough, number(n))
	}
	return ""
}

func (b *Bench) writeObserved(t *strings.Builder, s Style) {
	ways := b.Observed.Ways
	if len(ways) == 0 {
		return
	}
	rows := newTable("  ", "rrlllll")
	rows.add("n", "share", "mode", "version", "cipher suite", "group", "certificate")
	for _, w := range ways {
		certificate := orNone(w.Certificate != "", w.Certificate)
		if w.Staple {
			certificate += ", stapled"
		}
		group := groupName(w)
		if w.Retried {
			group += " (retried)"
		}
		rows.add(number(w.N), share(w.N, b.Summary.Handshakes), string(w.Mode), w.Version.String(), w.CipherSuite.String(), group, certificate)
	}
	lines := rows.lines()
	t.WriteString(s.Bold("observed") + "\n" + s.Faint(lines[0]) + "\n" + strings.Join(lines[1:], "\n") + "\n")
	for _, w := range ways {
		for _, m := range w.Mismatch {
			t.WriteString(s.Bad(wrap("  not as asked: ", fmt.Sprintf("%s, %s times", m, number(w.N)))))
		}
	}
	t.WriteString("\n")
}

func (b *Bench) writeFailures(t *strings.Builder, s Style) {
	if len(b.Failed) == 0 {
		return
	}
	t.WriteString(s.Bold("failures") + "\n")
	all := b.Summary.Handshakes + b.Summary.Failures
	for _, f := range b.Failed {
		head := fmt.Sprintf("  %s (%s) %s after %s: ", number(f.N), share(f.N, all), f.Class, f.Phase)
		t.WriteString(wrap("  ", strings.TrimSpace(head)+" "+f.Text))
		if f.Hint != "" {
			t.WriteString(wrap("    hint: ", f.Hint))
		}
	}
	t.WriteString("\n")
}

func (b *Bench) writeExpectations(t *strings.Builder, s Style) {
	if len(b.Expectations) == 0 {
		return
	}
	t.WriteString(s.Bold("expectations") + "\n")
	rows := newTable("  ", "lll")
	for _, j := range b.Expectations {
		met, n := "met", fmt.Sprintf("n = %s", number(j.N))
		if !j.Met {
			met = "NOT MET"
		}
		if j.Value == nil {
			n = ""
		}
		rows.add(met, j.Expression, strings.TrimSpace(j.Text+"  "+n))
	}
	for i, line := range rows.lines() {
		if b.Expectations[i].Met {
			line = s.Good(line)
		} else {
			line = s.Bad(line)
		}
		t.WriteString(line + "\n")
	}
	t.WriteString("\n")
}

// Mismatches returns what was other than asked, each sentence once.
func (b *Bench) Mismatches() []string {
	var all []string
	for _, w := range b.Observed.Ways {
		for _, m := range w.Mismatch {
			if !slices.Contains(all, m) {
				all = append(all, m)
			}
		}
	}
	return all
}
