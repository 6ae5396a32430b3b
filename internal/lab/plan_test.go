package lab

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"shakedown"
	"shakedown/internal/load"
	"shakedown/internal/server"
)

var update = flag.Bool("update", false, "write golden files anew")

// TestPlanErrors reads one bad plan for each error and compares message, place
// and hint with the golden file beside it.
func TestPlanErrors(t *testing.T) {
	files, err := filepath.Glob("testdata/plans/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no plans: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, err = Parse(name+".yaml", text)
			bad, ok := errors.AsType[*PlanError](err)
			if !ok {
				t.Fatalf("got %v, want a PlanError", err)
			}
			got := bad.Error() + "\n"
			if bad.Hint != "" {
				got += "hint: " + bad.Hint + "\n"
			}
			golden := strings.TrimSuffix(file, ".yaml") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// TestBuiltin checks that every plan that comes with the program is whole: it
// parses, says what it is about, and has at most the cells that nginx or, for
// pq, the embedded server can be.
func TestBuiltin(t *testing.T) {
	all, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{
		"buffer-size": 2, "certificate": 10, "combined": 8, "concurrency": 8, "key-exchange": 4, "pq": 2, "resumption": 12,
		"rotation": 3, "same": 2, "stapling": 8, "tickets-over-workers": 8, "version-rtt": 20,
	}
	got := map[string]int{}
	for _, p := range all {
		cells, err := p.Cells()
		if err != nil {
			t.Fatal(err)
		}
		got[p.Name] = len(cells)
		if p.Title == "" || p.Question == "" {
			t.Errorf("%s: title or question is missing", p.Name)
		}
		for _, c := range cells {
			if c.Impossible != "" {
				t.Errorf("%s: %s is impossible: %s", p.Name, c.Name, c.Impossible)
			}
		}
		if needed := p.Needed(cells); needed <= 0 || p.Budget > 0 && needed > p.Budget {
			t.Errorf("%s: needs %s of a budget of %s", p.Name, needed, p.Budget)
		}
		if p.Rounds < 6 {
			t.Errorf("%s: %d rounds give no interval", p.Name, p.Rounds)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("plans and their cells: -want +got\n%s", diff)
	}
}

const crossed = `
name: crossed
server: embedded
fixed:
  server: {workers: 2, versions: [TLS 1.2, TLS 1.3]}
  load: {connections: 7}
factors:
  - name: version
    levels:
      - {name: "1.2", server: {versions: [TLS 1.2]}}
      - {name: "1.3", server: {versions: [TLS 1.3]}}
  - name: mode
    levels:
      - {name: full}
      - {name: resumed, load: {mode: resumed}}
      - {name: cached, server: {cache: shared}, load: {mode: session-id}}
`

func TestCells(t *testing.T) {
	p, err := Parse("crossed.yaml", []byte(crossed))
	if err != nil {
		t.Fatal(err)
	}
	cells, err := p.Cells()
	if err != nil {
		t.Fatal(err)
	}
	type seen struct {
		ID, Name   string
		Version    shakedown.Version
		Mode       shakedown.Mode
		Impossible string
	}
	var got []seen
	for _, c := range cells {
		got = append(got, seen{c.ID, c.Name, c.plan.Config.Versions[0], c.plan.Mix[0].Mode, c.Impossible})
		if c.Spec.Workers != 2 || c.plan.Connections != 7 {
			t.Errorf("%s: the fixed part is lost: %v", c.Name, c.Spec)
		}
	}
	no := "crypto/tls has no session cache on the server's side"
	want := []seen{
		{"c01", "version=1.2, mode=full", shakedown.TLS12, shakedown.ModeFull, ""},
		{"c02", "version=1.2, mode=resumed", shakedown.TLS12, shakedown.ModeTicket, ""},
		{"c03", "version=1.2, mode=cached", shakedown.TLS12, shakedown.ModeSessionID, no},
		{"c04", "version=1.3, mode=full", shakedown.TLS13, shakedown.ModeFull, ""},
		{"c05", "version=1.3, mode=resumed", shakedown.TLS13, shakedown.ModePSK, ""},
		{"c06", "version=1.3, mode=cached", shakedown.TLS12, shakedown.ModeSessionID, no},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if n := len(Possible(cells)); n != 4 {
		t.Errorf("%d cells are possible, want 4", n)
	}
}

func TestLoadPlan(t *testing.T) {
	l := defaultLoad()
	l.Mix, l.Rate, l.Tickets = "full=20,resumed=80", 500, "single-use"
	p, bad := l.plan(server.Spec{Versions: []shakedown.Version{shakedown.TLS12}})
	if bad != nil {
		t.Fatal(bad.err)
	}
	want := []load.Share{{Mode: shakedown.ModeFull, Weight: 20}, {Mode: shakedown.ModeTicket, Weight: 80}}
	if diff := cmp.Diff(want, p.Mix); diff != "" {
		t.Errorf("mix: -want +got\n%s", diff)
	}
	if p.Tickets != load.TicketsSingleUse || !p.Arrivals.Open() || p.Arrivals.Stages[0].Rate != 500 {
		t.Errorf("got %+v", p)
	}
}

func TestOpen(t *testing.T) {
	if p, err := Open("certificate"); err != nil || p.Name != "certificate" {
		t.Errorf("certificate: %v, %v", p, err)
	}
	file := filepath.Join(t.TempDir(), "mine.yaml")
	if err := os.WriteFile(file, []byte(crossed), 0o600); err != nil {
		t.Fatal(err)
	}
	if p, err := Open(file); err != nil || p.Name != "crossed" {
		t.Errorf("%s: %v, %v", file, p, err)
	}
	_, err := Open("certficate")
	bad, ok := errors.AsType[*PlanError](err)
	if !ok || bad.Hint != `did you mean "certificate"?` {
		t.Errorf("certficate: %v, hint %q", err, bad.Hint)
	}
	if _, err := Open("no/such/plan.yaml"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestOverride(t *testing.T) {
	p, err := Open("combined")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Override(Overrides{Server: "embedded", Rounds: 3, Turn: time.Minute, Seed: 9}); err != nil {
		t.Fatal(err)
	}
	if p.Server != "embedded" || p.Rounds != 3 || p.Turn != time.Minute || p.Seed != 9 || p.Budget != 10*time.Minute {
		t.Errorf("got %s, %d rounds of %s, seed %d, budget %s", p.Server, p.Rounds, p.Turn, p.Seed, p.Budget)
	}
	if err := p.Override(Overrides{Server: "caddy"}); err == nil {
		t.Error("an unknown server was taken")
	}
}

// FuzzParse looks for plans that crash the reader or are accepted without cells.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/plans/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(crossed))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := Parse("fuzz.yaml", text)
		if err != nil {
			if _, ok := errors.AsType[*PlanError](err); !ok {
				t.Fatalf("not a PlanError: %v", err)
			}
			return
		}
		if cells, err := p.Cells(); err != nil || len(cells) == 0 {
			t.Fatalf("accepted, but has %d cells: %v", len(cells), err)
		}
	})
}
