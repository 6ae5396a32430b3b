package check

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"testing"
	"time"

	"shakedown"
	"shakedown/internal/server"
)

// TestDual: both certificates are found in both versions, each with its staple.
// Go staples every handshake, nginx begins when it has fetched the response.
func TestDual(t *testing.T) {
	for _, d := range []server.Driver{server.Nginx{}, server.Embedded{}} {
		t.Run(d.Name(), func(t *testing.T) {
			spec := server.Spec{Workers: 2, Certificates: []server.KeyKind{server.RSA2048, server.P256}, Stapling: server.StaplingResponder}
			s := startServer(t, d, spec)
			r := check(t, Plan{}, s)
			o := &r.Targets[0].Observation
			expect(t, o, map[string]shakedown.Verdict{"certificates": shakedown.Yes})
			if len(o.Certificates) != 2 {
				t.Fatalf("%d certificates", len(o.Certificates))
			}
			for _, c := range o.Certificates {
				st := c.Stapling
				if len(c.Versions) != 2 || c.Verification != shakedown.VerificationOK || len(c.OCSP) != 1 {
					t.Errorf("%s: versions %v, %s, responders %v", c.Chain.Key(), c.Versions, c.Verification, c.OCSP)
				}
				if lazy := d.Name() == "nginx"; lazy && st.First == 1 || !lazy && (st.First != 1 || st.Stapled != st.Asked) {
					t.Errorf("%s: %+v", c.Chain.Key(), st)
				}
			}
			if d.Name() == "embedded" {
				expect(t, o, map[string]shakedown.Verdict{"stapling": shakedown.Yes})
				expectFindings(t, r.Targets[0].Findings, nil, []string{"lazy-staple", "no-staple", "rsa-only"})
				return
			}
			expectFindings(t, r.Targets[0].Findings, []string{"lazy-staple"}, []string{"rsa-only"})
		})
	}
}

// TestDefaultFits: a usual nginx with two certificates and 36 suites of TLS 1.2 is
// answered as a whole within the usual budget, since connections that are needed
// anyway tell suites, groups and schemes as well.
func TestDefaultFits(t *testing.T) {
	s := startServer(t, server.Nginx{}, server.Spec{Workers: 4, Certificates: []server.KeyKind{server.RSA2048, server.P256}})
	r := check(t, Plan{}, s)
	o := &r.Targets[0].Observation
	for _, a := range o.Answers {
		if a.Verdict == shakedown.Inconclusive {
			t.Errorf("%s: %s", a.ID, a.Evidence)
		}
	}
	expect(t, o, map[string]shakedown.Verdict{"resume-session-id": shakedown.No, "suites12": shakedown.Yes, "time12": shakedown.Yes, "preference": shakedown.No})
	if c := accounts(t, s, r); r.Connections > DefaultMaxConnections || c.Accepted > DefaultMaxConnections {
		t.Errorf("%d connections, nginx accepted %d", r.Connections, c.Accepted)
	}
}

// TestStaples: each thing that can be wrong with one.
func TestStaples(t *testing.T) {
	past := time.Now().Add(-48 * time.Hour)
	for _, test := range []struct {
		name       string
		spec       server.Spec
		want       shakedown.Verdict
		there, not []string
	}{
		{"good", server.Spec{Stapling: server.StaplingFile}, shakedown.Yes, nil, []string{"bad-staple", "no-staple", "revoked"}},
		{"revoked", server.Spec{Stapling: server.StaplingFile, OCSP: server.OCSPAnswer{Status: "revoked"}}, shakedown.No, []string{"revoked"}, nil},
		{"unknown", server.Spec{Stapling: server.StaplingFile, OCSP: server.OCSPAnswer{Status: "unknown"}}, shakedown.No, []string{"bad-staple"}, []string{"revoked"}},
		{"expired", server.Spec{Stapling: server.StaplingFile, OCSP: server.OCSPAnswer{ThisUpdate: past, NextUpdate: past.Add(time.Hour)}}, shakedown.No, []string{"bad-staple"}, nil},
		{"none, though demanded", server.Spec{MustStaple: true}, shakedown.No, []string{"must-staple"}, nil},
		{"none, and no responder", server.Spec{}, shakedown.No, nil, []string{"no-staple", "must-staple"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.spec.Certificates = []server.KeyKind{server.P256}
			s := startServer(t, server.Embedded{}, test.spec)
			r := check(t, Plan{MaxConnections: 80}, s)
			expect(t, &r.Targets[0].Observation, map[string]shakedown.Verdict{"stapling": test.want})
			expectFindings(t, r.Targets[0].Findings, test.there, test.not)
		})
	}
}

// TestStapleOfAnother: a good response, and not to this certificate.
func TestStapleOfAnother(t *testing.T) {
	pki := t.TempDir()
	one := startServer(t, server.Embedded{}, server.Spec{PKI: pki, Certificates: []server.KeyKind{server.P256}})
	other := startServer(t, server.Embedded{}, server.Spec{PKI: pki, Certificates: []server.KeyKind{server.P384}, Stapling: server.StaplingFile})
	files, err := filepath.Glob(filepath.Join(other.Dir, "staple-*.der"))
	if err != nil || len(files) != 1 {
		t.Fatalf("staples: %v, %v", files, err)
	}
	pair, err := one.Certificates[0].TLS()
	if err != nil {
		t.Fatal(err)
	}
	if pair.OCSPStaple, err = os.ReadFile(files[0]); err != nil {
		t.Fatal(err)
	}
	where := serve(t, &tls.Config{Certificates: []tls.Certificate{pair}})
	r := run(t, Plan{Targets: []Target{at(one, where.Port(), where.Addr())}, Roots: one.Roots})
	expect(t, &r.Targets[0].Observation, map[string]shakedown.Verdict{"stapling": shakedown.No})
	expectFindings(t, r.Targets[0].Findings, []string{"bad-staple"}, []string{"revoked", "no-staple"})
}

// TestUntrusted: a chain that does not verify is a finding, and no obstacle.
func TestUntrusted(t *testing.T) {
	spec := server.Spec{Certificates: []server.KeyKind{server.P256}}
	s, other := startServer(t, server.Embedded{}, spec), startServer(t, server.Embedded{}, spec)
	r := check(t, Plan{Roots: other.Roots}, s)
	expect(t, &r.Targets[0].Observation, map[string]shakedown.Verdict{"reach": shakedown.Yes, "resume-psk": shakedown.Yes})
	expectFindings(t, r.Targets[0].Findings, []string{"chain"}, nil)
}

// TestChainFindings: what cannot be served by a test server is made up.
func TestChainFindings(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	leaf := shakedown.Certificate{Subject: "CN=a", Key: "RSA-2048", Bytes: 900, NotAfter: now.AddDate(0, 0, 90)}
	old := shakedown.Certificate{Subject: "CN=i", Key: "RSA-4096", Bytes: 1200, NotAfter: now.AddDate(0, 0, -1)}
	near := leaf
	near.NotAfter = now.AddDate(0, 0, 10)
	chain := func(ordered bool, certs ...shakedown.Certificate) shakedown.Chain {
		c := shakedown.Chain{Certificates: certs, Ordered: ordered}
		for _, m := range certs {
			c.Bytes += m.Bytes
		}
		return c
	}
	for _, test := range []struct {
		name  string
		c     Certificate
		there []string
	}{
		{"fine", Certificate{Chain: chain(true, leaf)}, nil},
		{"root", Certificate{Chain: chain(true, leaf, leaf), RootSent: true}, []string{"root-sent"}},
		{"order", Certificate{Chain: chain(false, leaf, leaf)}, []string{"chain-order"}},
		{"large", Certificate{Chain: chain(true, leaf), FlightBytes: initialWindow + 1}, []string{"flight"}},
		{"at the window", Certificate{Chain: chain(true, leaf), FlightBytes: initialWindow}, nil},
		{"intermediate expired", Certificate{Chain: chain(true, leaf, old)}, []string{"expiry"}},
		{"leaf near its end", Certificate{Chain: chain(true, near)}, []string{"expiry"}},
	} {
		p := newProber(&Plan{}, &Target{}, targetAddress)
		p.seen.Certificates = []Certificate{test.c}
		got := append(findChains(p, now), findExpiry(p, now)...)
		if len(got) != len(test.there) {
			t.Errorf("%s: %v", test.name, got)
		}
		expectFindings(t, got, test.there, nil)
	}
}
