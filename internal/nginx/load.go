package nginx

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Config is a main file with everything it includes.
type Config struct {
	// Main holds the statements of the main file, includes expanded in place.
	Main  []*Directive
	Files []*File
	// Missing lists includes that could not be read. nginx would not start; the rest of the text is still of use.
	Missing []Missing
	// Prefix is the directory relative paths start from.
	Prefix string
}

// Missing is an include that could not be read.
type Missing struct {
	Include *Directive
	Err     error
}

// Load reads path and its includes. Relative includes start from the directory of path, as nginx does it. The error is a
// *SyntaxError or one from reading path itself.
func Load(path string) (*Config, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return load(path, string(text))
}

func load(path, text string) (*Config, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	c := &Config{Prefix: filepath.Dir(abs)}
	l := loader{config: c, texts: map[string]string{path: text}}
	c.Main, err = l.file(path, nil, 0)
	return c, err
}

// Resolve returns the path nginx opens for a file named in the configuration.
func (c *Config) Resolve(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(c.Prefix, path)
}

type loader struct {
	config *Config
	texts  map[string]string // by path: a snippet is often included many times
}

// maxIncludes bounds include depth; nginx runs a cycle until it is out of file descriptors.
const maxIncludes = 32

func (l *loader) file(path string, parent *Directive, depth int) ([]*Directive, error) {
	text, ok := l.texts[path]
	if !ok {
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		text = string(b)
		l.texts[path] = text
	}
	f, err := Parse(path, text)
	l.config.Files = append(l.config.Files, f)
	if err != nil {
		return nil, err
	}
	return l.expand(f.Directives, parent, depth)
}

// expand puts the contents of each include right after it.
func (l *loader) expand(list []*Directive, parent *Directive, depth int) ([]*Directive, error) {
	var out []*Directive
	for _, d := range list {
		d.Parent = parent
		out = append(out, d)
		if d.HasBlock {
			var err error
			if d.Block, err = l.expand(d.Block, d, depth); err != nil {
				return nil, err
			}
		}
		if d.Name != "include" || d.HasBlock || len(d.Args) != 1 {
			continue
		}
		if depth >= maxIncludes {
			return nil, &SyntaxError{d.Pos, fmt.Sprintf("includes nest deeper than %d: %q includes itself", maxIncludes, d.Arg(0))}
		}
		for _, path := range l.matches(d) {
			included, err := l.file(path, parent, depth+1)
			var syntax *SyntaxError
			if errors.As(err, &syntax) {
				return nil, err
			}
			if err != nil {
				l.config.Missing = append(l.config.Missing, Missing{d, err})
				continue
			}
			out = append(out, included...)
		}
	}
	return out, nil
}

// matches returns the files an include names: glob(3) in byte order without hidden files. A pattern may match nothing.
func (l *loader) matches(d *Directive) []string {
	path := l.config.Resolve(d.Arg(0))
	if !strings.ContainsAny(path, "*?[") {
		return []string{path}
	}
	paths, err := filepath.Glob(strings.ReplaceAll(path, "[!", "[^"))
	if err != nil {
		l.config.Missing = append(l.config.Missing, Missing{d, err})
	}
	hidden := strings.HasPrefix(filepath.Base(path), ".")
	paths = slices.DeleteFunc(paths, func(p string) bool { return !hidden && strings.HasPrefix(filepath.Base(p), ".") })
	slices.Sort(paths)
	return paths
}
