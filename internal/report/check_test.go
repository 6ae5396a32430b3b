package report

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"shakedown"
)

// aCheck reads the report of a run that was really made, of three servers.
func aCheck(t *testing.T) *Check {
	t.Helper()
	text, err := os.ReadFile("testdata/check.json")
	if err != nil {
		t.Fatal(err)
	}
	c := &Check{}
	if err := json.Unmarshal(text, c); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestCheckJSON: what was written reads back as the same.
func TestCheckJSON(t *testing.T) {
	var out bytes.Buffer
	if err := WriteJSON(&out, aCheck(t)); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/check.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, out.Bytes()) {
		t.Error("testdata/check.json is not what its document writes")
	}
}

func TestCheckText(t *testing.T) { golden(t, "check", text(t, aCheck(t))) }

// TestCheckSARIF: there is a result for each finding and each breach, its rule is
// there, and it says whom it is about.
func TestCheckSARIF(t *testing.T) {
	c := aCheck(t)
	var out bytes.Buffer
	if err := c.WriteSARIF(&out); err != nil {
		t.Fatal(err)
	}
	read, err := sarif.FromBytes(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	run := read.Runs[0]
	rules := map[string]bool{}
	for _, r := range run.Tool.Driver.Rules {
		rules[*r.ID] = true
	}
	levels := map[string]int{}
	for _, r := range run.Results {
		levels[r.Level]++
		if !rules[*r.RuleID] || len(r.Locations) == 0 || !strings.HasPrefix(*r.Locations[0].PhysicalLocation.ArtifactLocation.URI, "tls://127.0.0.1:") {
			t.Errorf("result %s: rule known: %v, locations %v", *r.RuleID, rules[*r.RuleID], r.Locations)
		}
	}
	want := map[string]int{"error": len(c.Breaches)}
	for _, f := range c.everyFinding() {
		want[map[shakedown.Severity]string{shakedown.SeverityError: "error", shakedown.SeverityWarning: "warning", shakedown.SeverityInfo: "note"}[f.Severity]]++
	}
	for level, n := range want {
		if levels[level] != n || n == 0 {
			t.Errorf("%d results of level %s, want %d", levels[level], level, n)
		}
	}
}

// TestCheckHTML: one page that needs nothing else, the worst first, and nothing a
// server said can become markup.
func TestCheckHTML(t *testing.T) {
	c := aCheck(t)
	const hostile = `</style><script>alert(1)</script>`
	c.Targets[0].Observation.Answers[0].Evidence = hostile
	c.Targets[0].Findings[0].Evidence = hostile
	var out bytes.Buffer
	if err := c.WriteHTML(&out); err != nil {
		t.Fatal(err)
	}
	page := out.String()
	for _, bad := range []string{"<script", "http://", "https://", "src=", "@import", "ZgotmplZ", "<no value>"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	var marks []int
	for _, m := range regexp.MustCompile(`class="box finding (\w+)"`).FindAllStringSubmatch(page, -1) {
		marks = append(marks, shakedown.Severity(m[1]).Rank())
	}
	if len(marks) < 3 || !slices.IsSorted(marks) {
		t.Errorf("findings in the order %v", marks)
	}
	for _, want := range []string{"prefers-color-scheme: dark", "@media print", "Side by side", "state is per worker", "Policy modern: not met", "ssl_session_cache shared"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for i := range c.Targets {
		if !strings.Contains(page, c.Targets[i].Address.String()) {
			t.Errorf("the page lacks %s", c.Targets[i].Address)
		}
	}
}

// TestCheckHTMLInBrowser lays the page out on a screen and a telephone: nothing may
// stick out.
func TestCheckHTMLInBrowser(t *testing.T) {
	browser, err := findBrowser()
	if err != nil {
		t.Skip(err)
	}
	var out bytes.Buffer
	if err := aCheck(t).WriteHTML(&out); err != nil {
		t.Fatal(err)
	}
	// The page itself has no script; this one tells how wide it came out.
	page := strings.Replace(out.String(), "</body>", `<script>document.title = "WIDTH " + (document.documentElement.scrollWidth - window.innerWidth)</script></body>`, 1)
	file := filepath.Join(t.TempDir(), "check.html")
	if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, width := range []string{"1200,900", "500,900"} {
		dom, err := exec.CommandContext(t.Context(), browser, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir="+t.TempDir(),
			"--window-size="+width, "--dump-dom", "file://"+file).Output()
		if err != nil {
			t.Fatal(err)
		}
		m := regexp.MustCompile(`<title>WIDTH (-?\d+)`).FindSubmatch(dom)
		if m == nil || string(m[1]) > "0" && m[1][0] != '-' {
			t.Errorf("window %s: the page sticks out by %s pixels", width, m)
		}
	}
}
