package check

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"shakedown"
	"shakedown/internal/server"
)

// TestModernServer: all that is on is found, within the budget, as the server
// counts it.
func TestModernServer(t *testing.T) {
	suites := []shakedown.CipherSuite{shakedown.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, shakedown.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, shakedown.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256}
	s := startServer(t, server.Nginx{}, server.Spec{Workers: 2, Suites: suites, Cache: server.CacheShared, ALPN: []string{"h2", "http/1.1"}, SessionTimeoutSeconds: 86400})
	r := check(t, Plan{}, s)
	o := &r.Targets[0].Observation
	expect(t, o, map[string]shakedown.Verdict{
		"reach": shakedown.Yes, "tls13": shakedown.Yes, "tls12": shakedown.Yes, "legacy-versions": shakedown.No, "http": shakedown.Yes, "http2": shakedown.Yes,
		"static-rsa": shakedown.No, "dhe": shakedown.No, "weak-suites": shakedown.No, "retry": shakedown.No, "no-sni": shakedown.Yes, "wrong-sni": shakedown.Yes,
		"large-hello": shakedown.Yes, "early-data": shakedown.No, "client-certificate": shakedown.No, "compression": shakedown.No, "certificates": shakedown.Yes,
		"suites12": shakedown.Yes, "suites13": shakedown.Yes, "groups": shakedown.Yes, "schemes": shakedown.Yes, "time": shakedown.Yes,
	})
	for _, list := range o.Suites {
		if list.Version == shakedown.TLS12 && (!list.Complete || !slices.Equal(list.Found, suites)) {
			t.Errorf("suites of TLS 1.2: %v, want %v", list.Found, suites)
		}
	}
	if !slices.Contains(o.Groups, shakedown.X25519) || !slices.Contains(o.Groups, shakedown.Secp256r1) {
		t.Errorf("groups: %v", o.Groups)
	}
	if c := o.Certificates; len(c) != 1 || c[0].Verification != shakedown.VerificationOK || len(c[0].Versions) != 2 || c[0].FlightBytes <= c[0].Chain.Bytes {
		t.Errorf("certificates: %+v", c)
	}
	accounts(t, s, r)
	if r.Connections > DefaultMaxConnections {
		t.Errorf("%d connections", r.Connections)
	}
	for _, f := range r.Targets[0].Findings {
		if f.Severity != shakedown.SeverityInfo {
			t.Errorf("a finding about a server that is as it should be: %+v", f)
		}
	}
}

// TestOldServer: TLS 1.2 alone, static RSA alone.
func TestOldServer(t *testing.T) {
	s := startServer(t, server.Embedded{}, server.Spec{Versions: []shakedown.Version{shakedown.TLS12}, Suites: []shakedown.CipherSuite{shakedown.TLS_RSA_WITH_AES_128_CBC_SHA}})
	r := check(t, Plan{}, s)
	o := &r.Targets[0].Observation
	expect(t, o, map[string]shakedown.Verdict{
		"reach": shakedown.Yes, "tls13": shakedown.No, "tls12": shakedown.Yes, "static-rsa": shakedown.Yes, "resume-psk": shakedown.No, "resume-ticket": shakedown.Yes,
		"suites12": shakedown.Yes, "time": shakedown.Yes,
	})
	expectFindings(t, r.Targets[0].Findings, []string{"no-tls13", "static-rsa"}, []string{"weak-suites", "no-resumption"})
}

// TestLegacy: versions that cannot be completed are found by their hello.
func TestLegacy(t *testing.T) {
	s := startServer(t, server.Embedded{}, server.Spec{Versions: []shakedown.Version{shakedown.TLS10, shakedown.TLS11, shakedown.TLS12},
		Suites: []shakedown.CipherSuite{shakedown.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, shakedown.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA, shakedown.TLS_ECDHE_RSA_WITH_RC4_128_SHA}})
	r := check(t, Plan{}, s)
	o := &r.Targets[0].Observation
	expect(t, o, map[string]shakedown.Verdict{"legacy-versions": shakedown.Yes, "weak-suites": shakedown.Yes, "tls12": shakedown.Yes, "tls13": shakedown.No})
	if want := []shakedown.Version{shakedown.TLS12, shakedown.TLS11, shakedown.TLS10}; !slices.Equal(o.Versions, want) {
		t.Errorf("versions %v, want %v", o.Versions, want)
	}
	expectFindings(t, r.Targets[0].Findings, []string{"legacy-versions", "weak-suites"}, nil)
}

// TestPreference: whose order counts.
func TestPreference(t *testing.T) {
	for _, prefer := range []bool{true, false} {
		s := startServer(t, server.Nginx{}, server.Spec{PreferServer: prefer, Suites: []shakedown.CipherSuite{shakedown.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, shakedown.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256}})
		want := map[bool]shakedown.Verdict{true: shakedown.Yes, false: shakedown.No}[prefer]
		expect(t, &check(t, Plan{}, s).Targets[0].Observation, map[string]shakedown.Verdict{"preference": want})
	}
}

// TestDHE: the size of the prime is told.
func TestDHE(t *testing.T) {
	s := startServer(t, server.Nginx{}, server.Spec{DHBits: 2048})
	r := check(t, Plan{}, s)
	if a := r.Targets[0].Observation.answer("dhe"); a.Verdict != shakedown.Yes || !strings.Contains(a.Evidence, "2048 bits") {
		t.Errorf("dhe: %+v", a)
	}
	expectFindings(t, r.Targets[0].Findings, []string{"dhe"}, nil)
}

// TestRetry: a server without x25519 costs clients of today a round trip.
func TestRetry(t *testing.T) {
	s := startServer(t, server.Nginx{}, server.Spec{Groups: []shakedown.Group{shakedown.Secp384r1}, EarlyData: true})
	r := check(t, Plan{}, s)
	o := &r.Targets[0].Observation
	expect(t, o, map[string]shakedown.Verdict{"retry": shakedown.Yes, "early-data": shakedown.Yes})
	if !o.EarlyData.Retried || o.EarlyData.Accepted == 0 {
		t.Errorf("early data with the server's own group: %+v", o.EarlyData)
	}
	expectFindings(t, r.Targets[0].Findings, []string{"retry", "early-data-retry"}, nil)
	if o.Usual.RoundTrips != 2 {
		t.Errorf("%d round trips of the usual handshake", o.Usual.RoundTrips)
	}
}

// TestHybrid: Go's server has X25519MLKEM768, and takes x25519 at once as well.
func TestHybrid(t *testing.T) {
	s := startServer(t, server.Embedded{}, server.Spec{Certificates: []server.KeyKind{server.P256}})
	o := &check(t, Plan{}, s).Targets[0].Observation
	expect(t, o, map[string]shakedown.Verdict{"retry": shakedown.No, "groups": shakedown.Yes})
	if o.Usual.Group != shakedown.X25519MLKEM768 || !slices.Contains(o.Groups, shakedown.SecP384r1MLKEM1024) {
		t.Errorf("usual %s, groups %v", o.Usual.Group, o.Groups)
	}
}

// TestClientCertificate: a server that demands one tells nothing of resumption,
// and is not said to resume nothing.
func TestClientCertificate(t *testing.T) {
	t.Parallel()
	for _, d := range []server.Driver{server.Embedded{}, server.OpenSSL{}} {
		t.Run(d.Name(), func(t *testing.T) {
			t.Parallel()
			s := startServer(t, d, server.Spec{ClientAuth: server.ClientAuthRequire})
			r := check(t, Plan{}, s)
			o := &r.Targets[0].Observation
			expect(t, o, map[string]shakedown.Verdict{"client-certificate": shakedown.Yes, "resume-psk": shakedown.Inconclusive, "resume-ticket": shakedown.Inconclusive})
			expectFindings(t, r.Targets[0].Findings, nil, []string{"no-resumption"})
		})
	}
}

// TestBudget: no more connections than allowed, and what was not asked is open.
func TestBudget(t *testing.T) {
	s := startServer(t, server.Nginx{}, server.Spec{Workers: 2})
	r := check(t, Plan{MaxConnections: 30}, s)
	if c := accounts(t, s, r); c.Accepted > 30 {
		t.Errorf("the server accepted %d connections, 30 are allowed", c.Accepted)
	}
	for _, id := range []string{"suites12", "groups", "time", "large-hello"} {
		if a := r.Targets[0].Observation.answer(id); a.Verdict != shakedown.Inconclusive || !strings.Contains(a.Evidence, "budget") {
			t.Errorf("%s: %+v", id, a)
		}
	}
}

// negative are the questions whose answer no says something bad of a server.
var negative = []string{"reach", "tls13", "tls12", "resume-psk", "resume-ticket", "no-sni", "large-hello", "http"}

// TestRateLimit: a server, or a box before it, that closes every connection after
// the first few. Whatever was not seen by then is open, never no.
func TestRateLimit(t *testing.T) {
	t.Parallel()
	s := startServer(t, server.Embedded{}, server.Spec{Certificates: []server.KeyKind{server.P256}})
	for _, limit := range []int{1, 2, 5, 15, 30} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			t.Parallel()
			r := run(t, Plan{Targets: []Target{forward(t, limit, s)}, Roots: s.Roots})
			o := &r.Targets[0].Observation
			for _, id := range negative {
				if a := o.answer(id); a.Verdict == shakedown.No {
					t.Errorf("%s: no, with %s", id, a.Evidence)
				}
			}
			open := 0
			for _, a := range o.Answers {
				if a.Verdict == shakedown.Inconclusive {
					open++
				}
			}
			if open < 5 {
				t.Errorf("%d answers are inconclusive", open)
			}
			expectFindings(t, r.Targets[0].Findings, nil, []string{"no-resumption", "no-tls13", "state-per-worker"})
		})
	}
}

// TestNobodyThere: an address where nothing listens, and one that accepts and says
// nothing. The other target is asked all the same.
func TestNobodyThere(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	s := startServer(t, server.Embedded{}, server.Spec{Certificates: []server.KeyKind{server.P256}})
	plan := Plan{Timeout: 150 * time.Millisecond, MaxConnections: 20}
	for _, l := range []net.Listener{silent, closed} {
		target := targetOf(s)
		target.Port = l.Addr().(*net.TCPAddr).AddrPort().Port()
		plan.Targets = append(plan.Targets, target)
	}
	plan.Targets = append(plan.Targets, targetOf(s))
	r := run(t, plan)
	for i, want := range []string{"timed out while ServerHello was awaited", "the connection was refused"} {
		if a := r.Targets[i].Observation.answer("reach"); a.Verdict != shakedown.Inconclusive || !strings.Contains(a.Evidence, want) {
			t.Errorf("%+v, want %q", a, want)
		}
		if r.Targets[i].Reached() || len(r.Targets[i].Findings) > 0 {
			t.Errorf("target %d: reached %v, findings %v", i, r.Targets[i].Reached(), r.Targets[i].Findings)
		}
	}
	if !r.Targets[2].Reached() {
		t.Error("the one that is there was not reached")
	}
}

// TestPlainText: a server of another protocol is no server without TLS 1.3.
func TestPlainText(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Write([]byte("220 mail.test ESMTP\r\n")) //nolint:errcheck // the client finds out
			c.Close()
		}
	}()
	target := Target{Target: shakedown.Target{Host: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).AddrPort().Port(), Addresses: addresses("127.0.0.1")}}
	r := run(t, Plan{Targets: []Target{target}, MaxConnections: 12})
	for _, a := range r.Targets[0].Observation.Answers {
		if a.Verdict != shakedown.Inconclusive {
			t.Errorf("%s: %s, with %s", a.ID, a.Verdict, a.Evidence)
		}
	}
}

// TestInterrupted: what was not asked by then is open, and of several addresses
// nothing is claimed that was not tried.
func TestInterrupted(t *testing.T) {
	s := startServer(t, server.Embedded{}, server.Spec{Certificates: []server.KeyKind{server.P256}})
	for _, n := range []int{1, 2} {
		ctx, cancel := context.WithCancel(context.Background())
		var plan Plan
		for i := range n {
			plan.Targets = append(plan.Targets, at(s, relay(t, fmt.Sprintf("127.0.0.%d:0", i+1), s, nil).Port(), addresses(fmt.Sprintf("127.0.0.%d", i+1))...))
		}
		var reached sync.WaitGroup // that far, all of them
		reached.Add(n)
		var mu sync.Mutex
		done := map[netip.AddrPort]int{}
		plan.Progress = func(address netip.AddrPort, question string) {
			switch question {
			case "certificates":
				reached.Done()
				reached.Wait()
				cancel()
			case Done:
				mu.Lock()
				done[address]++
				mu.Unlock()
			}
		}
		r, err := Run(ctx, plan)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		for _, target := range r.Targets {
			expect(t, &target.Observation, map[string]shakedown.Verdict{"resume-psk": shakedown.Yes, "groups": shakedown.Inconclusive})
			if done[target.Address] != 1 {
				t.Errorf("%s is said to be done %d times", target.Address, done[target.Address])
			}
		}
		if len(r.Groups)+len(r.Resumption)+len(r.Findings) > 0 {
			t.Errorf("groups %v, pairs %v, findings %v of what was not tried", r.Groups, r.Resumption, r.Findings)
		}
	}
}

// TestRTT: every round trip takes as long as said.
func TestRTT(t *testing.T) {
	s := startServer(t, server.Embedded{}, server.Spec{Certificates: []server.KeyKind{server.P256}})
	const rtt = 20 * time.Millisecond
	plan := Plan{Targets: []Target{targetOf(s)}, RTT: rtt}.withDefaults()
	p := newProber(&plan, &plan.Targets[0], s.Addr)
	p.http = true
	for _, v := range []struct {
		version shakedown.Version
		trips   time.Duration // of TLS
	}{{shakedown.TLS13, 1}, {shakedown.TLS12, 2}} {
		o := p.once(context.Background(), ask{config: p.config(shakedown.ModeFull, v.version)})
		if o.kind() != taken {
			t.Fatal(o.word())
		}
		connect, _ := o.took(shakedown.PhaseStarted, shakedown.PhaseConnected)
		complete, _ := o.took(shakedown.PhaseConnected, shakedown.PhaseComplete)
		response, _ := o.took(shakedown.PhaseConnected, shakedown.PhaseResponse)
		if connect < rtt || complete < v.trips*rtt || response < (v.trips+1)*rtt {
			t.Errorf("%s: connected after %s, complete %s, response %s", v.version, connect, complete, response)
		}
	}
}

func TestPlanErrors(t *testing.T) {
	good := Target{Target: shakedown.Target{Host: "127.0.0.1", Addresses: addresses("127.0.0.1")}}
	gopher, quic := good, good
	gopher.StartTLS, quic.Transport = "gopher", shakedown.QUIC
	for _, test := range []struct {
		plan Plan
		want string
	}{
		{Plan{}, "no target"},
		{Plan{Targets: []Target{{}}}, "no address"},
		{Plan{Targets: []Target{gopher}}, "gopher"},
		{Plan{Targets: []Target{quic}}, "over TCP only"},
		{Plan{Targets: []Target{good}, MaxConnections: -1}, "too few"},
		{Plan{Targets: []Target{good}, Rate: -1}, "asks nothing"},
		{Plan{Targets: []Target{good}, RTT: time.Minute}, "does not fit"},
	} {
		if _, err := Run(context.Background(), test.plan); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, want %q", err, test.want)
		}
	}
}

// TestKind: only what the server itself says of an offer is a refusal.
func TestKind(t *testing.T) {
	alert := func(a shakedown.Alert) *outcome {
		return &outcome{Result: shakedown.Result{Failure: &shakedown.Failure{Class: shakedown.ClassAlert, Alert: &a}}}
	}
	class := func(c shakedown.Class) *outcome {
		return &outcome{Result: shakedown.Result{Failure: &shakedown.Failure{Class: c, Text: "x"}}}
	}
	for _, test := range []struct {
		o    *outcome
		want kind
	}{
		{&outcome{}, taken},
		{&outcome{err: ErrBudget}, untried},
		{&outcome{err: errors.New("bad configuration")}, untried},
		{alert(shakedown.AlertHandshakeFailure), refused},
		{alert(shakedown.AlertProtocolVersion), refused},
		{alert(shakedown.AlertUnrecognizedName), refused},
		{alert(shakedown.AlertInternalError), trouble},
		{alert(shakedown.AlertCertificateRequired), trouble},
		{class(shakedown.ClassIncompatible), refused},
		{class(shakedown.ClassNetwork), trouble},
		{class(shakedown.ClassTimeout), trouble},
		{class(shakedown.ClassPeer), trouble},
		{class(shakedown.ClassLocal), trouble},
		{class(shakedown.ClassOurs), trouble},
	} {
		if got := test.o.kind(); got != test.want {
			t.Errorf("%s: %d, want %d", test.o.word(), got, test.want)
		}
	}
}

// TestQuestions: every question is named once, and needs only earlier ones.
func TestQuestions(t *testing.T) {
	seen := map[string]bool{}
	for _, q := range Questions() {
		if seen[q.ID] {
			t.Errorf("%s is asked twice", q.ID)
		}
		for _, need := range q.Needs {
			if !seen[need] {
				t.Errorf("%s needs %s, which is not asked before", q.ID, need)
			}
		}
		seen[q.ID] = true
		if !strings.HasSuffix(q.Title, "?") && !strings.Contains(q.Title, "? (") {
			t.Errorf("%s: %q is no question", q.ID, q.Title)
		}
	}
}

// TestSomeQuestions puts a few questions alone, with what they need: nothing else
// is asked, and no finding is drawn.
func TestSomeQuestions(t *testing.T) {
	s := startServer(t, server.Nginx{}, server.Spec{Workers: 4, Cache: server.CacheBuiltin, Tickets: server.TicketsOff})
	r := run(t, Plan{Targets: []Target{targetOf(s)}, Questions: []string{"resume-session-id"}})
	o := &r.Targets[0].Observation
	var asked []string
	for _, a := range o.Answers {
		asked = append(asked, a.ID)
	}
	if want := []string{"tls12", "resume-session-id"}; !slices.Equal(asked, want) {
		t.Errorf("asked %v, want %v", asked, want)
	}
	expectState(t, o, MechanismSessionID, StatePerWorker)
	if n := len(r.Findings) + len(r.Targets[0].Findings); n > 0 {
		t.Errorf("%d findings from part of the answers", n)
	}
	if _, err := Run(t.Context(), Plan{Targets: []Target{targetOf(s)}, Questions: []string{"resume-sessions"}}); err == nil {
		t.Error("a question that there is not was put")
	}
}
