package check

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shakedown"
	"shakedown/internal/server"
)

// TestDiff: a server is asked, changed, and asked again; the first report has been
// written and read meanwhile.
func TestDiff(t *testing.T) {
	spec := server.Spec{Certificates: []server.KeyKind{server.P256}}
	s := startServer(t, server.Nginx{}, spec)
	first := check(t, Plan{}, s)
	text, err := json.Marshal(first)
	if err != nil {
		t.Fatal(err)
	}
	var earlier Report
	if err := json.Unmarshal(text, &earlier); err != nil {
		t.Fatal(err)
	}
	if changes := first.Diff(&earlier); len(changes) != 0 {
		t.Errorf("a report differs from itself: %v", changes)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	spec.Port, spec.Versions = s.Addr.Port(), []shakedown.Version{shakedown.TLS12}
	again, err := server.Nginx{}.Start(t.Context(), spec, s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Stop() //nolint:errcheck // its context ends it
	changed := map[string]Change{}
	for _, c := range check(t, Plan{}, again).Diff(&earlier) {
		changed[c.What] = c
	}
	want := Change{s.Addr, "tls13", "yes", "no"}
	if diff := cmp.Diff(want, changed["tls13"], cmp.Comparer(func(a, b Change) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
	for _, what := range []string{"resume-psk", "ticket keys of ticket", "findings"} {
		if _, ok := changed[what]; !ok {
			t.Errorf("no change of %s among %v", what, changed)
		}
	}
	for _, what := range []string{"certificates", "tls12"} {
		if c, ok := changed[what]; ok {
			t.Errorf("%v", c)
		}
	}
}
