package certificate

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"shakedown"
)

// reasonOf returns the reason of an error, which must be a *VerifyError with a
// lower-case text, or the empty reason for none.
func reasonOf(t testing.TB, err error) Reason {
	t.Helper()
	if err == nil {
		return ""
	}
	v, ok := err.(*VerifyError)
	if !ok {
		t.Fatalf("%T is no *VerifyError: %v", err, err)
	}
	if text := v.Error(); text == "" || text[:1] != strings.ToLower(text[:1]) || strings.Contains(text, "x509:") {
		t.Errorf("error text %q", text)
	}
	return v.Reason
}

func TestVerifyName(t *testing.T) {
	w := theWorld()
	p := parse(t, chain(w.leaf, w.intermediate)...)
	for _, name := range []string{
		"server.test", "SERVER.test", "server.test.", "a.wild.test", "127.0.0.1", "::ffff:127.0.0.1",
		"fe80::1", "[fe80::1]", "fe80::1%eth0", "[fe80::1%eth0]",
	} {
		if err := Verify(p, w.roots(), name, now); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, text := range map[string]string{
		"wild.test":     `the certificate is for server.test, *.wild.test, 127.0.0.1, fe80::1, not for "wild.test"`,
		"a.b.wild.test": `the certificate is for server.test, *.wild.test, 127.0.0.1, fe80::1, not for "a.b.wild.test"`,
		"127.0.0.2":     `the certificate is for server.test, *.wild.test, 127.0.0.1, fe80::1, not for "127.0.0.2"`,
		"":              `no name was given to compare with the certificate's`,
	} {
		err := Verify(p, w.roots(), name, now)
		if reasonOf(t, err) != ReasonName || err.Error() != text || err.(*VerifyError).Alert != shakedown.AlertBadCertificate {
			t.Errorf("%q: %v", name, err)
		}
		if _, ok := errors.AsType[x509.HostnameError](err); !ok {
			t.Errorf("%q: does not wrap the cause", name)
		}
	}

	few := leafTemplate()
	few.DNSNames, few.IPAddresses = nil, nil
	p = parse(t, chain(issue(few, newP256(), w.intermediate), w.intermediate)...)
	for name, text := range map[string]string{
		"server.test": `the certificate has the name "server.test" only as its common name, which clients do not look at`,
		"other.test":  `the certificate is for no name at all, and so not for "other.test"`,
	} {
		if err := Verify(p, w.roots(), name, now); reasonOf(t, err) != ReasonName || err.Error() != text {
			t.Errorf("%q: %v", name, err)
		}
	}

	many := leafTemplate()
	for i := range 12 {
		many.DNSNames = append(many.DNSNames, fmt.Sprintf("n%d.test", i))
	}
	p = parse(t, chain(issue(many, newP256(), w.intermediate), w.intermediate)...)
	err := Verify(p, w.roots(), "other.test", now)
	if reasonOf(t, err) != ReasonName || !strings.HasSuffix(err.Error(), `n7.test and 6 more, not for "other.test"`) {
		t.Errorf("many names: %v", err)
	}
}

func TestVerify(t *testing.T) {
	w := theWorld()
	leaf := func(change func(*x509.Certificate), issuer *entity) *entity {
		template := leafTemplate()
		change(template)
		return issue(template, newP256(), issuer)
	}
	ca := func(issuer *entity, change func(*x509.Certificate)) *entity {
		template := caTemplate("Special")
		change(template)
		return issue(template, newP256(), issuer)
	}
	keep := func(*x509.Certificate) {}
	old := func(c *x509.Certificate) { c.NotAfter = now.Add(-72 * time.Hour) }
	young := func(c *x509.Certificate) { c.NotBefore = now.Add(90 * time.Minute) }

	expiredIntermediate, youngIntermediate := ca(w.root, old), ca(w.root, young)
	expiredRoot := ca(nil, old)
	noAIA := leaf(func(c *x509.Certificate) { c.IssuingCertificateURL = nil }, w.intermediate)
	selfSigned := leaf(keep, nil)
	otherIntermediate := newCA("Intermediate", w.root)
	otherRoot := newCA("Root", nil)
	constrained := ca(w.root, func(c *x509.Certificate) { c.PermittedDNSDomains = []string{"else.test"} })
	notCA := ca(w.root, func(c *x509.Certificate) { c.IsCA = false })
	ed448 := parse(t, altered(t, w.leaf.Certificate, w.intermediate, func(c *tbsCertificate) { c.Algorithm = algorithm(t, 1, 3, 101, 113) }), w.intermediate.Raw)
	sha1 := func(issuer *entity) []byte {
		return altered(t, w.leaf.Certificate, issuer, func(c *tbsCertificate) { c.Algorithm = algorithm(t, 1, 2, 840, 10045, 4, 1) })
	}
	// The intermediate has a key that cannot be verified with.
	opaque := altered(t, w.intermediate.Certificate, w.root, func(c *tbsCertificate) {
		c.PublicKey = spki(t, make([]byte, 57), asn1.ObjectIdentifier{1, 3, 101, 113})
	})

	for _, test := range []struct {
		name  string
		p     *Parsed
		roots *entity
		text  string // part of it
		hint  string // part of it
		Reason
		shakedown.Alert
	}{
		{name: "good", p: parse(t, chain(w.leaf, w.intermediate)...)},
		{name: "good with root", p: parse(t, chain(w.leaf, w.intermediate, w.root)...)},
		{name: "good in disorder", p: parse(t, chain(w.leaf, w.root, w.intermediate)...)},
		{name: "self-signed and trusted", p: parse(t, selfSigned.Raw), roots: selfSigned},
		{"expired leaf", parse(t, chain(leaf(old, w.intermediate), w.intermediate)...), nil,
			`certificate "server.test" expired on 2026-05-29 12:00 UTC, 3 days ago`, "renew", ReasonExpired, shakedown.AlertCertificateExpired},
		{"young leaf", parse(t, chain(leaf(young, w.intermediate), w.intermediate)...), nil,
			`certificate "server.test" is not valid before 2026-06-01 13:30 UTC, in 1h30m`, "clock", ReasonNotYetValid, shakedown.AlertCertificateExpired},
		{"expired intermediate", parse(t, chain(leaf(keep, expiredIntermediate), expiredIntermediate)...), nil,
			`certificate "Special" expired on`, "renew", ReasonExpired, shakedown.AlertCertificateExpired},
		{"young intermediate", parse(t, chain(leaf(keep, youngIntermediate), youngIntermediate)...), nil,
			`certificate "Special" is not valid before`, "clock", ReasonNotYetValid, shakedown.AlertCertificateExpired},
		{"expired root", parse(t, chain(leaf(keep, expiredRoot))...), expiredRoot,
			`certificate "Special" expired on`, "renew", ReasonExpired, shakedown.AlertCertificateExpired},
		{"self-signed", parse(t, selfSigned.Raw), nil,
			`certificate "server.test" is self-signed`, "trust", ReasonSelfSigned, shakedown.AlertUnknownCA},
		{"issuer of the leaf's own name", parse(t, issue(leafTemplate(), newP256(), issue(leafTemplate(), newP256(), nil)).Raw), nil,
			`the server sent no certificate that issued "server.test"`, "intermediate", ReasonMissingIntermediate, shakedown.AlertUnknownCA},
		{"missing intermediate", parse(t, chain(w.leaf)...), nil,
			`the server sent no certificate that issued "server.test", and its issuer "CN=Intermediate,O=Test" is not trusted`,
			"http://ca.test/intermediate.der", ReasonMissingIntermediate, shakedown.AlertUnknownCA},
		{"unrelated intermediate", parse(t, chain(w.leaf, w.root)...), nil,
			`the server sent no certificate that issued "server.test"`, "intermediate", ReasonMissingIntermediate, shakedown.AlertUnknownCA},
		{"nothing says where the issuer is", parse(t, chain(noAIA)...), nil,
			`the chain ends at "server.test", whose issuer "CN=Intermediate,O=Test" is neither sent nor trusted`, "", ReasonUnknownAuthority, shakedown.AlertUnknownCA},
		{"unknown root", parse(t, chain(w.leaf, w.intermediate)...), newCA("Elsewhere", nil),
			`the chain ends at "Intermediate", whose issuer "CN=Root,O=Test" is neither sent nor trusted`, "add that issuer", ReasonUnknownAuthority, shakedown.AlertUnknownCA},
		{"unknown root sent", parse(t, chain(w.leaf, w.intermediate, w.root)...), newCA("Elsewhere", nil),
			`the chain ends at the root "Root", which is not trusted`, "add that root", ReasonUnknownAuthority, shakedown.AlertUnknownCA},
		{"root of the same name", parse(t, chain(w.leaf, w.intermediate)...), otherRoot,
			`possibly because of "ECDSA verification failure"`, "", ReasonUnknownAuthority, shakedown.AlertUnknownCA},
		{"intermediate of the same name", parse(t, chain(w.leaf, otherIntermediate)...), nil,
			`certificate "server.test" is not signed by the "Intermediate" that the server sent`, "same name", ReasonBadSignature, shakedown.AlertBadCertificate},
		{"for clients", parse(t, chain(leaf(func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }, w.intermediate), w.intermediate)...), nil,
			"incompatible key usage", "serverAuth", ReasonNotPermitted, shakedown.AlertUnsupportedCertificate},
		{"name constraint", parse(t, chain(leaf(keep, constrained), constrained)...), nil,
			"not authorized to sign for this name", "", ReasonNotPermitted, shakedown.AlertBadCertificate},
		{"intermediate that is no authority", parse(t, chain(leaf(keep, notCA), notCA)...), nil,
			`certificate "server.test" is issued by "Special", which is not permitted to issue any`, "authority", ReasonNotPermitted, shakedown.AlertBadCertificate},
		{"critical extension", parse(t, chain(leaf(func(c *x509.Certificate) {
			c.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{1, 2, 3}, Critical: true, Value: []byte{5, 0}}}
		}, w.intermediate), w.intermediate)...), nil,
			"critical extension", "", ReasonNotSupported, shakedown.AlertUnsupportedCertificate},
		{"Ed448 signature", ed448, nil,
			`certificate "server.test" has a signature of Ed448`, "", ReasonNotSupported, shakedown.AlertUnsupportedCertificate},
		{"Ed448 intermediate", parse(t, w.leaf.Raw, opaque), nil,
			`certificate "server.test" has a signature of ECDSA-SHA256 by a key of Ed448`, "", ReasonNotSupported, shakedown.AlertUnsupportedCertificate},
		{"SHA-1", parse(t, sha1(w.intermediate), w.intermediate.Raw), nil,
			`certificate "server.test" has a signature of ECDSA-SHA1, which is insecure`, "SHA-256", ReasonInsecure, shakedown.AlertBadCertificate},
		{"SHA-1, issuer not sent", parse(t, sha1(w.intermediate)), w.intermediate,
			`certificate "server.test" has a signature of ECDSA-SHA1, which is insecure`, "SHA-256", ReasonInsecure, shakedown.AlertBadCertificate},
		{"malformed intermediate", parse(t, w.leaf.Raw, altered(t, w.intermediate.Certificate, w.root, func(c *tbsCertificate) { c.Serial = big.NewInt(-1) })), nil,
			`certificate 2 of the server is malformed: negative serial number`, "", ReasonMalformed, shakedown.AlertBadCertificate},
		{"enormous key", parse(t, append(chain(w.leaf, w.intermediate), enormous(t, w))...), nil,
			"has an RSA key of 20000 bits: at most 16384 are verified here", "", ReasonNotSupported, shakedown.AlertUnsupportedCertificate},
	} {
		t.Run(test.name, func(t *testing.T) {
			roots := w.roots()
			if test.roots != nil {
				roots = x509.NewCertPool()
				roots.AddCert(test.roots.Certificate)
			}
			err := Verify(test.p, roots, "server.test", now)
			if got := reasonOf(t, err); got != test.Reason {
				t.Fatalf("reason %q, want %q: %v", got, test.Reason, err)
			}
			want := shakedown.VerificationFailed
			switch test.Reason {
			case "":
				want = shakedown.VerificationOK
			case ReasonNotSupported:
				want = shakedown.VerificationNotSupported
			}
			if got := Outcome(err); got != want {
				t.Errorf("outcome %q, want %q", got, want)
			}
			if err == nil {
				return
			}
			v := err.(*VerifyError)
			if v.Alert != test.Alert || !strings.Contains(v.Error(), test.text) || !strings.Contains(v.Hint, test.hint) {
				t.Errorf("alert %v, text %q, hint %q", v.Alert, v, v.Hint)
			}
		})
	}
}

// enormous is a certificate with a key that takes seconds to compute with.
func enormous(t *testing.T, w world) []byte {
	t.Helper()
	n := new(big.Int).Lsh(big.NewInt(1), 19999)
	n.SetBit(n, 0, 1)
	c := issueFor(caTemplate("Enormous"), &rsa.PublicKey{N: n, E: 65537}, w.root.key, w.root)
	return c.Raw
}

// TestVerifyRSA: the other half of the families in use, with a signature of PSS.
func TestVerifyRSA(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for _, algorithm := range []x509.SignatureAlgorithm{x509.SHA384WithRSA, x509.SHA256WithRSAPSS} {
		root := issue(caTemplate("Root"), key, nil)
		template := leafTemplate()
		template.SignatureAlgorithm = algorithm
		p := parse(t, issue(template, key, root).Raw)
		roots := x509.NewCertPool()
		roots.AddCert(root.Certificate)
		if err := Verify(p, roots, "server.test", now); err != nil || p.Certificates[0].Signature != algorithm.String() {
			t.Errorf("%v: %v, %q", algorithm, err, p.Certificates[0].Signature)
		}
	}
}

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		400 * time.Millisecond: "0s", 5 * time.Second: "5s", 90 * time.Minute: "1h30m", 47 * time.Hour: "47h0m", 49 * time.Hour: "2 days",
	} {
		if got := span(d); got != want {
			t.Errorf("span(%v) = %q, want %q", d, got, want)
		}
	}
}
