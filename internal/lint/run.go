package lint

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"shakedown/internal/nginx"
)

// Report is what the rules say of one main file and what it includes.
type Report struct {
	Path     string
	Options  Options
	Findings []*Finding // by file, line, column, rule
	Ignored  []Ignored
	// Notes tell what could not be judged, sorted.
	Notes []string
	Model *nginx.Model
	// Compared holds what a running server was seen to do, if one was asked.
	Compared []Comparison
}

// Ignored is a finding that a comment in the file answers.
type Ignored struct {
	Finding *Finding
	Reason  string
}

// Worst returns the worst severity found, "" when nothing was.
func (r *Report) Worst() Severity {
	worst := Severity("")
	for _, f := range r.Findings {
		if worst == "" || f.Severity.rank() < worst.rank() {
			worst = f.Severity
		}
	}
	return worst
}

// Run reads a configuration and applies the rules. The error is a *nginx.SyntaxError, a *TemplateError, or one from
// reading the file.
func Run(path string, rules []*Rule, opt Options) (*Report, error) {
	if opt.Nginx.IsZero() {
		return nil, errors.New("the nginx release that reads the file is not known")
	}
	if opt.Now.IsZero() {
		opt.Now = time.Now()
	}
	config, err := nginx.Load(path)
	if err != nil {
		return nil, templateError(err)
	}
	if err := templateIn(config); err != nil {
		return nil, err
	}
	c := &checker{Model: nginx.Interpret(config, opt.Nginx), opt: opt, certs: newCertificates(config), notes: map[string]bool{}, told: map[told]*Finding{}, expanded: map[string][]suite{}}
	for _, m := range config.Missing {
		c.note("%s: include %s is not read (%s): what it holds is not judged", m.Include.Pos, m.Include.Arg(0), plain(m.Err))
	}
	switch {
	case c.Snippet:
		c.note("%s has TLS settings and no server: it is read as part of a server that is alone on its socket", path)
	case len(c.TLSSockets()) == 0:
		c.note("%s opens no socket with TLS: there is next to nothing to judge", path)
	}
	if c.Fragment && !c.Snippet {
		c.note("%s has no http{} of its own and is read as its inside: what surrounds it, other servers on its sockets included, is not judged", path)
	}
	for _, r := range rules {
		c.rule = r
		r.check(c)
	}
	report := &Report{Path: path, Options: opt, Model: c.Model}
	c.ignore(report, rules)
	report.sort()
	report.Notes = slices.Sorted(maps.Keys(c.notes))
	return report, nil
}

func (r *Report) sort() {
	slices.SortStableFunc(r.Findings, func(a, b *Finding) int {
		return cmp.Or(cmp.Compare(a.Pos.File, b.Pos.File), cmp.Compare(a.Pos.Offset, b.Pos.Offset), cmp.Compare(a.Rule.ID, b.Rule.ID))
	})
}

// ignore sorts the findings into those a comment answers and the others. "# shakedown:ignore RULE reason" on a line of its
// own is for the next directive with all it holds, behind a directive for that one. The reason is required.
func (c *checker) ignore(report *Report, rules []*Rule) {
	type answer struct {
		pos    nginx.Pos
		rule   string
		reason string
		target *nginx.Directive
		used   bool
	}
	var answers []*answer
	for _, file := range c.Config.Files {
		for _, comment := range file.Comments {
			rest, ok := strings.CutPrefix(comment.Text, "shakedown:ignore")
			if !ok {
				continue
			}
			rule, reason, _ := strings.Cut(strings.TrimSpace(rest), " ")
			known := slices.ContainsFunc(rules, func(r *Rule) bool { return r.ID == rule })
			target := follows(file, comment)
			switch {
			case !known:
				c.note("%s: shakedown:ignore names no rule (%q)", comment.Pos, rule)
			case strings.TrimSpace(reason) == "":
				c.note("%s: shakedown:ignore %s gives no reason and is not obeyed", comment.Pos, rule)
			case target == nil:
				c.note("%s: shakedown:ignore %s stands before nothing", comment.Pos, rule)
			default:
				answers = append(answers, &answer{comment.Pos, rule, strings.TrimSpace(reason), target, false})
			}
		}
	}
	for _, f := range c.found {
		i := slices.IndexFunc(answers, func(a *answer) bool {
			return a.rule == f.Rule.ID && slices.ContainsFunc(f.within, func(d *nginx.Directive) bool { return d.Pos == a.target.Pos })
		})
		if i < 0 {
			report.Findings = append(report.Findings, f)
			continue
		}
		answers[i].used = true
		report.Ignored = append(report.Ignored, Ignored{f, answers[i].reason})
	}
	for _, a := range answers {
		if !a.used {
			c.note("%s: shakedown:ignore %s answers no finding", a.pos, a.rule)
		}
	}
}

// follows returns the directive a comment belongs to: the next one after a comment alone on its line, else the one before.
func follows(file *nginx.File, comment nginx.Comment) *nginx.Directive {
	var best *nginx.Directive
	for _, top := range file.Directives {
		top.Walk(func(d *nginx.Directive) bool {
			if d.File != file {
				return false
			}
			switch after := d.Pos.Offset > comment.Pos.Offset; {
			case comment.Alone && after && (best == nil || d.Pos.Offset < best.Pos.Offset),
				!comment.Alone && !after && (best == nil || d.Pos.Offset > best.Pos.Offset):
				best = d
			}
			return true
		})
	}
	return best
}

// Summary counts the findings by severity, in words.
func (r *Report) Summary() string {
	count := map[Severity]int{}
	for _, f := range r.Findings {
		count[f.Severity]++
	}
	if len(r.Findings) == 0 {
		return "no finding"
	}
	return fmt.Sprintf("%s, %s, %d info", plural(count[Error], "error"), plural(count[Warning], "warning"), count[Info])
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
