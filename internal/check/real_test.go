package check

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"shakedown"
	"shakedown/internal/server"
)

// TestOtherServers: what servers other than nginx are told to do, and what is seen
// of it.
func TestOtherServers(t *testing.T) {
	t.Parallel()
	number := func(n int) *int { return &n }
	for _, test := range []struct {
		name   string
		driver server.Driver
		spec   server.Spec
		states map[string]State
		per    int // tickets of a full handshake of TLS 1.3; 0: any
		there  []string
	}{
		{"haproxy, tickets", server.HAProxy{}, server.Spec{Workers: 2},
			map[string]State{MechanismPSK: StateAccepted, MechanismTicket: StateAccepted, MechanismSessionID: StateAccepted}, 2, nil},
		{"haproxy, no tickets", server.HAProxy{}, server.Spec{Workers: 2, Tickets: server.TicketsOff},
			map[string]State{MechanismPSK: StateAccepted, MechanismTicket: StateNoneSent, MechanismSessionID: StateAccepted}, 0, []string{"stateful-tickets"}},
		{"haproxy, key file", server.HAProxy{}, server.Spec{Workers: 2, Tickets: server.TicketsKeyFile},
			map[string]State{MechanismPSK: StateAccepted, MechanismTicket: StateAccepted}, 2, nil},
		{"gnutls", server.GnuTLS{}, server.Spec{},
			map[string]State{MechanismPSK: StateAccepted, MechanismTicket: StateAccepted, MechanismSessionID: StateAccepted}, 0, nil},
		{"gnutls, no tickets", server.GnuTLS{}, server.Spec{Tickets: server.TicketsOff, Cache: server.CacheOff},
			map[string]State{MechanismPSK: StateNoneSent, MechanismTicket: StateNoneSent}, 0, []string{"no-resumption"}},
		{"openssl, -no_ticket", server.OpenSSL{}, server.Spec{Tickets: server.TicketsOff},
			map[string]State{MechanismPSK: StateAccepted, MechanismTicket: StateNoneSent, MechanismSessionID: StateAccepted}, 0, []string{"stateful-tickets"}},
		{"openssl, -num_tickets 0", server.OpenSSL{}, server.Spec{NumTickets: number(0)},
			map[string]State{MechanismPSK: StateNoneSent, MechanismTicket: StateAccepted}, 0, []string{"no-resumption"}},
		{"openssl, -num_tickets 5", server.OpenSSL{}, server.Spec{NumTickets: number(5)},
			map[string]State{MechanismPSK: StateAccepted, MechanismTicket: StateAccepted}, 5, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := startServer(t, test.driver, test.spec)
			r := check(t, Plan{}, s)
			o := &r.Targets[0].Observation
			for m, want := range test.states {
				expectState(t, o, m, want)
			}
			if k := o.tickets(MechanismPSK); test.per > 0 && (k == nil || k.PerFull != test.per) {
				t.Errorf("tickets of TLS 1.3: %+v, want %d", k, test.per)
			}
			expectFindings(t, r.Targets[0].Findings, test.there, []string{"state-per-worker"})
		})
	}
}

// program starts a program that ends with the test, and waits until it listens.
func program(t *testing.T, where netip.AddrPort, install, name string, args ...string) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		path, err = exec.LookPath("/usr/sbin/" + name)
	}
	if err != nil {
		t.Skipf("%s is needed: install %s", name, install)
	}
	cmd := exec.Command(path, args...)
	var words strings.Builder
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &words, &words, time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM) //nolint:errcheck // it may have ended
		select {
		case <-ended:
		case <-time.After(5 * time.Second):
			cmd.Process.Kill() //nolint:errcheck // likewise
			t.Errorf("%s did not end when told to", name)
		}
	})
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if c, err := net.Dial("tcp", where.String()); err == nil {
			c.Close()
			return
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("%s ended at once: %v\n%s", name, err, words.String())
		default:
		}
		if time.Now().After(end) {
			t.Fatalf("%s does not listen", name)
		}
	}
}

// freePort returns a port of 127.0.0.1 that is free at this moment.
func freePort(t *testing.T) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).AddrPort()
}

// write writes a file into a directory of the test.
func write(t *testing.T, name, format string, args ...any) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, fmt.Appendf(nil, format, args...), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestBalancer: HAProxy deals connections to four nginx in turn, with the same
// ticket keys and with their own.
func TestBalancer(t *testing.T) {
	key := filepath.Join(t.TempDir(), "ticket.key")
	if err := server.NewTicketKey(key); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		spec server.Spec
		want State
	}{
		{"same keys", server.Spec{Tickets: server.TicketsKeyFile, TicketKeys: []string{key}}, StateAccepted},
		{"own keys", server.Spec{}, StatePerWorker},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.spec.PKI = t.TempDir()
			where := freePort(t)
			text := "defaults\n    mode tcp\n    timeout connect 5s\n    timeout client 30s\n    timeout server 30s\nlisten scatter\n    bind " + where.String() + "\n    balance roundrobin\n"
			var first *server.Server
			for i := range 4 {
				s := startServer(t, server.Nginx{}, test.spec)
				if first == nil {
					first = s
				}
				text += fmt.Sprintf("    server s%d %s\n", i, s.Addr)
			}
			program(t, where, "haproxy", "haproxy", "-db", "-f", write(t, "haproxy.cfg", "%s", text))
			r := run(t, Plan{Targets: []Target{at(first, where.Port(), where.Addr())}, Roots: first.Roots})
			o := &r.Targets[0].Observation
			for _, m := range []string{MechanismPSK, MechanismTicket} {
				row := expectState(t, o, m, test.want)
				// Of 1 in 4. In turn is no chance: the interval is for that, and wide.
				if test.want == StatePerWorker && (row.Low > 0.25 || row.High < 0.25) {
					t.Errorf("%s: %s, with four servers", m, proportion(row))
				}
			}
			keys := 0
			if k := o.tickets(MechanismTicket); k != nil {
				keys = len(k.Keys)
			}
			if want := map[State]int{StateAccepted: 1, StatePerWorker: 4}[test.want]; keys != want {
				t.Errorf("%d ticket keys, want %d", keys, want)
			}
			if test.want == StatePerWorker {
				expectFindings(t, r.Targets[0].Findings, []string{"state-per-worker"}, nil)
			} else {
				expectFindings(t, r.Targets[0].Findings, nil, []string{"state-per-worker"})
			}
		})
	}
}

// TestApache: mod_ssl with and without a session cache that its workers share, and
// with and without tickets. What is claimed is what it logged.
func TestApache(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		spec   server.Spec
		states map[string]State
		there  []string
	}{
		{"cache and tickets", server.Spec{Cache: server.CacheShared},
			map[string]State{MechanismPSK: StateAccepted, MechanismTicket: StateAccepted, MechanismSessionID: StateAccepted}, nil},
		{"cache", server.Spec{Cache: server.CacheShared, Tickets: server.TicketsOff},
			map[string]State{MechanismPSK: StateAccepted, MechanismTicket: StateNoneSent, MechanismSessionID: StateAccepted}, []string{"stateful-tickets"}},
		{"tickets", server.Spec{Cache: server.CacheOff},
			map[string]State{MechanismPSK: StateAccepted, MechanismTicket: StateAccepted, MechanismSessionID: StateNoneSent}, nil},
		// Tickets that name sessions which nobody keeps.
		{"neither", server.Spec{Cache: server.CacheOff, Tickets: server.TicketsOff},
			map[string]State{MechanismPSK: StateRefused, MechanismTicket: StateNoneSent, MechanismSessionID: StateNoneSent}, []string{"no-resumption"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.spec.Workers = 2
			s := startServer(t, server.Apache{}, test.spec)
			r := check(t, Plan{}, s)
			o := &r.Targets[0].Observation
			expect(t, o, map[string]shakedown.Verdict{"reach": shakedown.Yes, "http": shakedown.Yes, "tls13": shakedown.Yes, "tls12": shakedown.Yes})
			for m, want := range test.states {
				expectState(t, o, m, want)
			}
			not := []string{"state-per-worker"}
			if test.there == nil || test.there[0] != "no-resumption" {
				not = append(not, "no-resumption")
			}
			expectFindings(t, r.Targets[0].Findings, test.there, not)
			if c := accounts(t, s, r); c.Resumed != int64(resumedIn(o)) {
				t.Errorf("%d resumed handshakes are claimed, Apache logged %d", resumedIn(o), c.Resumed)
			}
		})
	}
}

// TestRotation: nginx gets another key file between two runs with one state file;
// the former key goes on to decrypt.
func TestRotation(t *testing.T) {
	dir := t.TempDir()
	current, previous := filepath.Join(dir, "current.key"), filepath.Join(dir, "previous.key")
	for _, file := range []string{current, previous} {
		if err := server.NewTicketKey(file); err != nil {
			t.Fatal(err)
		}
	}
	s := startServer(t, server.Nginx{}, server.Spec{Workers: 2, Tickets: server.TicketsKeyFile, TicketKeys: []string{current, previous}})
	file := filepath.Join(dir, "state.json")
	look := func() Tickets {
		names, err := ReadKeyNames(file)
		if err != nil {
			t.Fatal(err)
		}
		// As if all that is known were of yesterday.
		for _, uses := range names.Servers {
			for i := range uses {
				uses[i].FirstSeen, uses[i].LastSeen = uses[i].FirstSeen.AddDate(0, 0, -1), uses[i].LastSeen.AddDate(0, 0, -1)
			}
		}
		r := check(t, Plan{KeyNames: names, MaxConnections: 60}, s)
		expectState(t, &r.Targets[0].Observation, MechanismPSK, StateAccepted)
		if err := names.Write(file); err != nil {
			t.Fatal(err)
		}
		return *r.Targets[0].Observation.tickets(MechanismPSK)
	}
	before := look()
	if len(before.Keys) != 1 || before.Rotation != "" {
		t.Fatalf("%+v", before)
	}
	text, err := os.ReadFile(current)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(previous, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := server.NewTicketKey(current); err != nil {
		t.Fatal(err)
	}
	if err := s.Reload(context.Background()); err != nil {
		t.Fatal(err)
	}
	after := look()
	if len(after.Keys) != 1 || after.Keys[0].Name == before.Keys[0].Name {
		t.Errorf("the same key: %+v", after.Keys)
	}
	if !strings.Contains(after.Rotation, "2 keys over 24h0m0s: rotated about every 24h0m0s") {
		t.Errorf("rotation: %q", after.Rotation)
	}
}
