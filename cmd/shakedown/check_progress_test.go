package main

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shakedown/internal/check"
)

// TestAsking: an address has a line from its first question on until it is done.
func TestAsking(t *testing.T) {
	one, two := netip.MustParseAddrPort("192.0.2.1:443"), netip.MustParseAddrPort("[2001:db8::1]:443")
	var got []string
	a := &asking{of: 2, show: func(lines []string, line string) { got = lines }}
	for _, step := range []struct {
		address  netip.AddrPort
		question string
		want     []string
	}{
		{one, "reach", []string{"192.0.2.1:443: reach", "0 of 2 addresses done"}},
		{two, "reach", []string{"192.0.2.1:443: reach", "[2001:db8::1]:443: reach", "0 of 2 addresses done"}},
		{one, "groups", []string{"192.0.2.1:443: groups", "[2001:db8::1]:443: reach", "0 of 2 addresses done"}},
		{one, check.Done, []string{"[2001:db8::1]:443: reach", "1 of 2 addresses done"}},
		{two, check.Done, []string{"2 of 2 addresses done"}},
		{one, "sessions of others", []string{"192.0.2.1:443: sessions of others", "1 of 2 addresses done"}},
		{one, check.Done, []string{"2 of 2 addresses done"}},
	} {
		a.say(step.address, step.question)
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", step.address, step.question, diff)
		}
	}
	a = &asking{of: 1, show: func(lines []string, line string) { got = lines }}
	a.say(one, "reach")
	if len(got) != 1 {
		t.Errorf("one address: %q", got)
	}
}
