package report

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"shakedown/internal/lint"
)

// TestLintContract holds the document of lint and docs/json-lint.md equal, as TestContract does for the others. The file
// names no section of docs/json.md.
func TestLintContract(t *testing.T) {
	text, err := os.ReadFile("../../docs/json-lint.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string][]field{}
	heading := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if name, ok := strings.CutPrefix(line, "## "); ok {
			heading = strings.Trim(name, "`")
			continue
		}
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		m := row.FindStringSubmatch(line)
		if m == nil || m[3] == "" {
			t.Errorf("not a row of path, type and meaning: %s", line)
			continue
		}
		sections[heading] = append(sections[heading], field{m[1], m[2]})
	}
	d := &lint.Document{}
	fill(reflect.ValueOf(d).Elem())
	data, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		t.Fatal(err)
	}
	produced, listed := map[string]string{}, map[string]string{}
	flatten(value, "", produced)
	expand(t, sections, lint.Schema, "", listed)
	for _, path := range slices.Sorted(maps.Keys(produced)) {
		if listed[path] != produced[path] {
			t.Errorf("`%s` is %s, listed as %q", path, produced[path], listed[path])
		}
	}
	for path := range listed {
		if _, ok := produced[path]; !ok {
			t.Errorf("`%s` is listed and does not exist", path)
		}
	}
}
