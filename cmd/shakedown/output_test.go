package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// TestRedraw: lines take the place of those shown, and none is wider than the
// terminal.
func TestRedraw(t *testing.T) {
	for _, c := range []struct {
		shown   int
		lines   []string
		columns int
		want    string
	}{
		{0, []string{"one"}, 80, "\r\x1b[Jone"},
		{1, []string{"one", "two"}, 80, "\r\x1b[Jone\r\ntwo"},
		{3, []string{"one"}, 80, "\r\x1b[2A\x1b[Jone"},
		{2, nil, 0, "\r\x1b[1A\x1b[J"},
		{0, []string{"512 µs of it"}, 7, "\r\x1b[J512 µs"},
		{0, []string{"512 µs"}, 7, "\r\x1b[J512 µs"},
	} {
		if got := redraw(c.shown, c.lines, c.columns); got != c.want {
			t.Errorf("%d shown, then %q: %q, want %q", c.shown, c.lines, got, c.want)
		}
	}
}

// TestProgress shows progress as if so much time had passed.
func TestProgress(t *testing.T) {
	wide := func() int { return 80 }
	for _, c := range []struct {
		name     string
		terminal bool
		plain    time.Duration
		quiet    bool
		at       []time.Duration // when something is shown
		want     string
	}{
		{"a short run on a terminal", true, plainEvery, false, []time.Duration{time.Second, 1900 * time.Millisecond}, ""},
		{"a terminal", true, plainEvery, false, []time.Duration{time.Second, 3 * time.Second, 4 * time.Second}, "\r\x1b[Ja\r\nb\r\x1b[1A\x1b[Ja\r\nb\r\x1b[1A\x1b[J"},
		{"a short run in a file", false, plainEvery, false, []time.Duration{time.Second, 4 * time.Second}, ""},
		{"a file", false, plainEvery, false, []time.Duration{time.Second, 5 * time.Second, 6 * time.Second, 11 * time.Second, 14 * time.Second}, "line\nline\n"},
		{"a verb without plain lines", false, 0, false, []time.Duration{20 * time.Second}, ""},
		{"quiet", true, plainEvery, true, []time.Duration{20 * time.Second}, ""},
	} {
		var b bytes.Buffer
		p := &progress{w: &b, plain: c.plain}
		if c.terminal {
			p.columns = wide
		}
		if c.quiet {
			p.w = nil
		}
		for _, at := range c.at {
			p.begun = time.Now().Add(-at)
			p.show([]string{"a", "b"}, "line")
		}
		p.clear()
		if b.String() != c.want {
			t.Errorf("%s: %q, want %q", c.name, b.String(), c.want)
		}
	}
}

// TestProgressNote: a line that stays is not written over.
func TestProgressNote(t *testing.T) {
	var b bytes.Buffer
	p := &progress{w: &b, columns: func() int { return 80 }, begun: time.Now().Add(-time.Minute)}
	p.say("%d of 2", 1)
	p.note("stays")
	p.say("%d of 2", 2)
	if want := "\r\x1b[J1 of 2\r\x1b[Jstays\n\r\x1b[J2 of 2"; b.String() != want {
		t.Errorf("%q, want %q", strings.ReplaceAll(b.String(), "\x1b", "ESC"), want)
	}
}
