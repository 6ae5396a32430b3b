package shakedown

// Verdict is what a question about a server came to.
type Verdict string

const (
	Yes Verdict = "yes"
	No  Verdict = "no"
	// Inconclusive: something kept the question from being answered, which the
	// evidence names. It is never taken for no.
	Inconclusive Verdict = "inconclusive"
)

// Answer is what a question about a server came to, and why that is believed.
type Answer struct {
	ID       string  `json:"id"`
	Title    string  `json:"title"` // the question
	Verdict  Verdict `json:"verdict"`
	Evidence string  `json:"evidence"`
	// Connections that were made to answer it; others may have told something
	// too.
	Connections int `json:"connections"`
}

// Severity says how much a finding matters.
type Severity string

const (
	SeverityError   Severity = "error"   // breaks clients, or is not safe
	SeverityWarning Severity = "warning" // costs handshakes or time
	SeverityInfo    Severity = "info"    // worth knowing
)

// Rank orders severities, the worst first: 0 for an error.
func (s Severity) Rank() int {
	switch s {
	case SeverityError:
		return 0
	case SeverityWarning:
		return 1
	}
	return 2
}

// Finding is something about a server that could be better.
type Finding struct {
	ID       string   `json:"id"`
	Severity Severity `json:"severity"`
	Title    string   `json:"title"`
	// Evidence is what was seen, with its figures.
	Evidence string `json:"evidence"`
	// Cost is what it costs as far as it was measured; empty if it was not.
	Cost   string `json:"cost,omitempty"`
	Advice string `json:"advice"`
	// Nginx has the lines of an nginx configuration that follow the advice.
	Nginx []string `json:"nginx,omitempty"`
}
