package report

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestCheckContract holds the document of check and docs/json-check.md equal, as
// TestContract does for the others. Sections that both name are those of
// docs/json.md.
func TestCheckContract(t *testing.T) {
	sections := readContract(t)
	text, err := os.ReadFile("../../docs/json-check.md")
	if err != nil {
		t.Fatal(err)
	}
	heading := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if name, ok := strings.CutPrefix(line, "## "); ok {
			heading = strings.Trim(name, "`")
			if sections[heading] != nil {
				t.Errorf("section %s is in docs/json.md too", heading)
			}
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
		sections[heading] = append(sections[heading], field{m[1], strings.TrimSuffix(m[2], " or null")})
	}
	d := &Check{}
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
	expand(t, sections, CheckSchema, "", listed)
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
