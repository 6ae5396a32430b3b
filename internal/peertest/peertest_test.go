package peertest

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"shakedown"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// goServer runs a Go TLS server that answers "hello" and closes.
func goServer(t *testing.T, config *tls.Config) netip.AddrPort {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"peer.test"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	config.Certificates = []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}
	return Serve(t, func(ctx context.Context, conn net.Conn) {
		server := tls.Server(conn, config)
		if server.HandshakeContext(ctx) == nil {
			io.WriteString(server, "hello")
			server.Close()
		}
	})
}

// visit shakes hands with Go's client and reads until the end.
func visit(conn net.Conn, config *tls.Config) (string, error) {
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	config = config.Clone()
	config.InsecureSkipVerify, config.ServerName = true, "peer.test"
	client := tls.Client(conn, config)
	if err := client.Handshake(); err != nil {
		return "", err
	}
	text, err := io.ReadAll(client)
	return string(text), err
}

// dial connects to a peer on this machine.
func dial(t *testing.T, addr netip.AddrPort) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// TestFaults has Go's client meet every fault, on a port and in memory: it must
// never succeed, and silent peers must be ended by its time-out alone.
func TestFaults(t *testing.T) {
	for _, fault := range Faults() {
		for _, place := range []string{"port", "pipe"} {
			t.Run(fault.Name+" "+place, func(t *testing.T) {
				t.Parallel()
				var conn net.Conn
				if place == "port" {
					var err error
					if conn, err = net.Dial("tcp", Serve(t, fault.Do).String()); err != nil {
						return // a reset can come before the connection is there
					}
					defer conn.Close()
				} else {
					conn = Pipe(t, fault.Do)
				}
				if fault.Silent {
					conn.SetDeadline(time.Now().Add(100 * time.Millisecond))
				} else {
					conn.SetDeadline(time.Now().Add(20 * time.Second))
				}
				err := tls.Client(conn, &tls.Config{InsecureSkipVerify: true}).Handshake()
				if err == nil {
					t.Fatal("the handshake succeeded")
				}
				if timedOut := errors.Is(err, os.ErrDeadlineExceeded); timedOut != fault.Silent {
					t.Errorf("timed out %t, want %t: %v", timedOut, fault.Silent, err)
				}
			})
		}
	}
}

// TestAlertArrives looks at the bytes of an alert.
func TestAlertArrives(t *testing.T) {
	conn := Pipe(t, FatalAlert(shakedown.AlertUnrecognizedName))
	conn.Write(Record(TypeHandshake, shakedown.TLS12, []byte("hello")))
	got, err := ReadRecord(conn)
	if want := []byte{21, 3, 3, 0, 2, 2, 112}; err != nil || !bytes.Equal(got, want) {
		t.Errorf("got %x, %v; want %x", got, err, want)
	}
}

// TestProxyPasses checks that every delivery leaves the bytes alone.
func TestProxyPasses(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		target := goServer(t, &tls.Config{MinVersion: version, MaxVersion: version})
		for _, delivery := range []Delivery{DeliverRecords, DeliverBytes, DeliverCoalesced} {
			t.Run(fmt.Sprintf("%s %q", tls.VersionName(version), delivery), func(t *testing.T) {
				p := StartProxy(t, target, ProxyConfig{Delivery: delivery})
				if text, err := visit(dial(t, p.Addr), &tls.Config{}); err != nil || text != "hello" {
					t.Errorf("read %q, %v", text, err)
				}
			})
		}
	}
}

// TestProxyEdits spoils each record of the server's flight in each way. What a
// client must notice it must notice; what it may survive is named.
func TestProxyEdits(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		target := goServer(t, &tls.Config{MinVersion: version, MaxVersion: version, SessionTicketsDisabled: true})
		for record := range 5 { // of which four or more belong to the handshake
			for _, op := range []Op{Cut, CutReset, Drop, Flip, Stall} {
				edit := Edit{Op: op, Record: record, Offset: -1}
				t.Run(fmt.Sprintf("%s %v", tls.VersionName(version), edit), func(t *testing.T) {
					t.Parallel()
					p := StartProxy(t, target, ProxyConfig{ToClient: []Edit{edit}})
					conn := dial(t, p.Addr)
					text, err := visitFor(conn, 300*time.Millisecond)
					if err == nil && text == "hello" {
						// Go reads over change_cipher_spec in TLS 1.3 (RFC 8446, appendix D.4).
						if !(op == Drop && version == tls.VersionTLS13 && record == 1) {
							t.Errorf("the client noticed nothing")
						}
					}
					if timedOut := errors.Is(err, os.ErrDeadlineExceeded); op == Stall && !timedOut {
						t.Errorf("a stalled connection ended with %v", err)
					}
				})
			}
		}
	}
}

// visitFor is visit with a time-out.
func visitFor(conn net.Conn, d time.Duration) (string, error) {
	conn.SetDeadline(time.Now().Add(d))
	client := tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
	if err := client.Handshake(); err != nil {
		return "", err
	}
	text, err := io.ReadAll(client)
	return string(text), err
}

// TestProxyEditBytes looks at what edits make of records.
func TestProxyEditBytes(t *testing.T) {
	records := [][]byte{Record(22, shakedown.TLS12, []byte("aa")), Record(22, shakedown.TLS12, []byte("bb")), Record(22, shakedown.TLS12, []byte("cc"))}
	a, b, c := string(records[0]), string(records[1]), string(records[2])
	for _, test := range []struct {
		edit Edit
		want string
	}{
		{Edit{Op: Drop, Record: 1}, a + c},
		{Edit{Op: Duplicate, Record: 1}, a + b + b + c},
		{Edit{Op: Swap, Record: 0}, b + a + c},
		{Edit{Op: Flip, Record: 2, Offset: -1}, a + b + c[:len(c)-1] + "b"},
		{Edit{Op: Flip, Record: 0, Offset: 0}, "\x17" + a[1:] + b + c},
		{Edit{Op: Cut, Record: 2}, a + b},
		{Edit{Op: CutBytes, Offset: 10}, a + b[:3]},
		{Edit{Op: CutBytes, Offset: 0}, ""},
		{Edit{Op: CutBytes, Offset: 7}, a},
	} {
		d := &direction{edits: []Edit{test.edit}}
		var got strings.Builder
		for i, r := range records {
			out, err := d.edit(i, r)
			got.Write(out)
			if err != nil {
				break
			}
		}
		if got.String() != test.want {
			t.Errorf("%v: got %x, want %x", test.edit, got.String(), test.want)
		}
	}
}

// TestProxyCloses counts the connections that are closed, and checks the others.
func TestProxyCloses(t *testing.T) {
	target := goServer(t, &tls.Config{})
	for name, test := range map[string]struct {
		close func(int) bool
		want  int
	}{
		"first 3":  {CloseFirst(3), 3},
		"every 4":  {CloseEvery(4), 5},
		"none":     {nil, 0},
		"by share": {CloseShare(0.25, 7), countTrue(CloseShare(0.25, 7), 20)},
	} {
		for _, byReset := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s reset %t", name, byReset), func(t *testing.T) {
				p := StartProxy(t, target, ProxyConfig{Close: test.close, CloseByReset: byReset})
				failed := 0
				for i := range 20 {
					_, err := visit(dial(t, p.Addr), &tls.Config{})
					if closed := test.close != nil && test.close(i); closed != (err != nil) {
						t.Errorf("connection %d: to be closed %t, error %v", i, closed, err)
					}
					if err != nil {
						failed++
					}
				}
				if failed != test.want || p.Closed() != test.want || p.Accepted() != 20 {
					t.Errorf("%d failed, %d closed of %d; want %d of 20", failed, p.Closed(), p.Accepted(), test.want)
				}
			})
		}
	}
}

// countTrue counts the first n numbers for which f is true.
func countTrue(f func(int) bool, n int) (count int) {
	for i := range n {
		if f(i) {
			count++
		}
	}
	return count
}

// TestCloseShare checks that the lot has the share asked for and is the same
// each time.
func TestCloseShare(t *testing.T) {
	if got := countTrue(CloseShare(0.02, 1), 100_000); got < 1800 || got > 2200 {
		t.Errorf("2%% of 100000 drew %d", got)
	}
	first, again, other := CloseShare(0.5, 1), CloseShare(0.5, 1), CloseShare(0.5, 2)
	same := true
	for i := range 64 {
		if first(i) != again(i) {
			t.Fatalf("number %d differs from one time to the next", i)
		}
		same = same && first(i) == other(i)
	}
	if same {
		t.Error("another seed made the same choice")
	}
}

// TestScript plays a conversation and looks at both sides.
func TestScript(t *testing.T) {
	script := Script{
		{Expect: TypeHandshake, Send: []byte("one"), Answer: func(record []byte) []byte { return record[5:] }},
		{Send: []byte("two")},
		{Expect: TypeAlert, Send: []byte("end"), End: EndClose},
	}
	conn := Pipe(t, script.Behaviour())
	conn.Write(Record(TypeChangeCipherSpec, shakedown.TLS12, []byte{1})) // read over
	conn.Write(Record(TypeHandshake, shakedown.TLS12, []byte("-echo-")))
	conn.Write(Record(TypeAlert, shakedown.TLS12, []byte{2, 40}))
	got, err := io.ReadAll(conn)
	if want := "one-echo-twoend"; err != nil || string(got) != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

// TestScriptTells checks the error of a client that does not go along.
func TestScriptTells(t *testing.T) {
	client, server := net.Pipe()
	client.Close()
	err := Script{{Expect: TypeHandshake}}.Play(server)
	server.Close()
	if err == nil || !strings.Contains(err.Error(), "step 0: waiting for a record of type 22") {
		t.Errorf("error %v", err)
	}
}

// TestReadRecord reads every truncation of a record.
func TestReadRecord(t *testing.T) {
	whole := Record(TypeHandshake, shakedown.TLS12, []byte("body"))
	for n := range whole {
		_, err := ReadRecord(bytes.NewReader(whole[:n]))
		want := io.ErrUnexpectedEOF
		if n == 0 {
			want = io.EOF
		}
		if !errors.Is(err, want) {
			t.Errorf("%d bytes: error %v, want %v", n, err, want)
		}
	}
	if got, err := ReadRecord(bytes.NewReader(whole)); err != nil || !bytes.Equal(got, whole) {
		t.Errorf("got %x, %v", got, err)
	}
}
