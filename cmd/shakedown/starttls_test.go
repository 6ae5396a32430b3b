package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"shakedown/internal/peertest"
	"shakedown/internal/report"
	"shakedown/internal/server"
)

// mailServer speaks SMTP up to STARTTLS, then TLS, and answers to one command. It
// returns its address.
func mailServer(t *testing.T) string {
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
	return peertest.Serve(t, func(_ context.Context, conn net.Conn) {
		io.WriteString(conn, "220 mail\r\n") //nolint:errcheck // the client sees it
		for _, turn := range []struct{ hear, say string }{
			{"EHLO [127.0.0.1]\r\n", "250-mail\r\n250 STARTTLS\r\n"},
			{"STARTTLS\r\n", "220 go\r\n"},
			{"NOOP\r\n", "250 OK\r\n"},
		} {
			heard := make([]byte, len(turn.hear))
			if _, err := io.ReadFull(conn, heard); err != nil || string(heard) != turn.hear {
				return
			}
			io.WriteString(conn, turn.say) //nolint:errcheck // likewise
			if turn.hear == "STARTTLS\r\n" {
				conn = tls.Server(conn, cfg)
			}
		}
		io.Copy(io.Discard, conn) //nolint:errcheck // it ends when the client does
	}).String()
}

// TestStartTLS runs the verbs that have --starttls on a mail server.
func TestStartTLS(t *testing.T) {
	address := mailServer(t)
	keys := filepath.Join(t.TempDir(), "keys")
	run := func(code int, args ...string) (stdout, stderr string) {
		t.Helper()
		var out, words bytes.Buffer
		if got := Run(t.Context(), args, strings.NewReader(""), &out, &words); got != code {
			t.Errorf("%v: exit code %d, want %d\n%s%s", args, got, code, out.String(), words.String())
		}
		return out.String(), words.String()
	}
	match := func(text, pattern string) {
		t.Helper()
		if !regexp.MustCompile(pattern).MatchString(text) {
			t.Errorf("no match of %q in\n%s", pattern, text)
		}
	}

	out, _ := run(0, "trace", "--starttls", "smtp", "--insecure", "--complete", "response", "--request", `NOOP\r\n`, "--wait", "0s", address)
	match(out, `◀─+ smtp greeting +10\n`)
	match(out, `smtp STARTTLS ─+▶ +10\n(.*\n){1,3}.*ClientHello ─+▶`)
	match(out, `of TLS and 1 of TCP, those of smtp apart`)
	match(out, `◀─+ \{application data\} +8 `)

	out, _ = run(0, "trace", "-o", "json", "--starttls", "smtp", "--insecure", "--mode", "psk", address)
	var trace report.Trace
	if err := json.Unmarshal([]byte(out), &trace); err != nil {
		t.Fatal(err)
	}
	if trace.Target.StartTLS != "smtp" || len(trace.Messages) < 6 || trace.Messages[0].Name != "smtp greeting" || trace.Messages[5].Name != "ClientHello" || !trace.Observed.Mode.Resumes() {
		t.Errorf("target %+v, mode %s, messages %+v", trace.Target, trace.Observed.Mode, trace.Messages)
	}

	out, _ = run(0, "bench", "--starttls", "smtp", "--count", "20", "--warmup", "0s", "--connections", "2", address)
	match(out, `smtp before TLS, whose time is the\s+connection's`)
	match(out, `handshakes +20 +complete`)

	run(0, "stek", "new", keys)
	out, _ = run(1, "stek", "verify", "--starttls", "smtp", "--keys", keys, address)
	match(out, `other keys, or none with a name \(4 of the tickets, no two alike\)\n`) // Go names none

	for _, c := range []struct {
		code        int
		args, words string
	}{
		{2, "trace --starttls pop3 --insecure " + address, `starttls pop3, greeting: it is neither \+OK nor -ERR: "220 mail\\r\\n"\nhint: check the port and the protocol given with --starttls`},
		{2, "bench --starttls pop3 --count 4 --warmup 0s " + address, `not one of 4 handshakes was complete: starttls pop3, greeting: it is neither`},
		{2, "bench --starttls smtp --version 1.2 --group x25519 --count 4 " + address, `: the server's certificate is ECDSA-P256, and in TLS 1.2 .*\nhint: add --group P-256`},
		{2, "trace --starttls gopher x.test", `unknown protocol "gopher" \(one of smtp, lmtp, imap,`},
		{2, "trace --starttls smtp https://x.test", `an https URL speaks TLS from the first byte`},
		{2, "trace --starttls xmpp 127.0.0.1", `the domain that is wanted, and there is no name\nhint: give the name with --sni`},
		{2, "trace --starttls smtp --complete response " + address, `the usual request is HTTP, and the server speaks smtp`},
	} {
		_, words := run(c.code, strings.Fields(c.args)...)
		match(words, c.words)
	}
}

// TestStartTLSPort: a target that names no port gets the protocol's.
func TestStartTLSPort(t *testing.T) {
	for flag, want := range map[string]uint16{"smtp": 25, "postgres": 5432, "": 443} {
		got, err := (&connection{startTLS: flag}).target(t.Context(), "127.0.0.1")
		if err != nil || got.Port != want || got.StartTLS != flag {
			t.Errorf("--starttls %s: port %d, %q (%v), want %d", flag, got.Port, got.StartTLS, err, want)
		}
	}
	if got, err := (&connection{startTLS: "smtp"}).target(t.Context(), "127.0.0.1:587"); err != nil || got.Port != 587 {
		t.Errorf("port %d (%v), want 587", got.Port, err)
	}
}
