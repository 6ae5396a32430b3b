package lint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Change is what the fixes make of one file.
type Change struct {
	Path     string
	Old, New string
	Fixed    []*Finding
}

// Fix works out the files as they read after the fixes that need no person. Of two that overlap the one with the worse
// severity is made, so a second run may find more. Comments and order stay.
func Fix(reports []*Report) ([]Change, error) {
	var findings []*Finding
	texts := map[string]string{}
	for _, r := range reports {
		findings = append(findings, r.Findings...)
		for _, f := range r.Model.Config.Files {
			texts[f.Path] = f.Text
		}
	}
	slices.SortStableFunc(findings, func(a, b *Finding) int { return cmp.Compare(a.Severity.rank(), b.Severity.rank()) })
	taken := map[string][]Edit{}
	fixed := map[string][]*Finding{}
	for _, f := range findings {
		if len(f.Edits) == 0 || slices.ContainsFunc(f.Edits, func(e Edit) bool { return slices.ContainsFunc(taken[e.Path], e.overlaps) }) {
			continue
		}
		for _, e := range f.Edits {
			taken[e.Path] = append(taken[e.Path], e)
			if !slices.Contains(fixed[e.Path], f) {
				fixed[e.Path] = append(fixed[e.Path], f)
			}
		}
	}
	var changes []Change
	for path, edits := range taken {
		text, err := apply(texts[path], edits)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		changes = append(changes, Change{path, texts[path], text, fixed[path]})
	}
	slices.SortFunc(changes, func(a, b Change) int { return cmp.Compare(a.Path, b.Path) })
	return changes, nil
}

// overlaps reports whether two edits touch the same bytes. Two insertions at one place do not: they are made in order.
func (e Edit) overlaps(o Edit) bool {
	if e == o {
		return true
	}
	return e.Path == o.Path && e.Start < o.End && o.Start < e.End
}

// apply makes the edits, from the end so that the earlier offsets hold.
func apply(text string, edits []Edit) (string, error) {
	edits = slices.Clone(edits)
	slices.Reverse(edits) // so that insertions at one place end up in the order given
	slices.SortStableFunc(edits, func(a, b Edit) int { return cmp.Or(cmp.Compare(b.Start, a.Start), cmp.Compare(b.End, a.End)) })
	for _, e := range edits {
		if e.Start < 0 || e.End < e.Start || e.End > len(text) {
			return "", fmt.Errorf("our mistake: edit %d to %d of %d bytes", e.Start, e.End, len(text))
		}
		text = text[:e.Start] + e.New + text[e.End:]
	}
	return text, nil
}

// Diff writes a change as diff -u does, without context.
func (c Change) Diff() string {
	a, b := strings.Split(c.Old, "\n"), strings.Split(c.New, "\n")
	// The longest common subsequence by dynamic programming is square in size; what is equal at both ends is left out first.
	start := 0
	for start < len(a) && start < len(b) && a[start] == b[start] {
		start++
	}
	endA, endB := len(a), len(b)
	for endA > start && endB > start && a[endA-1] == b[endB-1] {
		endA, endB = endA-1, endB-1
	}
	a, b = a[start:endA], b[start:endB]
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			common[i][j] = max(common[i+1][j], common[i][j+1])
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", c.Path, c.Path)
	i, j := 0, 0
	var minus, plus []string
	flush := func() {
		if len(minus)+len(plus) == 0 {
			return
		}
		fmt.Fprintf(&out, "@@ -%d,%d +%d,%d @@\n", start+i-len(minus)+1, len(minus), start+j-len(plus)+1, len(plus))
		for _, line := range minus {
			out.WriteString("-" + line + "\n")
		}
		for _, line := range plus {
			out.WriteString("+" + line + "\n")
		}
		minus, plus = nil, nil
	}
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			flush()
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			minus = append(minus, a[i])
			i++
		default:
			plus = append(plus, b[j])
			j++
		}
	}
	flush()
	return out.String()
}

// Write writes the changes. Each file keeps a copy beside it with the suffix .shakedown-backup, which must not exist
// already. With test, the outcome is tried by it (nginx -t), and when that fails every file is put back as it was.
func Write(ctx context.Context, changes []Change, test *Test) error {
	for _, c := range changes {
		now, err := os.ReadFile(c.Path)
		if err != nil {
			return err
		}
		if string(now) != c.Old {
			return fmt.Errorf("%s has changed since it was read: lint it again", c.Path)
		}
		if _, err := os.Lstat(c.backup()); err == nil {
			return fmt.Errorf("%s exists: look at it and move it away first", c.backup())
		}
	}
	var done []Change
	restore := func(cause error) error {
		for _, c := range done {
			if err := replace(c.Path, c.Old); err != nil {
				return fmt.Errorf("%w; and %s could not be put back: %w (its old text is in %s)", cause, c.Path, err, c.backup())
			}
			if err := os.Remove(c.backup()); err != nil {
				return fmt.Errorf("%w; and %w", cause, err)
			}
		}
		return cause
	}
	for _, c := range changes {
		if err := c.write(); err != nil {
			return restore(err)
		}
		done = append(done, c)
	}
	if test == nil {
		return nil
	}
	if err := test.Run(ctx); err != nil {
		return restore(fmt.Errorf("the files are as they were: %w", err))
	}
	return nil
}

func (c Change) backup() string { return c.Path + ".shakedown-backup" }

func (c Change) write() error {
	info, err := os.Stat(c.Path)
	if err != nil {
		return err
	}
	backup, err := os.OpenFile(c.backup(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = backup.WriteString(c.Old)
	if err := errors.Join(err, backup.Close()); err != nil {
		return err
	}
	return replace(c.Path, c.New)
}

// replace gives path a new content in one step, with its mode. A symbolic link, as sites-enabled is full of, stays one.
func replace(path, text string) error {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".shakedown-*")
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	err = errors.Join(err, f.Chmod(info.Mode().Perm()), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// Test runs nginx -t on a main file.
type Test struct {
	Binary string // path of nginx
	Config string // main file
	Args   []string
}

// Run returns nil when nginx accepts the configuration, else what it says.
func (t *Test) Run(ctx context.Context) error {
	config, err := filepath.Abs(t.Config)
	if err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, t.Binary, append([]string{"-t", "-q", "-c", config}, t.Args...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("nginx -t refuses it: %s", strings.TrimSpace(string(out)))
	}
	return nil
}
