package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ocsp"
)

// TestIssue makes a leaf of every kind and has Go or, for keys that Go does not
// know, the openssl command verify it against the root.
func TestIssue(t *testing.T) {
	for _, kind := range KeyKinds() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			if kind == RSA8192 && os.Getenv("SHAKEDOWN_SLOW") == "" {
				t.Skip("making an 8192-bit key takes up to a minute: run with SHAKEDOWN_SLOW=1")
			}
			if _, err := exec.LookPath("openssl"); err != nil && !kind.inGo() {
				t.Skip("needs the openssl command: apt install openssl")
			}
			a, err := NewAuthority(FamilyFor(kind))
			if err != nil {
				t.Fatal(err)
			}
			c, err := a.Issue(LeafRequest{Key: kind, OCSPURL: "http://127.0.0.1:1/", MustStaple: true})
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			files, err := c.Write(dir, "leaf")
			if err != nil {
				t.Fatal(err)
			}
			verify(t, c, files, dir)
			for _, file := range []string{files.Key, files.Both, files.Chain} {
				if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("%s: mode %v, error %v; want 0600", filepath.Base(file), info.Mode(), err)
				}
			}
			back, err := readCertificate(files, a.Root)
			if err != nil {
				t.Fatal(err)
			}
			if !back.Leaf.Equal(c.Leaf) || !bytes.Equal(back.KeyPEM, c.KeyPEM) || (back.Key == nil) != (c.Key == nil) {
				t.Error("the certificate read back differs from the one written")
			}
		})
	}
}

// verify checks chain, names and extensions of a leaf.
func verify(t *testing.T, c *Certificate, files CertificateFiles, dir string) {
	t.Helper()
	roots, intermediates := x509.NewCertPool(), x509.NewCertPool()
	roots.AddCert(c.Root)
	intermediates.AddCert(c.Chain[1])
	if _, err := c.Leaf.Verify(x509.VerifyOptions{DNSName: "api." + DefaultName, Roots: roots, Intermediates: intermediates}); err != nil {
		t.Errorf("Go does not verify the chain: %v", err)
	}
	if err := c.Leaf.VerifyHostname("127.0.0.1"); err != nil {
		t.Error(err)
	}
	if c.Leaf.OCSPServer[0] != "http://127.0.0.1:1/" {
		t.Errorf("OCSP URL %q", c.Leaf.OCSPServer)
	}
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		return
	}
	root := filepath.Join(dir, "root.pem")
	if err := writePrivate(root, certificatesPEM(c.Root)); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(openssl, "verify", "-CAfile", root, "-untrusted", files.CA, files.Leaf).CombinedOutput()
	if err != nil {
		t.Errorf("openssl verify: %v: %s", err, out)
	}
	out, err = exec.Command(openssl, "x509", "-in", files.Leaf, "-noout", "-text").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "status_request") {
		t.Errorf("openssl sees no must-staple extension (%v):\n%s", err, out)
	}
}

func TestIssueRefusesUnknownKind(t *testing.T) {
	a, err := NewAuthority(Family{P256, P256})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Issue(LeafRequest{Key: "dsa"}); err == nil || !strings.Contains(err.Error(), `unknown key kind "dsa"`) {
		t.Errorf("error %v, want one that names the kind", err)
	}
	if _, err := NewAuthority(Family{Ed448, P256}); err == nil {
		t.Error("an Ed448 root was made, which Go cannot do")
	}
}

// TestMutualTLS checks that leaves serve both ends of a connection.
func TestMutualTLS(t *testing.T) {
	a, err := NewAuthority(Family{P256, P256})
	if err != nil {
		t.Fatal(err)
	}
	issue := func(r LeafRequest) tls.Certificate {
		c, err := a.Issue(r)
		if err != nil {
			t.Fatal(err)
		}
		pair, err := c.TLS()
		if err != nil {
			t.Fatal(err)
		}
		return pair
	}
	roots := x509.NewCertPool()
	roots.AddCert(a.Root)
	client, server := net.Pipe()
	s := tls.Server(server, &tls.Config{
		Certificates: []tls.Certificate{issue(LeafRequest{Key: P256})},
		ClientAuth:   tls.RequireAndVerifyClientCert, ClientCAs: roots,
	})
	done := make(chan error, 1)
	go func() {
		err := s.Handshake()
		if err == nil {
			_, err = s.Write([]byte("ok"))
		}
		server.Close()
		done <- err
	}()
	c := tls.Client(client, &tls.Config{RootCAs: roots, ServerName: DefaultName, Certificates: []tls.Certificate{issue(LeafRequest{Key: P256, Client: true})}})
	got, err := io.ReadAll(io.LimitReader(c, 2))
	client.Close()
	if serr := <-done; err != nil || serr != nil || string(got) != "ok" {
		t.Fatalf("read %q; client %v, server %v", got, err, serr)
	}
}

func TestResponder(t *testing.T) {
	rsa, err := NewAuthority(Family{RSA2048, RSA2048})
	if err != nil {
		t.Fatal(err)
	}
	ec, err := NewAuthority(Family{P384, P256})
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := NewAuthority(Family{P256, P256})
	if err != nil {
		t.Fatal(err)
	}
	r, err := StartResponder(OCSPAnswer{}, rsa)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	r.Add(ec)

	for _, a := range []*Authority{rsa, ec} {
		leaf, err := a.Issue(LeafRequest{Key: P256, OCSPURL: r.URL()})
		if err != nil {
			t.Fatal(err)
		}
		for status, want := range map[string]int{"good": ocsp.Good, "revoked": ocsp.Revoked, "unknown": ocsp.Unknown} {
			if err := r.SetAnswer(OCSPAnswer{Status: status}); err != nil {
				t.Fatal(err)
			}
			got, size, err := QueryOCSP(context.Background(), r.URL(), leaf)
			if err != nil {
				t.Fatalf("%s: %v", status, err)
			}
			if got.Status != want || size == 0 || got.SerialNumber.Cmp(leaf.Leaf.SerialNumber) != 0 {
				t.Errorf("asked for %s: status %d, %d bytes, serial %v", status, got.Status, size, got.SerialNumber)
			}
		}
	}
	leaf, err := stranger.Issue(LeafRequest{Key: P256})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := QueryOCSP(context.Background(), r.URL(), leaf); err == nil || !strings.Contains(err.Error(), "unauthorized") {
		t.Errorf("a stranger's leaf: error %v, want unauthorized", err)
	}
	if got := r.Requests(); got != 7 {
		t.Errorf("%d requests counted, 7 were made", got)
	}
	if err := r.SetAnswer(OCSPAnswer{Status: "fine"}); err == nil {
		t.Error("an unknown status was accepted")
	}
}

// TestResponderTalksToOpenSSL has the openssl command ask by POST, and a GET.
func TestResponderTalksToOpenSSL(t *testing.T) {
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("needs the openssl command: apt install openssl")
	}
	a, err := NewAuthority(Family{P384, P256})
	if err != nil {
		t.Fatal(err)
	}
	r, err := StartResponder(OCSPAnswer{}, a)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	c, err := a.Issue(LeafRequest{Key: P256, OCSPURL: r.URL()})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	files, err := c.Write(dir, "leaf")
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(dir, "root.pem")
	if err := writePrivate(root, certificatesPEM(a.Root)); err != nil {
		t.Fatal(err)
	}
	for _, hash := range []string{"-sha1", "-sha256"} {
		out, err := exec.Command(openssl, "ocsp", hash, "-issuer", files.CA, "-cert", files.Leaf,
			"-CAfile", root, "-no_nonce", "-url", r.URL()).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "Response verify OK") || !strings.Contains(string(out), ": good") {
			t.Errorf("openssl ocsp %s: %v:\n%s", hash, err, out)
		}
	}
	resp, err := http.Get(r.URL() + "bm90IGEgcmVxdWVzdA%3D%3D")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	if err != nil || !bytes.Equal(body, ocsp.MalformedRequestErrorResponse) {
		t.Errorf("GET of nonsense: %x, %v", body, err)
	}
}

func TestStaple(t *testing.T) {
	a, err := NewAuthority(Family{P256, P256})
	if err != nil {
		t.Fatal(err)
	}
	c, err := a.Issue(LeafRequest{Key: P256})
	if err != nil {
		t.Fatal(err)
	}
	next := time.Now().Add(time.Hour).Truncate(time.Second)
	der, err := a.Staple(c.Leaf.SerialNumber, OCSPAnswer{Status: "revoked", NextUpdate: next})
	if err != nil {
		t.Fatal(err)
	}
	r, err := ocsp.ParseResponseForCert(der, c.Leaf, a.Intermediate)
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != ocsp.Revoked || !r.NextUpdate.Equal(next) {
		t.Errorf("status %d, next update %v; want revoked, %v", r.Status, r.NextUpdate, next)
	}
}

// TestOpenAuthority checks that a directory keeps its authority.
func TestOpenAuthority(t *testing.T) {
	dir := t.TempDir()
	first, err := openAuthority(dir, Family{P384, P256})
	if err != nil {
		t.Fatal(err)
	}
	second, err := openAuthority(dir, Family{P384, P256})
	if err != nil {
		t.Fatal(err)
	}
	if !second.Root.Equal(first.Root) || !second.Intermediate.Equal(first.Intermediate) {
		t.Error("opening the directory again made another authority")
	}
	leaf, err := second.Issue(LeafRequest{Key: P256})
	if err != nil {
		t.Fatal(err)
	}
	if err := leaf.Leaf.CheckSignatureFrom(first.Intermediate); err != nil {
		t.Error(err)
	}
}
