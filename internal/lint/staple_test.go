package lint

import (
	"crypto/tls"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	pki "shakedown/internal/server"
)

// TestStaplingProof runs the examples of OCSP-DEAD and OCSP-FILE-DUAL against a responder: a certificate that names none is
// never stapled, one that does is, without a resolver and not for the first client; one file for two certificates is wrong
// for one of them.
func TestStaplingProof(t *testing.T) {
	binary := needNginx(t)
	authority, err := pki.NewAuthority(pki.FamilyFor(pki.P256))
	if err != nil {
		t.Fatal(err)
	}
	var answer []byte
	responder := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/ocsp-response")
		w.Write(answer) //nolint:errcheck // the client sees it
	}))
	t.Cleanup(responder.Close)
	dir := files(t)
	serials := map[string]*big.Int{}
	issue := func(name string, kind pki.KeyKind, url string) {
		t.Helper()
		leaf, err := authority.Issue(pki.LeafRequest{Key: kind, Names: []string{"shop.example"}, OCSPURL: url})
		if err != nil {
			t.Fatal(err)
		}
		serials[name] = leaf.Leaf.SerialNumber
		for suffix, content := range map[string][]byte{".crt": leaf.ChainPEM(), ".key": leaf.KeyPEM} {
			if err := os.WriteFile(filepath.Join(dir, name+suffix), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	issue("ecdsa", pki.P256, "")
	issue("rsa", pki.RSA2048, "")
	issue("ocsp", pki.P256, responder.URL)
	if answer, err = authority.Staple(serials["ocsp"], pki.OCSPAnswer{}); err != nil {
		t.Fatal(err)
	}
	// stapled tells at which of ten handshakes a response came first, 0 for none.
	stapled := func(l *live) int {
		for i := range 10 {
			state, err := l.dial("shop.example", nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(state.OCSPResponse) > 0 {
				return i + 1
			}
			time.Sleep(50 * time.Millisecond) // nginx asks the responder meanwhile
		}
		return 0
	}
	run := func(rule, example string) *live {
		t.Helper()
		text, err := os.ReadFile("rules/" + rule + "/" + example + ".conf")
		if err != nil {
			t.Fatal(err)
		}
		return start(t, binary.Path, dir, withoutOptions(string(text)))
	}
	l := run("OCSP-DEAD", "before")
	if n := stapled(l); n != 0 {
		t.Errorf("a certificate without responder is stapled at handshake %d", n)
	}
	l.stop()
	l = run("OCSP-DEAD", "after")
	if n := stapled(l); n < 2 {
		t.Errorf("a certificate with responder: stapled first at handshake %d of 10, want a later one than the first", n)
	}
	l.stop()

	file, err := authority.Staple(serials["ecdsa"], pki.OCSPAnswer{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "staple.der"), file, 0o600); err != nil {
		t.Fatal(err)
	}
	l = run("OCSP-FILE-DUAL", "before")
	state, err := l.dial("shop.example", func(c *tls.Config) {
		tls12(c)
		c.CipherSuites = []uint16{tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256}
	})
	if err != nil {
		t.Fatal(err)
	}
	if kind := certificateKind(state, nil); kind != "RSA" || !strings.Contains(string(state.OCSPResponse), string(serials["ecdsa"].Bytes())) {
		t.Errorf("certificate %s with a response of %d bytes about another serial than the ECDSA one", kind, len(state.OCSPResponse))
	}
}
