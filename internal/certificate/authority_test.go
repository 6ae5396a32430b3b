package certificate

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"net"
	"sync"
	"testing"
	"time"
)

// now is the time at which everything in these tests is judged.
var now = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// entity is a certificate and its key.
type entity struct {
	*x509.Certificate
	key crypto.Signer
}

// world is a root, an intermediate that it issued, and a leaf of that.
type world struct{ root, intermediate, leaf *entity }

// theWorld is made once: it is only read.
var theWorld = sync.OnceValue(func() world {
	var w world
	w.root = newCA("Root", nil)
	w.intermediate = newCA("Intermediate", w.root)
	w.leaf = issue(leafTemplate(), newP256(), w.intermediate)
	return w
})

func (w world) roots() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(w.root.Certificate)
	return pool
}

func newP256() crypto.Signer {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	return key
}

func caTemplate(name string) *x509.Certificate {
	return &x509.Certificate{
		Subject:   pkix.Name{CommonName: name, Organization: []string{"Test"}},
		NotBefore: now.AddDate(-5, 0, 0), NotAfter: now.AddDate(5, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
}

func newCA(name string, issuer *entity) *entity { return issue(caTemplate(name), newP256(), issuer) }

func leafTemplate() *x509.Certificate {
	return &x509.Certificate{
		Subject:   pkix.Name{CommonName: "server.test"},
		NotBefore: now.AddDate(0, -1, 0), NotAfter: now.AddDate(0, 1, 0),
		DNSNames:              []string{"server.test", "*.wild.test"},
		IPAddresses:           []net.IP{net.ParseIP("127.0.0.1"), net.ParseIP("fe80::1")},
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IssuingCertificateURL: []string{"http://ca.test/intermediate.der"},
		OCSPServer:            []string{"http://ocsp.test/"},
		CRLDistributionPoints: []string{"http://crl.test/1.crl"},
	}
}

// issue has issuer sign template for key; a nil issuer makes it self-signed.
func issue(template *x509.Certificate, key crypto.Signer, issuer *entity) *entity {
	return issueFor(template, key.Public(), key, issuer)
}

func issueFor(template *x509.Certificate, public crypto.PublicKey, key crypto.Signer, issuer *entity) *entity {
	if template.SerialNumber == nil {
		serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 100))
		if err != nil {
			panic(err)
		}
		template.SerialNumber = serial
	}
	parent, signer := template, key
	if issuer != nil {
		parent, signer = issuer.Certificate, issuer.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, signer)
	if err != nil {
		panic(err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		panic(err)
	}
	return &entity{c, key}
}

// tbsCertificate is the part of a certificate that is signed, to be altered.
type tbsCertificate struct {
	Version    int `asn1:"explicit,tag:0"`
	Serial     *big.Int
	Algorithm  asn1.RawValue
	Issuer     asn1.RawValue
	Validity   asn1.RawValue
	Subject    asn1.RawValue
	PublicKey  asn1.RawValue
	Extensions []pkix.Extension `asn1:"explicit,tag:3,optional"`
}

// altered returns the certificate c with some of its fields changed and signed
// again by issuer, in ways that crypto/x509 declines to make. The signature
// algorithm must be one with an ECDSA P-256 key and SHA-256 for it to be right.
func altered(t testing.TB, c *x509.Certificate, issuer *entity, alter func(*tbsCertificate)) []byte {
	t.Helper()
	var tbs tbsCertificate
	if _, err := asn1.Unmarshal(c.RawTBSCertificate, &tbs); err != nil {
		t.Fatal(err)
	}
	alter(&tbs)
	body := marshal(t, tbs)
	sum := sha256.Sum256(body)
	signature, err := issuer.key.Sign(rand.Reader, sum[:], crypto.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	return marshal(t, struct {
		TBS, Algorithm asn1.RawValue
		Signature      asn1.BitString
	}{raw(body), tbs.Algorithm, asn1.BitString{Bytes: signature, BitLength: 8 * len(signature)}})
}

// spki makes a SubjectPublicKeyInfo of any algorithm.
func spki(t testing.TB, key []byte, oids ...asn1.ObjectIdentifier) asn1.RawValue {
	t.Helper()
	return raw(marshal(t, struct {
		Algorithm []asn1.ObjectIdentifier
		Key       asn1.BitString
	}{oids, asn1.BitString{Bytes: key, BitLength: 8 * len(key)}}))
}

func algorithm(t testing.TB, oid ...int) asn1.RawValue {
	return raw(marshal(t, pkix.AlgorithmIdentifier{Algorithm: oid}))
}

func raw(der []byte) asn1.RawValue { return asn1.RawValue{FullBytes: der} }

func marshal(t testing.TB, v any) []byte {
	t.Helper()
	der, err := asn1.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// chain is the DER of certificates in the order sent.
func chain(entities ...*entity) (list [][]byte) {
	for _, e := range entities {
		list = append(list, e.Raw)
	}
	return list
}

func parse(t testing.TB, list ...[]byte) *Parsed {
	t.Helper()
	p, err := Parse(list)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// goKeys are keys of every type that crypto/x509 makes certificates for, and
// the names of the key and of a signature by it.
func goKeys(t testing.TB) []struct {
	key             crypto.Signer
	name, signature string
} {
	t.Helper()
	var list []struct {
		key             crypto.Signer
		name, signature string
	}
	add := func(key crypto.Signer, err error, name, signature string) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, struct {
			key             crypto.Signer
			name, signature string
		}{key, name, signature})
	}
	for _, c := range []struct {
		curve           elliptic.Curve
		name, signature string
	}{
		{elliptic.P224(), "ECDSA-P224", "ECDSA-SHA256"}, {elliptic.P256(), "ECDSA-P256", "ECDSA-SHA256"},
		{elliptic.P384(), "ECDSA-P384", "ECDSA-SHA384"}, {elliptic.P521(), "ECDSA-P521", "ECDSA-SHA512"},
	} {
		key, err := ecdsa.GenerateKey(c.curve, rand.Reader)
		add(key, err, c.name, c.signature)
	}
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	add(rsaKey, err, "RSA-2048", "SHA256-RSA")
	_, edKey, err := ed25519.GenerateKey(rand.Reader)
	add(edKey, err, "Ed25519", "Ed25519")
	return list
}
