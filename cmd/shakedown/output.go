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
	fs.StringVar(&o.file, "out", "", "write to this `file` instead of stdout")
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

// progress is a line on stderr that is written over as a run goes on. It shows
// only on a terminal, and only after two seconds.
type progress struct {
	w     io.Writer // nil: not a terminal
	begun time.Time
	mu    sync.Mutex
	shown bool
}

// patience is how long a run may last before it says how far it is.
const patience = 2 * time.Second

func (a *app) newProgress() *progress {
	p := &progress{begun: time.Now()}
	if isTerminal(a.stderr) {
		p.w = a.stderr
	}
	return p
}

// say replaces the line.
func (p *progress) say(format string, args ...any) {
	if p.w == nil || time.Since(p.begun) < patience {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shown = true
	fmt.Fprintf(p.w, "\r\x1b[K"+format, args...)
}

// clear takes the line away.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.shown = false
	}
}
