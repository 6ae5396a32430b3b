package audit

import (
	"fmt"
	"slices"
	"strings"

	"shakedown"
	"shakedown/internal/check"
	"shakedown/internal/lint"
	"shakedown/internal/nginx"
)

// view is one name at one address, from both sides.
type view struct {
	report  *lint.Report
	model   *nginx.Model
	openssl nginx.Version
	socket  *nginx.Socket
	server  *nginx.Server // asked for
	decider *nginx.Server // the default server of the socket
	seen    *check.Observation
	leaves  []leaf
}

// row is a comparison under way; a nil one does not apply.
type row struct {
	lint.Row
	place *nginx.Directive
}

// comparisons are made in this order.
var comparisons = []func(*view) []*row{
	protocols, certificates, suites12, suites13, order, groups, retry, tickets, keys, lifetime, resume13, resumeID, earlyData, stapling, clients, nameless,
}

// compare fills in the rows, and adds a finding for each that disagrees.
func (v *view) compare(c *lint.Comparison) {
	c.Rows = []lint.Row{}
	if reach := v.answer("reach"); reach.Verdict != shakedown.Yes {
		place := v.server.Block
		c.Rows = append(c.Rows, lint.Row{Setting: "listen", File: place.Pos.File, Line: place.Pos.Line,
			Expected: "handshakes with " + v.server.Name(), Observed: reach.Evidence, Agree: shakedown.Inconclusive})
		return
	}
	for _, f := range comparisons {
		for _, r := range f(v) {
			if r == nil {
				continue
			}
			r.File, r.Line = r.place.Pos.File, r.place.Pos.Line
			c.Rows = append(c.Rows, r.Row)
			if r.Agree == shakedown.No {
				v.report.Differ(c, r.Row, r.place)
			}
		}
	}
}

// setting begins a row for a directive of s. One that the file around a part, or an include that was not read, may set is
// inconclusive whatever was seen.
func (v *view) setting(s *nginx.Server, name, expected string) *row {
	r := &row{Row: lint.Row{Setting: name, Expected: expected, Agree: shakedown.Inconclusive}, place: lint.Place(s, name)}
	if !s.Get(name).Set() && (v.model.Fragment || len(v.model.Config.Missing) > 0) {
		r.Expected += " unless what is not read sets it"
	}
	return r
}

// settle says what was observed and whether that is as expected.
func (r *row) settle(agree bool, format string, args ...any) []*row {
	r.Observed = fmt.Sprintf(format, args...)
	switch {
	case strings.HasSuffix(r.Expected, " unless what is not read sets it"):
	case agree:
		r.Agree = shakedown.Yes
	default:
		r.Agree = shakedown.No
	}
	return []*row{r}
}

// open says why it is not known.
func (r *row) open(format string, args ...any) []*row {
	r.Observed = fmt.Sprintf(format, args...)
	return []*row{r}
}

func (v *view) answer(id string) shakedown.Answer {
	for _, a := range v.seen.Answers {
		if a.ID == id {
			return a
		}
	}
	return shakedown.Answer{ID: id, Verdict: shakedown.Inconclusive, Evidence: "not asked"}
}

func (v *view) is(id string, verdict shakedown.Verdict) bool { return v.answer(id).Verdict == verdict }

// byAnswer settles a row by the answer to a question.
func (v *view) byAnswer(r *row, id string, want shakedown.Verdict) []*row {
	a := v.answer(id)
	if a.Verdict == shakedown.Inconclusive {
		return r.open("%s", a.Evidence)
	}
	return r.settle(a.Verdict == want, "%s: %s", a.Verdict, a.Evidence)
}

// before reports whether the release of the file is older.
func (v *view) before(major, minor, patch int) bool {
	return v.model.Version.Before(major, minor, patch)
}

// decides is the server whose value of a directive counts.
func (v *view) decides(name string) *nginx.Server {
	return lint.Decider(v.model.Version, name, v.socket, v.server)
}

// inherited is added to what is expected where the default server decides and another was asked for.
func (v *view) inherited(name string) string {
	if d := v.decides(name); d != v.server {
		return fmt.Sprintf(" (of the default server %s)", d.Name())
	}
	return ""
}

func (v *view) spoken(version shakedown.Version) bool {
	return slices.Contains(v.seen.Versions, version)
}

func list[T fmt.Stringer](values []T) string {
	var parts []string
	for _, x := range values {
		parts = append(parts, x.String())
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// sets compares two lists without their order, the observed one being all there is if complete. What is in only one of them
// is told.
func (r *row) sets(expected, observed []fmt.Stringer, complete bool, evidence string) []*row {
	var more, fewer []fmt.Stringer
	for _, o := range observed {
		if !slices.Contains(expected, o) {
			more = append(more, o)
		}
	}
	for _, e := range expected {
		if !slices.Contains(observed, e) {
			fewer = append(fewer, e)
		}
	}
	switch {
	case len(more) > 0 && len(fewer) > 0 && complete:
		return r.settle(false, "%s taken, and %s not", list(more), list(fewer))
	case len(more) > 0:
		return r.settle(false, "%s taken as well", list(more))
	case !complete:
		return r.open("not all were asked for: %s", evidence)
	case len(fewer) > 0:
		return r.settle(false, "%s not taken", list(fewer))
	}
	return r.settle(true, "the same")
}

func stringers[T fmt.Stringer](values []T) []fmt.Stringer {
	var all []fmt.Stringer
	for _, x := range values {
		all = append(all, x)
	}
	return all
}
