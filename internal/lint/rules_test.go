package lint

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"shakedown/internal/nginx"
)

// example is one configuration of a rule's folder with what its "#!" line asks.
type example struct {
	text  string
	opt   Options
	fires bool
	// fragment: the example is given to the rules without http{} around it.
	fragment bool
	as       Severity // of the finding; "" for the rule's own
	refused  string   // what nginx -t says, when it refuses
	expect   []string // rules that speak
	absent   []string // rules that do not
}

func readExample(t *testing.T, path string) example {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Base(path)
	e := example{text: string(text), fires: name == "before.conf" || strings.HasPrefix(name, "fire-")}
	e.opt.Nginx, e.opt.OpenSSL = nginx.Version{Major: 1, Minor: 22, Patch: 1}, nginx.Version{Major: 3, Minor: 0, Patch: 22}
	first, _, _ := strings.Cut(e.text, "\n")
	options, ok := strings.CutPrefix(first, "#! ")
	if !ok {
		return e
	}
	for _, o := range strings.Fields(options) {
		key, value, _ := strings.Cut(o, "=")
		var err error
		switch key {
		case "nginx":
			e.opt.Nginx, err = nginx.ParseVersion(value)
		case "openssl":
			e.opt.OpenSSL, err = nginx.ParseVersion(value)
		case "hosts":
			e.opt.Hosts, err = strconv.Atoi(value)
		case "rate":
			e.opt.SessionsPerSecond, err = strconv.ParseFloat(value, 64)
		case "fragment":
			e.fragment, err = strconv.ParseBool(value)
		case "severity":
			e.as = Severity(value)
		case "expect":
			e.expect = strings.FieldsFunc(value, func(r rune) bool { return r == ',' })
		case "absent":
			e.absent = strings.Split(value, ",")
		case "refused":
			e.refused = strings.ReplaceAll(value, "-", " ")
		default:
			t.Fatalf("%s: unknown option %q", path, o)
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	return e
}

func TestEveryFunctionHasAFolder(t *testing.T) {
	rules := Rules()
	if len(rules) != len(checks) || len(rules) != 72 {
		t.Errorf("%d folders, %d functions, want 72 of each", len(rules), len(checks))
	}
	for id := range checks {
		if !slices.ContainsFunc(rules, func(r *Rule) bool { return r.ID == id }) {
			t.Errorf("%s has no folder", id)
		}
	}
}

// TestRules runs every rule on the configurations of its folder: it must speak once or more on before.conf and fire-*.conf,
// and not at all on after.conf and quiet-*.conf.
func TestRules(t *testing.T) {
	dir := files(t)
	rules := Rules()
	for _, r := range rules {
		paths, err := filepath.Glob("rules/" + r.ID + "/*.conf")
		if err != nil || len(paths) < 2 {
			t.Fatalf("%s: %d examples, %v", r.ID, len(paths), err)
		}
		for _, path := range paths {
			t.Run(r.ID+"/"+filepath.Base(path), func(t *testing.T) {
				e := readExample(t, path)
				report, err := Run(e.write(t, dir), rules, e.opt)
				if err != nil {
					t.Fatal(err)
				}
				var mine []string
				for _, f := range report.Findings {
					if f.Rule != r {
						continue
					}
					mine = append(mine, fmt.Sprintf("%d:%d %s", f.Pos.Line, f.Pos.Col, f.Message))
					want := e.as
					if want == "" {
						want = r.Severity
					}
					if f.Severity != want {
						t.Errorf("%s, want %s: %s", f.Severity, want, f.Message)
					}
				}
				if e.fires != (len(mine) > 0) {
					t.Errorf("fires %t, want %t\n%s\nnotes: %q", len(mine) > 0, e.fires, strings.Join(mine, "\n"), report.Notes)
				}
			})
		}
	}
}

// TestExamplesAsNginx gives every example written for nginx 1.22 to that nginx: it accepts all but those that say what it
// refuses them with.
func TestExamplesAsNginx(t *testing.T) {
	binary, err := nginx.Installed(t.Context())
	if err != nil || binary.Version != (nginx.Version{Major: 1, Minor: 22, Patch: 1}) {
		t.Skipf("needs nginx 1.22.1 as the oracle (Debian 12: apt install nginx), found %s %v", binary.Version, err)
	}
	dir := files(t)
	paths, err := filepath.Glob("rules/*/*.conf")
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, path := range paths {
		e := readExample(t, path)
		if e.opt.Nginx != binary.Version || e.opt.OpenSSL != (nginx.Version{Major: 3, Minor: 0, Patch: 22}) {
			continue
		}
		e.fragment = false
		out, ok := nginxTest(t, binary.Path, e.write(t, dir))
		ran++
		switch {
		case ok && e.refused != "":
			t.Errorf("%s: nginx accepts it, want %q", path, e.refused)
		case !ok && (e.refused == "" || !strings.Contains(strings.ReplaceAll(out, "-", " "), e.refused)):
			t.Errorf("%s: want %q\n%s", path, e.refused, out)
		}
	}
	t.Logf("%d of %d examples given to nginx %s", ran, len(paths), binary.Version)
}

// write puts the example into dir, with the main file around it that most leave out, and returns what to run.
func (e example) write(t *testing.T, dir string) string {
	t.Helper()
	around := "http { access_log off; include example.conf; }\nevents {}\n"
	whole := strings.Contains("\n"+e.text, "\nhttp {") || strings.Contains("\n"+e.text, "\nstream {")
	if whole {
		around = "include example.conf;\nevents {}\n"
	}
	if !whole && e.fragment {
		around = ""
	}
	for name, text := range map[string]string{"example.conf": e.text, "nginx.conf": around} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if around == "" {
		return filepath.Join(dir, "example.conf")
	}
	return filepath.Join(dir, "nginx.conf")
}

// nginxTest runs nginx -t on a configuration.
func nginxTest(t *testing.T, binary, path string) (string, bool) {
	t.Helper()
	dir := filepath.Dir(path)
	out, err := exec.Command(binary, "-t", "-p", dir, "-c", path, "-g", "pid "+filepath.Join(dir, "nginx.pid")+";").CombinedOutput()
	return string(out), err == nil
}

// TestCases judges what people asked about in public, and wants the diagnosis that experiments gave, not the one of the
// thread. Each file names its source.
func TestCases(t *testing.T) {
	dir := files(t)
	rules := Rules()
	paths, err := filepath.Glob("testdata/cases/*.conf")
	if err != nil || len(paths) < 20 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			e := readExample(t, path)
			report, err := Run(e.write(t, dir), rules, e.opt)
			if err != nil {
				t.Fatal(err)
			}
			spoke := map[string]bool{}
			for _, f := range report.Findings {
				spoke[f.Rule.ID] = true
			}
			for _, id := range append(slices.Clone(e.expect), e.absent...) {
				if checks[id] == nil {
					t.Errorf("no rule %s", id)
				}
				if want := slices.Contains(e.expect, id); spoke[id] != want {
					t.Errorf("%s: spoke %t, want %t", id, spoke[id], want)
				}
			}
		})
	}
}
