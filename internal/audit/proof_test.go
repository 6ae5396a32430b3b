package audit

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"shakedown"
	"shakedown/handshake"
	"shakedown/internal/check"
	"shakedown/internal/lint"
	"shakedown/internal/load"
	"shakedown/internal/nginx"
)

// TestProofs shows the five costliest mistakes twice: lint finds them in the file, and check sees them of nginx 1.22 that
// runs on it. The same file repaired is silent in both.
func TestProofs(t *testing.T) {
	sites := site("a.example", "") + site("shop.example", "")
	for _, proof := range []struct {
		name      string
		rules     []string // that speak of the bad file and not of the good one
		rate      float64  // sessions a second, told to lint
		bad, good string
		observe   func(*live) string
		wants     [2]string
	}{
		{
			name: "default-server scope", rules: []string{"DEF-CACHE", "DEF-TIMEOUT"},
			bad:  both + ecdsa + site("a.example", "") + site("shop.example", "ssl_session_cache shared:SHOP:1m; ssl_session_timeout 1h;"),
			good: both + ecdsa + "ssl_session_cache shared:SHOP:1m; ssl_session_timeout 1h;\n" + sites,
			observe: func(l *live) string {
				o := l.check("shop.example")
				return "session-id " + verdictOf(o, "resume-session-id") + ", hint " + ticketsOf(o, check.MechanismTicket).Lifetime.String()
			},
			wants: [2]string{"session-id no, hint 5m0s", "session-id yes, hint 1h0m0s"},
		},
		{
			name: "tickets mixed on one socket", rules: []string{"DEF-TICKETS-MIX"},
			bad:  both + ecdsa + "ssl_session_cache shared:TLS:1m;\n" + site("a.example", "ssl_session_tickets off;") + site("shop.example", ""),
			good: both + ecdsa + "ssl_session_cache shared:TLS:1m;\n" + sites,
			observe: func(l *live) string {
				o := l.check("shop.example")
				return "psk " + verdictOf(o, "resume-psk") + ", ticket " + verdictOf(o, "resume-ticket") + ", session-id " + verdictOf(o, "resume-session-id")
			},
			wants: [2]string{"psk no, ticket no, session-id yes", "psk yes, ticket yes, session-id yes"},
		},
		{
			// A megabyte holds 2,682 sessions of TLS 1.2, and three are made a second for an hour: those of half an hour ago
			// are gone.
			name: "cache small for the load", rules: []string{"RES-CACHE-SMALL"}, rate: 3,
			bad:  "ssl_protocols TLSv1.2;\n" + ecdsa + "ssl_session_tickets off; ssl_session_cache shared:TLS:1m; ssl_session_timeout 1h;\n" + sites,
			good: "ssl_protocols TLSv1.2;\n" + ecdsa + "ssl_session_tickets off; ssl_session_cache shared:TLS:5m; ssl_session_timeout 1h;\n" + sites,
			observe: func(l *live) string {
				old := l.fetch()
				if v := verdictOf(l.check("shop.example"), "resume-session-id"); v != "yes" {
					return "session-id " + v
				}
				l.load(load.Plan{Config: handshake.Config{ServerName: "shop.example", Versions: []shakedown.Version{shakedown.TLS12}, Work: shakedown.WorkMinimal}, Count: 5400})
				s := l.load(load.Plan{Config: handshake.Config{ServerName: "shop.example", Mode: shakedown.ModeSessionID}, Sessions: []*handshake.Session{old}, Connections: 1, Count: 1})
				return "after 30 minutes of load " + string(s.Observed[0].Mode)
			},
			wants: [2]string{"after 30 minutes of load full", "after 30 minutes of load session-id"},
		},
		{
			name: "HelloRetryRequest by secp384r1 alone", rules: []string{"KX-HRR", "KX-SLOW-GROUP"},
			bad:  both + ecdsa + "ssl_ecdh_curve secp384r1;\n" + sites,
			good: both + ecdsa + "ssl_ecdh_curve X25519:prime256v1:secp384r1;\n" + sites,
			observe: func(l *live) string {
				o := l.check("shop.example")
				return "retry " + verdictOf(o, "retry") + ", " + o.Usual.Group.String()
			},
			wants: [2]string{"retry yes, secp384r1", "retry no, x25519"},
		},
		{
			name: "RSA for clients that put PSS first", rules: []string{"CIPH-PREFER-DUAL"},
			bad:  both + dual + sites,
			good: both + dual + "ssl_prefer_server_ciphers on;\n" + sites,
			observe: func(l *live) string {
				// check's own order has ECDSA first; clients that put PSS first are what this is about.
				o := l.checkAs(handshake.Config{ServerName: "shop.example", SignatureSchemes: []shakedown.SignatureScheme{
					shakedown.RSAPSSRSAESHA256, shakedown.ECDSASecp256r1, shakedown.RSAPKCS1SHA256, shakedown.RSAPKCS1SHA384, shakedown.RSAPKCS1SHA512}})
				return fmt.Sprintf("%s of %d", o.Usual.Certificate, len(o.Certificates))
			},
			wants: [2]string{"RSA-2048 of 2", "ECDSA-P256 of 2"},
		},
	} {
		for i, http := range []string{proof.bad, proof.good} {
			t.Run(proof.name+map[int]string{0: ", bad", 1: ", good"}[i], func(t *testing.T) {
				l := start(t, http)
				if l.binary.Version != (nginx.Version{Major: 1, Minor: 22, Patch: 1}) {
					t.Skipf("shown of nginx 1.22.1 (Debian 12), found %s", l.binary.Version)
				}
				for _, id := range proof.rules {
					speaks := slices.ContainsFunc(l.lint(proof.rate).Findings, func(f *lint.Finding) bool { return f.Rule.ID == id })
					if speaks != (i == 0) {
						t.Errorf("%s speaks: %t", id, speaks)
					}
				}
				if got := proof.observe(l); got != proof.wants[i] {
					t.Errorf("got %q, want %q", got, proof.wants[i])
				}
			})
		}
	}
}

// check asks the server all questions for a name.
func (l *live) check(name string) *check.Observation {
	l.t.Helper()
	return l.checkAs(handshake.Config{ServerName: name})
}

// checkAs does so as a client of that kind.
func (l *live) checkAs(c handshake.Config) *check.Observation {
	l.t.Helper()
	r, err := check.Run(l.t.Context(), check.Plan{Rate: 1000, Targets: []check.Target{{
		Target: l.target(), Config: c, Request: []byte("GET / HTTP/1.1\r\nHost: " + c.ServerName + "\r\n\r\n"),
	}}})
	if err != nil {
		l.t.Fatal(err)
	}
	return &r.Targets[0].Observation
}

func verdictOf(o *check.Observation, id string) string {
	for _, a := range o.Answers {
		if a.ID == id {
			return string(a.Verdict)
		}
	}
	return "not asked"
}

func ticketsOf(o *check.Observation, mechanism string) check.Tickets {
	for _, t := range o.Tickets {
		if t.Mechanism == mechanism {
			return t
		}
	}
	return check.Tickets{}
}

// load makes a run against the server in which nothing may fail.
func (l *live) load(p load.Plan) *load.Summary {
	l.t.Helper()
	p.Targets = []netip.AddrPort{l.address}
	if p.Connections == 0 {
		p.Connections = 8
	}
	p.Duration = 5 * time.Minute // the count ends it
	s, err := load.Run(l.t.Context(), p, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	if s.Failures > 0 || s.Handshakes != p.Count {
		l.t.Fatalf("%d handshakes and %d failures of %d: %+v", s.Handshakes, s.Failures, p.Count, s.Failed)
	}
	return s
}

// fetch takes a session with an ID.
func (l *live) fetch() *handshake.Session {
	l.t.Helper()
	client, err := handshake.NewClient(&handshake.Config{ServerName: "shop.example", Mode: shakedown.ModeSessionID})
	if err != nil {
		l.t.Fatal(err)
	}
	conn, err := net.Dial("tcp", l.address.String())
	if err != nil {
		l.t.Fatal(err)
	}
	defer conn.Close()
	s, err := handshake.Fetch(l.t.Context(), conn, client)
	if err != nil {
		l.t.Fatal(err)
	}
	return s
}
