package starttls

import (
	"errors"
	"strings"
	"testing"

	"shakedown"
)

// sample is an answer to one step of a protocol.
type sample struct {
	protocol string
	step     int
	answer   string
	class    shakedown.Class // empty: good
	text     string          // that the failure holds
}

const (
	xmppHeader = "<?xml version='1.0'?><stream:stream from='shakedown.test' id='1' version='1.0' xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams'>"
	xmppOffer  = "<stream:features><starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'><required/></starttls></stream:features>"
)

// mysqlPacket is the greeting of a server with these capability flags, the lower
// 16 bits.
func mysqlPacket(flags uint16) string {
	payload := "\x0a10.11.19-MariaDB\x00" + "\x01\x00\x00\x00" + "challeng" + "\x00" +
		string([]byte{byte(flags), byte(flags >> 8)}) + "\x2d\x02\x00\xff\x81\x15" + strings.Repeat("\x00", 10) + "restofchallen\x00mysql_native_password\x00"
	return string([]byte{byte(len(payload)), 0, 0, 0}) + payload
}

// good are answers after which the next step follows. That of slapd and those of
// the mail servers are as Debian's send them.
var good = []sample{
	{"smtp", 0, "220 demo.test ESMTP Exim 4.96 Mon, 30 Nov 2026 21:16:08 +0000\r\n", "", ""},
	{"smtp", 0, "220-demo.test\r\n220 ready\r\n", "", ""},
	{"smtp", 1, "250-demo.test Hello localhost [127.0.0.1]\r\n250-SIZE 52428800\r\n250-8BITMIME\r\n250-PIPELINING\r\n250-STARTTLS\r\n250 HELP\r\n", "", ""},
	{"smtp", 1, "250-demo.test\r\n250 starttls \r\n", "", ""},
	{"smtp", 2, "220 TLS go ahead\r\n", "", ""},
	{"lmtp", 1, "250-demo.test\r\n250-PIPELINING\r\n250 STARTTLS\r\n", "", ""},
	{"imap", 0, "* OK [CAPABILITY IMAP4rev1 SASL-IR STARTTLS AUTH=PLAIN] Dovecot (Debian) ready.\r\n", "", ""},
	{"imap", 1, "a1 OK Begin TLS negotiation now.\r\n", "", ""},
	{"imap", 1, "* BAD is no answer\r\n* CAPABILITY IMAP4rev1\r\na1 ok begin\r\n", "", ""},
	{"pop3", 0, "+OK Dovecot (Debian) ready.\r\n", "", ""},
	{"pop3", 1, "+OK\r\n", "", ""},
	{"ftp", 0, "220 (vsFTPd 3.0.3)\r\n", "", ""},
	{"ftp", 0, "220-Welcome\r\n  2200 users are here,\r\n220x and 221 more\r\n220 ready\r\n", "", ""},
	{"ftp", 0, "120 ready in 1 minute\r\n220 ready\r\n", "", ""},
	{"ftp", 1, "234 Proceed with negotiation.\r\n", "", ""},
	{"postgres", 0, "S", "", ""},
	{"mysql", 0, mysqlPacket(mysqlSSL | mysqlProtocol41), "", ""},
	{"ldap", 0, "\x30\x0c\x02\x01\x01\x78\x07\x0a\x01\x00\x04\x00\x04\x00", "", ""},
	{"ldap", 0, "\x30\x24\x02\x01\x01\x78\x1f\x0a\x01\x00\x04\x00\x04\x00\x8a\x161.3.6.1.4.1.1466.20037", "", ""},
	{"ldap", 0, "\x30\x84\x00\x00\x00\x10\x02\x01\x01\x78\x84\x00\x00\x00\x07\x0a\x01\x00\x04\x00\x04\x00", "", ""},
	{"xmpp", 0, xmppHeader + xmppOffer, "", ""},
	{"xmpp", 0, strings.TrimPrefix(xmppHeader, "<?xml version='1.0'?>") + "\n<stream:features><mechanisms xmlns='urn:ietf:params:xml:ns:xmpp-sasl'><mechanism>a&gt;ü</mechanism></mechanisms>" +
		"<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/></stream:features>", "", ""},
	{"xmpp", 1, "<proceed xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>", "", ""},
	{"xmpp", 1, "<proceed xmlns='urn:ietf:params:xml:ns:xmpp-tls'></proceed>", "", ""},
}

// bad are answers that end it.
var bad = []sample{
	{"smtp", 0, "554 no service here\r\n", shakedown.ClassIncompatible, `starttls smtp, greeting: the server refuses service: it said "554 no service here\r\n"`},
	{"smtp", 0, "421 too many connections\r\n", shakedown.ClassIncompatible, `the server refuses service: it said "421`},
	{"smtp", 0, "250 hello\r\n", shakedown.ClassPeer, `a reply of 220 was due: "250 hello`},
	{"smtp", 0, "220 hello\n", shakedown.ClassPeer, "a line ends without CR"},
	{"smtp", 0, "\n", shakedown.ClassPeer, "a line ends without CR"},
	{"smtp", 0, "220 a\rb\r\n", shakedown.ClassPeer, "a line holds CR or NUL"},
	{"smtp", 0, "220 a\x00b\r\n", shakedown.ClassPeer, "a line holds CR or NUL"},
	{"smtp", 0, "SSH-2.0-OpenSSH_9.2\r\n", shakedown.ClassPeer, `a line begins with no reply code: "SSH-2.0`},
	{"smtp", 0, "2200 hello\r\n", shakedown.ClassPeer, "a line begins with no reply code"},
	{"smtp", 0, "620 hello\r\n", shakedown.ClassPeer, "a line begins with no reply code"},
	{"smtp", 0, "220-a\r\nb\r\n220 c\r\n", shakedown.ClassPeer, "a line begins with no reply code"},
	{"smtp", 0, "220-a\r\n250 c\r\n", shakedown.ClassPeer, "its lines have different codes, 220 and 250"},
	{"smtp", 0, "220 " + strings.Repeat("a", maxLine), shakedown.ClassPeer, "a line has more than 2048 bytes"},
	{"smtp", 0, "220 " + strings.Repeat("a", maxLine) + "\r\n", shakedown.ClassPeer, "and 1894 bytes more"},
	{"smtp", 0, strings.Repeat("220-a\r\n", maxAnswer), shakedown.ClassPeer, "it does not end within 16384 bytes"},
	{"smtp", 0, "220 a\r\n220 b\r\n", shakedown.ClassPeer, `the server sent 7 bytes behind it that nobody asked for: "220 b\r\n"`},
	{"smtp", 1, "250-demo.test\r\n250-STARTTLSX\r\n250 XSTARTTLS\r\n", shakedown.ClassIncompatible, "starttls smtp, answer to EHLO: the server offers no TLS: it said"},
	{"smtp", 1, "250 STARTTLS\r\n", shakedown.ClassIncompatible, "the server offers no TLS"},
	{"smtp", 1, "502 unknown\r\n", shakedown.ClassIncompatible, "the server refuses service"},
	{"smtp", 2, "454 TLS not available\r\n", shakedown.ClassIncompatible, "starttls smtp, answer to STARTTLS: the server offers no TLS"},
	{"smtp", 2, "220 go\r\n250 injected\r\n", shakedown.ClassPeer, `the server sent 14 bytes behind it that nobody asked for: "250 injected\r\n"`},
	{"lmtp", 1, "500 this is SMTP\r\n", shakedown.ClassIncompatible, "starttls lmtp, answer to LHLO: the server refuses service"},
	{"imap", 0, "* PREAUTH welcome\r\n", shakedown.ClassIncompatible, "the server takes us for logged in already"},
	{"imap", 0, "* BYE overloaded\r\n", shakedown.ClassIncompatible, "the server refuses service"},
	{"imap", 0, "* OK hi\r\n* BYE overloaded\r\n", shakedown.ClassIncompatible, "the server refuses service"},
	{"imap", 0, "* HELLO\r\n", shakedown.ClassPeer, "it is not OK, PREAUTH or BYE"},
	{"imap", 0, "+OK hello\r\n", shakedown.ClassPeer, "a line does not begin with *"},
	{"imap", 0, "* OK hi\r\na1 OK already\r\n", shakedown.ClassPeer, "a line does not begin with *"},
	{"imap", 1, "a1 BAD unknown\r\n", shakedown.ClassIncompatible, "starttls imap, answer to STARTTLS: the server offers no TLS"},
	{"imap", 1, "a1 NO\r\n", shakedown.ClassIncompatible, "the server offers no TLS"},
	{"imap", 1, "a1 YES\r\n", shakedown.ClassPeer, "it is not OK, NO or BAD"},
	{"imap", 1, "a2 OK\r\n", shakedown.ClassPeer, "a line has neither the command's tag nor *"},
	{"imap", 1, "* BYE\r\n", shakedown.ClassIncompatible, "the server refuses service"},
	{"imap", 1, "a1 OK\r\n* OK injected\r\n", shakedown.ClassPeer, "behind it that nobody asked for"},
	{"pop3", 0, "-ERR busy\r\n", shakedown.ClassIncompatible, `the server refuses service: it said "-ERR busy\r\n"`},
	{"pop3", 0, "* OK\r\n", shakedown.ClassPeer, "it is neither +OK nor -ERR"},
	{"pop3", 1, "-ERR unknown command\r\n", shakedown.ClassIncompatible, "the server offers no TLS"},
	{"pop3", 1, "+OK\r\n+OK injected\r\n", shakedown.ClassPeer, "behind it that nobody asked for"},
	{"ftp", 0, "421 busy\r\n", shakedown.ClassIncompatible, "the server refuses service"},
	{"ftp", 0, "120 wait\r\n120 more\r\n", shakedown.ClassPeer, "a reply of 220 was due"},
	{"ftp", 0, "230 logged in\r\n", shakedown.ClassPeer, "a reply of 220 was due"},
	{"ftp", 1, "530 Please login with USER and PASS.\r\n", shakedown.ClassIncompatible, "starttls ftp, answer to AUTH TLS: the server offers no TLS"},
	{"ftp", 1, "431 no certificate\r\n", shakedown.ClassIncompatible, "the server offers no TLS"},
	{"ftp", 1, "234 go\r\n331 injected\r\n", shakedown.ClassPeer, "behind it that nobody asked for"},
	{"postgres", 0, "N", shakedown.ClassIncompatible, `starttls postgres, answer to SSLRequest: the server offers no TLS: it said "N"`},
	{"postgres", 0, "E\x00\x00\x00\x10could not fork", shakedown.ClassIncompatible, `the server refuses service: it said "E\x00\x00\x00\x10could not fork"`},
	{"postgres", 0, "H", shakedown.ClassPeer, "it is not S, N or E"},
	{"postgres", 0, "SR\x00\x00", shakedown.ClassPeer, "the server sent 3 bytes behind it that nobody asked for"},
	{"postgres", 0, "\x15\x03\x01\x00\x02\x02\x46", shakedown.ClassPeer, "it is not S, N or E"},
	{"mysql", 0, mysqlPacket(mysqlProtocol41), shakedown.ClassIncompatible, `the server offers no TLS: it said "10.11.19-MariaDB"`},
	{"mysql", 0, mysqlPacket(mysqlSSL), shakedown.ClassIncompatible, "the server offers no TLS"},
	{"mysql", 0, "\x18\x00\x00\x00\xff\x10\x04Too many connections", "", ""}, // one byte short: no verdict
	{"mysql", 0, "\x17\x00\x00\x00\xff\x10\x04Too many connections", shakedown.ClassIncompatible, `the server refuses service: it said "Too many connections"`},
	{"mysql", 0, "\x01\x00\x00\x00\xff", shakedown.ClassIncompatible, `it said ""`},
	{"mysql", 0, "\x05\x00\x00\x00\x093.20", shakedown.ClassPeer, "it is of protocol 9, not 10"},
	{"mysql", 0, "\x05\x00\x00\x00\x0a3.20", shakedown.ClassPeer, "it ends before its capability flags"},
	{"mysql", 0, "\x05\x00\x00\x00\x0a3.2\x00", shakedown.ClassPeer, "it ends before its capability flags"},
	{"mysql", 0, "\x00\x00\x00\x00", shakedown.ClassPeer, "its header tells of packet 0 and of 0 bytes"},
	{"mysql", 0, "HTTP/1.1 400 Bad Request\r\n", shakedown.ClassPeer, "its header tells of packet 80 and of 5526600 bytes"},
	{"mysql", 0, mysqlPacket(mysqlSSL|mysqlProtocol41) + "\x00", shakedown.ClassPeer, "behind it that nobody asked for"},
	{"ldap", 0, "\x30\x12\x02\x01\x01\x78\x0d\x0a\x01\x02\x04\x00\x04\x06no TLS", shakedown.ClassIncompatible, `the server offers no TLS (result code 2): it said "no TLS"`},
	{"ldap", 0, "\x30\x10\x02\x01\x00\x78\x0b\x0a\x01\x34\x04\x00\x04\x04busy", shakedown.ClassIncompatible, `the server refuses service: it said "busy"`},
	{"ldap", 0, "\x30\x0c\x02\x01\x02\x78\x07\x0a\x01\x00\x04\x00\x04\x00", shakedown.ClassPeer, "its message ID or result code is not to be understood"},
	{"ldap", 0, "\x30\x0c\x02\x01\x01\x61\x07\x0a\x01\x00\x04\x00\x04\x00", shakedown.ClassPeer, "a part of it has tag 0x61, not 0x78"},
	{"ldap", 0, "HTTP/1.1 400 Bad Request\r\n", shakedown.ClassPeer, "a part of it has tag 0x48, not 0x30"},
	{"ldap", 0, "\x30\x80\x02\x01\x01", shakedown.ClassPeer, "a length of it has 0 bytes"},
	{"ldap", 0, "\x30\x85\x00\x00\x00\x00\x01", shakedown.ClassPeer, "a length of it has 5 bytes"},
	{"ldap", 0, "\x30\x84\xff\xff\xff\xff", shakedown.ClassPeer, "a part of it has 4294967295 bytes"},
	{"ldap", 0, "\x30\x03\x02\x01\x01", shakedown.ClassPeer, "a part of it ends too early"},
	{"ldap", 0, "\x30\x0a\x02\x01\x01\x78\x05\x0a\x01\x00\x04\x00", shakedown.ClassPeer, "a part of it ends too early"},
	{"ldap", 0, "\x30\x0d\x02\x01\x01\x78\x07\x0a\x01\x00\x04\x00\x04\x00\xa0", shakedown.ClassPeer, "a part of it ends too early"},
	{"ldap", 0, "\x30\x11\x02\x01\x01\x78\x0c\x0a\x01\x00\x04\x00\x04\x00\x8a\x031.2", shakedown.ClassPeer, `it answers to another request: "1.2"`},
	{"ldap", 0, "\x30\x0c\x02\x01\x01\x78\x07\x0a\x01\x00\x04\x00\x04\x00\x30", shakedown.ClassPeer, "the server sent 1 bytes behind it"},
	{"xmpp", 0, xmppHeader + "<stream:features/>", shakedown.ClassIncompatible, "the server offers no TLS"},
	{"xmpp", 0, xmppHeader + "<stream:features><x xmlns='x'><starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/></x></stream:features>", shakedown.ClassIncompatible, "the server offers no TLS"},
	{"xmpp", 0, xmppHeader + "<stream:error><host-unknown xmlns='urn:ietf:params:xml:ns:xmpp-streams'/></stream:error>", shakedown.ClassIncompatible, "the server refuses service"},
	{"xmpp", 0, "<stream:stream xmlns:stream='http://etherx.jabber.org/streams'>", shakedown.ClassIncompatible, "the server offers no TLS"},
	{"xmpp", 0, "<html>", shakedown.ClassPeer, "it begins with element html, not with stream"},
	{"xmpp", 0, "<!DOCTYPE x>", shakedown.ClassPeer, "there is something that is no element"},
	{"xmpp", 0, "HTTP/1.1 400 Bad Request\r\n\r\n<html>", shakedown.ClassPeer, "there is something that is no element"},
	{"xmpp", 0, xmppHeader + "<message/>", shakedown.ClassPeer, "element message stands where the features should"},
	{"xmpp", 0, xmppHeader + "<stream:features><!-- x --></stream:features>", shakedown.ClassPeer, "there is something that is neither element nor text"},
	{"xmpp", 0, xmppHeader + "<stream:features></x></stream:features>", shakedown.ClassPeer, "it is not XML"},
	{"xmpp", 0, "<?xml version='1.0' encoding='utf-7'?><a>", shakedown.ClassPeer, "it is not XML"},
	{"xmpp", 1, "<failure xmlns='urn:ietf:params:xml:ns:xmpp-tls'/></stream:stream>", shakedown.ClassIncompatible, "the server offers no TLS"},
	{"xmpp", 1, "<proceed/>", shakedown.ClassPeer, "element proceed is neither proceed nor failure"},
	{"xmpp", 1, "<proceed xmlns='urn:ietf:params:xml:ns:xmpp-tls'/> ", shakedown.ClassPeer, "the server sent 1 bytes behind it that nobody asked for"},
}

// await makes a Dialogue that awaits the answer of a sample.
func await(t testing.TB, s sample) *Dialogue {
	t.Helper()
	d, err := New(s.protocol, "shakedown.test")
	if err != nil {
		t.Fatal(err)
	}
	d.Start()
	for d.at < s.step {
		answer := ""
		for _, g := range good {
			if g.protocol == s.protocol && g.step == d.at || s.protocol == "lmtp" && g.protocol == "smtp" && g.step == d.at {
				answer = g.answer
				break
			}
		}
		if _, _, f := d.Feed([]byte(answer)); f != nil {
			t.Fatal(f)
		}
	}
	return d
}

// TestGoodAnswers feeds good answers whole, cut at every place, and byte by byte:
// nothing short of the whole is an answer.
func TestGoodAnswers(t *testing.T) {
	for _, s := range good {
		check := func(chunks ...string) {
			t.Helper()
			d := await(t, s)
			for i, chunk := range chunks {
				send, ready, f := d.Feed([]byte(chunk))
				switch over := d.at > s.step; {
				case f != nil:
					t.Fatalf("%s %q: %v", s.protocol, s.answer, f)
				case over != (i == len(chunks)-1):
					t.Fatalf("%s %q: an answer at chunk %d of %d", s.protocol, s.answer, i, len(chunks))
				case over && ready != (d.at == len(d.steps)), !over && (ready || send != nil), over && !ready && send == nil:
					t.Fatalf("%s %q: send %q, ready %v", s.protocol, s.answer, send, ready)
				}
			}
		}
		check(s.answer)
		for i := 1; i < len(s.answer); i++ {
			check(s.answer[:i], s.answer[i:])
		}
		check(strings.Split(s.answer, "")...)
	}
}

// TestUntaggedAfterGreeting: data of the server's own accord may come with the
// greeting of IMAP.
func TestUntaggedAfterGreeting(t *testing.T) {
	d := await(t, sample{protocol: "imap"})
	if send, _, f := d.Feed([]byte("* OK hi\r\n* CAPABI")); send != nil || f != nil {
		t.Fatalf("half a line: send %q, failure %v", send, f)
	}
	if send, _, f := d.Feed([]byte("LITY IMAP4rev1\r\n")); string(send) != "a1 STARTTLS\r\n" || f != nil {
		t.Fatalf("send %q, failure %v", send, f)
	}
}

// TestStreamWhiteSpace: white space may follow the features of XMPP.
func TestStreamWhiteSpace(t *testing.T) {
	d := await(t, sample{protocol: "xmpp"})
	if send, _, f := d.Feed([]byte(xmppHeader + xmppOffer + "\r\n ")); !strings.HasPrefix(string(send), "<starttls") || f != nil {
		t.Fatalf("send %q, failure %v", send, f)
	}
}

func TestBadAnswers(t *testing.T) {
	for _, s := range bad {
		d := await(t, s)
		send, ready, f := d.Feed([]byte(s.answer))
		switch {
		case send != nil || ready:
			t.Errorf("%s %.40q: send %q, ready %v", s.protocol, s.answer, send, ready)
		case s.class == "":
			if f != nil {
				t.Errorf("%s %.40q: %v, but more may come", s.protocol, s.answer, f)
			}
		case f == nil:
			t.Errorf("%s %.40q: no failure", s.protocol, s.answer)
		case f.Class != s.class || !strings.Contains(f.Text, s.text):
			t.Errorf("%s %.40q: %s: %s, want %s: %s", s.protocol, s.answer, f.Class, f.Text, s.class, s.text)
		case f.Hint == "" || f.Phase != shakedown.PhaseConnected || len(f.Text) > 1000:
			t.Errorf("%s %.40q: hint %q, phase %s, text of %d bytes", s.protocol, s.answer, f.Hint, f.Phase, len(f.Text))
		}
	}
}

func TestHints(t *testing.T) {
	for _, c := range []struct{ protocol, answer, hint string }{
		{"postgres", "\x15\x03\x01\x00\x02\x02\x46", hintTLS},
		{"postgres", "H", "check the port and the protocol given with --starttls"},
		{"postgres", "SN", "someone between may have put them there"},
		{"postgres", "N", "switch TLS on in the server"},
		{"smtp", "421 busy\r\n", hintService},
	} {
		_, _, f := await(t, sample{protocol: c.protocol}).Feed([]byte(c.answer))
		if f == nil || !strings.Contains(f.Hint, c.hint) {
			t.Errorf("%s %q: %+v, want hint %q", c.protocol, c.answer, f, c.hint)
		}
	}
	if _, _, f := await(t, sample{protocol: "smtp", step: 2}).Feed([]byte("454 later\r\n")); f == nil || !strings.Contains(f.Hint, "not now") {
		t.Errorf("454 to STARTTLS: %+v", f)
	}
}

// TestFeedAfterTheEnd: what is left over from a dialogue does not panic.
func TestFeedAfterTheEnd(t *testing.T) {
	d := await(t, sample{protocol: "postgres"})
	if _, ready, f := d.Feed([]byte("S")); !ready || f != nil {
		t.Fatal(ready, f)
	}
	if _, _, f := d.Feed([]byte("S")); f == nil || f.Class != shakedown.ClassOurs {
		t.Errorf("fed after the end: %v", f)
	}
	if send := d.Start(); len(send) != 8 {
		t.Errorf("started again: %x", send)
	}
	if _, ready, f := d.Feed([]byte("S")); !ready || f != nil {
		t.Errorf("used again: %v %v", ready, f)
	}
}

func TestNames(t *testing.T) {
	for _, name := range Protocols() {
		if err := Parse(name); err != nil {
			t.Error(err)
		}
		if DefaultPort(name) == 0 {
			t.Errorf("%s has no port", name)
		}
	}
	want := `unknown protocol "SMTP" (one of smtp, lmtp, imap, pop3, ftp, postgres, mysql, ldap, xmpp)`
	if err := Parse("SMTP"); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if port := DefaultPort("SMTP"); port != 0 {
		t.Errorf("port %d of no protocol", port)
	}
	for _, c := range []struct{ protocol, text string }{
		{"SMTP", "starttls: unknown protocol"},
		{"xmpp", "starttls xmpp: a stream begins with the domain that is wanted"},
	} {
		_, err := New(c.protocol, "")
		f, ok := errors.AsType[*shakedown.Failure](err)
		if !ok || f.Class != shakedown.ClassOurs || f.Phase != shakedown.PhasePlanned || !strings.Contains(f.Text, c.text) {
			t.Errorf("New(%q): %+v", c.protocol, f)
		}
	}
}

// TestServerNameIsEscaped: a name cannot end the stream header.
func TestServerNameIsEscaped(t *testing.T) {
	d, err := New("xmpp", "a'><x>&")
	if err != nil {
		t.Fatal(err)
	}
	if got := string(d.Start()); !strings.HasSuffix(got, " to='a&#39;&gt;&lt;x&gt;&amp;'>") {
		t.Errorf("header %s", got)
	}
}

// FuzzAnswer gives every parser any bytes. What a parser takes for an answer has
// to be one without what follows it, too, and a failure has to say whose it is.
func FuzzAnswer(f *testing.F) {
	var parsers []parser
	index := map[string]uint8{}
	for _, p := range protocols {
		index[p.name] = uint8(len(parsers))
		steps, err := p.steps("shakedown.test")
		if err != nil {
			f.Fatal(err)
		}
		for _, s := range steps {
			if s.parse != nil {
				parsers = append(parsers, s.parse)
			}
		}
	}
	for _, s := range append(good, bad...) {
		f.Add(index[s.protocol]+uint8(s.step), []byte(s.answer))
	}
	f.Fuzz(func(t *testing.T, which uint8, b []byte) {
		parse := parsers[int(which)%len(parsers)]
		n, err := parse(b)
		switch {
		case err != nil:
			if f, ok := errors.AsType[*shakedown.Failure](err); !ok || f.Class != shakedown.ClassPeer && f.Class != shakedown.ClassIncompatible || f.Hint == "" {
				t.Fatalf("%#v", err)
			}
		case n < 0 || n > len(b):
			t.Fatalf("%d of %d bytes", n, len(b))
		case n > 0:
			if again, err := parse(b[:n]); err != nil || again != n {
				t.Fatalf("%d bytes are an answer, but alone %d: %v", n, again, err)
			}
		}
	})
}
