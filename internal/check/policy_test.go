package check

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"shakedown"
)

func TestReadPolicy(t *testing.T) {
	for _, name := range []string{"modern", "intermediate"} {
		p, err := ReadPolicy(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.validate(); err != nil {
			t.Error(err)
		}
	}
	for _, test := range []struct{ text, want string }{
		{`{"answers": {"tls13": "yes"}, "min_resumption": 0.5}`, ""},
		{`{"answers": {"tls14": "yes"}}`, `there is no question "tls14"`},
		{`{"answers": {"tls13": "maybe"}}`, `yes or no, not "maybe"`},
		{`{"severity": "fatal"}`, `unknown severity "fatal"`},
		{`{"min_resumption": 2}`, "not between 0 and 1"},
		{`{"answer": {}}`, `unknown field "answer"`},
		{`{`, "unexpected EOF"},
	} {
		file := filepath.Join(t.TempDir(), "policy.json")
		if err := os.WriteFile(file, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := ReadPolicy(file)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.text, err, test.want)
		}
	}
	if _, err := ReadPolicy("modren"); err == nil || !strings.Contains(err.Error(), "neither modern nor intermediate") {
		t.Error(err)
	}
}

func TestJudge(t *testing.T) {
	report := func(v shakedown.Verdict, resumed, tried int, findings ...shakedown.Finding) *Report {
		row := Resumption{Mechanism: MechanismPSK, AtOnce: 12, Tried: tried, Resumed: resumed}
		row.count()
		return &Report{Targets: []TargetReport{{Address: targetAddress, Findings: findings, Observation: Observation{
			Answers: []shakedown.Answer{{ID: "tls13", Verdict: v}}, Resumption: []Resumption{row},
		}}}}
	}
	policy := Policy{Name: "p", Answers: map[string]shakedown.Verdict{"tls13": shakedown.Yes}, Findings: []string{"groups"}, Severity: shakedown.SeverityError, MinResumption: 0.9}
	for _, test := range []struct {
		name string
		r    *Report
		want []string // rules
	}{
		{"met", report(shakedown.Yes, 12, 12), nil},
		{"answer", report(shakedown.No, 12, 12), []string{"tls13"}},
		{"not seen is not met", report(shakedown.Inconclusive, 12, 12), []string{"tls13"}},
		{"rate below", report(shakedown.Yes, 3, 12), []string{"min_resumption"}},
		{"rate within the interval", report(shakedown.Yes, 11, 12), nil},
		{"warning", report(shakedown.Yes, 12, 12, shakedown.Finding{ID: "x", Severity: shakedown.SeverityWarning}), nil},
		{"error", report(shakedown.Yes, 12, 12, shakedown.Finding{ID: "x", Severity: shakedown.SeverityError}), []string{"x"}},
		{"named finding", report(shakedown.Yes, 12, 12, shakedown.Finding{ID: "groups", Severity: shakedown.SeverityInfo}), []string{"groups"}},
	} {
		var got []string
		for _, b := range policy.judge(test.r) {
			got = append(got, b.Rule)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s (want is -)", test.name, diff)
		}
	}
}

// TestKeyNames: names are kept from run to run, and their changes are told.
func TestKeyNames(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys.json")
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	see := func(day int, names ...byte) *prober {
		k, err := ReadKeyNames(file)
		if err != nil {
			t.Fatal(err)
		}
		p := newProber(&Plan{}, &Target{}, targetAddress)
		at := start.AddDate(0, 0, day)
		tickets := Tickets{Mechanism: MechanismPSK, KeyName: KeyNameRepeated}
		for _, n := range names {
			tickets.Keys = append(tickets.Keys, KeyName{Name: shakedown.TicketName{n}, FirstSeen: at, LastSeen: at.Add(time.Second)})
		}
		p.seen.Tickets = []Tickets{tickets}
		k.note(p)
		if err := k.Write(file); err != nil {
			t.Fatal(err)
		}
		return p
	}
	if p := see(0, 1); p.seen.Tickets[0].Rotation != "" {
		t.Errorf("after one run: %s", p.seen.Tickets[0].Rotation)
	}
	p := see(9, 1)
	if got := p.seen.Tickets[0].Keys[0].FirstSeen; !got.Equal(start) {
		t.Errorf("first seen %s, want %s", got, start)
	}
	expectFindings(t, findKeys(p, start), []string{"old-ticket-key"}, nil)
	see(10, 2)
	p = see(20, 3)
	if want := "3 keys over 480h0m0s: rotated about every 240h0m0s as far as these runs can tell"; p.seen.Tickets[0].Rotation != want {
		t.Errorf("%q, want %q", p.seen.Tickets[0].Rotation, want)
	}
	expectFindings(t, findKeys(p, start), nil, []string{"old-ticket-key"})

	// Two keys in one run are two nodes, not a rotation.
	file = filepath.Join(t.TempDir(), "nodes.json")
	if p := see(0, 1, 2); p.seen.Tickets[0].Rotation != "" {
		t.Errorf("two keys at once: %s", p.seen.Tickets[0].Rotation)
	}
	for _, text := range []string{"{", `{}`, `{"schema": "other"}`} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadKeyNames(file); err == nil {
			t.Errorf("%s is taken for a file of key names", text)
		}
	}
}
