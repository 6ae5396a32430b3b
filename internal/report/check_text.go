package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"shakedown"
	"shakedown/internal/check"
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
	fmt.Fprintf(b, "%s: %s, %s\n", s.Bold(targetName(t)), tallyFindings(t.Findings), count(t.Connections, "connection"))
	o := &t.Observation
	if !t.Reached() {
		b.WriteString(s.Bad(wrap("  not answered: ", answer(o, "reach").Evidence)))
		return
	}
	for _, f := range t.Findings {
		writeFinding(b, s, f)
	}
	head, rows := resumptionTable(o)
	writeTable(b, s, "llll", head, rows)
	for _, k := range ticketLines(o) {
		b.WriteString(wrap("  "+k.name+": ", k.text))
	}
	head, rows = certificateTable(o)
	writeTable(b, s, "llrrlll", head, rows)
	head, rows = timeTable(o)
	writeTable(b, s, "lrrrrrrl", head, rows)
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

// writeTable writes a table with its head, or nothing if it has no rows.
func writeTable(b *strings.Builder, s Style, layout string, head []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	t := newTable("  ", layout)
	t.add(head...)
	for _, row := range rows {
		t.add(row...)
	}
	lines := t.lines()
	b.WriteString(s.Bold(lines[0]) + "\n" + strings.Join(lines[1:], "\n") + "\n")
}

// writeAnswers writes the answers that stand nowhere above.
func writeAnswers(b *strings.Builder, s Style, o *check.Observation) {
	for _, l := range listLines(o) {
		b.WriteString(wrap("  "+l.name+": ", l.text))
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
	head, rows := c.overview()
	writeTable(b, s, "lrrlrrrrr", head, rows)
	for _, f := range c.Findings {
		writeFinding(b, s, f)
	}
	for _, g := range c.Groups {
		b.WriteString(wrap("  "+mechanismName(g.Mechanism)+": ", g.String()))
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
