package server

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Authority is a test certification authority of the usual shape: a root, and
// an intermediate that signs leaves. Servers send leaf and intermediate; clients
// hold the root.
type Authority struct {
	Root         *x509.Certificate
	Intermediate *x509.Certificate

	rootKey crypto.Signer
	key     crypto.Signer // the intermediate's
}

// Family names the pair of keys an Authority signs with. The zero value of a
// member means RSA2048.
type Family struct {
	Root, Intermediate KeyKind
}

// FamilyFor is the family in which public authorities issue leaves of kind k:
// RSA throughout for RSA leaves, P-384 over P-256 for the others. (Public RSA
// roots have 4096 bits; the root is not sent and 2048 are made much sooner.)
func FamilyFor(k KeyKind) Family {
	if k.IsRSA() {
		return Family{RSA2048, RSA2048}
	}
	return Family{P384, P256}
}

// NewAuthority makes root and intermediate with fresh keys, valid from an hour
// ago for ten years.
func NewAuthority(f Family) (*Authority, error) {
	if f.Root == "" {
		f.Root = RSA2048
	}
	if f.Intermediate == "" {
		f.Intermediate = RSA2048
	}
	rootKey, err := f.Root.generate()
	if err != nil {
		return nil, fmt.Errorf("root: %w", err)
	}
	key, err := f.Intermediate.generate()
	if err != nil {
		return nil, fmt.Errorf("intermediate: %w", err)
	}
	name := func(cn string) pkix.Name {
		return pkix.Name{Country: []string{"XX"}, Organization: []string{"Shakedown Test"}, CommonName: cn}
	}
	rootTemplate := &x509.Certificate{
		Subject:   name("Shakedown Test Root " + string(f.Root)),
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(10, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	root, err := sign(rootTemplate, rootTemplate, rootKey.Public(), rootKey)
	if err != nil {
		return nil, fmt.Errorf("root: %w", err)
	}
	intermediate, err := sign(&x509.Certificate{
		Subject:   name("Shakedown Test Intermediate " + string(f.Intermediate)),
		NotBefore: rootTemplate.NotBefore, NotAfter: rootTemplate.NotAfter,
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IssuingCertificateURL: []string{"http://root.shakedown.test/"},
		CRLDistributionPoints: []string{"http://crl.root.shakedown.test/"},
	}, root, key.Public(), rootKey)
	if err != nil {
		return nil, fmt.Errorf("intermediate: %w", err)
	}
	return &Authority{Root: root, Intermediate: intermediate, rootKey: rootKey, key: key}, nil
}

// LeafRequest says what a leaf certificate is to be. The zero value is a server
// certificate for the default names, valid from an hour ago for 90 days, with no
// OCSP URL.
type LeafRequest struct {
	Key        KeyKind   // zero: RSA2048
	Names      []string  // DNS names and IP addresses; empty: DefaultNames
	NotBefore  time.Time // zero: an hour ago
	NotAfter   time.Time // zero: in 90 days
	OCSPURL    string    // authority information access; empty: none
	MustStaple bool      // the TLS feature extension of RFC 7633
	Client     bool      // for client authentication
}

// DefaultName is the server name of a leaf that asks for no other.
const DefaultName = "shakedown.test"

// DefaultNames returns the names a leaf gets when it asks for none.
func DefaultNames() []string {
	return []string{DefaultName, "www." + DefaultName, "api." + DefaultName, "static." + DefaultName, "localhost", "127.0.0.1", "::1"}
}

// Issue makes a key and has the intermediate sign a leaf for it. Kinds of key
// that Go does not know are made by the openssl command, which must then be
// installed.
func (a *Authority) Issue(r LeafRequest) (*Certificate, error) {
	if r.Key == "" {
		r.Key = RSA2048
	}
	if err := r.Key.validate(); err != nil {
		return nil, err
	}
	template := r.template()
	if !r.Key.inGo() {
		return a.issueWithOpenSSL(r.Key, template)
	}
	key, err := r.Key.generate()
	if err != nil {
		return nil, err
	}
	leaf, err := sign(template, a.Intermediate, key.Public(), a.key)
	if err != nil {
		return nil, err
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return nil, err
	}
	return &Certificate{Leaf: leaf, Chain: []*x509.Certificate{leaf, a.Intermediate}, Root: a.Root, Key: key, KeyPEM: keyPEM}, nil
}

// template turns the request into the certificate to be signed.
func (r LeafRequest) template() *x509.Certificate {
	if len(r.Names) == 0 {
		r.Names = DefaultNames()
	}
	if r.NotBefore.IsZero() {
		r.NotBefore = time.Now().Add(-time.Hour)
	}
	if r.NotAfter.IsZero() {
		r.NotAfter = time.Now().AddDate(0, 0, 90)
	}
	t := &x509.Certificate{
		// NSS keeps one certificate per subject, so the kind of key is part of it.
		Subject:   pkix.Name{CommonName: r.Names[0], OrganizationalUnit: []string{string(r.Key)}},
		NotBefore: r.NotBefore, NotAfter: r.NotAfter,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IssuingCertificateURL: []string{"http://ca.shakedown.test/"},
		CRLDistributionPoints: []string{"http://crl.shakedown.test/1.crl"},
		PolicyIdentifiers:     []asn1.ObjectIdentifier{{2, 23, 140, 1, 2, 1}}, // CA/Browser Forum: domain validated
	}
	if r.Key.IsRSA() && r.Key != RSAPSS2048 {
		t.KeyUsage |= x509.KeyUsageKeyEncipherment // static RSA key exchange (RFC 5246, section 7.4.2)
	}
	if r.Client {
		t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	}
	if r.OCSPURL != "" {
		t.OCSPServer = []string{r.OCSPURL}
	}
	if r.MustStaple {
		t.ExtraExtensions = []pkix.Extension{{
			Id:    asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 1, 24},
			Value: []byte{0x30, 0x03, 0x02, 0x01, 0x05}, // SEQUENCE { INTEGER 5 }: status_request
		}}
	}
	for _, name := range r.Names {
		if ip := net.ParseIP(name); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else {
			t.DNSNames = append(t.DNSNames, name)
		}
	}
	return t
}

// sign has parentKey sign template for pub under a fresh serial number.
func sign(template, parent *x509.Certificate, pub crypto.PublicKey, parentKey crypto.Signer) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	template.SerialNumber = serial.SetBit(serial, 126, 1) // always 16 bytes, so that sizes compare
	der, err := x509.CreateCertificate(rand.Reader, template, parent, pub, parentKey)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// issueWithOpenSSL issues a leaf for a key that Go cannot hold: the openssl
// command makes the key, the template is signed for a stand-in, and the public
// key of the result is replaced.
func (a *Authority) issueWithOpenSSL(kind KeyKind, template *x509.Certificate) (*Certificate, error) {
	dir, err := os.MkdirTemp("", "shakedown-key-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	private, public := filepath.Join(dir, "leaf.key"), filepath.Join(dir, "leaf.pub")
	if err := kind.generateFile(private); err != nil {
		return nil, err
	}
	if err := runOpenSSL("pkey", "-in", private, "-pubout", "-outform", "DER", "-out", public); err != nil {
		return nil, err
	}
	keyPEM, err := os.ReadFile(private)
	if err != nil {
		return nil, err
	}
	spki, err := os.ReadFile(public)
	if err != nil {
		return nil, err
	}
	standIn, err := sign(template, a.Intermediate, a.key.Public(), a.key)
	if err != nil {
		return nil, err
	}
	leaf, err := a.replaceKey(standIn, spki)
	if err != nil {
		return nil, fmt.Errorf("a leaf of kind %s: %w", kind, err)
	}
	return &Certificate{Leaf: leaf, Chain: []*x509.Certificate{leaf, a.Intermediate}, Root: a.Root, KeyPEM: keyPEM}, nil
}

// replaceKey signs the certificate again with another subjectPublicKeyInfo,
// which is the seventh member of TBSCertificate (RFC 5280, section 4.1).
func (a *Authority) replaceKey(c *x509.Certificate, spki []byte) (*x509.Certificate, error) {
	var outer struct {
		TBS, Algorithm asn1.RawValue
		Signature      asn1.BitString
	}
	var members []asn1.RawValue
	if _, err := asn1.Unmarshal(c.Raw, &outer); err != nil {
		return nil, err
	}
	if _, err := asn1.Unmarshal(outer.TBS.FullBytes, &members); err != nil {
		return nil, err
	}
	members[6] = asn1.RawValue{FullBytes: spki}
	tbs, err := asn1.Marshal(members)
	if err != nil {
		return nil, err
	}
	signed, hash := tbs, crypto.Hash(0) // Ed25519 signs the text itself
	switch c.SignatureAlgorithm {
	case x509.SHA256WithRSA, x509.ECDSAWithSHA256:
		hash = crypto.SHA256
	case x509.ECDSAWithSHA384:
		hash = crypto.SHA384
	case x509.ECDSAWithSHA512:
		hash = crypto.SHA512
	}
	if hash != 0 {
		h := hash.New()
		h.Write(tbs)
		signed = h.Sum(nil)
	}
	signature, err := a.key.Sign(rand.Reader, signed, hash)
	if err != nil {
		return nil, err
	}
	outer.TBS = asn1.RawValue{FullBytes: tbs}
	outer.Signature = asn1.BitString{Bytes: signature, BitLength: 8 * len(signature)}
	der, err := asn1.Marshal(outer)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// openAuthority returns the authority kept in dir, or makes one there, so that
// a server started again in its directory is trusted by the same root.
func openAuthority(dir string, f Family) (*Authority, error) {
	prefix := filepath.Join(dir, "authority-"+string(f.Root)+"-"+string(f.Intermediate))
	chain, err := readCertificates(prefix + ".pem")
	if errors.Is(err, fs.ErrNotExist) {
		a, err := NewAuthority(f)
		if err != nil {
			return nil, err
		}
		rootKey, err := encodeKey(a.rootKey)
		if err != nil {
			return nil, err
		}
		key, err := encodeKey(a.key)
		if err != nil {
			return nil, err
		}
		// The certificates come last: their file says that the rest is there.
		for _, f := range []struct {
			name string
			text []byte
		}{{"-root.key", rootKey}, {".key", key}, {".pem", certificatesPEM(a.Intermediate, a.Root)}} {
			if err := writePrivate(prefix+f.name, f.text); err != nil {
				return nil, err
			}
		}
		return a, nil
	}
	if err != nil {
		return nil, err
	}
	if len(chain) != 2 {
		return nil, fmt.Errorf("%s.pem: %d certificates where two belong", prefix, len(chain))
	}
	a := &Authority{Intermediate: chain[0], Root: chain[1]}
	if a.rootKey, err = readKey(prefix + "-root.key"); err != nil {
		return nil, err
	}
	if a.key, err = readKey(prefix + ".key"); err != nil {
		return nil, err
	}
	return a, nil
}

// certificatesPEM returns the certificates as one PEM text in the order given.
func certificatesPEM(certs ...*x509.Certificate) []byte {
	var text bytes.Buffer
	for _, c := range certs {
		text.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}))
	}
	return text.Bytes()
}

// readCertificates reads every certificate of a PEM file; there is at least one.
func readCertificates(file string) ([]*x509.Certificate, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var certs []*x509.Certificate
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		certs = append(certs, c)
	}
	if len(certs) == 0 {
		return nil, fmt.Errorf("%s: no certificate", file)
	}
	return certs, nil
}

// writePrivate writes a file that only its owner can read. It replaces what is
// there as a whole, so that a server reading meanwhile sees the old or the new.
func writePrivate(file string, text []byte) error {
	temporary := file + ".new"
	if err := os.WriteFile(temporary, text, 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, file)
}
