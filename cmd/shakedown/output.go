package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"shakedown/internal/report"
)

// output says where a document goes and in which format.
type output struct {
	format  string
	file    string
	formats []string
}

// flags returns the flags of an output in one of the formats, the first unless
// another is asked for.
func (o *output) flags(formats ...string) section {
	fs := pflag.NewFlagSet("output", pflag.ContinueOnError)
	o.formats = formats
	o.format = formats[0]
	fs.VarP(o, "output", "o", "format: "+strings.Join(formats, ", "))
	fs.Var(fileValue{&o.file}, "out", "write to this `file` instead of stdout")
	return section{"Output", fs}
}

// Set, String and Type make output the value of its flag --output.
func (o *output) Set(format string) error {
	if !slices.Contains(o.formats, format) {
		return fmt.Errorf("unknown format %q (one of %s)", format, strings.Join(o.formats, ", "))
	}
	o.format = format
	return nil
}

func (o *output) String() string { return o.format }
func (o *output) Type() string   { return "format" }

// write gives the document to write in the format asked for; formats other
// than text and json are the caller's.
func (o *output) write(a *app, d report.Document, others map[string]func(io.Writer) error) (err error) {
	w := a.stdout
	style := report.Style{Colour: isTerminal(a.stdout) && os.Getenv("NO_COLOR") == ""}
	if o.file != "" {
		f, err := os.Create(o.file)
		if err != nil {
			return failed("", "writing the report: %w", err)
		}
		defer func() {
			if closeErr := f.Close(); err == nil && closeErr != nil {
				err = failed("", "writing the report: %w", closeErr)
			}
		}()
		w, style = f, report.Style{}
	}
	switch other, ok := others[o.format]; {
	case ok:
		err = other(w)
	case o.format == "json":
		err = report.WriteJSON(w, d)
	default:
		err = d.WriteText(w, style)
	}
	if err != nil {
		return failed("", "writing the report: %w", err)
	}
	return nil
}

// terminal reports whether f is one.
func terminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// progress is what stderr shows while a run goes on: on a terminal a few lines
// that are written over, and nothing of a run under two seconds.
type progress struct {
	w       io.Writer  // nil: show nothing
	columns func() int // of the terminal; nil: it is none
	// plain is how often a line is written to what is no terminal; 0: never.
	plain time.Duration

	mu     sync.Mutex
	begun  time.Time
	plains int // lines written so
	shown  int // lines on the terminal now
}

const (
	// patience is how long a run may last before it says how far it is.
	patience = 2 * time.Second
	// plainEvery is how often a load says so where lines stay.
	plainEvery = 5 * time.Second
)

func (a *app) newProgress() *progress {
	p := &progress{begun: time.Now(), w: a.stderr}
	if f, ok := a.stderr.(*os.File); ok && terminal(f) {
		p.columns = func() int {
			if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
				return width
			}
			return 80
		}
	}
	return p
}

// say shows one line.
func (p *progress) say(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	p.show([]string{line}, line)
}

// show shows lines on a terminal, and where lines stay the one line, if it is
// time for one.
func (p *progress) show(lines []string, line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	after := time.Since(p.begun)
	switch {
	case p.w == nil:
	case p.columns != nil && after >= patience:
		fmt.Fprint(p.w, redraw(p.shown, lines, p.columns()))
		p.shown = len(lines)
	case p.columns == nil && p.plain > 0 && after >= time.Duration(p.plains+1)*p.plain:
		p.plains = int(after / p.plain)
		fmt.Fprintln(p.w, line)
	}
}

// note writes a line that stays.
func (p *progress) note(line string) {
	if p.w != nil {
		p.clear()
		fmt.Fprintln(p.w, line)
	}
}

// clear takes the lines away.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown > 0 {
		fmt.Fprint(p.w, redraw(p.shown, nil, 0))
		p.shown = 0
	}
}

// redraw returns what puts lines in the place of those shown, the last of which
// has the cursor at its end. A line that wrapped would take the place of two, so
// they are cut to fit.
func redraw(shown int, lines []string, columns int) string {
	var b strings.Builder
	b.WriteString("\r")
	if shown > 1 {
		fmt.Fprintf(&b, "\x1b[%dA", shown-1) // up
	}
	b.WriteString("\x1b[J") // nothing from here to the end of the screen
	for i, line := range lines {
		if i > 0 {
			b.WriteString("\r\n")
		}
		if text := []rune(line); len(text) >= columns {
			line = string(text[:max(columns-1, 0)])
		}
		b.WriteString(line)
	}
	return b.String()
}
