package starttls_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"shakedown"
	"shakedown/handshake"
	"shakedown/internal/peertest"
	"shakedown/internal/server"
	"shakedown/internal/starttls"
)

const (
	xmppHeader = "<?xml version='1.0'?><stream:stream id='1' version='1.0' xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams'>"
	xmppTLS    = "xmlns='urn:ietf:params:xml:ns:xmpp-tls'"
)

// turn is what a scripted peer expects, to the byte, and what it says then.
type turn struct{ expect, say string }

// scripts are the plain-text parts of peers as the RFCs' examples have them.
var scripts = map[string][]turn{
	"smtp":     {{"", "220 mail ESMTP\r\n"}, {"EHLO [127.0.0.1]\r\n", "250-mail\r\n250-SIZE 1000\r\n250 STARTTLS\r\n"}, {"STARTTLS\r\n", "220 Go ahead\r\n"}},
	"lmtp":     {{"", "220 mail LMTP\r\n"}, {"LHLO [127.0.0.1]\r\n", "250-mail\r\n250 STARTTLS\r\n"}, {"STARTTLS\r\n", "220 Go ahead\r\n"}},
	"imap":     {{"", "* OK ready\r\n"}, {"a1 STARTTLS\r\n", "a1 OK Begin TLS negotiation now\r\n"}},
	"pop3":     {{"", "+OK POP3 server ready\r\n"}, {"STLS\r\n", "+OK Begin TLS negotiation\r\n"}},
	"ftp":      {{"", "220 ready\r\n"}, {"AUTH TLS\r\n", "234 go\r\n"}},
	"postgres": {{"\x00\x00\x00\x08\x04\xd2\x16\x2f", "S"}},
	"mysql": {{"", "\x31\x00\x00\x00" + "\x0a8.0\x00\x01\x00\x00\x00challeng\x00\x00\x0a\x2d\x02\x00\xff\x81\x15" + strings.Repeat("\x00", 10) + "restofchalle\x00"},
		{"\x20\x00\x00\x01\x00\x8a\x00\x00\x00\x00\x00\x01\x2d" + strings.Repeat("\x00", 23), ""}},
	"ldap": {{"\x30\x1d\x02\x01\x01\x77\x18\x80\x161.3.6.1.4.1.1466.20037", "\x30\x0c\x02\x01\x01\x78\x07\x0a\x01\x00\x04\x00\x04\x00"}},
	"xmpp": {{"<?xml version='1.0'?><stream:stream xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams' version='1.0' to='shakedown.test'>",
		xmppHeader + "<stream:features><starttls " + xmppTLS + "/></stream:features>"},
		{"<starttls " + xmppTLS + "/>", "<proceed " + xmppTLS + "/>"}},
}

// play plays turns. An error says that the client did not say what was expected.
func play(conn net.Conn, turns []turn) error {
	for _, turn := range turns {
		got := make([]byte, len(turn.expect))
		if n, err := io.ReadFull(conn, got); err != nil || string(got) != turn.expect {
			return fmt.Errorf("got %q (%v), want %q", got[:n], err, turn.expect)
		}
		if _, err := conn.Write([]byte(turn.say)); err != nil {
			return err
		}
	}
	return nil
}

// certificate returns one for a server, and the roots to trust for it.
func certificate(t *testing.T) (*server.Certificate, *x509.CertPool) {
	t.Helper()
	a, err := server.NewAuthority(server.FamilyFor(server.P256))
	if err != nil {
		t.Fatal(err)
	}
	c, err := a.Issue(server.LeafRequest{Key: server.P256})
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(c.Root)
	return c, roots
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func timeout(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// shake upgrades conn and takes a handshake whose chain is verified. Whatever
// differs from what was asked for is an error.
func shake(t *testing.T, conn net.Conn, protocol string, roots *x509.CertPool, versions ...shakedown.Version) {
	t.Helper()
	ctx := timeout(t, 20*time.Second)
	if err := starttls.Upgrade(ctx, conn, protocol, server.DefaultName); err != nil {
		t.Fatal(err)
	}
	cfg := &handshake.Config{ServerName: server.DefaultName, Roots: roots, Versions: versions}
	r, err := handshake.Do(ctx, conn, cfg, time.Now(), handshake.Recorder{})
	switch {
	case err != nil:
		t.Fatal(err)
	case r.Failure != nil:
		t.Fatal(r.Failure)
	case r.Observed.Verification != shakedown.VerificationOK:
		t.Errorf("the chain: %s", r.Observed.Verification)
	}
	for _, m := range r.Asked.Mismatch(&r.Observed) {
		t.Errorf("not as asked: %s", m)
	}
	t.Logf("%s over %s: %s, %s, %s", protocol, conn.RemoteAddr(), r.Observed.Version, r.Observed.CipherSuite, r.Observed.Group)
}

// TestUpgrade upgrades each protocol with a peer that insists on every byte, and
// completes TLS with it.
func TestUpgrade(t *testing.T) {
	c, roots := certificate(t)
	pair, err := c.TLS()
	if err != nil {
		t.Fatal(err)
	}
	for _, protocol := range starttls.Protocols() {
		t.Run(protocol, func(t *testing.T) {
			for _, version := range []shakedown.Version{shakedown.TLS13, shakedown.TLS12} {
				outcome := make(chan error, 1)
				address := peertest.Serve(t, func(ctx context.Context, conn net.Conn) {
					err := play(conn, scripts[protocol])
					if err == nil {
						err = tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{pair}}).HandshakeContext(ctx)
					}
					outcome <- err
				})
				shake(t, dial(t, address.String()), protocol, roots, version)
				if err := <-outcome; err != nil {
					t.Errorf("the peer: %v", err)
				}
			}
		})
	}
}

// TestInjection: a byte behind the last plain-text answer, be it in the same
// segment, is never taken along to TLS.
func TestInjection(t *testing.T) {
	for _, protocol := range starttls.Protocols() {
		turns := append([]turn(nil), scripts[protocol]...)
		last := len(turns) - 1
		if turns[last].say == "" {
			last-- // of mysql the greeting is the last answer
		}
		turns[last].say += "X"
		conn := peertest.Pipe(t, func(_ context.Context, conn net.Conn) {
			play(conn, turns)         //nolint:errcheck // the client is to hang up
			io.Copy(io.Discard, conn) //nolint:errcheck // it ends when the client does
		})
		err := starttls.Upgrade(timeout(t, 5*time.Second), conn, protocol, server.DefaultName)
		f, ok := errors.AsType[*shakedown.Failure](err)
		if !ok || f.Class != shakedown.ClassPeer || !strings.Contains(f.Text, `sent 1 bytes behind it that nobody asked for: "X"`) {
			t.Errorf("%s: %v, want the peer's fault", protocol, err)
		}
	}
}

// TestEnds: how a connection ends before TLS says whose fault it was.
func TestEnds(t *testing.T) {
	greet := func(conn net.Conn) { conn.Write([]byte("220 mail\r\n250-")) } //nolint:errcheck // seen by the client
	cases := []struct {
		name     string
		protocol string
		peer     peertest.Behaviour
		class    shakedown.Class
		text     string
		hint     string
	}{
		{"close", "smtp", peertest.CloseAtOnce, shakedown.ClassNetwork, "starttls smtp: the server closed the connection while the greeting was awaited", "limit connections"},
		{"close amid", "pop3", func(_ context.Context, c net.Conn) { c.Write([]byte("+OK he")) }, shakedown.ClassNetwork, //nolint:errcheck // seen by the client
			`starttls pop3: the server closed the connection while the greeting was awaited, of which came "+OK he"`, "limit connections"},
		{"reset", "postgres", func(ctx context.Context, c net.Conn) {
			io.ReadFull(c, make([]byte, 8)) //nolint:errcheck // reset either way
			peertest.ResetAtOnce(ctx, c)
		}, shakedown.ClassNetwork, "starttls postgres: the server reset the connection while the answer to SSLRequest was awaited", "limit connections"},
		{"silence", "imap", peertest.NeverAnswer, shakedown.ClassTimeout, "starttls imap: timed out while the greeting was awaited", "without --starttls"},
		{"silence later", "smtp", func(ctx context.Context, c net.Conn) {
			c.Write([]byte("220 mail\r\n")) //nolint:errcheck // seen by the client
			peertest.NeverAnswer(ctx, c)
		}, shakedown.ClassTimeout, "starttls smtp: timed out while the answer to EHLO was awaited", "raise --timeout"},
		{"more than asked", "smtp", func(ctx context.Context, c net.Conn) {
			greet(c)
			peertest.NeverAnswer(ctx, c)
		}, shakedown.ClassPeer, `starttls smtp, greeting: the server sent 4 bytes behind it that nobody asked for: "250-"`, "not protected"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			limit := 10 * time.Second
			if c.class == shakedown.ClassTimeout {
				limit = 200 * time.Millisecond
			}
			conn := dial(t, peertest.Serve(t, c.peer).String())
			err := starttls.Upgrade(timeout(t, limit), conn, c.protocol, "")
			f, ok := errors.AsType[*shakedown.Failure](err)
			if !ok || f.Class != c.class || f.Text != c.text || !strings.Contains(f.Hint, c.hint) || f.Phase != shakedown.PhaseConnected {
				t.Errorf("%+v\nwant %s, %q, hint %q", f, c.class, c.text, c.hint)
			}
		})
	}
}

// TestInterrupt: a context that is cancelled ends a blocking read.
func TestInterrupt(t *testing.T) {
	conn := dial(t, peertest.Serve(t, peertest.NeverAnswer).String())
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	err := starttls.Upgrade(ctx, conn, "smtp", "")
	f, ok := errors.AsType[*shakedown.Failure](err)
	if !ok || f.Class != shakedown.ClassOurs || f.Text != "starttls smtp: interrupted while the greeting was awaited" {
		t.Errorf("%+v", f)
	}
}

// TestUpgradeUnknown: a protocol that is none touches no connection.
func TestUpgradeUnknown(t *testing.T) {
	err := starttls.Upgrade(t.Context(), nil, "gopher", "")
	if f, ok := errors.AsType[*shakedown.Failure](err); !ok || f.Class != shakedown.ClassOurs || !strings.Contains(f.Text, `unknown protocol "gopher"`) {
		t.Errorf("%v", err)
	}
}

// TestWatch: whoever shows what happens is told of all that passed.
func TestWatch(t *testing.T) {
	d, err := starttls.New("smtp", "")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	d.Watch = func(direction shakedown.Direction, what string, bytes int) {
		got = append(got, fmt.Sprintf("%s %s %d", direction, what, bytes))
	}
	conn := peertest.Pipe(t, func(_ context.Context, conn net.Conn) { play(conn, scripts["smtp"]) }) //nolint:errcheck // seen by the client
	if err := d.Run(timeout(t, 5*time.Second), conn); err != nil {
		t.Fatal(err)
	}
	want := "received smtp greeting 16, sent smtp EHLO 18, received smtp answer to EHLO 39, sent smtp STARTTLS 10, received smtp answer to STARTTLS 14"
	if s := strings.Join(got, ", "); s != want {
		t.Errorf("told %s\nwant %s", s, want)
	}
}
