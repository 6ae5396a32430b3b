package check

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"shakedown"
	"shakedown/internal/server"
)

// relay listens on an address and pipes every connection to a server, after
// whatever greet says. It ends with the test.
func relay(t *testing.T, address string, to *server.Server, greet func(net.Conn) error) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Skipf("an address of this machine is needed: %v", err)
	}
	var pipes sync.WaitGroup
	pipes.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			pipes.Go(func() {
				defer in.Close()
				if greet != nil && greet(in) != nil {
					return
				}
				out, err := net.Dial("tcp", to.Addr.String())
				if err != nil {
					return
				}
				defer out.Close()
				pipes.Go(func() { io.Copy(out, in); out.Close() }) //nolint:errcheck // either end may close
				io.Copy(in, out)                                   //nolint:errcheck // likewise
			})
		}
	})
	t.Cleanup(func() { l.Close(); pipes.Wait() })
	return l.Addr().(*net.TCPAddr).AddrPort()
}

// serve answers requests by 404 over TLS of a configuration that no driver makes.
func serve(t *testing.T, c *tls.Config) netip.AddrPort {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", c)
	if err != nil {
		t.Fatal(err)
	}
	s := http.Server{Handler: http.NotFoundHandler(), ErrorLog: log.New(io.Discard, "", 0)}
	go s.Serve(l)                   //nolint:errcheck // it ends with Close
	t.Cleanup(func() { s.Close() }) //nolint:errcheck // likewise
	return l.Addr().(*net.TCPAddr).AddrPort()
}

// at returns the server as a target at other addresses of one port.
func at(s *server.Server, port uint16, addresses ...netip.Addr) Target {
	target := targetOf(s)
	target.Port, target.Addresses = port, addresses
	return target
}

// TestIPv6: an address in brackets is asked like any other.
func TestIPv6(t *testing.T) {
	s := startServer(t, server.Embedded{}, server.Spec{Certificates: []server.KeyKind{server.P256}})
	where := relay(t, "[::1]:0", s, nil)
	r := run(t, Plan{Targets: []Target{at(s, where.Port(), where.Addr())}, Roots: s.Roots})
	if got := r.Targets[0].Address.String(); got != where.String() || !strings.HasPrefix(got, "[::1]:") {
		t.Errorf("asked %s, want %s", got, where)
	}
	o := &r.Targets[0].Observation
	expect(t, o, map[string]shakedown.Verdict{"reach": shakedown.Yes, "tls12": shakedown.Yes, "http": shakedown.Yes, "certificates": shakedown.Yes})
	expectState(t, o, MechanismPSK, StateAccepted)
	accounts(t, s, r)
}

// TestManyAddresses: a name with twelve addresses and two sets of ticket keys. There
// is no room for every pair, and the groups are found all the same.
func TestManyAddresses(t *testing.T) {
	pki := t.TempDir()
	spec := server.Spec{PKI: pki, Certificates: []server.KeyKind{server.P256}}
	servers := []*server.Server{startServer(t, server.Embedded{}, spec), startServer(t, server.Embedded{}, spec)}
	const addresses = 12
	var all []netip.Addr
	var want [2][]netip.AddrPort
	port := uint16(0)
	for i := range addresses {
		a := netip.AddrFrom4([4]byte{127, 0, 0, byte(10 + i)})
		where := relay(t, netip.AddrPortFrom(a, port).String(), servers[i%2], nil)
		port = where.Port()
		all, want[i%2] = append(all, a), append(want[i%2], where)
	}
	const budget = 60
	r := run(t, Plan{Targets: []Target{at(servers[0], port, all...)}, Roots: servers[0].Roots, MaxConnections: budget})
	for _, m := range []string{MechanismPSK, MechanismTicket} {
		g := groupsOf(r, m)
		if g.Untried != 0 || fmt.Sprint(g.Addresses) != fmt.Sprint(want[:]) {
			t.Errorf("%s: %s, want %v", m, g, want)
		}
	}
	expectFindings(t, r.Findings, []string{"groups"}, nil)
	for _, target := range r.Targets {
		if target.Connections > budget {
			t.Errorf("%s: %d connections", target.Address, target.Connections)
		}
	}
}

// TestNames: two names of one address, whose servers have ticket keys of their
// own, or the same. Sessions of one are offered under the other.
func TestNames(t *testing.T) {
	names := []string{"one.test", "two.test"}
	base := startServer(t, server.Embedded{}, server.Spec{Certificates: []server.KeyKind{server.P256}, Names: names})
	pair, err := base.Certificates[0].TLS()
	if err != nil {
		t.Fatal(err)
	}
	for _, shared := range []bool{false, true} {
		t.Run(fmt.Sprintf("shared=%v", shared), func(t *testing.T) {
			configs := map[string]*tls.Config{}
			for i, name := range names {
				c := &tls.Config{Certificates: []tls.Certificate{pair}}
				key := [32]byte{1}
				if !shared {
					key[0] += byte(i)
				}
				c.SetSessionTicketKeys([][32]byte{key})
				configs[name] = c
			}
			where := serve(t, &tls.Config{
				Certificates:       []tls.Certificate{pair},
				GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) { return configs[hello.ServerName], nil },
			})
			var plan Plan
			for _, name := range names {
				target := at(base, where.Port(), where.Addr())
				target.ServerName, target.Config.ServerName = name, name
				plan.Targets = append(plan.Targets, target)
			}
			r := run(t, plan)
			made := 0
			for _, target := range r.Targets {
				made += target.Connections
			}
			if made > DefaultMaxConnections {
				t.Errorf("%d connections to one address", made)
			}
			want := map[bool]int{true: 1, false: 2}[shared]
			for _, m := range []string{MechanismPSK, MechanismTicket} {
				if g := groupsOf(r, m); len(g.Addresses) != want || g.Untried > 0 || !strings.Contains(g.String(), "as two.test") {
					t.Errorf("%s: %s, want %d", m, g, want)
				}
			}
			if hasFinding(r.Findings, "groups-names") == shared || hasFinding(r.Findings, "groups") {
				t.Errorf("findings: %v", r.Findings)
			}
		})
	}
}

// smtp speaks the server's part of what comes before TLS (RFC 3207, section 4).
func smtp(c net.Conn) error {
	lines := bufio.NewReader(c)
	for _, answer := range []string{"220 mail.test ESMTP\r\n", "250-mail.test\r\n250 STARTTLS\r\n", "220 go ahead\r\n"} {
		if _, err := io.WriteString(c, answer); err != nil {
			return err
		}
		if strings.HasPrefix(answer, "220 go") {
			return nil
		}
		if _, err := lines.ReadString('\n'); err != nil {
			return err
		}
	}
	return nil
}

// TestStartTLS: TLS behind SMTP is asked as any other, without requests.
func TestStartTLS(t *testing.T) {
	s := startServer(t, server.Nginx{}, server.Spec{Workers: 2})
	where := relay(t, "127.0.0.1:0", s, smtp)
	target := at(s, where.Port(), where.Addr())
	target.StartTLS, target.Request = "smtp", nil
	r := run(t, Plan{Targets: []Target{target}, Roots: s.Roots})
	o := &r.Targets[0].Observation
	expect(t, o, map[string]shakedown.Verdict{
		"reach": shakedown.Yes, "tls13": shakedown.Yes, "tls12": shakedown.Yes, "http": shakedown.Inconclusive, "certificates": shakedown.Yes,
		"suites13": shakedown.Yes, "groups": shakedown.Yes, "time": shakedown.Yes,
	})
	for _, m := range []string{MechanismPSK, MechanismTicket} {
		expectState(t, o, m, StateAccepted)
	}
	accounts(t, s, r)
}

// TestNoCommonProtocol: a server that ends handshakes that offer it no application
// protocol it knows (RFC 7301, section 3.2), as mail servers do, is asked without.
func TestNoCommonProtocol(t *testing.T) {
	s := startServer(t, server.Embedded{}, server.Spec{Certificates: []server.KeyKind{server.P256}})
	pair, err := s.Certificates[0].TLS()
	if err != nil {
		t.Fatal(err)
	}
	where := serve(t, &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"smtp"}})
	target := at(s, where.Port(), where.Addr())
	target.Request = nil
	r := run(t, Plan{Targets: []Target{target}, Roots: s.Roots})
	expect(t, &r.Targets[0].Observation, map[string]shakedown.Verdict{"reach": shakedown.Yes, "tls13": shakedown.Yes, "http2": shakedown.No})
	expectState(t, &r.Targets[0].Observation, MechanismPSK, StateAccepted)
}

// TestNoStartTLS: a server that has no TLS to offer is not said to lack a version.
func TestNoStartTLS(t *testing.T) {
	t.Parallel()
	s := startServer(t, server.Embedded{}, server.Spec{Certificates: []server.KeyKind{server.P256}})
	where := relay(t, "127.0.0.1:0", s, func(c net.Conn) error {
		lines := bufio.NewReader(c)
		io.WriteString(c, "220 mail.test ESMTP\r\n") //nolint:errcheck // the client finds out
		lines.ReadString('\n')                       //nolint:errcheck // likewise
		io.WriteString(c, "250 mail.test\r\n")       //nolint:errcheck // likewise
		lines.ReadString('\n')                       //nolint:errcheck // likewise
		return io.EOF
	})
	target := at(s, where.Port(), where.Addr())
	target.StartTLS, target.Request = "smtp", nil
	r := run(t, Plan{Targets: []Target{target}, MaxConnections: 20})
	if a := r.Targets[0].Observation.answer("reach"); a.Verdict != shakedown.Inconclusive || !strings.Contains(a.Evidence, "starttls smtp") {
		t.Errorf("%+v", a)
	}
	for _, a := range r.Targets[0].Observation.Answers {
		if a.Verdict != shakedown.Inconclusive {
			t.Errorf("%s: %s, with %s", a.ID, a.Verdict, a.Evidence)
		}
	}
}

// TestReplayElsewhere: two nginx with one ticket key each take early data that the
// other took, since neither knows what the other has seen.
func TestReplayElsewhere(t *testing.T) {
	pki, key := t.TempDir(), filepath.Join(t.TempDir(), "ticket.key")
	if err := server.NewTicketKey(key); err != nil {
		t.Fatal(err)
	}
	spec := server.Spec{PKI: pki, EarlyData: true, Tickets: server.TicketsKeyFile, TicketKeys: []string{key}}
	a, b := startServer(t, server.Nginx{}, spec), startServer(t, server.Nginx{}, spec)
	if r := check(t, Plan{MaxConnections: 60}, a, b); len(r.Replays) != 0 {
		t.Errorf("replayed without being allowed to: %+v", r.Replays)
	}
	r := check(t, Plan{AllowReplay: true}, a, b)
	if len(r.Replays) != 1 || r.Replays[0].Accepted != shakedown.Yes || r.Replays[0].Status != 200 || r.Replays[0].Destination != b.Addr {
		t.Errorf("%+v", r.Replays)
	}
	expectFindings(t, r.Findings, []string{"early-data-replay-elsewhere"}, []string{"groups"})
	for _, s := range r.Targets {
		if s.Connections > DefaultMaxConnections {
			t.Errorf("%s: %d connections", s.Address, s.Connections)
		}
	}
}

// TestFlight: a chain over TCP's initial window, behind a way that lets ten
// segments pass and then waits for a round trip, as TCP does. The effect is
// measured; without the wait there is none.
func TestFlight(t *testing.T) {
	t.Parallel()
	const rtt = 15 * time.Millisecond
	var names []string
	for i := range 450 {
		names = append(names, fmt.Sprintf("host-%03d.with-a-rather-long-name.test", i))
	}
	large := startServer(t, server.Embedded{}, server.Spec{Certificates: []server.KeyKind{server.P256}, Names: names})
	small := startServer(t, server.Embedded{}, server.Spec{Certificates: []server.KeyKind{server.P256}})
	for _, test := range []struct {
		name   string
		server *server.Server
		window int // bytes; 0: all
		there  string
		cost   string
	}{
		{"over the window", large, initialWindow, "flight", "1."},
		{"over the window, which is larger here", large, 0, "flight", "0."},
		{"in a small window", small, 1460, "flight-waits", ""},
		{"in the window", small, initialWindow, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			where := relay(t, "127.0.0.1:0", test.server, nil)
			if test.window > 0 {
				where = slowStart(t, test.server, test.window, rtt)
			}
			r := run(t, Plan{Targets: []Target{at(test.server, where.Port(), where.Addr())}, RTT: rtt, MaxConnections: 60})
			list := r.Targets[0].Findings
			for _, id := range []string{"flight", "flight-waits"} {
				if hasFinding(list, id) != (id == test.there) {
					t.Errorf("finding %s: %v", id, hasFinding(list, id))
				}
			}
			for _, f := range list {
				if _, measured, _ := strings.Cut(f.Cost, "), "); f.ID == "flight" && !strings.HasPrefix(measured, test.cost) {
					t.Errorf("cost %q, want %q round trips", f.Cost, test.cost)
				}
			}
		})
	}
}

// slowStart is a way to a server that lets pass so many bytes of its first flight
// and then waits for rtt.
func slowStart(t *testing.T, to *server.Server, window int, rtt time.Duration) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var pipes sync.WaitGroup
	pipes.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to.Addr.String())
			if err != nil {
				in.Close()
				continue
			}
			pipes.Go(func() { io.Copy(out, in); out.Close() }) //nolint:errcheck // either end may close
			pipes.Go(func() {
				defer in.Close()
				if n, _ := io.CopyN(in, out, int64(window)); n == int64(window) { //nolint:errcheck // likewise
					// The round trip that Plan.RTT adds is over only when the client
					// reads the first part: the rest comes another one later.
					time.Sleep(2*rtt + rtt/4)
				}
				io.Copy(in, out) //nolint:errcheck // likewise
			})
		}
	})
	t.Cleanup(func() { l.Close(); pipes.Wait() })
	return l.Addr().(*net.TCPAddr).AddrPort()
}
