package check

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"

	"shakedown"
)

// Policy is what a server has to be like.
type Policy struct {
	Name string `json:"name"`
	// Answers are demanded of questions, by their IDs.
	Answers map[string]shakedown.Verdict `json:"answers"`
	// Findings that are not allowed, by their IDs.
	Findings []string `json:"findings"`
	// Severity: no finding as bad as this or worse is allowed; empty: any is.
	Severity shakedown.Severity `json:"severity"`
	// MinResumption is demanded of every mechanism that resumes, as the lower
	// bound of what was seen at once must not exclude it: a rate whose interval
	// lies below is a breach. 0: nothing is demanded.
	MinResumption float64 `json:"min_resumption"`
}

// Breach is what a policy does not allow.
type Breach struct {
	Address netip.AddrPort `json:"address"` // of all together if it is not valid
	Rule    string         `json:"rule"`    // of the policy
	Text    string         `json:"text"`
}

// builtinPolicies are the policies with names.
var builtinPolicies = []Policy{
	{
		Name: "modern",
		Answers: map[string]shakedown.Verdict{
			"tls13": shakedown.Yes, "tls12": shakedown.No, "legacy-versions": shakedown.No, "retry": shakedown.No, "resume-psk": shakedown.Yes,
		},
		Severity: shakedown.SeverityError, Findings: []string{"state-per-worker", "groups", "root-sent"}, MinResumption: 0.9,
	},
	{
		Name: "intermediate",
		Answers: map[string]shakedown.Verdict{
			"tls13": shakedown.Yes, "tls12": shakedown.Yes, "legacy-versions": shakedown.No, "static-rsa": shakedown.No, "weak-suites": shakedown.No,
			"retry": shakedown.No, "resume-psk": shakedown.Yes,
		},
		Severity: shakedown.SeverityError, Findings: []string{"groups"}, MinResumption: 0.9,
	},
}

// ReadPolicy returns the policy of that name, or that of a JSON file.
func ReadPolicy(name string) (*Policy, error) {
	for i := range builtinPolicies {
		if p := builtinPolicies[i]; p.Name == name {
			return &p, nil
		}
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("policy %q is neither modern nor intermediate nor a file that can be read: %w", name, err)
	}
	p := &Policy{Name: name}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(p); err != nil {
		return nil, fmt.Errorf("policy %s: %w", name, err)
	}
	return p, p.validate()
}

func (p *Policy) validate() error {
	for id, v := range p.Answers {
		if !slices.ContainsFunc(Questions(), func(q Question) bool { return q.ID == id }) {
			return fmt.Errorf("policy %s: there is no question %q", p.Name, id)
		}
		if v != shakedown.Yes && v != shakedown.No {
			return fmt.Errorf("policy %s: %s: the answer demanded is yes or no, not %q", p.Name, id, v)
		}
	}
	if !slices.Contains([]shakedown.Severity{"", shakedown.SeverityError, shakedown.SeverityWarning, shakedown.SeverityInfo}, p.Severity) {
		return fmt.Errorf("policy %s: unknown severity %q (one of error, warning, info)", p.Name, p.Severity)
	}
	if p.MinResumption < 0 || p.MinResumption > 1 {
		return fmt.Errorf("policy %s: min_resumption %g is not between 0 and 1", p.Name, p.MinResumption)
	}
	return nil
}

// judge returns every breach. An answer that is inconclusive where one is
// demanded is a breach too: what was not seen is not met.
func (p *Policy) judge(r *Report) []Breach {
	breaches := []Breach{}
	for i := range r.Targets {
		t := &r.Targets[i]
		add := func(rule, format string, args ...any) {
			breaches = append(breaches, Breach{t.Address, rule, fmt.Sprintf(format, args...)})
		}
		for _, q := range Questions() {
			want, demanded := p.Answers[q.ID]
			if a := t.Observation.answer(q.ID); demanded && a.Verdict != want {
				add(q.ID, "%s %s is demanded, %s was found: %s", q.Title, want, a.Verdict, a.Evidence)
			}
		}
		for _, row := range t.Observation.Resumption {
			if p.MinResumption > 0 && row.AtOnce > 1 && row.Verdict == shakedown.Yes && row.High < p.MinResumption {
				add("min_resumption", "%s: %s at once, at least %.0f%% is demanded", row.Mechanism, proportion(&row), 100*p.MinResumption)
			}
		}
		for _, f := range t.Findings {
			if p.forbids(f) {
				add(f.ID, "%s", f.Title)
			}
		}
	}
	for _, f := range r.Findings {
		if p.forbids(f) {
			breaches = append(breaches, Breach{Rule: f.ID, Text: f.Title + ": " + strings.TrimSpace(f.Evidence)})
		}
	}
	return breaches
}

func (p *Policy) forbids(f shakedown.Finding) bool {
	return slices.Contains(p.Findings, f.ID) || p.Severity != "" && f.Severity.Rank() <= p.Severity.Rank()
}
