package handshake_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"shakedown"
	"shakedown/handshake"
	"shakedown/internal/peertest"
	"shakedown/internal/server"
)

// alarm is a context that ends when it is rung, as by a deadline or as by a
// cancellation: time itself has no part in these tests.
type alarm struct {
	context.Context
	done chan struct{}
	err  error
}

func newAlarm(t testing.TB, err error) *alarm { return &alarm{t.Context(), make(chan struct{}), err} }

func (a *alarm) Done() <-chan struct{} { return a.done }
func (a *alarm) ring()                 { close(a.done) }

func (a *alarm) Err() error {
	select {
	case <-a.done:
		return a.err
	default:
		return nil
	}
}

// do takes one handshake with addr. The alarm rings when the ClientHello is sent
// and so many messages have come from the server; never if they are negative.
func do(t testing.TB, a *alarm, addr netip.AddrPort, cfg handshake.Config, messages int) shakedown.Result {
	t.Helper()
	conn, err := net.Dial("tcp", addr.String())
	if err != nil {
		return shakedown.Result{Failure: handshake.DialFailure(err)} // a reset can be that fast
	}
	defer conn.Close()
	rec := handshake.Recorder{Message: func(m handshake.Message, _ time.Duration) {
		if m.Direction == shakedown.Received {
			messages--
		}
		if messages == 0 {
			messages = -1
			a.ring()
		}
	}}
	r, err := handshake.Do(a, conn, &cfg, time.Now(), rec)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// interruption is the end of a connection within a handshake.
type interruption struct {
	version shakedown.Version
	record  int // of the server's, the first that does not come
	phase   shakedown.Phase
	awaited string
}

// interruptions are those of a full handshake with Go's server, which puts each
// message in a record of its own.
func interruptions() []interruption {
	const tls12, tls13 = shakedown.TLS12, shakedown.TLS13
	const finished, ticket = shakedown.PhaseFinished, shakedown.PhaseTicket
	return []interruption{
		{tls13, 0, connected, "ServerHello"},
		{tls13, 1, atHello, "EncryptedExtensions"}, // change_cipher_spec
		{tls13, 2, atHello, "EncryptedExtensions"},
		{tls13, 3, atHello, "Certificate or CertificateRequest"},
		{tls13, 4, atHello, "CertificateVerify"},
		{tls13, 5, atHello, "Finished"},
		{tls12, 0, connected, "ServerHello"},
		{tls12, 1, atHello, "Certificate"},
		{tls12, 2, atHello, "ServerKeyExchange"},
		{tls12, 3, atHello, "ServerHelloDone"},
		{tls12, 4, finished, "NewSessionTicket"},
		{tls12, 5, ticket, "Finished"}, // ChangeCipherSpec
		{tls12, 6, ticket, "Finished"},
	}
}

// TestInterruption ends the connection, or lets it stall, before each message.
// The failure has to name the phase and what was awaited.
func TestInterruption(t *testing.T) {
	s := startServer(t, server.Embedded{}, server.Spec{Certificates: []server.KeyKind{server.P256}})
	for _, i := range interruptions() {
		cfg := handshake.Config{Versions: []shakedown.Version{i.version}, ServerName: s.Name}
		for _, c := range []struct {
			op    peertest.Op
			err   error // of the alarm
			class shakedown.Class
			text  string
		}{
			{peertest.Cut, nil, shakedown.ClassNetwork, "the server closed the connection while " + i.awaited},
			{peertest.CutReset, nil, shakedown.ClassNetwork, "the server reset the connection while " + i.awaited},
			{peertest.Stall, context.DeadlineExceeded, shakedown.ClassTimeout, "timed out while " + i.awaited},
			{peertest.Stall, context.Canceled, shakedown.ClassOurs, "interrupted while " + i.awaited},
		} {
			t.Run(fmt.Sprintf("%s/%s before record %d/%s", i.version, c.op, i.record, c.class), func(t *testing.T) {
				proxy := peertest.StartProxy(t, s.Addr, peertest.ProxyConfig{ToClient: []peertest.Edit{{Op: c.op, Record: i.record}}})
				a, messages := newAlarm(t, c.err), -1
				if c.op == peertest.Stall {
					messages = i.record
				}
				r := do(t, a, proxy.Addr, cfg, messages)
				f := r.Failure
				if f == nil {
					t.Fatal("the handshake succeeded")
				}
				// A reset may overtake what was sent before it.
				overtaken := c.op == peertest.CutReset && errors.Is(f, syscall.ECONNRESET)
				if f.Class != c.class || !overtaken && (f.Phase != i.phase || !strings.HasPrefix(f.Text, c.text)) {
					t.Errorf("failure %s in phase %s: %q, want %s in phase %s: %q", f.Class, f.Phase, f.Text, c.class, i.phase, c.text)
				}
				if f.Alert != nil {
					t.Errorf("an alert %s was sent into a dead connection", f.Alert)
				}
			})
		}
	}
}

// TestPartialRecord ends the connection within a record.
func TestPartialRecord(t *testing.T) {
	s := startServer(t, server.Embedded{}, server.Spec{Certificates: []server.KeyKind{server.P256}})
	for _, bytes := range []int{1, 4, 5, 20} {
		proxy := peertest.StartProxy(t, s.Addr, peertest.ProxyConfig{ToClient: []peertest.Edit{{Op: peertest.CutBytes, Offset: bytes}}})
		r := do(t, newAlarm(t, nil), proxy.Addr, handshake.Config{ServerName: s.Name}, -1)
		want := fmt.Sprintf("the server closed the connection while ServerHello was awaited, %d bytes into a record", bytes)
		if r.Failure == nil || r.Failure.Text != want || r.Failure.Class != shakedown.ClassNetwork {
			t.Errorf("after %d bytes: %v, want %q", bytes, r.Failure, want)
		}
	}
}

// TestFaults meets every peer of package peertest, over sockets.
func TestFaults(t *testing.T) {
	want := map[string]shakedown.Class{
		"close at once": shakedown.ClassNetwork, "close after hello": shakedown.ClassNetwork,
		"reset at once": shakedown.ClassNetwork, "reset after hello": shakedown.ClassNetwork,
		"fatal alert": shakedown.ClassAlert, "unknown alert": shakedown.ClassAlert,
	}
	for _, fault := range peertest.Faults() {
		for _, versions := range [][]shakedown.Version{{shakedown.TLS13}, {shakedown.TLS12}, {shakedown.TLS13, shakedown.TLS12}} {
			t.Run(fmt.Sprint(fault.Name, versions), func(t *testing.T) {
				addr := peertest.Serve(t, fault.Do)
				class, known := want[fault.Name]
				switch {
				case fault.Silent:
					class = shakedown.ClassTimeout
				case !known:
					class = shakedown.ClassPeer
				}
				a, messages := newAlarm(t, context.DeadlineExceeded), -1
				if fault.Silent {
					messages = 0
				}
				r := do(t, a, addr, handshake.Config{Versions: versions}, messages)
				if f := r.Failure; f == nil || f.Class != class {
					t.Errorf("failure %v of class %s, want %s", f, f.Class, class)
				}
			})
		}
	}
}

// TestDelivered has a real server's handshake come in other pieces.
func TestDelivered(t *testing.T) {
	s := startServer(t, server.Embedded{}, server.Spec{Certificates: []server.KeyKind{server.P256}})
	for _, d := range []peertest.Delivery{peertest.DeliverBytes, peertest.DeliverCoalesced} {
		for _, v := range []shakedown.Version{shakedown.TLS12, shakedown.TLS13} {
			proxy := peertest.StartProxy(t, s.Addr, peertest.ProxyConfig{Delivery: d})
			r := do(t, newAlarm(t, nil), proxy.Addr, handshake.Config{Versions: []shakedown.Version{v}, ServerName: s.Name, Roots: s.Roots}, -1)
			if r.Failure != nil || r.Observed.Version != v {
				t.Errorf("%s, %s: %v", v, d, r.Failure)
			}
		}
	}
}

// TestDeadlineLeft proves that a handshake leaves no deadline on the connection:
// what follows has one of its own.
func TestDeadlineLeft(t *testing.T) {
	s := startServer(t, server.Embedded{}, server.Spec{Certificates: []server.KeyKind{server.P256}})
	conn := &deadlineConn{Conn: dialTCP(t, s)}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	if _, err := handshake.Do(ctx, conn, &handshake.Config{ServerName: s.Name}, time.Now(), handshake.Recorder{}); err != nil {
		t.Fatal(err)
	}
	cancel()
	if !conn.deadline.IsZero() {
		t.Errorf("the connection is left with a deadline of %s", conn.deadline)
	}
}

type deadlineConn struct {
	net.Conn
	deadline time.Time
}

func (c *deadlineConn) SetDeadline(t time.Time) error {
	c.deadline = t
	return c.Conn.SetDeadline(t)
}
