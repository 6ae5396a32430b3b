package lint

import (
	"embed"
	"fmt"
	"slices"
	"strings"
)

// Severity says what a finding costs.
type Severity string

// Error: breaks something or is insecure. Warning: costs handshakes. Info: worth knowing.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Info    Severity = "info"
)

func (s Severity) rank() int { return slices.Index([]Severity{Error, Warning, Info}, s) }

// AtLeast reports whether s is as bad as other, or worse.
func (s Severity) AtLeast(other Severity) bool { return s.rank() <= other.rank() }

// Rule is what its folder says. Severity is the usual one; a finding may have another, as the text tells.
type Rule struct {
	ID       string
	Title    string
	Severity Severity
	Nginx    string // releases it speaks of, in words
	Fix      string
	Silent   string // when it does not speak
	Why      string // the reason, with its figure
	Before   string // a configuration it speaks on
	After    string // the same, repaired
	check    func(*checker)
}

//go:embed rules/*/rule.md rules/*/before.conf rules/*/after.conf
var ruleFiles embed.FS

// Rules returns every rule, by name.
func Rules() []*Rule {
	dirs, err := ruleFiles.ReadDir("rules")
	if err != nil {
		panic(err) // the folder is part of the binary
	}
	var rules []*Rule
	for _, dir := range dirs {
		r, err := loadRule(dir.Name())
		if err != nil {
			panic(err) // likewise; a test loads them all
		}
		rules = append(rules, r)
	}
	return rules
}

// FindRule returns the rule called id, in any case of letters.
func FindRule(id string) (*Rule, error) {
	rules := Rules()
	var near []string
	for _, r := range rules {
		if strings.EqualFold(r.ID, id) {
			return r, nil
		}
		if first, _, _ := strings.Cut(strings.ToUpper(id), "-"); strings.HasPrefix(r.ID, first+"-") {
			near = append(near, r.ID)
		}
	}
	if len(near) > 0 {
		return nil, fmt.Errorf("no rule is called %s; there are %s", id, strings.Join(near, ", "))
	}
	return nil, fmt.Errorf("no rule is called %s; lint --rules lists them", id)
}

func loadRule(id string) (*Rule, error) {
	read := func(name string) (string, error) {
		b, err := ruleFiles.ReadFile("rules/" + id + "/" + name)
		return string(b), err
	}
	text, err := read("rule.md")
	if err != nil {
		return nil, err
	}
	r := &Rule{ID: id, check: checks[id]}
	if r.check == nil {
		return nil, fmt.Errorf("rule %s has no function", id)
	}
	head, why, _ := strings.Cut(text, "\n\n")
	r.Why = strings.TrimSpace(why)
	for line := range strings.SplitSeq(head, "\n") {
		key, value, _ := strings.Cut(line, ": ")
		switch key {
		case "title":
			r.Title = value
		case "severity":
			r.Severity = Severity(value)
		case "nginx":
			r.Nginx = value
		case "fix":
			r.Fix = value
		case "silent":
			r.Silent = value
		default:
			return nil, fmt.Errorf("rule %s: unknown heading %q", id, line)
		}
	}
	if r.Title == "" || r.Severity.rank() < 0 || r.Nginx == "" || r.Fix == "" || r.Silent == "" || r.Why == "" {
		return nil, fmt.Errorf("rule %s: a heading is missing", id)
	}
	if r.Before, err = read("before.conf"); err != nil {
		return nil, err
	}
	if r.After, err = read("after.conf"); err != nil {
		return nil, err
	}
	r.Before, r.After = withoutOptions(r.Before), withoutOptions(r.After)
	return r, nil
}

// withoutOptions drops the "#!" line that tells the tests which release an example is for.
func withoutOptions(text string) string {
	if first, rest, ok := strings.Cut(text, "\n"); ok && strings.HasPrefix(first, "#!") {
		return rest
	}
	return text
}
