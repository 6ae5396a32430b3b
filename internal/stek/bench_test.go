package stek

import (
	"context"
	"net"
	"net/netip"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"shakedown"
	"shakedown/handshake"
	"shakedown/internal/load"
	"shakedown/internal/server"
)

// TestRotationUnderBench has the load of "bench --mode psk" on two nginx that share keys, each offered tickets of the other,
// while keys rotate: first with the tickets fetched before, offered again and again, through one rotation, as long as such a
// ticket lives; then with each ticket used once and replaced, through two more. No handshake is full and none fails. Then
// every key is exchanged, and all are full.
func TestRotationUnderBench(t *testing.T) {
	driver := server.Nginx{}
	if err := driver.Available(); err != nil {
		t.Skipf("needs nginx: %v", err)
	}
	keys := Dir(filepath.Join(t.TempDir(), "keys"))
	set, err := NewSet(SizeAES256, noon)
	if err != nil {
		t.Fatal(err)
	}
	if err := keys.Save(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	var hosts [2]*server.Server
	pki := filepath.Join(t.TempDir(), "pki")
	for i := range hosts {
		hosts[i], err = driver.Start(t.Context(), server.Spec{
			Versions: []shakedown.Version{shakedown.TLS13}, Tickets: server.TicketsKeyFile, Certificates: []server.KeyKind{server.P256}, PKI: pki,
			TicketKeys: []string{keys.Path("current"), keys.Path("next"), keys.Path("previous")}, SessionTimeoutSeconds: 86400, Workers: 2,
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
	spread := func(between func()) {
		t.Helper()
		if err := keys.Save(t.Context(), set); err != nil {
			t.Fatal(err)
		}
		for _, host := range hosts { // one after the other, with load on both
			if err := host.Reload(t.Context()); err != nil {
				t.Fatal(err)
			}
			between()
		}
	}
	rotate := func(force bool) {
		t.Helper()
		if set, err = set.Rotate(set.Rotated.Add(25*time.Hour), 24*time.Hour, force); err != nil {
			t.Fatal(err)
		}
	}

	for _, phase := range []struct {
		policy    load.TicketPolicy
		rotations int
	}{{load.TicketsReuse, 1}, {load.TicketsSingleUse, 2}} {
		s := under(t, hosts, phase.policy, func(settle func()) {
			settle()
			for range phase.rotations {
				rotate(false)
				spread(settle)
			}
		})
		if resumed, full := split(s); full != 0 || s.Failures != 0 || resumed == 0 {
			t.Errorf("%s, %d rotations: %d resumed, %d full, %d failures %+v", phase.policy, phase.rotations, resumed, full, s.Failures, s.Failed)
		} else {
			t.Logf("%s, %d rotations: %d handshakes, all resumed, on %d and %d", phase.policy, phase.rotations, resumed, s.Targets[0].Handshakes, s.Targets[1].Handshakes)
		}
	}
	s := under(t, hosts, load.TicketsReuse, func(settle func()) {
		settle()
		for range 3 { // no key is left of those before
			rotate(true)
		}
		spread(func() {})
		settle()
	})
	before, after := split(s)
	if after == 0 || before == 0 {
		t.Errorf("all keys exchanged: %d resumed before, %d full after", before, after)
	}
	// Tickets of deleted keys are refused from the first handshake on.
	sessions := fetch(t, hosts)
	for range 3 {
		rotate(true)
	}
	spread(func() {})
	p := bench(hosts, load.TicketsReuse, sessions)
	p.Count = 400
	s, err = load.Run(t.Context(), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	if resumed, full := split(s); resumed != 0 || full != p.Count {
		t.Errorf("after the old keys were deleted: %d resumed, %d full of %d", resumed, full, p.Count)
	} else {
		t.Logf("after the old keys were deleted: %d handshakes, all full", full)
	}
}

func bench(hosts [2]*server.Server, policy load.TicketPolicy, sessions []*handshake.Session) load.Plan {
	return load.Plan{
		Targets: []netip.AddrPort{hosts[0].Addr, hosts[1].Addr}, Connections: 8, Duration: 10 * time.Minute, Tickets: policy, Sessions: sessions,
		Config: handshake.Config{ServerName: hosts[0].Name, Mode: shakedown.ModePSK, Work: shakedown.WorkMinimal},
	}
}

// fetch takes sessions from both hosts, in turn.
func fetch(t *testing.T, hosts [2]*server.Server) []*handshake.Session {
	t.Helper()
	client, err := handshake.NewClient(&handshake.Config{ServerName: hosts[0].Name, Mode: shakedown.ModePSK})
	if err != nil {
		t.Fatal(err)
	}
	var list []*handshake.Session
	for i := range 64 {
		conn, err := net.Dial("tcp", hosts[i%2].Addr.String())
		if err != nil {
			t.Fatal(err)
		}
		session, err := handshake.Fetch(t.Context(), conn, client)
		conn.Close()
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, session)
	}
	return list
}

// under runs do with load on both hosts. settle waits until a thousand more handshakes are done.
func under(t *testing.T, hosts [2]*server.Server, policy load.TicketPolicy, do func(settle func())) *load.Summary {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var done atomic.Int64
	type outcome struct {
		s   *load.Summary
		err error
	}
	ended := make(chan outcome, 1)
	p := bench(hosts, policy, fetch(t, hosts))
	go func() {
		s, err := load.Run(ctx, p, func(p load.Progress) { done.Store(p.Handshakes) })
		ended <- outcome{s, err}
	}()
	do(func() {
		for want, begun := done.Load()+1000, time.Now(); done.Load() < want; time.Sleep(10 * time.Millisecond) {
			if time.Since(begun) > time.Minute || len(ended) > 0 {
				t.Error("the load does not come through")
				return
			}
		}
	})
	stop()
	o := <-ended
	if o.err != nil {
		t.Fatal(o.err)
	}
	return o.s
}

// split counts the handshakes that resumed and those that were full, though all were to resume.
func split(s *load.Summary) (resumed, full int64) {
	for _, o := range s.Observed {
		if o.Mode.Resumes() {
			resumed += o.N
		} else {
			full += o.N
		}
	}
	return resumed, full
}
