package check

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"shakedown"
	"shakedown/internal/server"
	"shakedown/internal/stats"
)

// resumedIn counts the resumed handshakes that a report claims for one address.
func resumedIn(o *Observation) int {
	n := 0
	for _, r := range o.Resumption {
		n += r.Resumed
	}
	if o.is("ticket-reuse", shakedown.Yes) {
		n++
	}
	return n + o.EarlyData.Tried
}

// TestPerWorkerCache: nginx with a cache in each of 4 workers. What is claimed
// must be what nginx logged, and the verdict that state is per worker.
func TestPerWorkerCache(t *testing.T) {
	s := startServer(t, server.Nginx{}, server.Spec{Workers: 4, Tickets: server.TicketsOff, Cache: server.CacheBuiltin})
	r := check(t, Plan{}, s)
	o := &r.Targets[0].Observation
	for _, m := range []string{MechanismPSK, MechanismSessionID} {
		row := expectState(t, o, m, StatePerWorker)
		if low, high := stats.WilsonClustered(int64(row.Resumed), int64(row.Tried), row.Effect); row.Effect < 2 || row.Low != low || row.High != high || row.High > 0.9 {
			t.Errorf("%s: interval %g to %g of %d in %d", m, row.Low, row.High, row.Resumed, row.Tried)
		}
	}
	expectState(t, o, MechanismTicket, StateNoneSent)
	expectFindings(t, r.Targets[0].Findings, []string{"state-per-worker"}, []string{"no-resumption"})
	if c := accounts(t, s, r); c.Resumed != int64(resumedIn(o)) {
		t.Errorf("%d resumed handshakes are claimed, nginx logged %d", resumedIn(o), c.Resumed)
	}
}

// TestPerWorkerRate makes enough tries at once for the rate itself: about one in
// four with four workers, and all that were counted as nginx logged them.
func TestPerWorkerRate(t *testing.T) {
	s := startServer(t, server.Nginx{}, server.Spec{Workers: 4, Tickets: server.TicketsOff, Cache: server.CacheBuiltin})
	plan := Plan{MaxConnections: 400, Rate: 1000}.withDefaults()
	target := targetOf(s)
	p := newProber(&plan, &target, s.Addr)
	p.http = true
	m := &mechanism{MechanismSessionID, shakedown.ModeSessionID, 24, false}
	m.fetch(context.Background(), p, 24)
	var row Resumption
	for range 8 {
		m.wave(context.Background(), p, &row, 24)
	}
	row.count()
	var sequence Resumption
	m.sequence(context.Background(), p, &sequence, 24)
	sequence.count()
	t.Logf("at once %s; in sequence %s", proportion(&row), proportion(&sequence))
	if row.Tried != 192 || row.Low > 0.45 || row.High < 0.1 {
		t.Errorf("at once: %s, with four workers", proportion(&row))
	}
	c, err := s.Connections(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if got := int64(row.Resumed + sequence.Resumed); c.Resumed != got {
		t.Errorf("counted %d resumed, nginx logged %d", got, c.Resumed)
	}
}

// TestScattered: four servers with keys of their own behind one address, in turn.
func TestScattered(t *testing.T) {
	pki := t.TempDir()
	var servers []*server.Server
	for range 4 {
		servers = append(servers, startServer(t, server.Embedded{}, server.Spec{PKI: pki, Certificates: []server.KeyKind{server.P256}}))
	}
	r := run(t, Plan{Targets: []Target{forward(t, 0, servers...)}, Roots: servers[0].Roots})
	o := &r.Targets[0].Observation
	for _, m := range []string{MechanismPSK, MechanismTicket} {
		if row := expectState(t, o, m, StatePerWorker); row.High < 0.1 || row.Low > 0.6 {
			t.Errorf("%s: %s, with four servers", m, proportion(row))
		}
	}
	expectFindings(t, r.Targets[0].Findings, []string{"state-per-worker"}, nil)
	if a := o.answer("ticket-reuse"); a.Verdict == shakedown.No {
		t.Errorf("a refusal is taken for single use: %s", a.Evidence)
	}
}

// TestSharedState: configurations of nginx whose workers share what they need.
func TestSharedState(t *testing.T) {
	tests := []struct {
		name     string
		spec     server.Spec
		states   map[string]State
		keyName  string
		stateful bool
		there    []string
	}{
		{"default", server.Spec{Workers: 4},
			map[string]State{MechanismPSK: StateAccepted, MechanismTicket: StateAccepted, MechanismSessionID: StateRefused}, KeyNameRepeated, false, nil},
		{"shared cache", server.Spec{Workers: 4, Cache: server.CacheShared},
			map[string]State{MechanismPSK: StateAccepted, MechanismTicket: StateAccepted, MechanismSessionID: StateAccepted}, KeyNameRepeated, false, nil},
		{"key file", server.Spec{Workers: 4, Tickets: server.TicketsKeyFile},
			map[string]State{MechanismPSK: StateAccepted, MechanismTicket: StateAccepted, MechanismSessionID: StateRefused}, KeyNameRepeated, false, nil},
		{"tickets off, shared cache", server.Spec{Workers: 4, Tickets: server.TicketsOff, Cache: server.CacheShared},
			map[string]State{MechanismPSK: StateAccepted, MechanismTicket: StateNoneSent, MechanismSessionID: StateAccepted}, "", true, []string{"stateful-tickets"}},
		{"tickets off, no cache", server.Spec{Workers: 4, Tickets: server.TicketsOff, Cache: server.CacheNone},
			map[string]State{MechanismPSK: StateRefused, MechanismTicket: StateNoneSent, MechanismSessionID: StateRefused}, "", true, []string{"no-resumption"}},
		{"cache off", server.Spec{Workers: 2, Cache: server.CacheOff},
			map[string]State{MechanismPSK: StateAccepted, MechanismTicket: StateAccepted, MechanismSessionID: StateNoneSent}, KeyNameRepeated, false, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := startServer(t, server.Nginx{}, test.spec)
			r := check(t, Plan{}, s)
			o := &r.Targets[0].Observation
			for m, want := range test.states {
				row := expectState(t, o, m, want)
				if want == StateAccepted && (row.Resumed != row.Tried || row.Low >= 1 || row.Low < 0.4) {
					t.Errorf("%s: %s: everything resumed, and the interval has to say how sure that is", m, proportion(row))
				}
			}
			expectFindings(t, r.Targets[0].Findings, test.there, []string{"state-per-worker"})
			if k := o.tickets(MechanismPSK); k == nil || k.KeyName != test.keyName || k.Stateful != test.stateful || test.keyName == KeyNameRepeated && len(k.Keys) != 1 {
				t.Errorf("TLS 1.3 tickets: %+v", k)
			}
			if c := accounts(t, s, r); c.Resumed != int64(resumedIn(o)) {
				t.Errorf("%d resumed handshakes are claimed, nginx logged %d", resumedIn(o), c.Resumed)
			}
		})
	}
}

// TestKeyNameIsOfFile: nginx's tickets begin with the first bytes of its key file.
func TestKeyNameIsOfFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ticket.key")
	if err := server.NewTicketKey(file); err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := startServer(t, server.Nginx{}, server.Spec{Workers: 2, Tickets: server.TicketsKeyFile, TicketKeys: []string{file}})
	r := check(t, Plan{}, s)
	for _, m := range []string{MechanismPSK, MechanismTicket} {
		k := r.Targets[0].Observation.tickets(m)
		if k == nil || len(k.Keys) != 1 || string(k.Keys[0].Name[:]) != string(key[:16]) {
			t.Errorf("%s: %+v, want the name %x", m, k, key[:16])
		}
	}
}

// TestGo: each ticket begins otherwise, and is resumed; there are no session IDs.
func TestGo(t *testing.T) {
	s := startServer(t, server.Embedded{}, server.Spec{Workers: 2})
	r := check(t, Plan{}, s)
	o := &r.Targets[0].Observation
	expectState(t, o, MechanismPSK, StateAccepted)
	expectState(t, o, MechanismTicket, StateAccepted)
	expectState(t, o, MechanismSessionID, StateNoneSent)
	for _, m := range []string{MechanismPSK, MechanismTicket} {
		if k := o.tickets(m); k == nil || k.KeyName != KeyNameRandom || k.Stateful || len(k.Keys) != 0 {
			t.Errorf("%s: %+v, want no key name", m, k)
		}
	}
	if c := accounts(t, s, r); c.Resumed != int64(resumedIn(o)) {
		t.Errorf("%d resumed handshakes are claimed, the server counted %d", resumedIn(o), c.Resumed)
	}
}

// TestNoTickets: a Go server without tickets resumes nothing.
func TestNoTickets(t *testing.T) {
	t.Parallel()
	s := startServer(t, server.Embedded{}, server.Spec{Tickets: server.TicketsOff})
	r := check(t, Plan{}, s)
	o := &r.Targets[0].Observation
	for _, m := range []string{MechanismPSK, MechanismTicket, MechanismSessionID} {
		expectState(t, o, m, StateNoneSent)
	}
	expectFindings(t, r.Targets[0].Findings, []string{"no-resumption"}, nil)
}

// TestWorkersWithKeys: a process whose workers have keys of their own. Which of
// them accepts is the scheduler's affair, so the rate is not asserted.
func TestWorkersWithKeys(t *testing.T) {
	s := startServer(t, server.Embedded{}, server.Spec{Workers: 4, Tickets: server.TicketsPerWorker, Reuseport: true})
	r := check(t, Plan{}, s)
	expectState(t, &r.Targets[0].Observation, MechanismTicket, StatePerWorker)
	expectState(t, &r.Targets[0].Observation, MechanismPSK, StatePerWorker)
}

// TestOneAtATime: openssl s_server serves a connection when the one before it is
// closed. What is open at once comes to trouble, which says nothing of resumption.
func TestOneAtATime(t *testing.T) {
	t.Parallel()
	s := startServer(t, server.OpenSSL{}, server.Spec{Tickets: server.TicketsOff})
	r := check(t, Plan{}, s)
	o := &r.Targets[0].Observation
	expectState(t, o, MechanismPSK, StateAccepted)
	expectState(t, o, MechanismSessionID, StateAccepted)
	expectState(t, o, MechanismTicket, StateNoneSent)
	expectFindings(t, r.Targets[0].Findings, nil, []string{"state-per-worker"})
}

// TestSources: sessions are offered from each of several addresses.
func TestSources(t *testing.T) {
	s := startServer(t, server.Nginx{}, server.Spec{Cache: server.CacheShared})
	plan := Plan{Sources: addresses("127.0.0.2", "127.0.0.3")}
	r := check(t, plan, s)
	expectState(t, &r.Targets[0].Observation, MechanismPSK, StateAccepted)
	text, err := os.ReadFile(filepath.Join(s.Dir, "error.log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range plan.Sources {
		if !contains(text, "client: "+source.String()) {
			t.Errorf("nginx saw no connection from %s", source)
		}
	}
}

// TestEveryServer asks each server that can be had here, with its defaults. What is
// claimed of resumption must be what the server itself counted.
func TestEveryServer(t *testing.T) {
	t.Parallel()
	for _, d := range server.Drivers() {
		t.Run(d.Name(), func(t *testing.T) {
			t.Parallel()
			s := startServer(t, d, server.Spec{})
			r := check(t, Plan{}, s)
			o := &r.Targets[0].Observation
			for _, m := range []string{MechanismPSK, MechanismTicket} {
				expectState(t, o, m, StateAccepted)
			}
			expect(t, o, map[string]shakedown.Verdict{"reach": shakedown.Yes, "tls13": shakedown.Yes, "tls12": shakedown.Yes, "suites13": shakedown.Yes, "time": shakedown.Yes})
			c := accounts(t, s, r)
			if c.Resumed == server.NotTold {
				t.Skipf("%s does not count resumed handshakes", d.Name())
			}
			if c.Resumed != int64(resumedIn(o)) {
				t.Errorf("%d resumed handshakes are claimed, the server counted %d", resumedIn(o), c.Resumed)
			}
		})
	}
}
