package handshake_test

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"shakedown/internal/server"
)

var update = flag.Bool("update", false, "write docs/interop.md for the servers installed")

const interopFile = "../docs/interop.md"

// interopDoc is docs/interop.md: a table of yes and no, and below it, server by
// server, why not. Columns of servers that are not installed stay as they are.
type interopDoc struct {
	columns map[string]map[string]string // server, row: yes, or why not
	about   map[string]string            // server: its version
	text    string
}

const whyNot = "## Why not"

// readInteropDoc reads the file back into columns.
func readInteropDoc(t *testing.T) *interopDoc {
	t.Helper()
	doc := &interopDoc{columns: map[string]map[string]string{}, about: map[string]string{}}
	text, err := os.ReadFile(interopFile)
	if err != nil && !(*update && errors.Is(err, fs.ErrNotExist)) {
		t.Fatal(err)
	}
	doc.text = string(text)
	table, reasons, _ := strings.Cut(doc.text, whyNot)
	var servers []string
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if !strings.HasPrefix(line, "|") || len(cells) < 2 || strings.HasPrefix(cells[0], "-") {
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if servers == nil || cells[0] == "" || len(cells) != len(servers)+1 {
			servers = cells[1:]
			for _, s := range servers {
				if doc.columns[s] == nil {
					doc.columns[s] = map[string]string{}
				}
			}
			continue
		}
		for i, s := range servers {
			doc.columns[s][cells[0]] = cells[i+1]
		}
	}
	var name string
	for line := range strings.Lines(reasons) {
		line = strings.TrimSpace(line)
		if heading, ok := strings.CutPrefix(line, "### "); ok {
			name, doc.about[strings.SplitN(heading, ",", 2)[0]], _ = cut(heading, ", ")
		} else if item, ok := strings.CutPrefix(line, "- "); ok && doc.columns[name] != nil {
			if row, reason, ok := strings.Cut(item, ": "); ok {
				doc.columns[name][row] = reason
			}
		}
	}
	return doc
}

func cut(s, sep string) (before, after string, found bool) { return strings.Cut(s, sep) }

// take puts in a server's column, or compares it with the one in the file.
func (doc *interopDoc) take(t *testing.T, d server.Driver, cells map[string]string) {
	t.Helper()
	about := serverVersion(d.Name())
	if *update {
		if old := doc.columns[d.Name()]; old != nil && testing.Short() {
			for row, cell := range old { // those left out
				if _, ok := cells[row]; !ok {
					cells[row] = cell
				}
			}
		}
		doc.columns[d.Name()], doc.about[d.Name()] = cells, about
		return
	}
	if was := doc.about[d.Name()]; was != about {
		t.Logf("docs/interop.md is about %s %s, here is %s: not compared; go test -run TestInterop -update writes it anew", d.Name(), was, about)
		return
	}
	for row, cell := range cells {
		if was := doc.columns[d.Name()][row]; was != cell {
			t.Errorf("docs/interop.md says of %q: %q; observed: %q (go test -run TestInterop -update writes it anew)", row, was, cell)
		}
	}
}

// finish compares the whole file with what it would be now, or writes it.
func (doc *interopDoc) finish(t *testing.T) {
	t.Helper()
	text := doc.format()
	if *update {
		if err := os.WriteFile(interopFile, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if text != doc.text {
		t.Errorf("docs/interop.md is not as the tests would write it: go test -run TestInterop -update")
	}
}

func (doc *interopDoc) format() string {
	var b strings.Builder
	b.WriteString(`# What was taken with which server

Written by ` + "`go test ./handshake -run TestInterop -update`" + `. Each cell is two handshakes with a real server on
loopback, one in full work and one in minimal: *yes* means that what was observed is what was asked for, in both, and
that the server's own count of full and resumed handshakes agrees with ours. *no* has its reason below the tables; where
the server could be asked all the same, the test does so and fails when it succeeds.
`)
	var names []string
	for _, d := range server.Drivers() {
		if doc.columns[d.Name()] != nil {
			names = append(names, d.Name())
		}
	}
	section := ""
	for _, row := range interopRows() {
		if row.section != section {
			section = row.section
			fmt.Fprintf(&b, "\n## %s\n\n| | %s |\n|---|%s\n", section, strings.Join(names, " | "), strings.Repeat("---|", len(names)))
		}
		fmt.Fprintf(&b, "| %s |", row.name)
		for _, name := range names {
			cell := doc.columns[name][row.name]
			switch cell {
			case "yes", "":
			default:
				cell = "no"
			}
			fmt.Fprintf(&b, " %s |", cell)
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "\n%s\n", whyNot)
	for _, name := range names {
		fmt.Fprintf(&b, "\n### %s, %s\n\n", name, doc.about[name])
		for _, row := range interopRows() {
			if cell := doc.columns[name][row.name]; cell != "yes" && cell != "" {
				fmt.Fprintf(&b, "- %s: %s\n", row.name, cell)
			}
		}
	}
	return b.String()
}
