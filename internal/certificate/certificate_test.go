package certificate

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cloudflare/circl/sign/mldsa/mldsa65"
	"github.com/google/go-cmp/cmp"

	"shakedown"
	"shakedown/internal/suite"
)

func TestParse(t *testing.T) {
	w := theWorld()
	p := parse(t, chain(w.leaf, w.intermediate)...)
	want := shakedown.Chain{
		Bytes:   len(w.leaf.Raw) + len(w.intermediate.Raw),
		Ordered: true,
		Certificates: []shakedown.Certificate{{
			Subject: "CN=server.test", Issuer: "CN=Intermediate,O=Test",
			Names: []string{"server.test", "*.wild.test", "127.0.0.1", "fe80::1"},
			Key:   "ECDSA-P256", Signature: "ECDSA-SHA256", Bytes: len(w.leaf.Raw),
			NotBefore: w.leaf.NotBefore, NotAfter: w.leaf.NotAfter,
		}, {
			Subject: "CN=Intermediate,O=Test", Issuer: "CN=Root,O=Test",
			Key: "ECDSA-P256", Signature: "ECDSA-SHA256", Bytes: len(w.intermediate.Raw),
			NotBefore: w.intermediate.NotBefore, NotAfter: w.intermediate.NotAfter,
		}},
	}
	if diff := cmp.Diff(want, p.Chain); diff != "" {
		t.Error(diff)
	}
	if !w.leaf.PublicKey.(interface{ Equal(crypto.PublicKey) bool }).Equal(p.LeafKey) {
		t.Error("LeafKey is not the leaf's key")
	}
	if key, err := p.Key(1); err != nil || key == nil {
		t.Errorf("Key(1) = %v, %v", key, err)
	}
	if _, err := p.Key(2); err == nil || err.Error() != "the server sent 2 certificates, and so no number 3" {
		t.Errorf("Key(2): %v", err)
	}
	if _, err := Parse(nil); err == nil {
		t.Error("no error for no certificate")
	}
}

// TestParseCopies: the caller's buffer is a connection's, and is used again.
func TestParseCopies(t *testing.T) {
	w := theWorld()
	der := bytes.Clone(w.leaf.Raw)
	p := parse(t, der)
	clear(der)
	if !bytes.Equal(p.DER[0], w.leaf.Raw) || !bytes.Equal(p.X509[0].Raw, w.leaf.Raw) {
		t.Error("Parse kept the caller's bytes")
	}
}

func TestKeysOfGo(t *testing.T) {
	for _, k := range goKeys(t) {
		t.Run(k.name, func(t *testing.T) {
			root := issue(caTemplate("Root"), k.key, nil)
			leaf := issue(leafTemplate(), k.key, root)
			p := parse(t, chain(leaf, root)...)
			c := p.Certificates[0]
			if c.Key != k.name || c.Signature != k.signature || c.Problem != "" {
				t.Errorf("key %q, signature %q, problem %q", c.Key, c.Signature, c.Problem)
			}
			if !p.Ordered || p.LeafKey == nil {
				t.Errorf("ordered %v, key %v", p.Ordered, p.LeafKey)
			}
			roots := x509.NewCertPool()
			roots.AddCert(root.Certificate)
			if err := Verify(p, roots, "server.test", now); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestKeysOfOthers: keys that crypto/x509 does not know, in certificates that it
// parses without them.
func TestKeysOfOthers(t *testing.T) {
	w := theWorld()
	public, _, err := mldsa65.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		spki asn1.RawValue
		err  bool
	}{
		{"Ed448", spki(t, bytes.Repeat([]byte{7}, 57), asn1.ObjectIdentifier{1, 3, 101, 113}), false},
		{"ML-DSA-65", spki(t, public.Bytes(), asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 3, 18}), false},
		{"", spki(t, []byte{1, 2, 3}, asn1.ObjectIdentifier{1, 2, 3, 4}), true},
	} {
		der := altered(t, w.leaf.Certificate, w.intermediate, func(c *tbsCertificate) { c.PublicKey = test.spki })
		p := parse(t, der, w.intermediate.Raw)
		if got := p.Certificates[0]; got.Key != test.name || got.Problem != "" {
			t.Errorf("%s: key %q, problem %q", test.name, got.Key, got.Problem)
		}
		if _, err := p.Key(0); (err != nil) != test.err || (p.LeafKey == nil) != test.err {
			t.Errorf("%s: LeafKey %v, %v", test.name, p.LeafKey, err)
		}
		// The chain does not need the leaf's key, which need not be known.
		if err := Verify(p, w.roots(), "server.test", now); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// TestRefused: certificates that crypto/x509 does not parse are kept, and
// described as far as they can be read.
func TestRefused(t *testing.T) {
	w := theWorld()
	sm2 := spki(t, append([]byte{4}, make([]byte, 64)...), asn1.ObjectIdentifier{1, 2, 840, 10045, 2, 1}, oidSM2)
	for _, test := range []struct {
		name   string
		alter  func(*tbsCertificate)
		reason Reason
		key    bool // there is one all the same
	}{
		{"negative serial number", func(c *tbsCertificate) { c.Serial = big.NewInt(-5) }, ReasonMalformed, true},
		{"SM2 key", func(c *tbsCertificate) {
			c.PublicKey, c.Algorithm = sm2, algorithm(t, 1, 2, 156, 10197, 1, 501)
		}, ReasonNotSupported, false},
		{"malformed basic constraints", func(c *tbsCertificate) {
			c.Extensions = append(c.Extensions, pkix.Extension{Id: asn1.ObjectIdentifier{2, 5, 29, 19}, Value: []byte{5, 5}})
		}, ReasonMalformed, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			der := altered(t, w.leaf.Certificate, w.intermediate, test.alter)
			p := parse(t, der, w.intermediate.Raw)
			c := p.Certificates[0]
			if p.X509[0] != nil || c.Problem == "" || strings.HasPrefix(c.Problem, "x509: ") {
				t.Fatalf("X509 %v, problem %q", p.X509[0], c.Problem)
			}
			want := parse(t, w.leaf.Raw).Certificates[0]
			if c.Subject != want.Subject || c.Issuer != want.Issuer || !c.NotAfter.Equal(want.NotAfter) || !cmp.Equal(c.Names, want.Names) {
				t.Errorf("read %+v", c)
			}
			if test.key && (p.LeafKey == nil || c.Key != "ECDSA-P256") {
				t.Errorf("key %v, %q", p.LeafKey, c.Key)
			}
			if !p.Ordered {
				t.Error("not ordered by its names")
			}
			if got := reasonOf(t, Verify(p, w.roots(), "server.test", now)); got != test.reason {
				t.Errorf("reason %q, want %q", got, test.reason)
			}
			if _, err := p.Facts(); err == nil || !strings.HasSuffix(err.Error(), c.Problem) {
				t.Errorf("facts: %v", err)
			}
		})
	}
}

func TestSignatureNames(t *testing.T) {
	w := theWorld()
	for name, oid := range map[string][]int{
		"SM2-SM3": {1, 2, 156, 10197, 1, 501}, "Ed448": {1, 3, 101, 113}, "ML-DSA-44": {2, 16, 840, 1, 101, 3, 4, 3, 17},
		"SHA1-RSA": {1, 2, 840, 113549, 1, 1, 5}, "1.2.3.4": {1, 2, 3, 4},
	} {
		der := altered(t, w.leaf.Certificate, w.intermediate, func(c *tbsCertificate) { c.Algorithm = algorithm(t, oid...) })
		if name == "SHA1-RSA" { // has NULL for parameters
			der = altered(t, w.leaf.Certificate, w.intermediate, func(c *tbsCertificate) {
				c.Algorithm = raw(marshal(t, pkix.AlgorithmIdentifier{Algorithm: oid, Parameters: asn1.NullRawValue}))
			})
		}
		if got := parse(t, der).Certificates[0].Signature; got != name {
			t.Errorf("signature %q, want %q", got, name)
		}
	}
}

func TestOrdered(t *testing.T) {
	w := theWorld()
	other := newCA("Intermediate", w.root) // same name, other key
	sm2 := func(name string) []byte {
		key := spki(t, append([]byte{4}, make([]byte, 64)...), asn1.ObjectIdentifier{1, 2, 840, 10045, 2, 1}, oidSM2)
		c := issue(&x509.Certificate{Subject: pkix.Name{CommonName: name}}, newP256(), w.intermediate)
		return altered(t, c.Certificate, w.intermediate, func(c *tbsCertificate) { c.PublicKey = key })
	}
	for _, test := range []struct {
		name string
		list [][]byte
		want bool
	}{
		{"leaf alone", chain(w.leaf), true},
		{"with root", chain(w.leaf, w.intermediate, w.root), true},
		{"intermediate left out", chain(w.leaf, w.root), false},
		{"reversed", chain(w.leaf, w.root, w.intermediate), false},
		{"twice", chain(w.leaf, w.intermediate, w.intermediate), false},
		{"other key of the same name", chain(w.leaf, other), false},
		{"unreadable after", append(chain(w.leaf), []byte{1}), false},
		{"TLCP pair", [][]byte{sm2("sign"), sm2("encrypt"), w.intermediate.Raw, w.root.Raw}, true},
		{"TLCP pair alone", [][]byte{sm2("sign"), sm2("encrypt")}, true},
		{"TLCP pair, root", [][]byte{sm2("sign"), sm2("encrypt"), w.root.Raw}, false},
		{"TLCP, encryption last", [][]byte{sm2("sign"), w.intermediate.Raw, sm2("encrypt")}, false},
	} {
		if got := parse(t, test.list...).Ordered; got != test.want {
			t.Errorf("%s: ordered %v", test.name, got)
		}
	}
}

// TestTruncated: no prefix of a certificate is taken for one, and none is fatal.
func TestTruncated(t *testing.T) {
	w := theWorld()
	for n := range len(w.leaf.Raw) {
		p := parse(t, w.leaf.Raw[:n], w.intermediate.Raw)
		if p.X509[0] != nil || p.Certificates[0].Problem == "" || p.LeafKey != nil {
			t.Fatalf("prefix of %d bytes was accepted", n)
		}
		if _, err := p.Key(0); err == nil {
			t.Fatalf("prefix of %d bytes has a key", n)
		}
		if got := reasonOf(t, Verify(p, w.roots(), "server.test", now)); got != ReasonMalformed {
			t.Fatalf("prefix of %d bytes: %q", n, got)
		}
	}
}

// TestOpenSSL reads certificates that another implementation made, with keys
// that Go does not make.
func TestOpenSSL(t *testing.T) {
	path, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("the openssl command is not installed; with it, its Ed448, RSA-PSS and SM2 certificates are read")
	}
	for _, test := range []struct {
		name           string
		args           []string
		key, signature string
		refused        bool
	}{
		{"Ed448", []string{"-newkey", "ed448"}, "Ed448", "Ed448", false},
		{"RSA-PSS", []string{"-newkey", "rsa-pss", "-pkeyopt", "rsa_keygen_bits:2048", "-sigopt", "rsa_pss_saltlen:digest"}, "RSA-PSS-2048", "SHA256-RSAPSS", false},
		{"ML-DSA", []string{"-newkey", "ML-DSA-65"}, "ML-DSA-65", "ML-DSA-65", false},
		{"brainpool", []string{"-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:brainpoolP256r1"}, "", "ECDSA-SHA256", true},
		{"SM2", []string{"-newkey", "sm2", "-sm3", "-sigopt", "distid:1234567812345678"}, "", "SM2-SM3", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "certificate.der")
			args := append([]string{"req", "-x509", "-nodes", "-keyout", os.DevNull, "-subj", "/CN=server.test", "-addext",
				"subjectAltName=DNS:server.test", "-outform", "DER", "-out", file}, test.args...)
			if out, err := exec.Command(path, args...).CombinedOutput(); err != nil {
				t.Skipf("this openssl does not make such a certificate; another version may: %s", out)
			}
			der, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			p := parse(t, der)
			c := p.Certificates[0]
			if c.Signature != test.signature || c.Subject != "CN=server.test" || !cmp.Equal(c.Names, []string{"server.test"}) {
				t.Errorf("read %+v", c)
			}
			if (c.Problem != "") != test.refused {
				t.Errorf("problem %q", c.Problem)
			}
			// Which keys are known is for package suite to say.
			want := test.key
			if key, err := suite.ParsePublicKey(p.fields[0].spki); err == nil {
				want = suite.KeyName(key)
			}
			if c.Key != want {
				t.Errorf("key %q, want %q", c.Key, want)
			}
			err = Verify(p, x509.NewCertPool(), "server.test", c.NotBefore.Add(time.Hour))
			if got := reasonOf(t, err); got != ReasonSelfSigned && !(test.refused && got == ReasonNotSupported) {
				t.Errorf("reason %q: %v", got, err)
			}
		})
	}
}

// FuzzLookup: whatever bytes arrive, the chain says what was sent.
func FuzzLookup(f *testing.F) {
	w := theWorld()
	f.Add(w.leaf.Raw, w.intermediate.Raw)
	f.Add([]byte{}, []byte{0x30, 0x80})
	f.Add(altered(f, w.leaf.Certificate, w.intermediate, func(c *tbsCertificate) { c.Serial = big.NewInt(-5) }), w.leaf.Raw)
	f.Fuzz(func(t *testing.T, a, b []byte) {
		var c Cache
		p, err := c.Lookup([][]byte{a, b})
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(p.DER[0], a) || !bytes.Equal(p.DER[1], b) || p.Bytes != len(a)+len(b) {
			t.Fatal("the chain is not what was sent")
		}
		if again, _ := c.Lookup([][]byte{a, b}); again != p {
			t.Fatal("not found again")
		}
		for i, d := range p.Certificates {
			if (p.X509[i] == nil) != (d.Problem != "") {
				t.Fatalf("certificate %d: problem %q", i, d.Problem)
			}
			if key, err := p.Key(i); (key == nil) != (err != nil) {
				t.Fatalf("key %v, error %v", key, err)
			}
		}
		if Verify(p, x509.NewCertPool(), "server.test", now) == nil {
			t.Fatal("verified with no roots")
		}
		p.Facts() //nolint:errcheck // that it returns is what is tested
	})
}
