package lint

import (
	"strings"

	"shakedown/internal/nginx"
)

// Edit replaces the bytes Start to End of a file.
type Edit struct {
	Path       string
	Start, End int
	New        string
}

// fix attaches the edits that repair the finding; the first attached stay.
func (f *Finding) fix(edits ...Edit) {
	if f.Edits == nil {
		f.Edits = edits
	}
}

// setArgs gives d other arguments.
func setArgs(d *nginx.Directive, words string) Edit {
	if len(d.Args) == 0 {
		return Edit{d.Pos.File, d.NameEnd, d.NameEnd, " " + words}
	}
	return Edit{d.Pos.File, d.Args[0].Pos.Offset, d.Args[len(d.Args)-1].End, words}
}

// setName gives d another name.
func setName(d *nginx.Directive, name string) Edit {
	return Edit{d.Pos.File, d.Pos.Offset, d.NameEnd, name}
}

// dropArg takes argument i of d out, with the space before it.
func dropArg(d *nginx.Directive, i int) Edit {
	before := d.NameEnd
	if i > 0 {
		before = d.Args[i-1].End
	}
	return Edit{d.Pos.File, before, d.Args[i].End, ""}
}

// remove takes d out, and its line when nothing else stands on it.
func remove(d *nginx.Directive) Edit {
	text, start, end := d.File.Text, d.Pos.Offset, d.End
	lineStart := strings.LastIndexByte(text[:start], '\n') + 1
	lineEnd := len(text)
	if i := strings.IndexByte(text[end:], '\n'); i >= 0 {
		lineEnd = end + i + 1
	}
	if strings.TrimSpace(text[lineStart:start]) == "" && strings.TrimSpace(text[end:lineEnd]) == "" {
		start, end = lineStart, lineEnd
	}
	return Edit{d.Pos.File, start, end, ""}
}

// insertBefore puts a statement on a line of its own before d, indented alike.
func insertBefore(d *nginx.Directive, statement string) Edit {
	text, start := d.File.Text, d.Pos.Offset
	indent := text[strings.LastIndexByte(text[:start], '\n')+1 : start]
	if strings.TrimSpace(indent) != "" {
		return Edit{d.Pos.File, start, start, statement + " "}
	}
	return Edit{d.Pos.File, start, start, statement + "\n" + indent}
}
