package stek

import (
	"crypto/tls"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"shakedown"
	"shakedown/internal/server"
)

// TestRotationUnderLoad rotates twice on two nginx, one host reloading after the other, while clients go back and forth
// between them with their latest session: none falls back to a full handshake, also while the hosts are a rotation apart.
// Then every key is exchanged at once, and all do.
func TestRotationUnderLoad(t *testing.T) {
	driver := server.Nginx{}
	if err := driver.Available(); err != nil {
		t.Skipf("needs nginx: %v", err)
	}
	keys := Dir(filepath.Join(t.TempDir(), "keys"))
	set, err := NewSet(SizeAES256, noon)
	if err != nil {
		t.Fatal(err)
	}
	var hosts [2]*server.Server
	dirs := [2]Dir{keys, Dir(filepath.Join(t.TempDir(), "copy"))} // each host has files of its own
	pki := filepath.Join(t.TempDir(), "pki")
	for i := range hosts {
		if err := dirs[i].Save(t.Context(), set); err != nil {
			t.Fatal(err)
		}
		hosts[i], err = driver.Start(t.Context(), server.Spec{
			Versions: []shakedown.Version{shakedown.TLS13}, Tickets: server.TicketsKeyFile, Certificates: []server.KeyKind{server.P256}, PKI: pki,
			TicketKeys:            []string{dirs[i].Path("current"), dirs[i].Path("next"), dirs[i].Path("previous")},
			SessionTimeoutSeconds: 86400,
		}, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := hosts[i].Stop(); err != nil {
				t.Error(err)
			}
		})
	}

	const clients = 4
	var visits [clients]atomic.Int64
	var full atomic.Int64
	stop := make(chan struct{})
	var running sync.WaitGroup
	for c := range clients {
		_, session, _ := visit(t, hosts[0], nil)
		running.Go(func() { client(t, hosts, session, &visits[c], &full, stop) })
	}
	defer running.Wait()
	defer close(stop)
	// settle waits until every client has been to both hosts again with what it was given last.
	settle := func() {
		t.Helper()
		for c := range clients {
			want := visits[c].Load() + 4
			for begun := time.Now(); visits[c].Load() < want; time.Sleep(time.Millisecond) {
				if time.Since(begun) > time.Minute || t.Failed() {
					t.Fatal("the clients do not come through")
				}
			}
		}
	}
	rotate := func(force bool) {
		t.Helper()
		if set, err = set.Rotate(set.Rotated.Add(25*time.Hour), 24*time.Hour, force); err != nil {
			t.Fatal(err)
		}
	}
	spread := func() {
		t.Helper()
		for i, host := range hosts {
			if err := dirs[i].Save(t.Context(), set); err != nil {
				t.Fatal(err)
			}
			if err := host.Reload(t.Context()); err != nil {
				t.Fatal(err)
			}
			settle()
		}
	}
	settle()
	for range 2 {
		rotate(false)
		spread()
	}
	if n := full.Load(); n != 0 {
		t.Errorf("%d full handshakes while rotating", n)
	}
	for range 3 { // no key is left of those before
		rotate(true)
	}
	spread()
	if n := full.Load(); n < clients {
		t.Errorf("%d full handshakes after all keys were exchanged, want one for each of %d clients at least", n, clients)
	}
	total := int64(0)
	for c := range clients {
		total += visits[c].Load()
	}
	t.Logf("%d handshakes, %d full, all after the exchange of all keys", total, full.Load())
}

// client visits the hosts in turn with its latest session until stop.
func client(t *testing.T, hosts [2]*server.Server, session *tls.ClientSessionState, visits, full *atomic.Int64, stop chan struct{}) {
	for i := 1; ; i++ {
		select {
		case <-stop:
			return
		default:
		}
		resumed, next, err := tryVisit(hosts[i%2], session)
		if err != nil {
			t.Errorf("handshake: %v", err)
			return
		}
		if !resumed {
			full.Add(1)
		}
		session = next
		visits.Add(1)
	}
}
