package server

import (
	"context"
	"crypto/tls"
	"fmt"
	"strings"
	"sync"
	"testing"

	"shakedown"
)

// TestContractSettings asks for one thing at a time and looks whether it came.
func TestContractSettings(t *testing.T) {
	pki := t.TempDir()
	cases := map[string]struct {
		spec   Spec
		client *tls.Config
		check  func(tls.ConnectionState, []byte) string // what is wrong, or ""
	}{
		"TLS 1.0": {
			spec:   Spec{Versions: []shakedown.Version{shakedown.TLS10}},
			client: &tls.Config{MinVersion: tls.VersionTLS10},
			check: func(s tls.ConnectionState, _ []byte) string {
				return differ(tls.VersionName(s.Version), "TLS 1.0")
			},
		},
		"TLS 1.1 at best": {
			spec:   Spec{Versions: []shakedown.Version{shakedown.TLS10, shakedown.TLS11}},
			client: &tls.Config{MinVersion: tls.VersionTLS10},
			check: func(s tls.ConnectionState, _ []byte) string {
				return differ(tls.VersionName(s.Version), "TLS 1.1")
			},
		},
		"suite": {
			spec: Spec{Versions: []shakedown.Version{shakedown.TLS12}, Suites: []shakedown.CipherSuite{shakedown.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256}},
			check: func(s tls.ConnectionState, _ []byte) string {
				return differ(tls.CipherSuiteName(s.CipherSuite), "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256")
			},
		},
		"suite of TLS 1.3": {
			spec: Spec{Suites: []shakedown.CipherSuite{shakedown.TLS_CHACHA20_POLY1305_SHA256}},
			check: func(s tls.ConnectionState, _ []byte) string {
				return differ(tls.CipherSuiteName(s.CipherSuite), "TLS_CHACHA20_POLY1305_SHA256")
			},
		},
		"static RSA": {
			spec:   Spec{Certificates: []KeyKind{RSA2048}, Versions: []shakedown.Version{shakedown.TLS12}, Suites: []shakedown.CipherSuite{shakedown.TLS_RSA_WITH_AES_128_GCM_SHA256}},
			client: &tls.Config{CipherSuites: []uint16{tls.TLS_RSA_WITH_AES_128_GCM_SHA256}},
			check: func(s tls.ConnectionState, _ []byte) string {
				return differ(tls.CipherSuiteName(s.CipherSuite), "TLS_RSA_WITH_AES_128_GCM_SHA256")
			},
		},
		"group": {
			spec: Spec{Versions: []shakedown.Version{shakedown.TLS13}, Groups: []shakedown.Group{shakedown.Secp384r1}},
			check: func(s tls.ConnectionState, _ []byte) string {
				return differ(shakedown.Group(s.CurveID).String(), "secp384r1")
			},
		},
		"dual": {
			spec:   Spec{Certificates: []KeyKind{RSA2048, P256}, Versions: []shakedown.Version{shakedown.TLS12}},
			client: &tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256}},
			check: func(s tls.ConnectionState, _ []byte) string {
				return differ(s.PeerCertificates[0].PublicKeyAlgorithm.String(), "RSA")
			},
		},
		"staple for RSA from a file": {
			spec: Spec{Certificates: []KeyKind{RSA2048}, Stapling: StaplingFile},
			check: func(s tls.ConnectionState, _ []byte) string {
				return differ(len(s.OCSPResponse) > 0, true)
			},
		},
		"staple from a file": {
			spec: Spec{Stapling: StaplingFile},
			check: func(s tls.ConnectionState, _ []byte) string {
				return differ(len(s.OCSPResponse) > 0, true)
			},
		},
		"ALPN": {
			spec:   Spec{ALPN: []string{"http/1.1"}},
			client: &tls.Config{NextProtos: []string{"http/1.1"}},
			check: func(s tls.ConnectionState, _ []byte) string {
				return differ(s.NegotiatedProtocol, "http/1.1")
			},
		},
		"body":      {spec: Spec{Body: 20000}, check: hasBody(20000)},
		"some body": {spec: Spec{Body: 8000}, check: hasBody(8000)},
		"names": {
			spec: Spec{Names: []string{"one.example", "two.example"}},
			check: func(s tls.ConnectionState, _ []byte) string {
				return differ(fmt.Sprint(s.PeerCertificates[0].DNSNames), "[one.example two.example]")
			},
		},
	}
	eachDriver(t, func(t *testing.T, d Driver) {
		for name, c := range cases {
			t.Run(name, func(t *testing.T) {
				if len(c.spec.Certificates) == 0 {
					c.spec.Certificates = []KeyKind{P256}
				}
				dir := t.TempDir()
				if len(c.spec.Names) == 0 {
					c.spec.PKI = pki
				}
				s := mustStart(t, d, c.spec, dir)
				if c.client == nil {
					c.client = &tls.Config{}
				}
				state, body, err := visit(s, c.client)
				if err != nil {
					t.Fatalf("%v\n%s", err, lastLines(s.Log))
				}
				if wrong := c.check(state, body); wrong != "" {
					t.Error(wrong)
				}
			})
		}
	})
}

// hasBody checks the length of the answer's body.
func hasBody(n int) func(tls.ConnectionState, []byte) string {
	return func(_ tls.ConnectionState, answer []byte) string {
		_, body, _ := strings.Cut(string(answer), "\r\n\r\n")
		return differ(len(body), n)
	}
}

// differ says how got and want differ, "" if they do not.
func differ[T comparable](got, want T) string {
	if got == want {
		return ""
	}
	return fmt.Sprintf("got %v, want %v", got, want)
}

// TestWorkersShareSessions checks the three ways in which workers can stand to
// each other, by resuming over many connections at once: what is shared resumes
// always, what is not about once in so many times as there are workers.
func TestWorkersShareSessions(t *testing.T) {
	const workers, tries = 4, 200
	pki := t.TempDir()
	drivers := drivers()
	for _, test := range []struct {
		driver string
		spec   Spec
		shared bool
	}{
		{"embedded", Spec{Reuseport: true, Tickets: TicketsPerWorker}, false},
		{"embedded", Spec{Reuseport: true}, true},
		{"embedded process", Spec{Reuseport: true, Tickets: TicketsPerWorker}, false},
		{"nginx", Spec{Reuseport: true, Tickets: TicketsOff, Cache: CacheBuiltin, Versions: []shakedown.Version{shakedown.TLS13}}, false},
		{"nginx", Spec{Reuseport: true, Tickets: TicketsOff, Cache: CacheShared, Versions: []shakedown.Version{shakedown.TLS13}}, true},
		{"nginx", Spec{Reuseport: true}, true},
		{"haproxy", Spec{Reuseport: true}, true},
		{"apache", Spec{Versions: []shakedown.Version{shakedown.TLS12}}, true},
		{"apache", Spec{Tickets: TicketsOff, Cache: CacheShared, Versions: []shakedown.Version{shakedown.TLS13}}, true},
	} {
		test.spec.Workers, test.spec.PKI, test.spec.Certificates = workers, pki, []KeyKind{P256}
		t.Run(fmt.Sprintf("%s %v %v", test.driver, test.spec.Tickets, test.spec.Cache), func(t *testing.T) {
			d := drivers[test.driver]
			if err := d.Available(); err != nil {
				t.Skip(err)
			}
			s := mustStart(t, d, test.spec, t.TempDir())
			resumed := resumeAtOnce(t, s, tries)
			low, high := tries, tries
			if !test.shared {
				// A quarter of 200 is 50; six standard deviations are 37.
				low, high = 13, 87
			}
			if resumed < low || resumed > high {
				t.Errorf("%d of %d resumed, want %d to %d", resumed, tries, low, high)
			}
			c, err := s.Connections(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if c.Resumed != int64(resumed) || c.Handshakes != 2*tries {
				t.Errorf("%d of %d resumed; the server says: %v", resumed, 2*tries, c)
			}
		})
	}
}

// resumeAtOnce makes n sessions and resumes each once, ten connections at a
// time, and returns how many resumed.
func resumeAtOnce(t *testing.T, s *Server, n int) (resumed int) {
	t.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			for range n / 10 {
				config := &tls.Config{ClientSessionCache: tls.NewLRUClientSessionCache(1)}
				if _, _, err := visit(s, config); err != nil {
					t.Error(err)
					return
				}
				state, _, err := visit(s, config)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				if state.DidResume {
					resumed++
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return resumed
}
