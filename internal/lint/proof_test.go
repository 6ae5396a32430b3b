package lint

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const both = "ssl_protocols TLSv1.2 TLSv1.3;\n"

// TestProofs starts nginx 1.22 on the examples of a rule and shows with a client that the one it speaks on behaves as it
// says, and the other as it should.
func TestProofs(t *testing.T) {
	binary := needNginx(t)
	curves := func(ids ...tls.CurveID) func(*tls.Config) { return func(c *tls.Config) { c.CurvePreferences = ids } }
	version := func(name string) func(*live) string {
		return func(l *live) string {
			state, err := l.dial(name, nil)
			return verdictOr(tls.VersionName(state.Version), err)
		}
	}
	for _, proof := range []struct {
		rule, with string // with: more lines of http{}
		bad, good  string // examples; before and after when empty
		observe    func(*live) string
		wants      [2]string
	}{
		{rule: "DEF-TICKETKEY", wants: [2]string{"another key", "t80.key"}, observe: func(l *live) string {
			return l.ticketKey("shop.example", "t80.key")
		}},
		{rule: "DEF-CACHE", wants: [2]string{"full", "resumes"}, observe: func(l *live) string { return l.resumesByID("shop.example", nil) }},
		{rule: "DEF-TIMEOUT", wants: [2]string{"300", "3600"}, observe: func(l *live) string { return hint(l.openssl("shop.example", "-tls1_2")) }},
		{rule: "DEF-TICKETS-MIX", with: both, wants: [2]string{"1.2 full, 1.3 full", "1.2 resumes, 1.3 resumes"}, observe: func(l *live) string {
			return "1.2 " + l.resumesByTicketOrID("shop.example") + ", 1.3 " + l.resumes("shop.example", nil, nil)
		}},
		{rule: "DEF-TICKETS-MIX", with: both, bad: "fire-named-off", wants: [2]string{"full", "resumes"}, observe: func(l *live) string {
			return l.resumes("b.example", nil, nil)
		}},
		{rule: "DEF-PROTO", bad: "fire-without13", wants: [2]string{"TLS 1.2", "TLS 1.3"}, observe: version("b.example")},
		{rule: "DEF-PREFER", wants: [2]string{"fails", "full"}, observe: func(l *live) string {
			return verdict(l.dial("shop.example", curves(tls.X25519, tls.CurveP384))) // is asked for a share of secp384r1
		}},
		{rule: "DEF-PREFER", wants: [2]string{"full", "full"}, observe: func(l *live) string {
			return verdict(l.dial("shop.example", curves(tls.CurveP384))) // is not
		}},
		{rule: "DEF-PROTO-IMPLICIT", wants: [2]string{"TLS 1.2", "TLS 1.3"}, observe: version("shop.example")},
		{rule: "DEF-CURVE", with: both, wants: [2]string{"full", "fails"}, observe: func(l *live) string {
			return verdict(l.dial("shop.example", curves(tls.CurveP384))) // the server named allows X25519 and P-256 alone
		}},
		{rule: "DEF-SUITES13", with: both, wants: [2]string{"another", "TLS_CHACHA20_POLY1305_SHA256"}, observe: func(l *live) string {
			state, err := l.dial("shop.example", nil)
			if err == nil && state.CipherSuite != tls.TLS_CHACHA20_POLY1305_SHA256 {
				return "another"
			}
			return verdictOr(tls.CipherSuiteName(state.CipherSuite), err)
		}},
		{rule: "DEF-EARLY", with: both, wants: [2]string{"accepted", "not sent"}, observe: func(l *live) string { return l.earlyData("shop.example") }},
		{rule: "DEF-REJECT-NOTLS", wants: [2]string{"full", "resumes"}, observe: func(l *live) string { return l.resumesByID("shop.example", nil) }},
		{rule: "DEF-V4V6", wants: [2]string{"full", "resumes"}, observe: (*live).resumesAcrossFamilies},
		{rule: "DEF-V4V6", bad: "fire-key-other-certificate", good: "quiet-key", wants: [2]string{"full", "resumes"}, observe: (*live).resumesAcrossFamilies},
		{rule: "RES-NONE", with: both, wants: [2]string{"full", "resumes"}, observe: func(l *live) string { return l.resumes("shop.example", nil, nil) }},
		{rule: "RES-OFF-STATEFUL", with: both, wants: [2]string{"resumes, ticket of 32 bytes", "resumes, longer ticket"}, observe: func(l *live) string {
			w := &wallet{}
			how := func(c *tls.Config) { c.ClientSessionCache = w }
			if _, err := l.dial("shop.example", how); err != nil {
				l.t.Fatal(err)
			}
			size := len(w.ticket(l.t))
			state, err := l.dial("shop.example", how)
			if size == 32 {
				return verdict(state, err) + ", ticket of 32 bytes"
			}
			return verdict(state, err) + ", longer ticket"
		}},
		{rule: "RES-RELOAD-KEYS", with: both, wants: [2]string{"full", "resumes"}, observe: func(l *live) string { return l.resumes("shop.example", l.reload, nil) }},
		{rule: "RES-RELOAD-KEYS", with: both, bad: "fire-zone-old", wants: [2]string{"full", "resumes"}, observe: func(l *live) string { return l.resumes("a.example", l.reload, nil) }},
		{rule: "RES-BUILTIN-SHARED", wants: [2]string{"full", "resumes"}, observe: func(l *live) string { return l.resumesByID("shop.example", l.reload) }},
		{rule: "RES-NUMTICKETS", with: both, wants: [2]string{"1 ticket", "2 tickets"}, observe: (*live).countTickets},
		{rule: "RES-NUMTICKETS", with: both, bad: "fire-zero", wants: [2]string{"0 tickets", "2 tickets"}, observe: (*live).countTickets},
		{rule: "RES-ANTIREPLAY", with: both, wants: [2]string{"full", "resumes"}, observe: func(l *live) string { return l.resumes("shop.example", nil, nil) }},
		{rule: "RES-ANTIREPLAY", with: both, bad: "before", good: "quiet-builtin", wants: [2]string{"full", "resumes"}, observe: func(l *live) string {
			// builtin is kept in each of two workers: one of a few tries meets the same worker.
			for range 10 {
				if l.resumes("a.example", nil, nil) == "resumes" {
					return "resumes"
				}
			}
			return "full"
		}},
		{rule: "RES-MTLS-CROSS-SNI", bad: "fire-backport", good: "", wants: [2]string{"fails", "-"}, observe: func(l *live) string {
			w := &wallet{}
			how := func(c *tls.Config) {
				c.ClientSessionCache = w
				pair, err := tls.LoadX509KeyPair(filepath.Join(l.dir, "ecdsa.crt"), filepath.Join(l.dir, "ecdsa.key"))
				if err != nil {
					l.t.Fatal(err)
				}
				c.Certificates = []tls.Certificate{pair}
			}
			if _, err := l.dial("a.example", how); err != nil {
				l.t.Fatal(err)
			}
			return verdict(l.dial("b.example", how))
		}},
		{rule: "KX-HRR", wants: [2]string{"asked again", "at once"}, observe: func(l *live) string {
			state, err := l.dial("shop.example", curves(tls.X25519, tls.CurveP384))
			if state.HelloRetryRequest {
				return "asked again"
			}
			return verdictOr("at once", err)
		}},
		{rule: "KX-HRR", bad: "before", good: "quiet-order", wants: [2]string{"asked again", "at once"}, observe: func(l *live) string {
			state, err := l.dial("a.example", curves(tls.X25519, tls.CurveP384))
			if state.HelloRetryRequest {
				return "asked again"
			}
			return verdictOr("at once", err)
		}},
		{rule: "KX-NO-P256", with: both, wants: [2]string{"fails", "full"}, observe: func(l *live) string { return verdict(l.dial("shop.example", curves(tls.CurveP256))) }},
		// Published advice says the first fails; with OpenSSL 3.0 it does not, and the rule is silent there.
		{rule: "KX-CERT-CURVE", wants: [2]string{"full", "full"}, observe: func(l *live) string { return verdict(l.dial("shop.example", tls12)) }},
		{rule: "CIPH-NO-MATCH-CERT", wants: [2]string{"fails", "full"}, observe: func(l *live) string { return verdict(l.dial("shop.example", tls12)) }},
		{rule: "CIPH-NO-MATCH-CERT", bad: "fire-dhe", wants: [2]string{"no cipher", "cipher"}, observe: func(l *live) string {
			if strings.Contains(l.openssl("a.example", "-tls1_2"), "Cipher is (NONE)") {
				return "no cipher"
			}
			return "cipher"
		}},
		{rule: "CIPH-DHE", wants: [2]string{"DHE", "ECDHE"}, observe: func(l *live) string {
			if strings.Contains(l.openssl("shop.example", "-tls1_2"), "Server Temp Key: DH,") {
				return "DHE"
			}
			return "ECDHE"
		}},
		{rule: "CIPH-STATIC-RSA", wants: [2]string{"full", "fails"}, observe: func(l *live) string {
			return verdict(l.dial("shop.example", func(c *tls.Config) {
				tls12(c)
				c.CipherSuites = []uint16{tls.TLS_RSA_WITH_AES_128_GCM_SHA256}
			}))
		}},
		{rule: "CIPH-RSA-FIRST", wants: [2]string{"RSA", "ECDSA"}, observe: func(l *live) string { return certificateKind(l.dial("shop.example", tls12)) }},
		{rule: "CIPH-PREFER-DUAL", with: both, wants: [2]string{"RSA", "ECDSA"}, observe: func(l *live) string { return certificateKind(l.dial("shop.example", nil)) }},
		{rule: "PROTO-NO13", wants: [2]string{"TLS 1.2", "TLS 1.3"}, observe: version("shop.example")},
		{rule: "PROTO-NO13", bad: "fire-default", wants: [2]string{"TLS 1.2", "TLS 1.3"}, observe: version("a.example")},
		{rule: "PROTO-OLD", wants: [2]string{"fails", "fails"}, observe: func(l *live) string { // inert with OpenSSL 3
			return verdict(l.dial("shop.example", func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS11 }))
		}},
		{rule: "PROTO-OLD", bad: "quiet-level", good: "after", wants: [2]string{"full", "fails"}, observe: func(l *live) string { // unless told
			return verdict(l.dial("a.example", func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS11 }))
		}},
		{rule: "KX-SLOW-GROUP", wants: [2]string{"CurveP384", "X25519"}, observe: group12},
		{rule: "KX-SLOW-GROUP", good: "quiet-client-chooses", wants: [2]string{"CurveP384", "X25519"}, observe: group12},
		{rule: "KX-SLOW-GROUP", with: both, wants: [2]string{"X25519", "X25519"}, observe: func(l *live) string { // TLS 1.3: the key share decides
			state, err := l.dial("shop.example", curves(tls.X25519, tls.CurveP384))
			return verdictOr(state.CurveID.String(), err)
		}},
	} {
		names := [2]string{proof.bad, proof.good}
		if names[0] == "" {
			names[0] = "before"
		}
		if names[1] == "" {
			names[1] = "after"
		}
		for i, example := range names {
			if proof.wants[i] == "-" {
				continue
			}
			t.Run(proof.rule+"/"+example, func(t *testing.T) {
				text, err := os.ReadFile("rules/" + proof.rule + "/" + example + ".conf")
				if err != nil {
					t.Fatal(err)
				}
				with := proof.with
				if directive, _, _ := strings.Cut(with, " "); strings.Contains(string(text), directive) {
					with = ""
				}
				l := start(t, binary.Path, files(t), with+withoutOptions(string(text)))
				if got := proof.observe(l); got != proof.wants[i] {
					log, _ := os.ReadFile(l.log)
					t.Errorf("got %q, want %q\n%s", got, proof.wants[i], log)
				}
			})
		}
	}
}

// group12 is the group a TLS 1.2 client gets that wants X25519 first.
func group12(l *live) string {
	state, err := l.dial("shop.example", func(c *tls.Config) {
		tls12(c)
		c.CurvePreferences = []tls.CurveID{tls.X25519, tls.CurveP256, tls.CurveP384}
	})
	return verdictOr(state.CurveID.String(), err)
}

func verdictOr(text string, err error) string {
	if err != nil {
		return "fails"
	}
	return text
}

func (l *live) ticketKey(name, file string) string {
	w := &wallet{}
	if _, err := l.dial(name, func(c *tls.Config) { c.ClientSessionCache = w }); err != nil {
		l.t.Fatal(err)
	}
	key, err := os.ReadFile(filepath.Join(l.dir, file))
	if err != nil {
		l.t.Fatal(err)
	}
	if bytes.HasPrefix(w.ticket(l.t), key[:16]) {
		return file
	}
	return "another key"
}

// hint is the ticket lifetime openssl prints, in seconds.
func hint(out string) string {
	_, rest, _ := strings.Cut(out, "TLS session ticket lifetime hint: ")
	seconds, _, _ := strings.Cut(rest, " ")
	return seconds
}

func (l *live) resumesByTicketOrID(name string) string {
	args := []string{"-tls1_2", "-ign_eof"}
	l.openssl(name, append(args, "-sess_out", "any.session")...)
	if strings.Contains(l.openssl(name, append(args, "-sess_in", "any.session")...), "Reused, TLSv1.2") {
		return "resumes"
	}
	return "full"
}

func (l *live) earlyData(name string) string {
	if err := os.WriteFile(filepath.Join(l.dir, "early.txt"), []byte("GET / HTTP/1.0\r\n\r\n"), 0o600); err != nil {
		l.t.Fatal(err)
	}
	l.openssl(name, "-tls1_3", "-ign_eof", "-sess_out", "early.session")
	out := l.openssl(name, "-tls1_3", "-ign_eof", "-sess_in", "early.session", "-early_data", "early.txt")
	for _, word := range []string{"accepted", "rejected", "not sent"} {
		if strings.Contains(out, "Early data was "+word) {
			return word
		}
	}
	return out
}

func (l *live) resumesAcrossFamilies() string {
	w := &wallet{}
	how := func(c *tls.Config) { c.ClientSessionCache = w }
	if _, err := l.dial("a.example", how); err != nil {
		l.t.Fatal(err)
	}
	return verdict(l.dialAt(fmt.Sprintf("[::1]:%d", l.port), "a.example", how))
}

func (l *live) countTickets() string {
	w := &wallet{}
	if _, err := l.dial("shop.example", func(c *tls.Config) { c.ClientSessionCache = w }); err != nil {
		l.t.Fatal(err)
	}
	return plural(len(w.sessions), "ticket")
}

// TestZoneCapacity shows the figure of RES-CACHE-SMALL: a 1m zone holds 1336 TLS 1.3 handshakes without tickets, so one
// made 1300 before still resumes and one made 1400 before does not.
func TestZoneCapacity(t *testing.T) {
	binary := needNginx(t)
	if testing.Short() {
		t.Skip("2,700 handshakes; run without -short")
	}
	l := start(t, binary.Path, files(t), both+"ssl_session_tickets off; ssl_session_cache shared:TLS:1m; ssl_session_timeout 1h;\n"+
		"server { listen 8443 ssl; ssl_certificate ecdsa.crt; ssl_certificate_key ecdsa.key; }")
	for _, test := range []struct {
		after int
		want  string
	}{{1300, "resumes"}, {1400, "full"}} {
		got := l.resumes("a.example", func() {
			for range test.after {
				if _, err := l.dial("a.example", nil); err != nil {
					t.Fatal(err)
				}
			}
		}, nil)
		if got != test.want {
			t.Errorf("%d handshakes later: %s, want %s", test.after, got, test.want)
		}
	}
}
