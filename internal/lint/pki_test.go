package lint

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// files writes what the example configurations name into a directory: certificates, ticket keys in all conditions.
func files(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, content []byte, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	newKey := func(curve elliptic.Curve) crypto.Signer {
		key, err := ecdsa.GenerateKey(curve, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := func(name string) *x509.Certificate {
		return &x509.Certificate{
			SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour),
			NotAfter: time.Now().Add(24 * time.Hour), DNSNames: []string{name, "a.example", "b.example", "shop.example", "default.example"},
		}
	}
	authority := template("test authority")
	authority.IsCA, authority.BasicConstraintsValid, authority.KeyUsage = true, true, x509.KeyUsageCertSign
	authorityKey := newKey(elliptic.P256())
	sign := func(cert *x509.Certificate, key crypto.Signer) []byte {
		der, err := x509.CreateCertificate(rand.Reader, cert, authority, key.Public(), authorityKey)
		if err != nil {
			t.Fatal(err)
		}
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	}
	ca := sign(authority, authorityKey)
	write("ca.crt", ca, 0o644)
	leaf := func(name string, key crypto.Signer, responder string, chain bool) {
		cert := template(name + ".example")
		if responder != "" {
			cert.OCSPServer = []string{responder}
		}
		text := sign(cert, key)
		if chain {
			text = append(text, ca...)
		}
		write(name+".crt", text, 0o644)
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		write(name+".key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600)
	}
	leaf("rsa", rsaKey, "", true)
	leaf("ecdsa", newKey(elliptic.P256()), "", true)
	leaf("p384", newKey(elliptic.P384()), "", true)
	leaf("ocsp", newKey(elliptic.P256()), "http://127.0.0.1:9/", true)
	leaf("named", newKey(elliptic.P256()), "http://localhost:9/", true)
	leaf("ocsps", newKey(elliptic.P256()), "https://127.0.0.1:9/", true)
	leaf("lone", newKey(elliptic.P256()), "http://127.0.0.1:9/", false)

	random := make([]byte, 81)
	if _, err := rand.Read(random); err != nil {
		t.Fatal(err)
	}
	write("t48.key", random[:48], 0o600)
	write("t80.key", random[:80], 0o600)
	write("bad81.key", random, 0o600)
	write("b64.key", []byte(base64.StdEncoding.EncodeToString(random[:80])), 0o600)
	write("open.key", random[:80], 0o644)
	write("www/web.key", random[:80], 0o600)
	old := time.Now().Add(-5 * 24 * time.Hour)
	if err := os.Chtimes(write("old.key", random[:80], 0o600), old, old); err != nil {
		t.Fatal(err)
	}
	write("staple.der", []byte{0x30, 0x03}, 0o644)
	dh, err := os.ReadFile("testdata/dh.pem")
	if err != nil {
		t.Fatal(err)
	}
	write("dh.pem", dh, 0o644)
	return dir
}
