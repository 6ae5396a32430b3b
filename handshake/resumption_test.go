package handshake_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"shakedown"
	"shakedown/handshake"
	"shakedown/internal/server"
	"shakedown/internal/wire"
)

// startIn starts a server in dir, or skips the test by the server's name.
func startIn(t *testing.T, d server.Driver, spec server.Spec, dir string) *counted {
	t.Helper()
	if err := d.Available(); err != nil {
		t.Skipf("%s is not installed: %v", d.Name(), err)
	}
	s, err := d.Start(context.Background(), spec, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Stop() }) //nolint:errcheck // tests that restart look at it
	return &counted{Server: s}
}

// resumable are the modes with what the server has to be for them.
var resumable = []struct {
	mode  shakedown.Mode
	cache server.Cache
}{
	{shakedown.ModeSessionID, server.CacheShared}, {shakedown.ModeTicket, server.CacheDefault},
	{shakedown.ModePSK, server.CacheDefault}, {shakedown.ModeEarlyData, server.CacheDefault},
}

// offer gets a session from s and offers it again after change did its work, to
// the server that change returns.
func offer(t *testing.T, s *counted, mode shakedown.Mode, change func(*handshake.Session, *handshake.Config) *counted) exchanged {
	t.Helper()
	cfg := s.config(interopRow{}, handshake.Config{Mode: mode}, shakedown.WorkFull)
	session, err := s.fetch(t.Context(), cfg)
	if err != nil {
		t.Fatalf("fetching a session: %v", err)
	}
	s = change(session, &cfg)
	e, err := s.exchange(t.Context(), &cfg, session)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := e.Phases.At(shakedown.PhaseResponse); !ok {
		t.Errorf("the request was not answered")
	}
	return e
}

// want holds what was observed against mode and what became of early data.
func (e exchanged) want(t *testing.T, mode shakedown.Mode, early shakedown.EarlyData) {
	t.Helper()
	if e.Observed.Mode != mode || e.Observed.EarlyData != early {
		t.Errorf("observed mode %s with early data %s, want %s with %s", e.Observed.Mode, e.Observed.EarlyData, mode, early)
	}
	differs := len(e.Asked.Mismatch(&e.Observed)) > 0
	if asked := e.Asked.Mode; differs != (asked != mode) {
		t.Errorf("asked for %s, observed %s: mismatch told %v", asked, mode, differs)
	}
}

// TestResumptionAfter offers sessions to nginx after what usually happens to
// servers.
func TestResumptionAfter(t *testing.T) {
	full, none, rejected := shakedown.ModeFull, shakedown.EarlyDataNone, shakedown.EarlyDataRejected
	for _, r := range resumable {
		spec := server.Spec{Certificates: []server.KeyKind{server.P256}, Cache: r.cache, EarlyData: r.mode == shakedown.ModeEarlyData}
		refused, taken := none, none // what becomes of early data
		if spec.EarlyData {
			refused, taken = rejected, shakedown.EarlyDataAccepted
		}
		t.Run(string(r.mode), func(t *testing.T) {
			t.Run("restart", func(t *testing.T) {
				dir := t.TempDir()
				s := startIn(t, server.Nginx{}, spec, dir)
				offer(t, s, r.mode, func(*handshake.Session, *handshake.Config) *counted {
					s.Stop()
					return startIn(t, server.Nginx{}, spec, dir)
				}).want(t, full, refused)
			})
			t.Run("expiry", func(t *testing.T) {
				spec := spec
				spec.SessionTimeoutSeconds = 1
				s := startIn(t, server.Nginx{}, spec, t.TempDir())
				offer(t, s, r.mode, func(session *handshake.Session, cfg *handshake.Config) *counted {
					time.Sleep(2100 * time.Millisecond) // the server's clock has whole seconds
					client, err := handshake.NewClient(cfg)
					if err != nil {
						t.Fatal(err)
					}
					if err := client.CanOffer(session); r.mode != shakedown.ModeSessionID && (err == nil || !strings.Contains(err.Error(), "expired")) {
						t.Errorf("a session with a lifetime of %s may be offered after 2 s: %v", session.Lifetime, err)
					}
					session.Lifetime = time.Hour // as a client would that does not look
					return s
				}).want(t, full, refused)
			})
			if r.mode == shakedown.ModeSessionID {
				return // the rest is about ticket keys
			}
			keyed := spec
			keyed.Tickets = server.TicketsKeyFile
			t.Run("restart with the same key", func(t *testing.T) {
				dir := t.TempDir()
				s := startIn(t, server.Nginx{}, keyed, dir)
				offer(t, s, r.mode, func(*handshake.Session, *handshake.Config) *counted {
					s.Stop()
					return startIn(t, server.Nginx{}, keyed, dir)
				}).want(t, r.mode, taken)
			})
			t.Run("key change", func(t *testing.T) {
				first, second := ticketKey(t), ticketKey(t)
				rotated := keyed
				rotated.TicketKeys = []string{first, second}
				s := startIn(t, server.Nginx{}, rotated, t.TempDir())
				swap := func() {
					swapFiles(t, first, second)
					if err := s.Reload(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				offer(t, s, r.mode, func(*handshake.Session, *handshake.Config) *counted { swap(); return s }).want(t, r.mode, taken)
				offer(t, s, r.mode, func(*handshake.Session, *handshake.Config) *counted {
					for _, key := range rotated.TicketKeys {
						if err := server.NewTicketKey(key); err != nil {
							t.Fatal(err)
						}
					}
					swap()
					return s
				}).want(t, full, refused)
			})
		})
	}
}

func ticketKey(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ticket.key")
	if err := server.NewTicketKey(file); err != nil {
		t.Fatal(err)
	}
	return file
}

func swapFiles(t *testing.T, a, b string) {
	t.Helper()
	for _, move := range [][2]string{{a, a + ".old"}, {b, a}, {a + ".old", b}} {
		if err := os.Rename(move[0], move[1]); err != nil {
			t.Fatal(err)
		}
	}
}

// TestEarlyDataRetried offers early data to a server that takes the ticket and
// no longer early data: the request is sent again, and answered.
func TestEarlyDataRetried(t *testing.T) {
	spec := server.Spec{Certificates: []server.KeyKind{server.P256}, EarlyData: true, Tickets: server.TicketsKeyFile}
	dir := t.TempDir()
	s := startIn(t, server.Nginx{}, spec, dir)
	offer(t, s, shakedown.ModeEarlyData, func(*handshake.Session, *handshake.Config) *counted {
		s.Stop()
		spec.EarlyData = false
		return startIn(t, server.Nginx{}, spec, dir)
	}).want(t, shakedown.ModePSK, shakedown.EarlyDataRejected)
}

// TestResumptionUnderAnotherName offers a session under another name of the
// certificate; nginx takes it, and the server's count agrees.
func TestResumptionUnderAnotherName(t *testing.T) {
	for _, mode := range []shakedown.Mode{shakedown.ModeTicket, shakedown.ModePSK} {
		s := startIn(t, server.Nginx{}, server.Spec{Certificates: []server.KeyKind{server.P256}}, t.TempDir())
		e := offer(t, s, mode, func(session *handshake.Session, cfg *handshake.Config) *counted {
			if session.ServerName != s.Name {
				t.Errorf("the session is of %q, not %q", session.ServerName, s.Name)
			}
			cfg.ServerName = "api." + server.DefaultName
			return s
		})
		e.want(t, mode, shakedown.EarlyDataNone)
		if e.Asked.ServerName != "api."+server.DefaultName {
			t.Errorf("asked under the name %q", e.Asked.ServerName)
		}
		s.Stop()
		names := int64(1)
		if mode == shakedown.ModeTicket {
			names = 0 // OpenSSL tells the name of the session there
		}
		if c, err := s.Connections(t.Context()); err != nil || c.Full != 1 || c.Resumed != 1 || c.Names["api."+server.DefaultName] != names {
			t.Errorf("the server says: %v by name %v (%v)", c, c.Names, err)
		}
	}
}

// TestSavedSession writes sessions as JSON, reads them back, and resumes.
func TestSavedSession(t *testing.T) {
	for _, r := range resumable {
		spec := server.Spec{Certificates: []server.KeyKind{server.P256}, Cache: r.cache, EarlyData: r.mode == shakedown.ModeEarlyData}
		s := startIn(t, server.Nginx{}, spec, t.TempDir())
		early := shakedown.EarlyDataNone
		if spec.EarlyData {
			early = shakedown.EarlyDataAccepted
		}
		offer(t, s, r.mode, func(session *handshake.Session, _ *handshake.Config) *counted {
			text, err := json.Marshal(session)
			if err != nil {
				t.Fatal(err)
			}
			*session = handshake.Session{}
			if err := json.Unmarshal(text, session); err != nil {
				t.Fatal(err)
			}
			return s
		}).want(t, r.mode, early)
	}
}

// TestTickets counts tickets: two of OpenSSL, each good for a resumption, one of
// Go, none where they are switched off.
func TestTickets(t *testing.T) {
	spec := server.Spec{Certificates: []server.KeyKind{server.P256}, Versions: versions(v13)}
	for _, c := range []struct {
		driver server.Driver
		off    bool
		want   int
	}{{server.Nginx{}, false, 2}, {server.Embedded{}, false, 1}, {server.Embedded{}, true, 0}} {
		t.Run(c.driver.Name(), func(t *testing.T) {
			spec := spec
			if c.off {
				spec.Tickets = server.TicketsOff
			}
			s := startIn(t, c.driver, spec, t.TempDir())
			var sessions []*handshake.Session
			cfg := s.config(interopRow{}, handshake.Config{Mode: shakedown.ModePSK}, shakedown.WorkFull)
			conn, r := dial(t, s.Server, cfg, handshake.Recorder{Session: func(got *handshake.Session) { sessions = append(sessions, got) }}, nil)
			conn.Close()
			if r.Failure != nil || len(sessions) != c.want || len(r.Observed.Tickets) != c.want {
				t.Fatalf("%d sessions of %d tickets, want %d: %v", len(sessions), len(r.Observed.Tickets), c.want, r.Failure)
			}
			for i, session := range sessions {
				if i > 0 && slices.Equal(session.Ticket, sessions[0].Ticket) {
					t.Error("one ticket twice")
				}
				e, err := s.exchange(t.Context(), &cfg, session)
				if err != nil {
					t.Fatal(err)
				}
				e.want(t, shakedown.ModePSK, shakedown.EarlyDataNone)
			}
			if _, err := s.fetch(t.Context(), cfg); errors.Is(err, handshake.ErrNoSession) != c.off {
				t.Errorf("fetching a session: %v", err)
			}
		})
	}
	t.Run("TLS 1.2 without", func(t *testing.T) {
		s := startIn(t, server.Nginx{}, server.Spec{Tickets: server.TicketsOff, Cache: server.CacheOff}, t.TempDir())
		for _, mode := range []shakedown.Mode{shakedown.ModeTicket, shakedown.ModeSessionID} {
			cfg := s.config(interopRow{}, handshake.Config{Mode: mode}, shakedown.WorkFull)
			if session, err := s.fetch(t.Context(), cfg); !errors.Is(err, handshake.ErrNoSession) {
				t.Errorf("mode %s: session %v, error %v", mode, session, err)
			}
		}
	})
}

// TestLateTickets has tickets come behind data, in pieces, and one by one.
func TestLateTickets(t *testing.T) {
	cfg := config13()
	cfg.Complete, cfg.Request = shakedown.CompleteTicket, earlyRequest
	ticket := func(name string) []byte {
		return (&wire.NewSessionTicketTLS13{Lifetime: 60, AgeAdd: 7, Nonce: []byte(name), Ticket: []byte("ticket " + name)}).Append(nil)
	}
	p := play13(t, cfg, nil, script13{})
	if p.done || p.machine.Session() != nil {
		t.Fatal("done before the ticket that was to complete it")
	}
	p.feed(p.seal(wire.ApplicationData, []byte("hello")))
	first := ticket("1")
	p.feed(p.seal(wire.Handshake, first[:9]))
	if p.done {
		t.Fatal("done with half a ticket")
	}
	p.feed(p.seal(wire.Handshake, append(first[9:], ticket("2")...)))
	p.feed(p.seal(wire.ApplicationData, []byte("world")))
	p.feed(p.seal(wire.Handshake, ticket("3")))
	if n := len(p.machine.Observed().Tickets); !p.done || n != 3 || string(p.data) != "helloworld" || p.told(shakedown.PhaseTicket) != 1 {
		t.Fatalf("done %v, %d tickets, data %q: %v", p.done, n, p.data, p.machine.Failure())
	}
	session := p.machine.Session()
	want := p.keys.resumption.PSK(nil, []byte("3"))
	if string(session.Ticket) != "ticket 3" || session.AgeAdd != 7 || session.Lifetime != time.Minute || !slices.Equal(session.Secret, want) {
		t.Errorf("session %+v", session)
	}
}
