package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"shakedown"
	"shakedown/internal/check"
)

// WriteText writes what concerns all addresses, then address by address the
// findings, the worst of them first, and what was seen. Unless all is asked for it
// is made to fit a screen: several addresses with their findings alone, the worst
// address first and those that are alike together, for they stand side by side
// before.
func (c *Check) WriteText(w io.Writer, s Style) error {
	var b strings.Builder
	c.writeFleet(&b, s)
	for _, alike := range c.inGroups() {
		if len(c.Targets) > 1 {
			b.WriteString("\n")
		}
		c.writeTarget(&b, s, alike[0], alike[1:])
	}
	c.writeChanges(&b, s)
	c.writePolicy(&b, s)
	fmt.Fprintf(&b, "\n%s in %s", count(c.Connections, "connection"), Duration(c.Duration))
	if !c.Verbose {
		b.WriteString("; --verbose has every answer with its evidence")
	}
	_, err := io.WriteString(w, b.String()+"\n")
	return err
}

// inGroups returns the targets in the order in which they are written. Unless all
// is asked for, those that have the same findings make one group.
func (c *Check) inGroups() [][]*check.TargetReport {
	var groups [][]*check.TargetReport
	for i := range c.Targets {
		t := &c.Targets[i]
		at := -1
		if !c.Verbose {
			at = slices.IndexFunc(groups, func(g []*check.TargetReport) bool { return alike(g[0], t) })
		}
		if at < 0 {
			groups = append(groups, nil)
			at = len(groups) - 1
		}
		groups[at] = append(groups[at], t)
	}
	if !c.Verbose {
		slices.SortStableFunc(groups, func(a, b []*check.TargetReport) int { return slices.Compare(badness(b[0]), badness(a[0])) })
	}
	return groups
}

// alike reports whether two addresses have the same findings.
func alike(a, b *check.TargetReport) bool {
	if !a.Reached() || !b.Reached() {
		return a.Reached() == b.Reached() && answer(&a.Observation, "reach").Evidence == answer(&b.Observation, "reach").Evidence
	}
	return slices.EqualFunc(a.Findings, b.Findings, func(x, y shakedown.Finding) bool {
		return x.ID == y.ID && x.Severity == y.Severity && x.Title == y.Title
	})
}

// badness orders addresses: whether there is no answer, and how many errors and
// warnings there are.
func badness(t *check.TargetReport) []int {
	silent := 0
	if !t.Reached() {
		silent = 1
	}
	return []int{silent, severe(t.Findings, shakedown.SeverityError), severe(t.Findings, shakedown.SeverityWarning)}
}

func severe(list []shakedown.Finding, s shakedown.Severity) int {
	n := 0
	for _, f := range list {
		if f.Severity == s {
			n++
		}
	}
	return n
}

// writeTarget writes an address, and names others that have the same findings.
func (c *Check) writeTarget(b *strings.Builder, s Style, t *check.TargetReport, others []*check.TargetReport) {
	name := s.Bold(targetName(t))
	if len(others) > 0 {
		name += " and " + count(len(others), "other") + " alike"
	}
	tally := tallyFindings(t.Findings)
	if !t.Reached() {
		tally = "not answered"
	}
	fmt.Fprintf(b, "%s: %s, %s\n", name, tally, count(t.Connections, "connection"))
	if len(others) > 0 {
		var names []string
		for _, o := range others {
			names = append(names, c.label(o))
		}
		b.WriteString(wrap("  alike: ", strings.Join(names, ", ")))
	}
	if !t.Reached() {
		b.WriteString(s.Bad(strings.TrimRight(wrap("  not answered: ", answer(&t.Observation, "reach").Evidence), "\n")) + "\n")
		return
	}
	c.writeFindings(b, s, t.Findings)
	switch {
	case c.Verbose:
		writeAll(b, s, &t.Observation)
	case len(c.Targets) == 1:
		writeBrief(b, s, &t.Observation)
	}
}

// writeAll writes all that was seen.
func writeAll(b *strings.Builder, s Style, o *check.Observation) {
	head, rows := resumptionTable(o)
	writeTable(b, s, "llll", head, rows)
	for _, k := range ticketLines(o) {
		b.WriteString(wrap("  "+k.name+": ", k.text))
	}
	writeMeasured(b, s, o)
	for _, l := range listLines(o) {
		b.WriteString(wrap("  "+l.name+": ", l.text))
	}
	b.WriteString(s.Bold("  answers") + "\n")
	for _, a := range o.Answers {
		b.WriteString(wrap(fmt.Sprintf("  %-12s  ", a.Verdict), a.ID+": "+a.Evidence))
	}
}

// writeBrief writes the answers that matter most, and of the others no more than
// that they are yes, no or open.
func writeBrief(b *strings.Builder, s Style, o *check.Observation) {
	head, rows := resumptionTable(o)
	rows = slices.DeleteFunc(rows, func(row []string) bool { return row[0] == mechanismName(check.MechanismPSKOnly) })
	writeTable(b, s, "llll", head, rows)
	head, rows = ticketTable(o)
	writeTable(b, s, "lrrrll", head, rows)
	writeMeasured(b, s, o)
	b.WriteString(wrap("  taken: ", taken(o)))
	writeVerdicts(b, s, o)
}

// writeMeasured writes the tables of certificates and times.
func writeMeasured(b *strings.Builder, s Style, o *check.Observation) {
	head, rows := certificateTable(o)
	writeTable(b, s, "llrrlll", head, rows)
	head, rows = timeTable(o)
	writeTable(b, s, "lrrrrrrl", head, rows)
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
		n := severe(list, k.severity)
		if n > 0 {
			parts = append(parts, count(n, k.word))
		}
	}
	if len(parts) == 0 {
		return "nothing found to complain of"
	}
	return strings.Join(parts, ", ")
}

// Room for findings, unless all is asked for.
const (
	inFull    = 5 // of them with evidence and advice; the others by their title
	seenLines = 2 // of evidence and of cost
)

// writeFindings writes findings, the advice that several in a row share once.
func (c *Check) writeFindings(b *strings.Builder, s Style, list []shakedown.Finding) {
	var notes []string
	for i, f := range list {
		switch {
		case c.Verbose:
			writeFinding(b, s, f, math.MaxInt, true)
		case f.Severity == shakedown.SeverityInfo:
			notes = append(notes, f.Title)
		case i >= inFull:
			writeFindingTitle(b, s, f)
		default:
			last := i+1 == min(inFull, len(list)) || list[i+1].Advice != f.Advice || !slices.Equal(list[i+1].Nginx, f.Nginx)
			writeFinding(b, s, f, seenLines, last)
		}
	}
	if len(notes) > 0 {
		b.WriteString(wrap("  notes: ", strings.Join(notes, "; ")))
	}
}

func writeFindingTitle(b *strings.Builder, s Style, f shakedown.Finding) {
	word := string(f.Severity)
	if f.Severity == shakedown.SeverityInfo {
		word = "note"
	}
	text := strings.TrimRight(wrap("  "+word+": ", f.Title), "\n")
	if f.Severity == shakedown.SeverityError {
		text = s.Bad(text)
	}
	b.WriteString(text + "\n")
}

// writeFinding writes a finding, its evidence and its cost in so many lines each.
func writeFinding(b *strings.Builder, s Style, f shakedown.Finding, room int, advice bool) {
	writeFindingTitle(b, s, f)
	b.WriteString(clip(wrap("    seen:   ", f.Evidence), room))
	if f.Cost != "" {
		b.WriteString(clip(wrap("    cost:   ", f.Cost), room))
	}
	if !advice {
		return
	}
	b.WriteString(wrap("    advice: ", f.Advice))
	lines := []string{strings.Join(f.Nginx, " ")}
	if len(nginxMark)+len(lines[0]) > Width {
		lines = f.Nginx
	}
	for _, line := range lines {
		if line != "" {
			b.WriteString(s.Faint(nginxMark+line) + "\n") // not broken: it is to be copied
		}
	}
}

const nginxMark = "    nginx:  "

// clip keeps the first lines of a text, and shows that there was more.
func clip(text string, lines int) string {
	all := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	if len(all) <= lines {
		return text
	}
	const more = " ..."
	last := strings.TrimSuffix(all[lines-1], "\n")
	for utf8.RuneCountInString(last)+len(more) > Width {
		cut := strings.LastIndex(last, " ")
		if cut < 0 {
			last = string([]rune(last)[:Width-len(more)])
			break
		}
		last = last[:cut]
	}
	return strings.Join(all[:lines-1], "") + last + more + "\n"
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

// writeVerdicts names the questions that nothing above answers, by their answers.
func writeVerdicts(b *strings.Builder, s Style, o *check.Observation) {
	told := []string{"suites13", "suites12", "groups", "schemes", "time", "time12", "certificates", "preference", "resume-psk", "resume-ticket", "resume-session-id"}
	var yes, no, reasons []string
	open := map[string][]string{} // those of one reason together
	for _, a := range o.Answers {
		switch {
		case a.Verdict == shakedown.Inconclusive:
			why := a.Evidence
			if budget := check.ErrBudget.Error(); strings.Contains(why, budget) {
				why = budget
			}
			if open[why] == nil {
				reasons = append(reasons, why)
			}
			open[why] = append(open[why], a.ID)
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
	slices.SortStableFunc(reasons, func(x, y string) int { return len(open[y]) - len(open[x]) })
	const room = 4 // reasons
	for i, r := range reasons {
		if i == room {
			b.WriteString(s.Faint(fmt.Sprintf("  inconclusive: and for %s more", count(len(reasons)-room, "reason"))) + "\n")
			break
		}
		text := wrap("  inconclusive: ", r+": "+strings.Join(open[r], ", "))
		if len(open[r]) == 1 {
			text = clip(wrap("  inconclusive: ", open[r][0]+": "+r), 1)
		}
		b.WriteString(s.Faint(strings.TrimRight(text, "\n")) + "\n")
	}
}

// taken says in a line or two what there is of suites, groups and schemes.
func taken(o *check.Observation) string {
	var parts []string
	for _, suites := range o.Suites {
		if len(suites.Found) == 0 {
			continue
		}
		text := count(len(suites.Found), "suite") + " of " + suites.Version.String()
		if !suites.Complete {
			text += " at least"
		}
		if suites.Preference != "" {
			text += " (the " + suites.Preference + "'s order counts)"
		}
		parts = append(parts, text)
	}
	if n := len(o.SignatureSchemes); n > 0 {
		parts = append(parts, count(n, "signature scheme"))
	}
	if len(o.Groups) > 0 {
		parts = append(parts, "groups "+joinSome(o.Groups, answer(o, "groups").Verdict == shakedown.Yes))
	}
	if len(parts) == 0 {
		return "no list was asked for"
	}
	return strings.Join(parts, "; ")
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
	fmt.Fprintf(b, "%s: %s\n", s.Bold(fmt.Sprintf("all %d addresses", len(c.Targets))), tallyFindings(c.Findings))
	c.writeFindings(b, s, c.Findings)
	head, rows := c.overview()
	writeTable(b, s, "lrrlrrrrr", head, rows)
	for _, g := range c.Groups {
		b.WriteString(wrap("  "+mechanismName(g.Mechanism)+": ", g.String()))
		c.writeMatrix(b, g)
	}
}

// writeMatrix has a row for each origin and a column for each destination. One that
// is wider than a screen is left out unless all is asked for.
func (c *Check) writeMatrix(b *strings.Builder, g check.Groups) {
	head, body := c.matrix(g)
	rows := newTable("    ", "l"+strings.Repeat("r", len(body)))
	rows.add(head...)
	for _, row := range body {
		rows.add(row...)
	}
	if !c.Verbose && utf8.RuneCountInString(rows.lines()[0]) > Width {
		return
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
