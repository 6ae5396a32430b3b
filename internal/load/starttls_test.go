package load_test

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"shakedown"
	"shakedown/internal/load"
	"shakedown/internal/peertest"
	"shakedown/internal/server"
)

// turn is what a plain-text peer says once it has read so many bytes.
type turn struct {
	read int
	say  string
}

// plainTexts are plain-text parts in which the server speaks first and last, the
// client first, and the client last.
var plainTexts = map[string][]turn{
	"smtp":     {{0, "220 mail\r\n"}, {len("EHLO [127.0.0.1]\r\n"), "250-mail\r\n250 STARTTLS\r\n"}, {len("STARTTLS\r\n"), "220 go\r\n"}},
	"postgres": {{8, "S"}},
	"mysql":    {{0, "\x13\x00\x00\x00\x0a8\x00\x01\x00\x00\x00challeng\x00\x00\x0a\x00"}, {36, ""}},
}

// plainPeer speaks a plain-text part, in pieces of so many bytes, and then TLS.
// It counts complete handshakes.
func plainPeer(t *testing.T, turns []turn, piece int, done *atomic.Int64) load.Plan {
	t.Helper()
	a, err := server.NewAuthority(server.FamilyFor(server.P256))
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := a.Issue(server.LeafRequest{Key: server.P256})
	if err != nil {
		t.Fatal(err)
	}
	pair, err := leaf.TLS()
	if err != nil {
		t.Fatal(err)
	}
	cfg := &tls.Config{Certificates: []tls.Certificate{pair}}
	address := peertest.Serve(t, func(ctx context.Context, conn net.Conn) {
		for _, turn := range turns {
			if _, err := io.ReadFull(conn, make([]byte, turn.read)); err != nil {
				return
			}
			for say := turn.say; say != ""; say = say[min(piece, len(say)):] {
				if _, err := io.WriteString(conn, say[:min(piece, len(say))]); err != nil {
					return
				}
			}
		}
		c := tls.Server(conn, cfg)
		if c.HandshakeContext(ctx) == nil {
			done.Add(1)
			io.Copy(io.Discard, c) //nolint:errcheck // it ends when the client does
		}
	})
	p := plan(&server.Server{Addr: address, Name: server.DefaultName})
	p.Count = 100
	return p
}

// TestStartTLS makes load on peers that speak plain text first, in one piece and
// byte by byte, with sessions and without.
func TestStartTLS(t *testing.T) {
	for protocol, turns := range plainTexts {
		for _, mode := range []shakedown.Mode{shakedown.ModeFull, shakedown.ModePSK} {
			for _, piece := range []int{1000, 1} {
				var done atomic.Int64
				p := plainPeer(t, turns, piece, &done)
				p.StartTLS, p.Config.Mode = protocol, mode
				p.Close = load.CloseNotify // a reset could take the client's Finished with it
				sum := run(t, t.Context(), p)
				if sum.Handshakes != p.Count || sum.Failures != 0 || sum.Mismatches() != 0 {
					t.Errorf("%s, %s, %d bytes at once: %d handshakes, %d not as asked, failures %+v", protocol, mode, piece, sum.Handshakes, sum.Mismatches(), sum.Failed)
				}
				if len(sum.Observed) != 1 || sum.Observed[0].Mode != mode {
					t.Errorf("%s, %s: observed %+v", protocol, mode, sum.Observed)
				}
				for limit := time.Now().Add(10 * time.Second); done.Load() < p.Count && time.Now().Before(limit); {
					time.Sleep(time.Millisecond) // the peer's end comes after ours
				}
				if n := done.Load(); n < p.Count {
					t.Errorf("%s, %s: the peer saw %d handshakes, the load %d", protocol, mode, n, p.Count)
				}
			}
		}
	}
}

// TestStartTLSHeld: each flight of the plain text is held for the RTT as well, and
// its time counts as the connection's.
func TestStartTLSHeld(t *testing.T) {
	for protocol, flights := range map[string]int{"smtp": 3, "postgres": 1, "mysql": 1} {
		var done atomic.Int64
		p := plainPeer(t, plainTexts[protocol], 1000, &done)
		p.StartTLS, p.RTT, p.Count = protocol, 20*time.Millisecond, 24
		sum := run(t, t.Context(), p)
		if sum.Handshakes != p.Count || sum.Failures != 0 {
			t.Fatalf("%s: %d handshakes, failures %+v", protocol, sum.Handshakes, sum.Failed)
		}
		// Percentiles have three digits.
		if least := time.Duration(float64(p.RTT*time.Duration(1+flights)) * 0.999); sum.Connect.P50 < least {
			t.Errorf("%s: half of the connections took %s or less, but were held for %s", protocol, sum.Connect.P50, least)
		}
		if sum.Handshake.P50 < p.RTT*999/1000 {
			t.Errorf("%s: half of the handshakes took %s or less", protocol, sum.Handshake.P50)
		}
	}
}

// TestStartTLSFailures: what goes wrong in plain text is counted with its class.
func TestStartTLSFailures(t *testing.T) {
	for _, c := range []struct {
		name  string
		peer  peertest.Behaviour
		class shakedown.Class
		text  string
	}{
		{"refused", func(_ context.Context, c net.Conn) {
			io.WriteString(c, "554 go away\r\n") //nolint:errcheck // seen by the client
			io.Copy(io.Discard, c)               //nolint:errcheck // it ends when the client does
		}, shakedown.ClassIncompatible, `starttls smtp, greeting: the server refuses service: it said "554 go away\r\n"`},
		{"more than asked", func(_ context.Context, c net.Conn) {
			io.WriteString(c, "220 a\r\n250 b\r\n") //nolint:errcheck // seen by the client
			io.Copy(io.Discard, c)                  //nolint:errcheck // it ends when the client does
		}, shakedown.ClassPeer, "that nobody asked for"},
		{"close", func(_ context.Context, c net.Conn) {
			io.WriteString(c, "220 a\r\n")                            //nolint:errcheck // seen by the client
			io.ReadFull(c, make([]byte, len("EHLO [127.0.0.1]\r\n"))) //nolint:errcheck // closed either way
		}, shakedown.ClassNetwork, "starttls smtp: the server closed the connection while the answer to EHLO was awaited"},
		{"silence", peertest.NeverAnswer, shakedown.ClassTimeout, "starttls smtp: timed out while the greeting was awaited"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := plan(&server.Server{Addr: peertest.Serve(t, c.peer), Name: server.DefaultName})
			p.StartTLS, p.Count, p.Connections, p.Timeout = "smtp", 8, 4, 300*time.Millisecond
			sum := run(t, t.Context(), p)
			if sum.Handshakes != 0 || sum.Failures != p.Count || len(sum.Failed) != 1 || sum.Failed[0].Class != c.class ||
				sum.Failed[0].Phase != shakedown.PhaseConnected || !strings.Contains(sum.Failed[0].Text, c.text) {
				t.Errorf("%d handshakes, %d failures: %+v", sum.Handshakes, sum.Failures, sum.Failed)
			}
		})
	}
}

// TestStartTLSRefused: what cannot be is refused before the run.
func TestStartTLSRefused(t *testing.T) {
	p := plan(&server.Server{Addr: peertest.Serve(t, peertest.CloseAtOnce)})
	for protocol, want := range map[string]string{"gopher": "unknown protocol", "xmpp": "the domain that is wanted"} {
		p.StartTLS = protocol
		if _, err := load.Run(t.Context(), p, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", protocol, err)
		}
	}
}
