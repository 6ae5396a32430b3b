package report

import (
	"strings"
	"unicode/utf8"
)

// table lays out rows in columns as wide as their widest cell.
type table struct {
	indent string
	right  []bool // columns that are aligned to the right, as numbers are
	rows   [][]string
}

// newTable makes a table. The layout has a letter for each column: l for one
// aligned to the left, r to the right.
func newTable(indent, layout string) *table {
	t := &table{indent: indent}
	for _, c := range layout {
		t.right = append(t.right, c == 'r')
	}
	return t
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// lines returns the rows, without spaces at their ends.
func (t *table) lines() []string {
	var widths []int
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	lines := make([]string, 0, len(t.rows))
	for _, row := range t.rows {
		var b strings.Builder
		b.WriteString(t.indent)
		for i, cell := range row {
			if i > 0 {
				b.WriteString("  ")
			}
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i < len(t.right) && t.right[i] {
				b.WriteString(pad + cell)
			} else {
				b.WriteString(cell + pad)
			}
		}
		lines = append(lines, strings.TrimRight(b.String(), " "))
	}
	return lines
}

// String returns the lines, each with a newline.
func (t *table) String() string {
	if len(t.rows) == 0 {
		return ""
	}
	return strings.Join(t.lines(), "\n") + "\n"
}

// wrap breaks text at spaces into lines of at most Width columns. The first
// begins with first, the others with as many spaces.
func wrap(first, text string) string {
	indent := strings.Repeat(" ", utf8.RuneCountInString(first))
	var b strings.Builder
	line := first
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0 || line == indent:
			line += word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > Width:
			b.WriteString(line + "\n")
			line = indent + word
		default:
			line += " " + word
		}
	}
	return b.String() + line + "\n"
}
