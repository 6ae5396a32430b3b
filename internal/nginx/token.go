package nginx

import (
	"fmt"
	"strings"
)

// Pos is a place in a file. Line and column count from 1, columns in bytes; Offset counts bytes from 0.
type Pos struct {
	File      string
	Line, Col int
	Offset    int
}

func (p Pos) String() string { return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col) }

// A SyntaxError says what is wrong with the configuration and where; the words are those of nginx where it has any.
type SyntaxError struct {
	Pos  Pos
	Text string
}

func (e *SyntaxError) Error() string { return e.Pos.String() + ": " + e.Text }

// Comment is a comment without its leading "#", trimmed.
type Comment struct {
	Text string
	Pos  Pos
	// Alone is true when nothing but space precedes the comment on its line.
	Alone bool
}

type tokenKind int

const (
	word tokenKind = iota
	semicolon
	blockStart
	blockEnd
	endOfFile
)

type token struct {
	kind   tokenKind
	text   string // of a word, unquoted and unescaped
	quoted bool
	pos    Pos
	end    int // offset after the token
}

// lexer cuts text into tokens as ngx_conf_read_token does.
type lexer struct {
	text     string
	at       Pos // of the next unread byte
	comments []Comment
}

func newLexer(file, text string) *lexer {
	l := &lexer{text: text, at: Pos{File: file, Line: 1, Col: 1}}
	if strings.HasPrefix(text, "\ufeff") { // invisible in editors, and not worth a syntax error here
		l.advance(len("\ufeff"))
		l.at.Col = 1
	}
	return l
}

func (l *lexer) advance(n int) {
	for ; n > 0; n-- {
		if l.text[l.at.Offset] == '\n' {
			l.at.Line++
			l.at.Col = 0
		}
		l.at.Offset++
		l.at.Col++
	}
}

func (l *lexer) rest() string { return l.text[l.at.Offset:] }

func (l *lexer) skipSpaceAndComments() {
	for l.at.Offset < len(l.text) {
		switch l.text[l.at.Offset] {
		case ' ', '\t', '\r', '\n':
			l.advance(1)
		case '#':
			line, _, _ := strings.Cut(l.rest(), "\n")
			before := l.text[:l.at.Offset]
			before = before[strings.LastIndexByte(before, '\n')+1:]
			l.comments = append(l.comments, Comment{
				Text:  strings.TrimSpace(line[1:]),
				Pos:   l.at,
				Alone: strings.TrimSpace(before) == "",
			})
			l.advance(len(line))
		default:
			return
		}
	}
}

// next returns the next token. The end of the text is a token, not an error.
func (l *lexer) next() (token, error) {
	l.skipSpaceAndComments()
	t := token{kind: endOfFile, pos: l.at, end: l.at.Offset}
	if t.pos.Offset == len(l.text) {
		return t, nil
	}
	switch l.text[l.at.Offset] {
	case ';':
		t.kind = semicolon
	case '{':
		t.kind = blockStart
	case '}':
		t.kind = blockEnd
	case '"', '\'':
		return l.quoted(t)
	default:
		return l.plain(t)
	}
	l.advance(1)
	t.end = l.at.Offset
	return t, nil
}

// plain reads an unquoted word. "${" does not end it, and a quote inside it is an ordinary character.
func (l *lexer) plain(t token) (token, error) {
	rest, n := l.rest(), 0
	for variable := false; n < len(rest); n++ {
		c := rest[n]
		if c == '{' && variable {
			variable = false
			continue
		}
		if strings.IndexByte(" \t\r\n;{", c) >= 0 {
			break
		}
		variable = c == '$'
		if c == '\\' {
			n++
		}
	}
	if n >= len(rest) {
		return t, l.unterminated(t)
	}
	t.kind, t.text = word, unescape(rest[:n])
	l.advance(n)
	t.end = l.at.Offset
	return t, nil
}

func (l *lexer) quoted(t token) (token, error) {
	rest := l.rest()
	quote, n := rest[0], 1
	for n < len(rest) && rest[n] != quote {
		if rest[n] == '\\' {
			n++
		}
		n++
	}
	if n >= len(rest) {
		return t, l.unterminated(t)
	}
	t.kind, t.text, t.quoted = word, unescape(rest[1:n]), true
	l.advance(n + 1)
	t.end = l.at.Offset
	// nginx wants a break after a closing quote; ")" is let through for if ($a = "b").
	if follow := l.rest(); follow != "" && strings.IndexByte(" \t\r\n;{)", follow[0]) < 0 {
		return t, &SyntaxError{l.at, fmt.Sprintf("unexpected %q", follow[:1])}
	}
	return t, nil
}

func (l *lexer) unterminated(t token) error {
	return &SyntaxError{t.pos, `unexpected end of file, expecting ";" or "}"`}
}

// unescape drops the backslash before a quote or a backslash and turns \t \r \n into what they name; any other backslash stays.
func unescape(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			if k := strings.IndexByte(`"'\trn`, s[i+1]); k >= 0 {
				b.WriteByte("\"'\\\t\r\n"[k])
				i++
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// lua returns the Lua code up to the brace that closes the block and moves past that brace. Braces in Lua strings and
// comments do not count, as in OpenResty's own lexer.
func (l *lexer) lua(open Pos) (string, error) {
	start, depth := l.at.Offset, 1
	for l.at.Offset < len(l.text) {
		rest := l.rest()
		n := 1
		switch {
		case strings.HasPrefix(rest, "--"):
			n = 2
			if long := luaLong(rest[2:]); long > 0 {
				n += long
			} else if eol := strings.IndexByte(rest, '\n'); eol >= 0 {
				n = eol
			} else {
				n = len(rest)
			}
		case rest[0] == '"' || rest[0] == '\'':
			for n < len(rest) && rest[n] != rest[0] {
				if rest[n] == '\\' {
					n++
				}
				n++
			}
			n++
		case rest[0] == '[':
			n = max(1, luaLong(rest))
		case rest[0] == '{':
			depth++
		case rest[0] == '}':
			depth--
		}
		l.advance(min(n, len(rest)))
		if depth == 0 {
			return l.text[start : l.at.Offset-1], nil
		}
	}
	return "", &SyntaxError{open, `unexpected end of file, expecting "}" at the end of a Lua block`}
}

// luaLong returns the length of the long bracket s starts with ([[...]], [=[...]=]) or 0.
func luaLong(s string) int {
	level := 0
	for 1+level < len(s) && s[1+level] == '=' {
		level++
	}
	if len(s) < 2+level || s[0] != '[' || s[1+level] != '[' {
		return 0
	}
	end := strings.Index(s, "]"+strings.Repeat("=", level)+"]")
	if end < 0 {
		return len(s)
	}
	return end + level + 2
}
