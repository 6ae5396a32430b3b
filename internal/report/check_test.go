package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"shakedown"
	"shakedown/internal/check"
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

// TestCheckTextVerbose: all of it, however long.
func TestCheckTextVerbose(t *testing.T) {
	c := aCheck(t)
	c.Verbose = true
	got := text(t, c)
	golden(t, "check_verbose", got)
	for _, target := range c.Targets {
		for _, a := range target.Observation.Answers {
			if !strings.Contains(got, " "+a.ID+": ") {
				t.Errorf("the answer to %s is missing", a.ID)
			}
		}
	}
}

// TestCheckTextFits: one address, whatever was found, fits a screen: the worst
// first, and nothing cut without a word.
func TestCheckTextFits(t *testing.T) {
	const screen = 40 // lines
	for i := range aCheck(t).Targets {
		c := aCheck(t)
		c.Targets, c.Findings, c.Breaches, c.Policy = c.Targets[i:i+1], nil, nil, ""
		got := text(t, c)
		golden(t, fmt.Sprintf("check_one_%d", i+1), got)
		if n := strings.Count(got, "\n"); n > screen {
			t.Errorf("address %d takes %d lines", i+1, n)
		}
		if !strings.Contains(got, "--verbose") {
			t.Error("nothing says that there is more")
		}
	}
	// As bad as it gets.
	c := aCheck(t)
	t1 := &c.Targets[0]
	for len(t1.Findings) < 30 {
		t1.Findings = append(t1.Findings[:1:1], t1.Findings...)
	}
	c.Targets = c.Targets[:1]
	got := text(t, c)
	if n := strings.Count(got, "  warning: "); n < 25 {
		t.Errorf("%d of the findings are named", n)
	}
	if n := strings.Count(got, "    seen: "); n != inFull {
		t.Errorf("%d findings have their evidence, want %d", n, inFull)
	}
}

// TestCheckTextFleet: those that are alike stand together, and the worst first.
func TestCheckTextFleet(t *testing.T) {
	c := aCheck(t)
	twin, silent := c.Targets[1], check.TargetReport{Target: c.Targets[1].Target, Connections: 2}
	twin.Address, silent.Address = netip.MustParseAddrPort("127.0.0.2:443"), netip.MustParseAddrPort("127.0.0.3:443")
	silent.Target.Host = "127.0.0.3"
	silent.Observation.Answers = []shakedown.Answer{{ID: "reach", Verdict: shakedown.Inconclusive, Evidence: "the connection was refused"}}
	c.Targets = append(c.Targets, twin, silent)
	c.Findings, c.Groups, c.Breaches, c.Policy = nil, nil, nil, ""
	got := text(t, c)
	var heads []string
	for _, m := range regexp.MustCompile(`(?m)^(127[^:]+:\d+).*: (.*)$`).FindAllStringSubmatch(got, -1) {
		heads = append(heads, m[1]+" "+m[2])
	}
	want := []string{
		"127.0.0.3:443 not answered, 2 connections", "127.0.0.1:36391 1 error, 2 notes, 93 connections",
		"127.0.0.1:45411 3 warnings, 5 notes, 92 connections", "127.0.0.1:45149 1 warning, 5 notes, 95 connections",
	}
	if diff := cmp.Diff(want, heads); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, want := range []string{"and 1 other alike: 1 warning", "\n  alike: 127.0.0.2:443\n", "127.0.0.3:443         -      -  not answered"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	c.Verbose = true
	if got := text(t, c); strings.Contains(got, "alike") || strings.Count(got, "\n  answers\n") != 4 {
		t.Errorf("not all have all:\n%s", got)
	}
}

func TestClip(t *testing.T) {
	for _, test := range []struct {
		text string
		n    int
		want string
	}{
		{"one\n", 1, "one\n"},
		{"one\ntwo\n", 2, "one\ntwo\n"},
		{"one\ntwo\nthree\n", 2, "one\ntwo ...\n"},
		{strings.Repeat("ü", Width-4) + " ab\ntwo\n", 1, strings.Repeat("ü", Width-4) + " ...\n"},
		{strings.Repeat("ü", Width) + "\ntwo\n", 1, strings.Repeat("ü", Width-4) + " ...\n"},
	} {
		if got := clip(test.text, test.n); got != test.want {
			t.Errorf("%d lines of %q: %q, want %q", test.n, test.text, got, test.want)
		}
	}
}

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
