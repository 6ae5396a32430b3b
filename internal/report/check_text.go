package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"shakedown"
	"shakedown/internal/check"
	"shakedown/internal/stats"
)

// WriteText writes findings first, the worst of them first, and then what was
// seen, address by address.
func (c *Check) WriteText(w io.Writer, s Style) error {
	var b strings.Builder
	for i := range c.Targets {
		if i > 0 {
			b.WriteString("\n")
		}
		c.writeTarget(&b, s, &c.Targets[i])
	}
	c.writeFleet(&b, s)
	c.writeChanges(&b, s)
	c.writePolicy(&b, s)
	fmt.Fprintf(&b, "\n%s in %s\n", count(c.Connections, "connection"), Duration(c.Duration))
	_, err := io.WriteString(w, b.String())
	return err
}

func (c *Check) writeTarget(b *strings.Builder, s Style, t *check.TargetReport) {
	head := t.Address.String()
	if t.Target.Host != t.Address.Addr().String() {
		head = t.Target.String() + " at " + head
	}
	if t.Target.ServerName != "" && t.Target.ServerName != t.Target.Host {
		head += ", as " + t.Target.ServerName
	}
	fmt.Fprintf(b, "%s: %s, %s\n", s.Bold(head), tallyFindings(t.Findings), count(t.Connections, "connection"))
	o := &t.Observation
	if !t.Reached() {
		b.WriteString(s.Bad(wrap("  not answered: ", answer(o, "reach").Evidence)))
		return
	}
	for _, f := range t.Findings {
		writeFinding(b, s, f)
	}
	writeResumption(b, s, o)
	writeTicketKinds(b, o)
	writeCertificates(b, s, o)
	writeTimes(b, s, o)
	writeAnswers(b, s, o)
}

func answer(o *check.Observation, id string) shakedown.Answer {
	for _, a := range o.Answers {
		if a.ID == id {
			return a
		}
	}
	return shakedown.Answer{}
}

// tallyFindings counts findings by severity.
func tallyFindings(list []shakedown.Finding) string {
	var parts []string
	for _, k := range []struct {
		severity shakedown.Severity
		word     string
	}{{shakedown.SeverityError, "error"}, {shakedown.SeverityWarning, "warning"}, {shakedown.SeverityInfo, "note"}} {
		n := 0
		for _, f := range list {
			if f.Severity == k.severity {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, count(n, k.word))
		}
	}
	if len(parts) == 0 {
		return "nothing found to complain of"
	}
	return strings.Join(parts, ", ")
}

// writeFinding writes a finding; a note takes one line, for there may be many.
func writeFinding(b *strings.Builder, s Style, f shakedown.Finding) {
	if f.Severity == shakedown.SeverityInfo {
		text := f.Title
		if f.Cost != "" {
			text += " (" + f.Cost + ")"
		}
		b.WriteString(wrap("  note: ", text))
		return
	}
	mark := func(text string) string { return text }
	if f.Severity == shakedown.SeverityError {
		mark = s.Bad
	}
	b.WriteString(mark(wrap("  "+string(f.Severity)+": ", f.Title)))
	b.WriteString(wrap("    seen:   ", f.Evidence))
	if f.Cost != "" {
		b.WriteString(wrap("    cost:   ", f.Cost))
	}
	b.WriteString(wrap("    advice: ", f.Advice))
	for _, line := range f.Nginx {
		b.WriteString(s.Faint("    nginx:  "+line) + "\n") // not broken: it is to be copied
	}
}

// rate prints a row of resumption: never a number without its interval.
func rate(r *check.Resumption) string {
	if r == nil || r.Tried == 0 {
		return "-"
	}
	text := fmt.Sprintf("%d of %d (%.0f%% to %.0f%%)", r.Resumed, r.Tried, 100*r.Low, 100*r.High)
	if r.Failed > 0 {
		text += fmt.Sprintf(", %d failed", r.Failed)
	}
	return text
}

var mechanisms = []struct{ id, name string }{
	{check.MechanismPSK, "TLS 1.3 psk"}, {check.MechanismTicket, "TLS 1.2 ticket"},
	{check.MechanismSessionID, "TLS 1.2 session ID"}, {check.MechanismPSKOnly, "TLS 1.3 psk_ke"},
}

func writeResumption(b *strings.Builder, s Style, o *check.Observation) {
	rows := newTable("  ", "llll")
	rows.add("resumption", "at once (95% interval)", "in sequence", "")
	for _, m := range mechanisms {
		var atOnce, sequence *check.Resumption
		for i := range o.Resumption {
			switch r := &o.Resumption[i]; {
			case r.Mechanism != m.id:
			case r.AtOnce > 1:
				atOnce = r
			default:
				sequence = r
			}
		}
		state := ""
		switch {
		case atOnce != nil:
			state = string(atOnce.State)
		case sequence != nil:
			state = string(sequence.State)
		default:
			continue
		}
		rows.add(m.name, rate(atOnce), rate(sequence), state)
	}
	if len(rows.rows) > 1 {
		lines := rows.lines()
		b.WriteString(s.Bold(lines[0]) + "\n" + strings.Join(lines[1:], "\n") + "\n")
	}
}

func writeTicketKinds(b *strings.Builder, o *check.Observation) {
	for _, t := range o.Tickets {
		name := t.Mechanism
		for _, m := range mechanisms {
			if m.id == t.Mechanism {
				name = m.name
			}
		}
		text := fmt.Sprintf("%d with a full handshake, %d with a resumption, up to %s bytes, %s", t.PerFull, t.PerResumption, number(t.Bytes), lifetime(t.Lifetime))
		switch {
		case t.Stateful:
			text += "; they only name a session that the server keeps"
		case t.KeyName == check.KeyNameRandom:
			text += fmt.Sprintf("; no key name in this stack (%d tickets, each begins otherwise)", t.Seen)
		case t.KeyName == check.KeyNameRepeated:
			text += "; key"
			for i, k := range t.Keys {
				if i > 0 {
					text += ","
				}
				text += fmt.Sprintf(" %x... (%s)", k.Name[:8], count(k.Tickets, "ticket"))
				if k.LastSeen.Sub(k.FirstSeen) > time.Minute {
					text += " since " + k.FirstSeen.UTC().Format("2006-01-02 15:04 UTC")
				}
			}
			if t.Rotation != "" {
				text += "; " + t.Rotation
			}
		}
		b.WriteString(wrap("  tickets, "+name+": ", text))
	}
}

// lifetime prints the hint of a ticket without the zeros of its seconds.
func lifetime(d time.Duration) string {
	if d == 0 {
		return "no lifetime told"
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return "lifetime " + text
}

func writeCertificates(b *strings.Builder, s Style, o *check.Observation) {
	if len(o.Certificates) == 0 {
		return
	}
	rows := newTable("  ", "llrrlll")
	rows.add("certificate", "versions", "chain", "flight", "until", "verified", "stapled")
	for _, c := range o.Certificates {
		until := "-"
		if leaf := c.Chain.Certificates[0]; !leaf.NotAfter.IsZero() {
			until = leaf.NotAfter.UTC().Format("2006-01-02")
		}
		stapled := fmt.Sprintf("%d of %d", c.Stapling.Stapled, c.Stapling.Asked)
		if st := c.Stapling.Staple; st != nil {
			stapled += ", " + st.Status
		}
		rows.add(c.Chain.Key(), names(c.Versions), number(c.Chain.Bytes)+" B", number(c.FlightBytes)+" B", until, string(c.Verification), stapled)
	}
	lines := rows.lines()
	b.WriteString(s.Bold(lines[0]) + "\n" + strings.Join(lines[1:], "\n") + "\n")
}

func writeTimes(b *strings.Builder, s Style, o *check.Observation) {
	if len(o.Timing) == 0 {
		return
	}
	rows := newTable("  ", "lrrrrrrl")
	rows.add(fmt.Sprintf("time, medians of n=%d", o.Timing[0].Complete.N), "TCP", "server hello", "complete", "response", "server CPU", "round trips", "complete against full (95% interval)")
	for _, t := range o.Timing {
		against := ""
		switch {
		case t.Saves != nil && t.Saves.Verdict == stats.Inconclusive:
			against = fmt.Sprintf("%d of %d rounds needed", t.Saves.A.N, t.Saves.Needed)
		case t.Saves != nil:
			against = fmt.Sprintf("%.0f%% (%.0f%% to %.0f%%), %s", 100*t.Saves.Ratio, 100*t.Saves.Low, 100*t.Saves.High, verdict(t.Saves.Verdict))
		}
		rows.add(fmt.Sprintf("%s %s", t.Version, t.Mode), nanoseconds(t.Connect.Median), nanoseconds(t.ServerHello.Median), nanoseconds(t.Complete.Median),
			nanoseconds(t.Response.Median), nanoseconds(t.ServerCPU.Median), number(t.RoundTrips), against)
	}
	lines := rows.lines()
	b.WriteString(s.Bold(lines[0]) + "\n" + strings.Join(lines[1:], "\n") + "\n")
}

// verdict says it of a time, of which less is better.
func verdict(v stats.Verdict) string {
	switch v {
	case stats.Lower:
		return "faster"
	case stats.Higher:
		return "slower"
	}
	return string(v)
}

// writeAnswers writes the answers that stand nowhere above.
func writeAnswers(b *strings.Builder, s Style, o *check.Observation) {
	for _, suites := range o.Suites {
		if len(suites.Found) > 0 {
			text := joinSome(suites.Found, suites.Complete)
			if suites.Preference != "" {
				text += "; the " + suites.Preference + "'s order counts"
			}
			b.WriteString(wrap(fmt.Sprintf("  %s suites: ", suites.Version), text))
		}
	}
	if len(o.Groups) > 0 {
		b.WriteString(wrap("  groups: ", joinSome(o.Groups, answer(o, "groups").Verdict == shakedown.Yes)))
	}
	if len(o.SignatureSchemes) > 0 {
		b.WriteString(wrap("  signature schemes: ", joinSome(o.SignatureSchemes, answer(o, "schemes").Verdict == shakedown.Yes)))
	}
	told := []string{"suites13", "suites12", "groups", "schemes", "time", "time12", "certificates", "preference", "resume-psk", "resume-ticket", "resume-session-id", "resume-psk-ke"}
	var yes, no []string
	for _, a := range o.Answers {
		switch {
		case a.Verdict == shakedown.Inconclusive:
		case slices.Contains(told, a.ID):
		case a.Verdict == shakedown.Yes:
			yes = append(yes, a.ID)
		default:
			no = append(no, a.ID)
		}
	}
	if len(yes) > 0 {
		b.WriteString(wrap("  yes: ", strings.Join(yes, ", ")))
	}
	if len(no) > 0 {
		b.WriteString(wrap("  no: ", strings.Join(no, ", ")))
	}
	// Those of one reason together: it is often the budget.
	var reasons []string
	byReason := map[string][]string{}
	for _, a := range o.Answers {
		if a.Verdict == shakedown.Inconclusive {
			if byReason[a.Evidence] == nil {
				reasons = append(reasons, a.Evidence)
			}
			byReason[a.Evidence] = append(byReason[a.Evidence], a.ID)
		}
	}
	for _, r := range reasons {
		b.WriteString(s.Faint(strings.TrimRight(wrap("  inconclusive: ", strings.Join(byReason[r], ", ")+": "+r), "\n")) + "\n")
	}
}

// joinSome joins values, the first few of a long list, and says so if there may
// be more.
func joinSome[T fmt.Stringer](values []T, complete bool) string {
	const room = 8
	var parts []string
	for _, v := range values[:min(room, len(values))] {
		parts = append(parts, v.String())
	}
	text := strings.Join(parts, ", ")
	if more := len(values) - room; more > 0 {
		text += ", and " + count(more, "other")
	}
	if !complete {
		text += ", and perhaps more"
	}
	return text
}

// writeFleet writes what concerns several addresses.
func (c *Check) writeFleet(b *strings.Builder, s Style) {
	if len(c.Targets) < 2 {
		return
	}
	fmt.Fprintf(b, "\n%s: %s\n", s.Bold(fmt.Sprintf("all %d addresses", len(c.Targets))), tallyFindings(c.Findings))
	for _, f := range c.Findings {
		writeFinding(b, s, f)
	}
	for _, g := range c.Groups {
		name := g.Mechanism
		for _, m := range mechanisms {
			if m.id == g.Mechanism {
				name = m.name
			}
		}
		b.WriteString(wrap("  "+name+": ", g.String()))
		c.writeMatrix(b, g)
	}
}

// writeMatrix has a row for each origin and a column for each destination.
func (c *Check) writeMatrix(b *strings.Builder, g check.Groups) {
	head, body := c.matrix(g)
	rows := newTable("    ", "l"+strings.Repeat("r", len(body)))
	rows.add(head...)
	for _, row := range body {
		rows.add(row...)
	}
	b.WriteString(rows.String())
}

// matrix returns the head and the rows of the table of who takes whose sessions.
func (c *Check) matrix(g check.Groups) (head []string, rows [][]string) {
	all := slices.Concat(g.Members()...)
	head = []string{"session of \\ offered to"}
	for _, from := range all {
		head = append(head, g.Label(from))
		row := []string{g.Label(from)}
		for _, to := range all {
			row = append(row, c.cell(g.Mechanism, from, to))
		}
		rows = append(rows, row)
	}
	return head, rows
}

func (c *Check) cell(mechanism string, from, to check.Place) string {
	list := c.Resumption
	if from == to {
		for i := range c.Targets {
			if t := &c.Targets[i]; t.Address == from.Address && t.Target.ServerName == from.Name {
				list = t.Observation.Resumption
			}
		}
	}
	for _, r := range list {
		if r.Mechanism == mechanism && r.Origin == from.Address && r.OriginName == from.Name &&
			r.Destination == to.Address && r.DestinationName == to.Name && (from != to || r.AtOnce > 1) {
			return fmt.Sprintf("%d/%d", r.Resumed, r.Tried)
		}
	}
	return "-"
}

// writeChanges writes what is other than in the report compared with.
func (c *Check) writeChanges(b *strings.Builder, s Style) {
	if len(c.Changes) == 0 {
		return
	}
	b.WriteString("\n" + s.Bold(count(len(c.Changes), "change")+" since the earlier report") + "\n")
	for _, change := range c.Changes {
		where := "all addresses"
		if change.Address.IsValid() {
			where = change.Address.String()
		}
		b.WriteString(wrap("  "+where+": ", fmt.Sprintf("%s: was %s, is %s", change.What, change.Before, change.After)))
	}
}

func (c *Check) writePolicy(b *strings.Builder, s Style) {
	if c.Policy == "" {
		return
	}
	if len(c.Breaches) == 0 {
		fmt.Fprintf(b, "\npolicy %s: %s\n", c.Policy, s.Good("met"))
		return
	}
	fmt.Fprintf(b, "\npolicy %s: %s\n", c.Policy, s.Bad("not met"))
	for _, breach := range c.Breaches {
		where := "all addresses"
		if breach.Address.IsValid() {
			where = breach.Address.String()
		}
		b.WriteString(wrap("  "+where+": ", breach.Text))
	}
}
