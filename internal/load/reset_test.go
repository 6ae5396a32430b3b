package load_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"shakedown"
	"shakedown/handshake"
	"shakedown/internal/load"
	"shakedown/internal/peertest"
	"shakedown/internal/server"
)

var httpRequest = []byte("GET / HTTP/1.1\r\nHost: shakedown.test\r\nConnection: close\r\n\r\n")

// TestBrokenShare breaks 2% of the connections in one phase after the other, by
// reset and by silence. Exactly these fail, in that phase, and all others are
// complete: none is lost, and none is counted twice.
func TestBrokenShare(t *testing.T) {
	s := startServer(t, server.Embedded{}, server.Spec{Certificates: []server.KeyKind{server.P256}})
	// The server's records in TLS 1.3: ServerHello 0, change_cipher_spec 1, then
	// its flight. Ours: ClientHello 0, change_cipher_spec 1, Finished 2, request 3;
	// in TLS 1.2 ClientHello 0, ClientKeyExchange 1.
	for _, c := range []struct {
		name     string
		version  shakedown.Version
		complete shakedown.Completion
		toClient int // record before which it breaks off, or -1
		toServer int
		phase    shakedown.Phase // the last one reached
	}{
		{"before ServerHello", shakedown.TLS13, shakedown.CompleteFinished, 0, -1, shakedown.PhaseConnected},
		{"after ServerHello", shakedown.TLS13, shakedown.CompleteFinished, 1, -1, shakedown.PhaseServerHello},
		{"in the flight", shakedown.TLS13, shakedown.CompleteFinished, 4, -1, shakedown.PhaseServerHello},
		{"after the flight", shakedown.TLS12, shakedown.CompleteFinished, -1, 1, shakedown.PhaseFinished},
		// Go's server sends its ticket with its Finished.
		{"after Finished", shakedown.TLS13, shakedown.CompleteResponse, -1, 3, shakedown.PhaseTicket},
	} {
		for _, op := range []peertest.Op{peertest.CutReset, peertest.Stall} {
			t.Run(c.name+"/"+string(op), func(t *testing.T) {
				var config peertest.ProxyConfig
				if c.toClient >= 0 {
					config.ToClient = []peertest.Edit{{Op: op, Record: c.toClient}}
				} else {
					config.ToServer = []peertest.Edit{{Op: op, Record: c.toServer}}
				}
				proxy := peertest.StartProxy(t, s.Addr, config)
				p := plan(s)
				// Targets take turns: one of fifty is the one that breaks off.
				for range 48 {
					p.Targets = append(p.Targets, s.Addr)
				}
				p.Targets = append(p.Targets, proxy.Addr)
				p.Count, p.Connections, p.Threads = 1000, 16, 1
				p.Config.Versions, p.Config.Complete, p.Config.Request = []shakedown.Version{c.version}, c.complete, httpRequest
				class := shakedown.ClassNetwork
				if op == peertest.Stall {
					p.Count, p.Timeout, class = 200, 2*time.Second, shakedown.ClassTimeout
				}
				sum := run(t, t.Context(), p)
				want := p.Count / 50
				if sum.Failures != want || sum.Handshakes != p.Count-want || int64(proxy.Accepted()) != want {
					t.Errorf("%d complete, %d failed, %d through the proxy, want %d and %d: %+v", sum.Handshakes, sum.Failures, proxy.Accepted(), p.Count-want, want, sum.Failed)
				}
				if last := sum.Targets[len(sum.Targets)-1]; last.Failures != want || last.Handshakes != 0 {
					t.Errorf("of the address that breaks off: %d complete, %d failed", last.Handshakes, last.Failures)
				}
				for _, f := range sum.Failed {
					if f.Class != class || f.Phase != c.phase {
						t.Errorf("%d failures of class %s after %s, want %s after %s: %s", f.N, f.Class, f.Phase, class, c.phase, f.Text)
					}
					if op == peertest.CutReset && !errors.Is(f.Err, syscall.ECONNRESET) {
						t.Errorf("%d failures by %v, want a reset", f.N, f.Err)
					}
				}
				if sum.Client.PeakInFlight != p.Connections {
					t.Errorf("%d in flight at the most, want %d", sum.Client.PeakInFlight, p.Connections)
				}
			})
		}
	}
}

// TestNeverAccepted has a server whose program does not accept: its kernel does,
// so that TCP connects, and nobody answers.
func TestNeverAccepted(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	sum := run(t, t.Context(), load.Plan{
		Targets: []netip.AddrPort{netip.MustParseAddrPort(l.Addr().String())}, Connections: 4, Count: 12, Duration: time.Minute, Timeout: 200 * time.Millisecond,
		Config: handshake.Config{Work: shakedown.WorkMinimal},
	})
	if sum.Failures != 12 || sum.Handshakes != 0 {
		t.Errorf("%d complete, %d failed of 12", sum.Handshakes, sum.Failures)
	}
	for _, f := range sum.Failed {
		if f.Class != shakedown.ClassTimeout || f.Phase != shakedown.PhaseConnected {
			t.Errorf("%d failures of class %s after %s: %s", f.N, f.Class, f.Phase, f.Text)
		}
	}
}

// gigabyte is what a peer sends that knows no end.
const gigabyte = 1 << 30

// pour writes up to a gigabyte, until it cannot, and counts what it wrote.
func pour(conn net.Conn, chunk []byte, total *atomic.Int64) {
	for sent := 0; sent < gigabyte; {
		n, err := conn.Write(chunk)
		total.Add(int64(n))
		if sent += n; err != nil {
			return
		}
	}
}

// TestGigabyte has peers send a gigabyte each: in place of an answer to the
// ClientHello, and as the response to a request. Neither is read through.
func TestGigabyte(t *testing.T) {
	// A connection may have this much under way when it is ended: socket buffers
	// and a round of reading.
	const most = 32 << 20
	const count = 20
	t.Run("instead of ServerHello", func(t *testing.T) {
		var total atomic.Int64
		record := peertest.Record(peertest.TypeHandshake, shakedown.TLS12, append([]byte{2, 0xFF, 0xFF, 0xFF}, make([]byte, 1<<14-4)...))
		addr := peertest.Serve(t, func(_ context.Context, conn net.Conn) { pour(conn, record, &total) })
		sum := run(t, t.Context(), load.Plan{
			Targets: []netip.AddrPort{addr}, Connections: 4, Count: count, Duration: time.Minute, Timeout: 20 * time.Second,
			Config: handshake.Config{Work: shakedown.WorkMinimal},
		})
		if sum.Failures != count || sum.Handshakes != 0 {
			t.Errorf("%d complete, %d failed of %d", sum.Handshakes, sum.Failures, count)
		}
		for _, f := range sum.Failed {
			if f.Class != shakedown.ClassPeer {
				t.Errorf("%d failures of class %s: %s", f.N, f.Class, f.Text)
			}
		}
		if n := total.Load(); n == 0 || n > count*most {
			t.Errorf("%d connections took %d bytes", count, n)
		}
	})
	t.Run("response", func(t *testing.T) {
		for _, end := range []load.Close{load.CloseReset, load.CloseFIN, load.CloseNotify} {
			var total atomic.Int64
			sum := run(t, t.Context(), load.Plan{
				Targets: []netip.AddrPort{pourer(t, &total)}, Connections: 4, Count: count, Duration: time.Minute, Timeout: 20 * time.Second, Close: end,
				Config: handshake.Config{Work: shakedown.WorkMinimal, Complete: shakedown.CompleteResponse, Request: httpRequest},
			})
			if sum.Handshakes != count || sum.Failures != 0 {
				t.Errorf("closed by %s: %d complete, %d failed of %d: %+v", end, sum.Handshakes, sum.Failures, count, sum.Failed)
			}
			if n := total.Load(); n == 0 || n > count*most {
				t.Errorf("closed by %s: %d connections took %d bytes", end, count, n)
			}
		}
	})
}

// pourer serves a gigabyte to everybody who asks for something.
func pourer(t *testing.T, total *atomic.Int64) netip.AddrPort {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"shakedown.test"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}})
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	t.Cleanup(func() { l.Close(); serving.Wait() })
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer conn.Close()
				if _, err := conn.Read(make([]byte, 1024)); err == nil {
					pour(conn, make([]byte, 1<<14), total)
				}
			})
		}
	})
	return netip.MustParseAddrPort(l.Addr().String())
}
