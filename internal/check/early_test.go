package check

import (
	"net/netip"
	"testing"

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
