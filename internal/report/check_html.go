package report

import (
	"fmt"
	"html/template"
	"io"
	"slices"

	"shakedown"
	"shakedown/internal/check"
)

// aTable is a table of the page.
type aTable struct {
	Title string
	Head  []string
	Rows  [][]string
}

// aFinding is a finding with all whom it is about.
type aFinding struct {
	shakedown.Finding
	Where []evidence
}

type evidence struct{ Where, Evidence, Cost string }

// aBar is an interval between 0 and 100 percent, and the share in it.
type aBar struct {
	Name, Text, State string
	Low, Width, At    float64 // percent
}

// aTarget is one address of the page.
type aTarget struct {
	Name, Tally, Unanswered string
	Reached                 bool
	Bars                    []aBar
	Tables                  []aTable
	Lines                   []line
	Answers                 []shakedown.Answer
}

// Name and Text let the template read a line.
func (l line) Name() string { return l.name }

// Text is what is said.
func (l line) Text() string { return l.text }

// WriteHTML writes one page without scripts that holds everything it needs, the
// worst findings first: in the light, in the dark and on paper.
func (c *Check) WriteHTML(w io.Writer) error {
	text, err := assets.ReadFile("assets/check.html")
	if err != nil {
		return err
	}
	style := ""
	for _, file := range []string{"lab.css", "check.css"} {
		part, err := assets.ReadFile("assets/" + file)
		if err != nil {
			return err
		}
		style += string(part)
	}
	page, err := template.New("check").Parse(string(text))
	if err != nil {
		return err
	}
	var targets []aTarget
	var all []string
	for i := range c.Targets {
		targets = append(targets, c.aTarget(&c.Targets[i]))
		all = append(all, targetName(&c.Targets[i]))
	}
	data := map[string]any{
		"Title": fmt.Sprintf("Check of %s", titled(all)), "Style": template.CSS(style), //nolint:gosec // our own file
		"Connections": count(c.Connections, "connection"), "Duration": Duration(c.Duration), "Tally": tallyFindings(c.everyFinding()),
		"Findings": c.byKind(), "Targets": targets, "Changes": c.Changes, "Policy": c.Policy, "Breaches": c.Breaches,
	}
	if len(c.Targets) > 1 {
		head, rows := c.overview()
		tables := []aTable{{"Side by side", head, rows}}
		for _, g := range c.Groups {
			head, rows := c.matrix(g)
			tables = append(tables, aTable{mechanismName(g.Mechanism) + ": " + g.String(), head, rows})
		}
		data["Fleet"] = tables
	}
	return page.Execute(w, data)
}

// titled names the first few.
func titled(all []string) string {
	const room = 3
	if len(all) > room {
		return fmt.Sprintf("%s and %s", listed(all[:room]), count(len(all)-room, "other"))
	}
	return listed(all)
}

func listed(all []string) string {
	text := ""
	for i, s := range all {
		if i > 0 {
			text += ", "
		}
		text += s
	}
	return text
}

func (c *Check) everyFinding() []shakedown.Finding {
	all := slices.Clone(c.Findings)
	for i := range c.Targets {
		all = append(all, c.Targets[i].Findings...)
	}
	return all
}

// byKind puts findings of the same kind about several addresses together, the
// worst first.
func (c *Check) byKind() []aFinding {
	var list []aFinding
	add := func(f shakedown.Finding, where string) {
		at := slices.IndexFunc(list, func(a aFinding) bool { return a.ID == f.ID && a.Title == f.Title && a.Severity == f.Severity })
		if at < 0 {
			list = append(list, aFinding{Finding: f})
			at = len(list) - 1
		}
		list[at].Where = append(list[at].Where, evidence{where, f.Evidence, f.Cost})
	}
	for _, f := range c.Findings {
		add(f, "all addresses")
	}
	for i := range c.Targets {
		for _, f := range c.Targets[i].Findings {
			add(f, targetName(&c.Targets[i]))
		}
	}
	slices.SortStableFunc(list, func(a, b aFinding) int { return a.Severity.Rank() - b.Severity.Rank() })
	return list
}

func (c *Check) aTarget(t *check.TargetReport) aTarget {
	o := &t.Observation
	a := aTarget{Name: targetName(t), Tally: tallyFindings(t.Findings) + ", " + count(t.Connections, "connection"), Reached: t.Reached(), Answers: o.Answers}
	if !a.Reached {
		a.Tally = "not answered, " + count(t.Connections, "connection")
		a.Unanswered = answer(o, "reach").Evidence
		return a
	}
	for _, m := range mechanisms {
		atOnce, sequence := resumption(o, m.id)
		for _, row := range []struct {
			r    *check.Resumption
			what string
		}{{atOnce, "at once"}, {sequence, "in sequence"}} {
			if r := row.r; r != nil {
				b := aBar{Name: m.name + ", " + row.what, Text: rate(r), State: string(r.State), Low: 100 * r.Low, Width: 100 * (r.High - r.Low)}
				if r.Tried > 0 {
					b.At = 100 * float64(r.Resumed) / float64(r.Tried)
				}
				a.Bars = append(a.Bars, b)
			}
		}
	}
	a.Lines = append(ticketLines(o), listLines(o)...)
	head, rows := certificateTable(o)
	a.Tables = append(a.Tables, aTable{"Certificates", head, rows})
	head, rows = timeTable(o)
	a.Tables = append(a.Tables, aTable{"Time, one handshake after the other", head, rows})
	a.Tables = slices.DeleteFunc(a.Tables, func(t aTable) bool { return len(t.Rows) == 0 })
	return a
}
