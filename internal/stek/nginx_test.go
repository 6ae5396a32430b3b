package stek

import (
	"crypto/tls"
	"io"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"shakedown"
	"shakedown/internal/server"
)

// wallet keeps the sessions a client is given and offers one chosen.
type wallet struct {
	mu     sync.Mutex
	offer  *tls.ClientSessionState
	latest *tls.ClientSessionState
}

func (w *wallet) Get(string) (*tls.ClientSessionState, bool) { return w.offer, w.offer != nil }

func (w *wallet) Put(_ string, s *tls.ClientSessionState) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s != nil {
		w.latest = s
	}
}

// visit takes one handshake with a session to offer (nil: none), and returns whether it resumed, the session to offer next
// time and its ticket.
func visit(t *testing.T, s *server.Server, offer *tls.ClientSessionState) (bool, *tls.ClientSessionState, []byte) {
	t.Helper()
	resumed, session, err := tryVisit(s, offer)
	if err != nil {
		t.Fatal(err)
	}
	if session == nil { // haproxy 2.6 gives none on a resumed connection
		return resumed, nil, nil
	}
	ticket, _, err := session.ResumptionState()
	if err != nil {
		t.Fatal(err)
	}
	return resumed, session, ticket
}

func tryVisit(s *server.Server, offer *tls.ClientSessionState) (resumed bool, session *tls.ClientSessionState, err error) {
	w := &wallet{offer: offer}
	conn, err := tls.Dial("tcp", s.Addr.String(), &tls.Config{ServerName: s.Name, RootCAs: s.Roots, ClientSessionCache: w})
	if err != nil {
		return false, nil, err
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET / HTTP/1.0\r\n\r\n"); err != nil {
		return false, nil, err
	}
	if _, err := io.ReadAll(conn); err != nil {
		return false, nil, err
	}
	return conn.ConnectionState().DidResume, w.latest, nil
}

// TestRotationKeepsTickets runs two nginx with the keys of one directory and rotates: a ticket of either resumes on both
// through one rotation, and ends with its key.
func TestRotationKeepsTickets(t *testing.T) {
	driver := server.Nginx{}
	if err := driver.Available(); err != nil {
		t.Skipf("needs nginx: %v", err)
	}
	for _, size := range []int{SizeAES256, SizeAES128} {
		keys := Dir(filepath.Join(t.TempDir(), "keys"))
		set, err := NewSet(size, noon)
		if err != nil {
			t.Fatal(err)
		}
		if err := keys.Save(t.Context(), set); err != nil {
			t.Fatal(err)
		}
		spec := server.Spec{
			Versions: []shakedown.Version{shakedown.TLS12, shakedown.TLS13}, Tickets: server.TicketsKeyFile,
			TicketKeys:            []string{keys.Path("current"), keys.Path("next"), keys.Path("previous")},
			Certificates:          []server.KeyKind{server.P256},
			PKI:                   filepath.Join(t.TempDir(), "pki"),
			SessionTimeoutSeconds: 86400,
		}
		var hosts [2]*server.Server
		for i := range hosts {
			s, err := driver.Start(t.Context(), spec, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := s.Stop(); err != nil {
					t.Error(err)
				}
			})
			hosts[i] = s
		}
		rotate := func(force bool) {
			t.Helper()
			if set, err = set.Rotate(set.Rotated.Add(25*time.Hour), 24*time.Hour, force); err != nil {
				t.Fatal(err)
			}
			if err := keys.Save(t.Context(), set); err != nil {
				t.Fatal(err)
			}
			for _, s := range hosts {
				if err := s.Reload(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		_, session, ticket := visit(t, hosts[0], nil)
		if role := set.Which(ticket); role != "current" {
			t.Errorf("%d bytes: ticket made by %q", size, role)
		}
		for i, s := range hosts {
			if resumed, _, _ := visit(t, s, session); !resumed {
				t.Errorf("%d bytes: host %d does not resume", size, i)
			}
		}
		rotate(false)
		if role := set.Which(ticket); role != "previous" {
			t.Errorf("%d bytes: after a rotation the ticket's key is %q", size, role)
		}
		for i, s := range hosts {
			resumed, _, renewed := visit(t, s, session)
			if !resumed || set.Which(renewed) != "current" {
				t.Errorf("%d bytes: host %d after a rotation: resumed %t, new ticket by %q", size, i, resumed, set.Which(renewed))
			}
		}
		rotate(false)
		if resumed, _, _ := visit(t, hosts[1], session); resumed || set.Which(ticket) != "" {
			t.Errorf("%d bytes: the key is gone and the ticket still resumes", size)
		}
	}
}
