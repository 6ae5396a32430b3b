package lint

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// WriteText writes the findings as file:line:col, what is wrong, the line itself and the fix. With verbose it adds the
// findings that comments answer.
func WriteText(w io.Writer, reports []*Report, verbose bool) error {
	var b strings.Builder
	for _, r := range reports {
		for _, f := range r.Findings {
			fmt.Fprintf(&b, "%s: %s %s: %s\n", f.Pos, f.Severity, f.Rule.ID, f.Message)
			fmt.Fprintf(&b, "    %s\n    fix: %s\n", strings.TrimSpace(f.Source), f.Rule.Fix)
		}
		if verbose {
			for _, i := range r.Ignored {
				fmt.Fprintf(&b, "%s: ignored %s: %s (%s)\n", i.Finding.Pos, i.Finding.Rule.ID, i.Finding.Message, i.Reason)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Document is the JSON form, schema shakedown/lint/v1.
type Document struct {
	Schema  string         `json:"schema"`
	Nginx   string         `json:"nginx"`
	OpenSSL string         `json:"openssl,omitempty"`
	Files   []FileDocument `json:"files"`
}

// FileDocument is what is told of one file.
type FileDocument struct {
	Path     string            `json:"path"`
	Error    string            `json:"error,omitempty"`
	Findings []FindingDocument `json:"findings"`
	Ignored  []FindingDocument `json:"ignored"`
	Notes    []string          `json:"notes"`
	Compared []Comparison      `json:"compared,omitempty"`
}

// FindingDocument is a finding, with the reason why it is ignored if it is.
type FindingDocument struct {
	Rule     string   `json:"rule"`
	Severity Severity `json:"severity"`
	File     string   `json:"file"`
	Line     int      `json:"line"`
	Column   int      `json:"column"`
	Title    string   `json:"title"`
	Message  string   `json:"message"`
	Source   string   `json:"source"`
	Fix      string   `json:"fix"`
	Fixable  bool     `json:"fixable"`
	Reason   string   `json:"reason,omitempty"`
}

// Schema names the JSON form.
const Schema = "shakedown/lint/v1"

func toJSON(f *Finding, reason string) FindingDocument {
	return FindingDocument{f.Rule.ID, f.Severity, f.Pos.File, f.Pos.Line, f.Pos.Col, f.Rule.Title, f.Message, strings.TrimSpace(f.Source),
		f.Rule.Fix, len(f.Edits) > 0, reason}
}

// Failure is a file that could not be judged at all.
type Failure struct {
	Path string
	Err  error
}

// WriteJSON writes one object of schema shakedown/lint/v1.
func WriteJSON(w io.Writer, reports []*Report, failures []Failure, opt Options) error {
	out := Document{Schema: Schema, Nginx: opt.Nginx.String(), Files: []FileDocument{}}
	if !opt.OpenSSL.IsZero() {
		out.OpenSSL = opt.OpenSSL.String()
	}
	for _, r := range reports {
		file := FileDocument{Path: r.Path, Findings: []FindingDocument{}, Ignored: []FindingDocument{}, Notes: append([]string{}, r.Notes...), Compared: r.Compared}
		for _, f := range r.Findings {
			file.Findings = append(file.Findings, toJSON(f, ""))
		}
		for _, i := range r.Ignored {
			file.Ignored = append(file.Ignored, toJSON(i.Finding, i.Reason))
		}
		out.Files = append(out.Files, file)
	}
	for _, f := range failures {
		out.Files = append(out.Files, FileDocument{Path: f.Path, Error: f.Err.Error(), Findings: []FindingDocument{}, Ignored: []FindingDocument{}, Notes: []string{}})
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(out)
}

// WriteExplanation writes what a rule's folder says, examples included.
func WriteExplanation(w io.Writer, r *Rule) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s): %s\n\n%s\n\nFix: %s\nSilent when: %s\nnginx: %s\n\nBefore:\n%s\nAfter:\n%s",
		r.ID, r.Severity, r.Title, r.Why, r.Fix, r.Silent, r.Nginx, indent(r.Before), indent(r.After))
	_, err := io.WriteString(w, b.String())
	return err
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n    ") + "\n"
}

// WriteRules writes one line for each rule.
func WriteRules(w io.Writer, rules []*Rule) error {
	var b strings.Builder
	for _, r := range rules {
		fmt.Fprintf(&b, "%-26s%-9s%s\n", r.ID, r.Severity, r.Title)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
