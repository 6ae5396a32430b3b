package check

import (
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"shakedown"
	"shakedown/internal/server"
)

var targetAddress = netip.MustParseAddrPort("192.0.2.1:443")

// TestEarlyData: what is accepted, and what nginx accepts a second time.
func TestEarlyData(t *testing.T) {
	for _, test := range []struct {
		name   string
		spec   server.Spec
		allow  bool
		early  shakedown.Verdict
		replay shakedown.Verdict
	}{
		{"off", server.Spec{}, true, shakedown.No, shakedown.No},
		{"on", server.Spec{EarlyData: true}, false, shakedown.Yes, shakedown.Inconclusive},
		{"on, replayed", server.Spec{EarlyData: true}, true, shakedown.Yes, shakedown.Yes},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := startServer(t, server.Nginx{}, test.spec)
			r := check(t, Plan{AllowReplay: test.allow}, s)
			o := &r.Targets[0].Observation
			expect(t, o, map[string]shakedown.Verdict{"early-data": test.early, "early-data-replay": test.replay})
			accepted := int64(o.EarlyData.Accepted)
			if n := o.EarlyData.Replayed; n != nil {
				accepted += 1 + int64(*n)
			}
			// nginx tells only those whose request it served before the client's
			// Finished came.
			if c := accounts(t, s, r); c.EarlyData > accepted {
				t.Errorf("%d handshakes with early data are claimed, nginx logged %d", accepted, c.EarlyData)
			}
		})
	}
}

// TestTooEarly: nginx that accepts early data and answers 425 to what came in it
// (RFC 8470). It is no replay then.
func TestTooEarly(t *testing.T) {
	t.Parallel()
	s := startServer(t, server.Nginx{}, server.Spec{EarlyData: true})
	conf := filepath.Join(filepath.Dir(s.Log), "nginx.conf")
	text, err := os.ReadFile(conf)
	if err != nil {
		t.Fatal(err)
	}
	const plain = "location / {"
	if strings.Count(string(text), plain+" return 200") != 1 {
		t.Fatalf("no place for the line in\n%s", text)
	}
	lines := strings.Replace(string(text), plain, plain+` if ($ssl_early_data) { return 425 "early\n"; }`, 1)
	if err := os.WriteFile(conf, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Reload(context.Background()); err != nil {
		t.Fatal(err)
	}
	// nginx takes a request for early until the client's Finished is there: it
	// comes a long round trip later.
	r := check(t, Plan{AllowReplay: true, RTT: 50 * time.Millisecond}, s)
	o := &r.Targets[0].Observation
	expect(t, o, map[string]shakedown.Verdict{"http": shakedown.Yes, "early-data": shakedown.Yes, "early-data-replay": shakedown.No})
	for id, want := range map[string]string{"early-data": "1 of 1 try; answered 425 (Too Early)", "early-data-replay": "accepted again, but answered 425 (Too Early)"} {
		if a := o.answer(id); !strings.Contains(a.Evidence, want) {
			t.Errorf("%s: %q, want %q", id, a.Evidence, want)
		}
	}
	if e := o.EarlyData; e.Status != 425 || e.Accepted != 1 || e.Replayed == nil || *e.Replayed != 1 {
		t.Errorf("%+v", e)
	}
	if o.HTTP == nil || o.HTTP.Status != 200 {
		t.Errorf("the request after a handshake: %+v", o.HTTP)
	}
	expectFindings(t, r.Targets[0].Findings, []string{"early-data-too-early"}, []string{"early-data-replay", "early-data"})
}
