package lint

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	"shakedown/internal/nginx"
)

// A TemplateError says that a file is text a program fills in first, so that nothing can be said about the result.
type TemplateError struct {
	Pos  nginx.Pos
	Kind string // "a Jinja or Go template", ...
	Text string // what showed it
	// Syntax is what is wrong with the file as it stands, nil when it parses.
	Syntax error
}

func (e *TemplateError) Error() string {
	text := fmt.Sprintf("%s: this is %s (%s), not a configuration yet: fill it in and lint the result", e.Pos, e.Kind, e.Text)
	if e.Syntax != nil {
		text += fmt.Sprintf(" (as it stands: %v)", e.Syntax)
	}
	return text
}

func (e *TemplateError) Unwrap() error { return e.Syntax }

// placeholder is one way templates mark what is to be filled in.
type placeholder struct {
	kind string
	re   *regexp.Regexp
	// breaks: nginx's grammar fails on it, so it explains a file that does not parse. The others are words to nginx.
	breaks bool
}

// The kinds, in order of trial.
var placeholders = []placeholder{
	{"a Jinja template", regexp.MustCompile(`\{%-?\s.*?%\}|\{#.*?#\}`), true},
	{"an ERB template", regexp.MustCompile(`<%[-=#]?.*?%>`), true},
	{"a Go template", regexp.MustCompile(`\{\{-?\s*(?:/\*|(?:if|range|with|end|template|define|else|block)\b|[.$]).*?\}\}`), true},
	{"a Jinja or Go template", regexp.MustCompile(`\{\{.*?\}\}`), true},
	{"a template with %placeholders%", regexp.MustCompile(`%[A-Za-z][A-Za-z_]{2,}%`), false},
	{"a template with __PLACEHOLDERS__", regexp.MustCompile(`__[A-Z][A-Z0-9_]*__`), false},
	{"a template for envsubst", regexp.MustCompile(`\$\{[A-Z][A-Z0-9_]+\}`), false},
}

// findPlaceholder returns the first placeholder in text, of those that break the grammar alone if breaking is true.
func findPlaceholder(text string, breaking bool) (kind, found string, at int) {
	for _, p := range placeholders {
		if breaking && !p.breaks {
			continue
		}
		if loc := p.re.FindStringIndex(text); loc != nil {
			return p.kind, text[loc[0]:loc[1]], loc[0]
		}
	}
	return "", "", -1
}

// templateIn looks for placeholders in what decides about TLS: a file may well hold {{ }} in a quoted answer body.
func templateIn(c *nginx.Config) error {
	var found *TemplateError
	for _, top := range c.Main {
		top.Walk(func(d *nginx.Directive) bool {
			if found == nil && (d.Name == "listen" || d.Name == "server_name" || strings.HasPrefix(d.Name, "ssl_")) {
				if kind, text, at := findPlaceholder(d.Source(), false); at >= 0 {
					pos := d.Pos
					pos.Col += at // a directive over several lines is rare; its first line is told then
					found = &TemplateError{pos, kind, text, nil}
					return false
				}
			}
			return found == nil && d.Lua == ""
		})
	}
	if found == nil {
		return nil
	}
	return found
}

// templateError turns a syntax error into a TemplateError when the file that does not parse has a placeholder outside comments.
func templateError(err error) error {
	var syntax *nginx.SyntaxError
	if !errors.As(err, &syntax) {
		return err
	}
	b, readErr := os.ReadFile(syntax.Pos.File)
	if readErr != nil {
		return err
	}
	pos := nginx.Pos{File: syntax.Pos.File}
	for line := range strings.Lines(string(b)) {
		pos.Line++
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		if kind, text, at := findPlaceholder(line, true); at >= 0 {
			pos.Col = at + 1
			return &TemplateError{pos, kind, text, err}
		}
	}
	return err
}
