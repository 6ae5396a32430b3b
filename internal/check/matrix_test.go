package check

import (
	"bytes"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shakedown/internal/server"
)

func addresses(texts ...string) []netip.Addr {
	var list []netip.Addr
	for _, text := range texts {
		list = append(list, netip.MustParseAddr(text))
	}
	return list
}

func contains(text []byte, part string) bool { return bytes.Contains(text, []byte(part)) }

// TestGroups: three nginx, two of which share a key file.
func TestGroups(t *testing.T) {
	pki, key := t.TempDir(), filepath.Join(t.TempDir(), "ticket.key")
	if err := server.NewTicketKey(key); err != nil {
		t.Fatal(err)
	}
	shared := server.Spec{Workers: 2, PKI: pki, Tickets: server.TicketsKeyFile, TicketKeys: []string{key}}
	alone := server.Spec{Workers: 2, PKI: pki}
	a, b, c := startServer(t, server.Nginx{}, shared), startServer(t, server.Nginx{}, alone), startServer(t, server.Nginx{}, shared)
	r := check(t, Plan{}, a, b, c)
	for _, m := range []string{MechanismPSK, MechanismTicket} {
		g := groupsOf(r, m)
		want := [][]netip.AddrPort{{a.Addr, c.Addr}, {b.Addr}}
		if diff := cmp.Diff(want, g.Addresses, cmp.Comparer(func(x, y netip.AddrPort) bool { return x == y })); diff != "" {
			t.Errorf("%s: %s (want is -)", m, diff)
		}
	}
	expectFindings(t, r.Findings, []string{"groups"}, nil)
	for _, f := range r.Findings {
		if !strings.Contains(f.Evidence, "; ticket keys: {") {
			t.Errorf("the keys are not named: %s", f.Evidence)
		}
	}
	name := func(i int) string {
		k := r.Targets[i].Observation.tickets(MechanismPSK)
		if k == nil || len(k.Keys) != 1 {
			t.Fatalf("target %d: %+v", i, k)
		}
		return string(k.Keys[0].Name[:])
	}
	if name(0) != name(2) || name(0) == name(1) {
		t.Error("the names of the keys do not tell the same")
	}
	for i, s := range []*server.Server{a, b, c} {
		if n, most := r.Targets[i].Connections, DefaultMaxConnections; n > most {
			t.Errorf("%s: %d connections, at most %d are allowed", s.Addr, n, most)
		}
	}
}

// TestGroupsWithoutNames: Go's tickets name no key, only offering them tells.
func TestGroupsWithoutNames(t *testing.T) {
	pki, key := t.TempDir(), filepath.Join(t.TempDir(), "ticket.key")
	if err := server.NewTicketKey(key); err != nil {
		t.Fatal(err)
	}
	shared := server.Spec{PKI: pki, Tickets: server.TicketsKeyFile, TicketKeys: []string{key}}
	alone := server.Spec{PKI: pki}
	for _, test := range []struct {
		name   string
		specs  []server.Spec
		groups int
	}{{"same key", []server.Spec{shared, shared}, 1}, {"two keys", []server.Spec{alone, alone}, 2}} {
		t.Run(test.name, func(t *testing.T) {
			var servers []*server.Server
			for _, spec := range test.specs {
				servers = append(servers, startServer(t, server.Embedded{}, spec))
			}
			r := check(t, Plan{}, servers...)
			for _, m := range []string{MechanismPSK, MechanismTicket} {
				if g := groupsOf(r, m); len(g.Addresses) != test.groups {
					t.Errorf("%s: %s, want %d", m, g, test.groups)
				}
			}
			if hasFinding(r.Findings, "groups") != (test.groups > 1) {
				t.Errorf("findings: %v", r.Findings)
			}
		})
	}
}

func groupsOf(r *Report, mechanism string) Groups {
	i := slices.IndexFunc(r.Groups, func(g Groups) bool { return g.Mechanism == mechanism })
	if i < 0 {
		return Groups{}
	}
	return r.Groups[i]
}

func TestFindGroups(t *testing.T) {
	at := func(port uint16) netip.AddrPort { return netip.AddrPortFrom(netip.MustParseAddr("192.0.2.1"), port) }
	var probers []*prober
	for port := range uint16(5) {
		p := newProber(&Plan{}, &Target{}, at(port))
		p.seen.Resumption = []Resumption{{Mechanism: MechanismPSK, AtOnce: 6, Tried: 6, Resumed: 6, Verdict: "yes"}}
		probers = append(probers, p)
	}
	// 4 takes nothing of its own: nothing can be said of it.
	probers[4].seen.Resumption[0].Verdict = "no"
	rows := []Resumption{
		{Mechanism: MechanismPSK, Origin: at(0), Destination: at(2), Resumed: 1, Tried: 3}, // scattered, and still a group
		{Mechanism: MechanismPSK, Origin: at(2), Destination: at(3), Resumed: 3, Tried: 3}, // 0, 2 and 3 by way of 2
		{Mechanism: MechanismPSK, Origin: at(0), Destination: at(1), Resumed: 0, Tried: 3},
		{Mechanism: MechanismTicket, Origin: at(0), Destination: at(1), Resumed: 3, Tried: 3}, // another mechanism
	}
	got := findGroups(probers, rows)
	if len(got) != 1 || got[0].String() != "2 groups: {192.0.2.1:0, 192.0.2.1:2, 192.0.2.1:3} {192.0.2.1:1}" {
		t.Errorf("%v", got)
	}
	// Without the one try between the groups, there may be one.
	if got := findGroups(probers, slices.Delete(rows, 2, 3)); len(got) != 1 || got[0].Untried != 1 {
		t.Errorf("%+v", got)
	}
}

// TestUntriedIsNoDifference: a budget that ends before the pairs are tried says
// nothing of groups.
func TestUntriedIsNoDifference(t *testing.T) {
	r := &Report{Groups: []Groups{{Mechanism: MechanismPSK, Addresses: [][]netip.AddrPort{{targetAddress}, {targetAddress}}, Untried: 1}}}
	if got := fleetFindings(r); len(got) != 0 {
		t.Errorf("%v", got)
	}
}
