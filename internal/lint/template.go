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
}

func (e *TemplateError) Error() string {
	return fmt.Sprintf("%s: this is %s (%s), not a configuration yet: fill it in and lint the result", e.Pos, e.Kind, e.Text)
}

// Kinds of placeholder, in order of trial. The doubtful ones are taken only where nginx allows no such text.
var placeholders = []struct {
	kind string
	re   *regexp.Regexp
}{
	{"a Jinja template", regexp.MustCompile(`\{%-?\s.*?%\}|\{#.*?#\}`)},
	{"an ERB template", regexp.MustCompile(`<%[-=#]?.*?%>`)},
	{"a Go template", regexp.MustCompile(`\{\{-?\s*(?:/\*|(?:if|range|with|end|template|define|else|block)\b|[.$]).*?\}\}`)},
	{"a Jinja or Go template", regexp.MustCompile(`\{\{.*?\}\}`)},
	{"a template with %placeholders%", regexp.MustCompile(`%[A-Za-z][A-Za-z_]{2,}%`)},
	{"a template with __PLACEHOLDERS__", regexp.MustCompile(`__[A-Z][A-Z0-9_]*__`)},
	{"a template for envsubst", regexp.MustCompile(`\$\{[A-Z][A-Z0-9_]+\}`)},
}

// findPlaceholder returns the first placeholder in text.
func findPlaceholder(text string) (kind, found string, at int) {
	for _, p := range placeholders {
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
				if kind, text, at := findPlaceholder(d.Source()); at >= 0 {
					pos := d.Pos
					pos.Col += at // a directive over several lines is rare; its first line is told then
					found = &TemplateError{pos, kind, text}
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
		if kind, text, at := findPlaceholder(line); at >= 0 {
			pos.Col = at + 1
			return &TemplateError{pos, kind, text}
		}
	}
	return err
}
