package check

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"shakedown/internal/server"
)

// slowly serves TLS, and answers each connection's request after a while. With
// Nagle's algorithm on, what it writes waits while something before it is not
// acknowledged: of TLS 1.3, the response waits behind the ticket, which Go sends in a
// write of its own if it has asked for a client certificate. It returns the address.
func slowly(t *testing.T, cfg *tls.Config, nagle bool, while time.Duration) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.(*net.TCPConn).SetNoDelay(!nagle) //nolint:errcheck // the test finds out
			all.Go(func() {
				defer c.Close()
				c.SetDeadline(time.Now().Add(10 * time.Second)) //nolint:errcheck // likewise
				conn := tls.Server(c, cfg)
				request := make([]byte, 4096)
				if _, err := conn.Read(request); err != nil {
					return
				}
				time.Sleep(while)
				io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n") //nolint:errcheck // the client finds out
				io.Copy(io.Discard, conn)                                                //nolint:errcheck // until the client ends it
			})
		}
	})
	t.Cleanup(func() { l.Close(); all.Wait() })
	return l.Addr().(*net.TCPAddr).AddrPort()
}

// TestStall: the pause that Nagle's algorithm and a delayed acknowledgement make
// together, as this kernel really makes it, is found; where Nagle's is off it is
// not, and an application that takes as long is not taken for it.
//
// The first flight of a connection cannot be made to stall so: Linux acknowledges
// the first segments that come at once. It delays from the first data on that it
// sends in answer to some, which is the client's Finished.
func TestStall(t *testing.T) {
	t.Parallel()
	base := startServer(t, server.Embedded{}, server.Spec{Certificates: []server.KeyKind{server.P256}})
	pair, err := base.Certificates[0].TLS()
	if err != nil {
		t.Fatal(err)
	}
	cfg := &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequestClientCert}
	for _, test := range []struct {
		name  string
		nagle bool
		while time.Duration
		want  bool
	}{{"nagle", true, 0, true}, {"no delay", false, 0, false}, {"slow application", false, 42 * ms1, false}} {
		t.Run(test.name, func(t *testing.T) {
			where := slowly(t, cfg, test.nagle, test.while)
			look := func() (bool, string) {
				plan := Plan{Rate: 500}.withDefaults()
				target := at(base, where.Port(), where.Addr())
				p := newProber(&plan, &target, where)
				p.http = true
				askReach(context.Background(), p)
				askTime(context.Background(), p)
				list := findStalls(p, time.Time{})
				if len(list) == 0 {
					n, of, phase := p.stalled(forTime)
					left, tried, _ := p.stalled(forStall)
					t.Logf("%d of %d stood still before %s, %d of %d with prompt acknowledgements", n, of, phase, left, tried)
					return false, ""
				}
				return true, list[0].Evidence
			}
			found, evidence := look()
			// On a machine that is busy the kernel's 40 ms may grow over what is
			// taken for them: that is no proof either way.
			for range 4 {
				if !test.want || found {
					break
				}
				found, evidence = look()
			}
			if found != test.want {
				t.Errorf("found %v, want %v; %s", found, test.want, evidence)
			}
			if test.want && (!strings.Contains(evidence, "before response") || !strings.Contains(evidence, "and 0 of 3 in which")) {
				t.Errorf("evidence: %s", evidence)
			}
		})
	}
}
