package load_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"shakedown"
	"shakedown/handshake"
	"shakedown/internal/link"
	"shakedown/internal/link/linktest"
	"shakedown/internal/load"
	"shakedown/internal/server"
)

// eventLoops asks for a link that every build refuses, and reports whether the
// reason is another than that this build has no links at all.
func eventLoops(t *testing.T) bool {
	t.Helper()
	p := load.Plan{Targets: []netip.AddrPort{netip.MustParseAddrPort("[::1]:1")}, Connections: 1, Count: 1, Link: &link.Config{}}
	_, err := load.Run(t.Context(), p, nil)
	if err == nil {
		t.Fatal("a link to an IPv6 address is not refused")
	}
	return !strings.Contains(err.Error(), "a link needs the event loops of Linux")
}

// TestLinkInitialWindow shows that a server flight of more than ten segments
// costs a handshake one more round trip, and one of fewer does not. Nothing on
// the link is early; that all handshakes are late by half an RTT is left to
// happen.
func TestLinkInitialWindow(t *testing.T) {
	if !eventLoops(t) {
		t.Skip("this build has no event loops, which a link needs: run it on Linux without the tag portable")
	}
	if !linktest.Isolated(t) {
		return
	}
	const rtt = 200 * time.Millisecond
	names := []string{"demo.test"}
	for i := range 380 {
		names = append(names, fmt.Sprintf("a-name-that-makes-the-certificate-longer-%04d.test", i)) // 20 KB
	}
	for _, c := range []struct {
		what  string
		names []string
		trips time.Duration
	}{{"a short chain", names[:1], 1}, {"a chain of 20 KB", names, 2}} {
		s := startServer(t, server.Embedded{}, server.Spec{Names: c.names, Certificates: []server.KeyKind{server.P256}})
		p := plan(s)
		p.Count, p.Connections, p.Link = 12, 4, &link.Config{RTT: rtt}
		p.Config.Versions = []shakedown.Version{shakedown.TLS13}
		sum, err := load.Run(t.Context(), p, nil)
		if err != nil {
			t.Fatal(err)
		}
		if sum.Handshakes != p.Count || sum.Failures != 0 {
			t.Fatalf("%s: %d handshakes, %d failures: %+v", c.what, sum.Handshakes, sum.Failures, sum.Failed)
		}
		t.Logf("%s: connect %s, handshake %s at the least; %+v; limited by %v", c.what, sum.Connect.Min, sum.Handshake.Min, *sum.Link, sum.Limit)
		if least := sum.Connect.Min; least < rtt || least > rtt+rtt/2 {
			t.Errorf("%s: connecting took %s at the least, want one round trip of %s", c.what, least, rtt)
		}
		if least := sum.Handshake.Min; least < c.trips*rtt || least > c.trips*rtt+rtt/2 {
			t.Errorf("%s: the handshake took %s at the least, want %d round trips of %s", c.what, least, c.trips, rtt)
		}
		if sum.Link.ToClient.Packets < 3*sum.Handshakes || sum.Link.ToServer.Packets < 3*sum.Handshakes || sum.Link.Late.N == 0 {
			t.Errorf("%s: counted %+v", c.what, *sum.Link)
		}
		if sum.Limit.By != "link" {
			t.Errorf("%s: limited by %+v", c.what, sum.Limit)
		}
	}
}

// TestLinkPriming has the sessions to resume fetched over the link as well, and
// losses repaired.
func TestLinkPriming(t *testing.T) {
	if !eventLoops(t) {
		t.Skip("this build has no event loops, which a link needs: run it on Linux without the tag portable")
	}
	if !linktest.Isolated(t) {
		return
	}
	s := startServer(t, server.Embedded{}, server.Spec{})
	p := plan(s)
	p.Config.Mode = shakedown.ModePSK
	p.Count = 150
	p.Link = &link.Config{RTT: 2 * time.Millisecond, Rate: 100e6, Loss: 2, Seed: 1}
	sum, err := load.Run(t.Context(), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	if sum.Handshakes != p.Count || sum.Failures != 0 || sum.Mismatches() != 0 {
		t.Errorf("%d handshakes, %d failures, %d not as asked: %+v %+v", sum.Handshakes, sum.Failures, sum.Mismatches(), sum.Failed, sum.Observed)
	}
	if sum.Priming.Handshakes != int64(p.Connections) || sum.Connect.Min < p.Link.RTT {
		t.Errorf("priming %+v, connect %+v: not over the link", sum.Priming, sum.Connect)
	}
	if sum.Link.ToClient.Lost == 0 || sum.Link.ToServer.Lost == 0 || sum.Link.Used <= 0 {
		t.Errorf("lost nothing of 2%%: %+v", *sum.Link)
	}
}

// TestLinkRefusals asks for a link together with what it excludes.
func TestLinkRefusals(t *testing.T) {
	if !eventLoops(t) {
		return // this build refused that link, and said why
	}
	server := netip.MustParseAddrPort("127.0.0.1:1")
	for want, change := range map[string]func(*load.Plan){
		"it excludes holding flights back (--rtt)":      func(p *load.Plan) { p.RTT = time.Millisecond },
		"leave out the source addresses (--source)":     func(p *load.Plan) { p.Sources = []netip.Addr{server.Addr()} },
		"link: loss: 100% is not from 0% to below 100%": func(p *load.Plan) { p.Link.Loss = 100 },
		"link: 203.0.113.1 is not an address of this machine": func(p *load.Plan) {
			p.Targets = []netip.AddrPort{netip.MustParseAddrPort("203.0.113.1:443")}
		},
	} {
		p := load.Plan{
			Targets: []netip.AddrPort{server}, Connections: 1, Count: 1, Link: &link.Config{RTT: time.Millisecond},
			Config: handshake.Config{Work: shakedown.WorkMinimal},
		}
		change(&p)
		if _, err := load.Run(t.Context(), p, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
