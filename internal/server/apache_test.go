package server

import (
	"context"
	"crypto/tls"
	"net/http"
	"testing"
)

// TestApacheNumTickets has no tickets made in TLS 1.3, so that nothing resumes.
func TestApacheNumTickets(t *testing.T) {
	d := Apache{}
	if err := d.Available(); err != nil {
		t.Skip(err)
	}
	none := 0
	s := mustStart(t, d, Spec{Certificates: []KeyKind{P256}, NumTickets: &none}, t.TempDir())
	config := &tls.Config{ClientSessionCache: tls.NewLRUClientSessionCache(1)}
	for range 2 {
		state, _, err := visit(s, config)
		if err != nil {
			t.Fatal(err)
		}
		if state.DidResume {
			t.Error("it resumed without a ticket")
		}
	}
	checkCounts(t, s, 2, 0)
}

// TestApacheHTTP2 negotiates h2: several requests, one connection.
func TestApacheHTTP2(t *testing.T) {
	d := Apache{}
	if err := d.Available(); err != nil {
		t.Skip(err)
	}
	s := mustStart(t, d, Spec{Certificates: []KeyKind{P256}, ALPN: []string{"h2", "http/1.1"}}, t.TempDir())
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.Roots, ServerName: s.Name}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	for range 3 {
		resp, err := (&http.Client{Transport: transport}).Get("https://" + s.Addr.String() + "/")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.ProtoMajor != 2 || resp.StatusCode != http.StatusOK {
			t.Errorf("%s %s", resp.Proto, resp.Status)
		}
	}
	transport.CloseIdleConnections()
	checkCounts(t, s, 1, 0)
	if c, err := s.Connections(context.Background()); err != nil || c.Requests != 3 {
		t.Errorf("3 requests were made; the server says: %v, %v", c, err)
	}
}
