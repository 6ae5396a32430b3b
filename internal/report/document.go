package report

import (
	"encoding/json"
	"io"
)

// Width is how many columns a text may take.
const Width = 100

// Document is what a verb has to say.
type Document interface {
	// WriteText writes the document for people.
	WriteText(w io.Writer, s Style) error
}

// WriteJSON writes a document as one indented JSON object and a newline.
func WriteJSON(w io.Writer, d Document) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false) // chains and expressions hold < and >
	e.SetIndent("", "  ")
	return e.Encode(d)
}

// Style says how a text may be marked up. The zero value marks nothing.
type Style struct {
	Colour bool // ANSI colours, on a terminal
}

func (s Style) mark(code, text string) string {
	if !s.Colour || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Bold marks a heading.
func (s Style) Bold(text string) string { return s.mark("1", text) }

// Faint marks what is there for completeness.
func (s Style) Faint(text string) string { return s.mark("2", text) }

// Bad marks what is not as it should be.
func (s Style) Bad(text string) string { return s.mark("31", text) }

// Good marks what was asked for and is so.
func (s Style) Good(text string) string { return s.mark("32", text) }
