package report

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"shakedown"
)

// contract is the file that lists every field of every document.
const contract = "../../docs/json.md"

// TestContract holds the documents and docs/json.md equal: each field that a
// document can have is listed with its type, and each field listed exists.
func TestContract(t *testing.T) {
	sections := readContract(t)
	documents := map[string]Document{
		TraceSchema: &Trace{}, BenchSchema: &Bench{}, CompareSchema: &Compare{}, DemoSchema: &Demo{}, HostSchema: &Host{}, FindMaxSchema: &FindMax{},
	}
	for schema, d := range documents {
		t.Run(schema, func(t *testing.T) {
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
			expand(t, sections, schema, "", listed)
			for _, path := range slices.Sorted(maps.Keys(produced)) {
				switch kind, ok := listed[path]; {
				case !ok:
					t.Errorf("not listed: | `%s` | %s | |", path, produced[path])
				case kind != produced[path]:
					t.Errorf("`%s` is listed as %s and is %s", path, kind, produced[path])
				}
			}
			for path := range listed {
				if _, ok := produced[path]; !ok {
					t.Errorf("`%s` is listed and does not exist", path)
				}
			}
		})
	}
}

// row is a line of a table: path, type, and what it means.
var row = regexp.MustCompile("^\\| `([^`]+)` \\| ([^|]+?) \\| ([^|]*) \\|$")

// field is a line of the contract. Its type is string, number, boolean, or the
// name of another section, with [] before it for an array of such.
type field struct{ path, kind string }

// readContract returns the fields of each section by its heading.
func readContract(t *testing.T) map[string][]field {
	t.Helper()
	text, err := os.ReadFile(contract)
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
		sections[heading] = append(sections[heading], field{m[1], strings.TrimSuffix(m[2], " or null")})
	}
	return sections
}

// expand adds the fields of a section below a path, those of the sections it
// names among them.
func expand(t *testing.T, sections map[string][]field, section, path string, into map[string]string) {
	t.Helper()
	fields, ok := sections[section]
	if !ok {
		t.Fatalf("there is no section %q", section)
	}
	for _, f := range fields {
		at := strings.TrimPrefix(path+"."+f.path, ".")
		kind := f.kind
		for strings.HasPrefix(kind, "[]") {
			at, kind = at+"[]", kind[2:]
		}
		switch kind {
		case "string", "number", "boolean":
			into[at] = kind
		default:
			expand(t, sections, kind, at, into)
		}
	}
}

// flatten adds the path and type of every value that is no object or array.
func flatten(value any, path string, into map[string]string) {
	switch v := value.(type) {
	case map[string]any:
		for key, member := range v {
			flatten(member, strings.TrimPrefix(path+"."+key, "."), into)
		}
	case []any:
		for _, member := range v {
			flatten(member, path+"[]", into)
		}
	case string:
		into[path] = "string"
	case float64:
		into[path] = "number"
	case bool:
		into[path] = "boolean"
	default:
		into[path] = fmt.Sprint(v)
	}
}

// fill sets everything that can be written as JSON to something, so that
// nothing is left out as empty. Map keys are "*".
func fill(v reflect.Value) {
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(began))
		return
	case netip.AddrPort:
		v.Set(reflect.ValueOf(address))
		return
	case netip.Addr:
		v.Set(reflect.ValueOf(address.Addr()))
		return
	case shakedown.Phases:
		var phases shakedown.Phases
		for p := range shakedown.NumPhases {
			phases.Mark(p, time.Second)
		}
		v.Set(reflect.ValueOf(phases))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.IsExported() && f.Tag.Get("json") != "-" {
				fill(v.Field(i))
			}
		}
	case reflect.Pointer:
		if v.Type().Elem().Kind() == reflect.Struct && v.Type().Elem().NumField() == 0 {
			return // it hides a field of the same name
		}
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case reflect.Map:
		key := reflect.New(v.Type().Key()).Elem()
		key.SetString("*")
		value := reflect.New(v.Type().Elem()).Elem()
		fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(1)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(1)
	}
}
