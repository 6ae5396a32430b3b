package lab

import (
	"embed"
	"fmt"
	"os"
	"path"
	"strings"

	"shakedown/internal/spelling"
)

//go:embed plans/*.yaml
var plans embed.FS

// Builtin returns the plans that come with the program, by name.
func Builtin() ([]*Plan, error) {
	entries, err := plans.ReadDir("plans")
	if err != nil {
		return nil, err
	}
	var all []*Plan
	for _, e := range entries {
		text, err := plans.ReadFile(path.Join("plans", e.Name()))
		if err != nil {
			return nil, err
		}
		p, err := Parse(e.Name(), text)
		if err != nil {
			return nil, fmt.Errorf("built-in plan: %w", err)
		}
		all = append(all, p)
	}
	return all, nil
}

// Open returns the built-in plan of that name, or reads the file of that name.
func Open(name string) (*Plan, error) {
	if text, err := plans.ReadFile("plans/" + name + ".yaml"); err == nil {
		return Parse(name+".yaml", text)
	}
	text, err := os.ReadFile(name)
	if err == nil {
		return Parse(name, text)
	}
	if !isName(name) {
		return nil, err
	}
	entries, readErr := plans.ReadDir("plans")
	if readErr != nil {
		return nil, readErr
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	e := &PlanError{File: name, Text: "neither a file nor a built-in plan"}
	if n := spelling.Nearest(name, names); n != "" {
		e.Hint = fmt.Sprintf("did you mean %q?", n)
	} else {
		e.Hint = "built-in plans are " + strings.Join(names, ", ")
	}
	return nil, e
}
