package lint

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// onExample starts nginx on an example of a rule whose backend is at address.
func onExample(t *testing.T, binary, rule, example, address, with string) *live {
	t.Helper()
	text, err := os.ReadFile("rules/" + rule + "/" + example + ".conf")
	if err != nil {
		t.Fatal(err)
	}
	return start(t, binary, files(t), with+strings.ReplaceAll(withoutOptions(string(text)), "127.0.0.1:9", address))
}

// TestUpstreamProof counts the connections a TLS backend gets for three requests on one connection of the client.
func TestUpstreamProof(t *testing.T) {
	binary := needNginx(t)
	for example, want := range map[string]int32{"before": 3, "after": 1} {
		var connections atomic.Int32
		backend := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") }))
		backend.Config.ConnState = func(_ net.Conn, s http.ConnState) {
			if s == http.StateNew {
				connections.Add(1)
			}
		}
		backend.StartTLS()
		t.Cleanup(backend.Close)
		l := onExample(t, binary.Path, "CONN-UPSTREAM", example, backend.Listener.Addr().String(), "")
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} // the server is ours
		for range 3 {
			get(t, client, l)
		}
		client.CloseIdleConnections()
		if got := connections.Load(); got != want {
			t.Errorf("%s: %d connections to the backend, want %d", example, got, want)
		}
	}
}

func get(t *testing.T, client *http.Client, l *live) {
	t.Helper()
	answer, err := client.Get("https://" + l.address() + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		t.Fatal(err)
	}
}

// TestKeepaliveProof counts the handshakes of a client that sends three requests one after another.
func TestKeepaliveProof(t *testing.T) {
	binary := needNginx(t)
	for example, want := range map[string]int32{"before": 3, "after": 1} {
		l := onExample(t, binary.Path, "CONN-KEEPALIVE", example, "", "")
		var handshakes atomic.Int32
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{
			InsecureSkipVerify: true, // the server is ours
			VerifyConnection:   func(tls.ConnectionState) error { handshakes.Add(1); return nil },
		}}}
		for range 3 {
			get(t, client, l)
		}
		client.CloseIdleConnections()
		if got := handshakes.Load(); got != want {
			t.Errorf("%s: %d handshakes, want %d", example, got, want)
		}
	}
}

// TestEarlyDataProof records the first flight of a client with early data and sends it again, as anyone on the path can:
// the request reaches the backend a second time, unmarked without a policy and marked with the header.
func TestEarlyDataProof(t *testing.T) {
	binary := needNginx(t)
	for example, want := range map[string]string{"before": "unmarked", "after": "marked"} {
		seen := make(chan string, 10)
		backend := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/early" {
				seen <- map[bool]string{true: "marked", false: "unmarked"}[r.Header.Get("Early-Data") == "1"]
			}
		}))
		t.Cleanup(backend.Close)
		l := onExample(t, binary.Path, "EARLY-NO-POLICY", example, backend.Listener.Addr().String(), both)
		if err := os.WriteFile(l.dir+"/early.txt", []byte("GET /early HTTP/1.0\r\n\r\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		l.openssl("shop.example", "-tls1_3", "-ign_eof", "-sess_out", "early.session")
		tap := newTap(t, l.address())
		out := l.openssl("shop.example", "-connect", tap.listener.Addr().String(), "-tls1_3", "-ign_eof", "-sess_in", "early.session", "-early_data", "early.txt")
		if !strings.Contains(out, "Early data was accepted") {
			t.Fatalf("%s: early data was not accepted:\n%s", example, out)
		}
		<-seen // the client's own
		conn, err := net.Dial("tcp", l.address())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.Write(tap.flight()); err != nil {
			t.Fatal(err)
		}
		select {
		case got := <-seen:
			if got != want {
				t.Errorf("%s: the request sent again is %s, want %s", example, got, want)
			}
		case <-time.After(20 * time.Second):
			t.Errorf("%s: the request sent again did not come", example)
		}
	}
}

// tap passes one connection on and keeps what the client sends before the server answers.
type tap struct {
	listener net.Listener
	mu       sync.Mutex
	first    []byte
	answered bool
}

func newTap(t *testing.T, to string) *tap {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &tap{listener: listener}
	t.Cleanup(func() { listener.Close() })
	go func() {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		defer client.Close()
		server, err := net.Dial("tcp", to)
		if err != nil {
			return
		}
		defer server.Close()
		go p.pass(server, client, true)
		p.pass(client, server, false)
	}()
	return p
}

func (p *tap) pass(to, from net.Conn, fromClient bool) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		p.mu.Lock()
		switch {
		case !fromClient:
			p.answered = true
		case !p.answered:
			p.first = append(p.first, buffer[:n]...)
		}
		p.mu.Unlock()
		if _, writeErr := to.Write(buffer[:n]); err != nil || writeErr != nil {
			return
		}
	}
}

func (p *tap) flight() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.first
}

// TestFloodProof shows RES-CACHE-13FLOOD: on 1.22 TLS 1.3 handshakes push a TLS 1.2 session out of the zone though their
// tickets make the entries useless.
func TestFloodProof(t *testing.T) {
	binary := needNginx(t)
	if testing.Short() {
		t.Skip("3,000 handshakes; run without -short")
	}
	l := start(t, binary.Path, files(t), both+"ssl_session_cache shared:TLS:1m; ssl_session_timeout 1h;\n"+
		"server { listen 8443 ssl; ssl_certificate ecdsa.crt; ssl_certificate_key ecdsa.key; }")
	for _, test := range []struct {
		handshakes int
		want       string
	}{{100, "resumes"}, {3000, "full"}} {
		got := l.resumesByID("a.example", func() {
			for range test.handshakes {
				if _, err := l.dial("a.example", nil); err != nil {
					t.Fatal(err)
				}
			}
		})
		if got != test.want {
			t.Errorf("%d TLS 1.3 handshakes later: %s, want %s", test.handshakes, got, test.want)
		}
	}
}

// TestHandshakeTimeoutProof shows that client_header_timeout ends a connection that sends nothing; that it does is the
// proof, not when.
func TestHandshakeTimeoutProof(t *testing.T) {
	binary := needNginx(t)
	if testing.Short() {
		t.Skip("waits two seconds; run without -short")
	}
	l := onExample(t, binary.Path, "CONN-HSTIMEOUT", "before", "", "")
	conn, err := net.Dial("tcp", l.address())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(50 * time.Second)); err != nil { // less than the default of 60 s
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("got %v, want the server to close", err)
	}
	log, err := os.ReadFile(l.log)
	if err != nil || !strings.Contains(string(log), "client timed out") {
		t.Errorf("%v\n%s", err, log)
	}
}
