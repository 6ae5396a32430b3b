package lint

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares got with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-update writes it anew):\n%s", name, diff)
	}
}

// TestGolden holds the output of whole configurations, one pair of files for each, in the words a user reads.
func TestGolden(t *testing.T) {
	dir := files(t)
	paths, err := filepath.Glob("testdata/*.conf")
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".conf")
		t.Run(name, func(t *testing.T) {
			e := readExample(t, path)
			at := filepath.Join(dir, name+".conf")
			if err := os.WriteFile(at, []byte(e.text), 0o600); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			report, err := Run(at, Rules(), e.opt)
			if err != nil {
				out.WriteString("error: " + err.Error() + "\n")
			} else {
				if err := WriteText(&out, []*Report{report}, true); err != nil {
					t.Fatal(err)
				}
				for _, note := range report.Notes {
					out.WriteString("note: " + note + "\n")
				}
				out.WriteString(report.Summary() + "\n")
			}
			golden(t, name+".golden", strings.ReplaceAll(out.String(), dir+"/", ""))
		})
	}
}

func TestEffective(t *testing.T) {
	dir := files(t)
	e := readExample(t, "testdata/vhosts.conf")
	path := filepath.Join(dir, "vhosts.conf")
	if err := os.WriteFile(path, []byte(e.text), 0o600); err != nil {
		t.Fatal(err)
	}
	report, err := Run(path, nil, e.opt)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := WriteEffective(&out, report.Model); err != nil {
		t.Fatal(err)
	}
	golden(t, "effective.golden", strings.ReplaceAll(out.String(), dir+"/", ""))
}

func sampleReport(t *testing.T) *Report {
	t.Helper()
	dir := files(t)
	e := readExample(t, "testdata/ignored.conf")
	path := filepath.Join(dir, "ignored.conf")
	if err := os.WriteFile(path, []byte(e.text), 0o600); err != nil {
		t.Fatal(err)
	}
	report, err := Run(path, Rules(), e.opt)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range report.Findings {
		f.Pos.File = "ignored.conf"
	}
	for _, i := range report.Ignored {
		i.Finding.Pos.File = "ignored.conf"
	}
	for i, note := range report.Notes {
		report.Notes[i] = strings.ReplaceAll(note, dir+"/", "")
	}
	report.Path = "ignored.conf"
	return report
}

func TestJSON(t *testing.T) {
	report := sampleReport(t)
	var out bytes.Buffer
	if err := WriteJSON(&out, []*Report{report}, []Failure{{"gone.conf", os.ErrNotExist}}, report.Options); err != nil {
		t.Fatal(err)
	}
	if !json.Valid(out.Bytes()) {
		t.Error("not JSON")
	}
	golden(t, "json.golden", out.String())
}

func TestSARIF(t *testing.T) {
	report := sampleReport(t)
	var out bytes.Buffer
	if err := WriteSARIF(&out, []*Report{report}, Rules()); err != nil {
		t.Fatal(err)
	}
	parsed, err := sarif.FromBytes(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if err := parsed.Validate(); err != nil {
		t.Error(err)
	}
	run := parsed.Runs[0]
	if len(run.Results) != len(report.Findings)+len(report.Ignored) || len(run.Tool.Driver.Rules) != 72 {
		t.Errorf("%d results, %d rules", len(run.Results), len(run.Tool.Driver.Rules))
	}
	suppressed := 0
	for _, r := range run.Results {
		suppressed += len(r.Suppressions)
	}
	if suppressed != len(report.Ignored) || suppressed == 0 {
		t.Errorf("%d suppressed, want %d", suppressed, len(report.Ignored))
	}
}

func TestExplanations(t *testing.T) {
	for _, r := range Rules() {
		var out bytes.Buffer
		if err := WriteExplanation(&out, r); err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{r.ID, r.Title, r.Why, "Before:\n    ", "After:\n    ", "Silent when: "} {
			if !strings.Contains(out.String(), part) {
				t.Errorf("%s: %q is missing", r.ID, part)
			}
		}
		if strings.Contains(out.String(), "#!") {
			t.Errorf("%s: options of the tests are shown", r.ID)
		}
	}
	for in, want := range map[string]string{"res-none": "", "RES-NOPE": "no rule is called RES-NOPE; there are RES-ANTIREPLAY", "x": "no rule is called x; lint --rules lists them"} {
		if _, err := FindRule(in); (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", in, err)
		}
	}
}

// TestSpeed lints a thousand files; the time is told, not judged.
func TestSpeed(t *testing.T) {
	dir := files(t)
	text, err := os.ReadFile("testdata/vhosts.conf")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "vhosts.conf")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	e := readExample(t, "testdata/vhosts.conf")
	rules := Rules()
	start := time.Now()
	for range 1000 {
		if _, err := Run(path, rules, e.opt); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("1000 files of %d bytes in %v", len(text), time.Since(start))
}

// TestDocs holds the list in docs/lint.md equal to the rules.
func TestDocs(t *testing.T) {
	text, err := os.ReadFile("../../docs/lint.md")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := WriteRules(&out, Rules()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "```\n"+out.String()+"```\n") {
		t.Errorf("docs/lint.md lists other rules than:\n%s", out.String())
	}
}
