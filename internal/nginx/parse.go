package nginx

import (
	"fmt"
	"strings"
)

// Arg is one argument of a directive.
type Arg struct {
	Text   string // unquoted and unescaped
	Quoted bool
	Pos    Pos
	End    int // offset after it, quotes included
}

// Directive is one statement.
type Directive struct {
	Name     string
	Args     []Arg
	Pos      Pos
	NameEnd  int // offset after the name, quotes included
	End      int // offset after the final ";" or "}"
	EndLine  int // line of that character
	Parent   *Directive
	HasBlock bool
	// Block holds the statements of a block. Those an include brings in stand right after the include.
	Block []*Directive
	// Lua is the code of a *_by_lua_block.
	Lua string
	// File is where it was read.
	File *File
}

// Arg returns the text of argument i, "" when there are fewer.
func (d *Directive) Arg(i int) string {
	if i >= len(d.Args) {
		return ""
	}
	return d.Args[i].Text
}

// Words returns the arguments joined by spaces.
func (d *Directive) Words() string {
	words := make([]string, len(d.Args))
	for i, a := range d.Args {
		words[i] = a.Text
	}
	return strings.Join(words, " ")
}

// Source returns the text of the directive; of one with a block, up to and including the opening brace.
func (d *Directive) Source() string {
	if !d.HasBlock {
		return d.File.Text[d.Pos.Offset:d.End]
	}
	end := d.NameEnd
	if n := len(d.Args); n > 0 {
		end = d.Args[n-1].End
	}
	return d.File.Text[d.Pos.Offset:end] + " {"
}

// Walk calls f for d and everything below it, in order, as long as f returns true for the parent.
func (d *Directive) Walk(f func(*Directive) bool) {
	if !f(d) {
		return
	}
	for _, c := range d.Block {
		c.Walk(f)
	}
}

// File is one file as read.
type File struct {
	Path       string
	Text       string
	Comments   []Comment
	Directives []*Directive
}

// Line returns line n (from 1) without its line break.
func (f *File) Line(n int) string {
	lines := strings.SplitN(f.Text, "\n", n+1)
	if n < 1 || n > len(lines) {
		return ""
	}
	return strings.TrimSuffix(lines[n-1], "\r")
}

// Parse reads one file and follows no include. The error is a *SyntaxError.
func Parse(path, text string) (*File, error) {
	f := &File{Path: path, Text: text}
	p := &parser{lexer: newLexer(path, text), file: f}
	var err error
	f.Directives, err = p.statements(nil)
	f.Comments = p.comments
	return f, err
}

type parser struct {
	*lexer
	file *File
}

// maxDepth bounds nesting. nginx itself nests at most about six deep (http, server, location in location, limit_except).
const maxDepth = 64

func (p *parser) statements(parent *Directive) ([]*Directive, error) {
	depth := 0
	for d := parent; d != nil; d = d.Parent {
		depth++
	}
	if depth > maxDepth {
		return nil, &SyntaxError{parent.Pos, fmt.Sprintf("blocks nest deeper than %d", maxDepth)}
	}
	var list []*Directive
	for {
		t, err := p.next()
		if err != nil {
			return list, err
		}
		switch t.kind {
		case endOfFile:
			if parent != nil {
				return list, &SyntaxError{t.pos, fmt.Sprintf("unexpected end of file, expecting \"}\" of the %s at line %d", parent.Name, parent.Pos.Line)}
			}
			return list, nil
		case blockEnd:
			if parent == nil {
				return list, &SyntaxError{t.pos, `unexpected "}"`}
			}
			return list, nil
		case semicolon:
			return list, &SyntaxError{t.pos, `unexpected ";"`}
		case blockStart:
			return list, &SyntaxError{t.pos, `unexpected "{"`}
		}
		d := &Directive{Name: t.text, Pos: t.pos, NameEnd: t.end, Parent: parent, File: p.file}
		list = append(list, d)
		if err := p.statement(d); err != nil {
			return list, err
		}
	}
}

// statement reads the arguments of d and its end.
func (p *parser) statement(d *Directive) error {
	for {
		t, err := p.next()
		if err != nil {
			return err
		}
		switch t.kind {
		case word:
			d.Args = append(d.Args, Arg{t.text, t.quoted, t.pos, t.end})
			continue
		case blockEnd:
			return &SyntaxError{t.pos, fmt.Sprintf("unexpected \"}\": directive %q is not terminated by \";\"", d.Name)}
		case endOfFile:
			return &SyntaxError{t.pos, fmt.Sprintf("unexpected end of file, expecting \";\" after %q", d.Name)}
		case blockStart:
			d.HasBlock = true
			if strings.HasSuffix(d.Name, "_by_lua_block") {
				d.Lua, err = p.lua(t.pos)
			} else {
				d.Block, err = p.statements(d)
			}
		}
		d.End, d.EndLine = p.at.Offset, p.at.Line
		return err
	}
}
