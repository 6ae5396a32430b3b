package report

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"shakedown/internal/lab"
)

// TestLabContract holds the document of lab and docs/json-lab.md equal, as
// TestContract does for the others. Sections named and not there are those of
// docs/json.md.
func TestLabContract(t *testing.T) {
	sections := readContract(t)
	text, err := os.ReadFile("../../docs/json-lab.md")
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
	d := &Lab{Outcome: &lab.Outcome{}}
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
	expand(t, sections, LabSchema, "", listed)
	for _, path := range slices.Sorted(maps.Keys(produced)) {
		if listed[path] != produced[path] {
			t.Errorf("| `%s` | %s | | is listed as %q", path, produced[path], listed[path])
		}
	}
	for _, path := range slices.Sorted(maps.Keys(listed)) {
		if _, ok := produced[path]; !ok {
			t.Errorf("`%s` is listed and does not exist", path)
		}
	}
}
