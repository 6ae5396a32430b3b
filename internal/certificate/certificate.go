// Package certificate is what a client learns from the certificates of a
// server: the chain as a [shakedown.Chain], whether it verifies, what a stapled
// OCSP response says, and what the leaf demands of its server.
//
// A server may send anything, so nothing that arrives here is fatal. What
// crypto/x509 refuses is kept with the reason, and read as far as it can be:
// SM2 certificates, for one, are unknown to crypto/x509 and perfectly good.
package certificate

import (
	"bytes"
	"crypto"
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"

	"shakedown"
	"shakedown/internal/suite"
)

// Parsed is a chain as the server sent it, leaf first. It is shared by all
// handshakes that received the same bytes: its users change nothing.
type Parsed struct {
	shakedown.Chain
	DER [][]byte
	// X509 has one entry for each of DER: nil if crypto/x509 refused it, for
	// the reason in Certificates[i].Problem.
	X509 []*x509.Certificate
	// LeafKey is the key of the first certificate; nil if it is of no use, for
	// the reason that Key(0) returns.
	LeafKey crypto.PublicKey

	fields        []fields
	keys          []key
	intermediates *x509.CertPool // all but the leaf
}

// key is a certificate's public key, or why there is none.
type key struct {
	public crypto.PublicKey
	err    error
}

// Key returns the public key of certificate i. TLCP needs that of the second,
// which encrypts, beside that of the leaf, which signs. The error says that the
// certificate was not sent or that its key is of a kind unknown here.
func (p *Parsed) Key(i int) (crypto.PublicKey, error) {
	if i < 0 || i >= len(p.keys) {
		return nil, fmt.Errorf("the server sent %d certificates, and so no number %d", len(p.keys), i+1)
	}
	return p.keys[i].public, p.keys[i].err
}

// errNoCertificate: RFC 8446 (section 4.4.2.4) has a client end the handshake
// with decode_error.
var errNoCertificate = errors.New("the server sent no certificate")

// Parse reads a chain, leaf first, each certificate in DER. It copies the
// bytes. The only error is that there is no certificate in list: one that
// cannot be read is kept with its Problem.
func Parse(list [][]byte) (*Parsed, error) {
	if len(list) == 0 {
		return nil, errNoCertificate
	}
	all := bytes.Join(list, nil)
	p := &Parsed{intermediates: x509.NewCertPool()}
	p.Bytes = len(all)
	for i, der := range list {
		p.add(all[:len(der):len(der)])
		all = all[len(der):]
		if c := p.X509[i]; c != nil && i > 0 {
			p.intermediates.AddCert(c)
		}
	}
	p.LeafKey = p.keys[0].public
	p.Ordered = p.ordered()
	return p, nil
}

// add appends one certificate to every list of p.
func (p *Parsed) add(der []byte) {
	f, readErr := readFields(der)
	c, err := x509.ParseCertificate(der)
	description := shakedown.Certificate{Bytes: len(der)}
	if err != nil {
		c = nil
		description.Problem = plain(err)
	}
	// What x509 refused is described as far as our own, laxer reading got.
	if readErr == nil {
		description.Subject, description.Issuer = f.subject.String(), f.issuer.String()
		description.Names = f.names
		description.Signature = f.signatureName()
		description.NotBefore, description.NotAfter = f.notBefore, f.notAfter
	}
	if c != nil && c.SignatureAlgorithm != x509.UnknownSignatureAlgorithm {
		description.Signature = c.SignatureAlgorithm.String()
	}
	k := publicKey(c, f.spki)
	if readErr != nil && c == nil {
		k = key{err: fmt.Errorf("certificate %d of the server cannot be read: %w", len(p.DER)+1, readErr)}
	}
	if k.public != nil {
		description.Key = suite.KeyName(k.public)
	}
	p.DER = append(p.DER, der)
	p.X509 = append(p.X509, c)
	p.fields = append(p.fields, f)
	p.keys = append(p.keys, k)
	p.Certificates = append(p.Certificates, description)
}

// publicKey takes the key that crypto/x509 read, or reads those it does not
// know: Ed448, RSASSA-PSS, ML-DSA and SM2.
func publicKey(c *x509.Certificate, spki []byte) key {
	if c != nil && c.PublicKey != nil {
		return key{public: c.PublicKey}
	}
	if spki == nil {
		return key{err: errors.New("no public key was found")}
	}
	public, err := suite.ParsePublicKey(spki)
	if err != nil {
		return key{err: err}
	}
	return key{public: public}
}

// ordered reports whether each certificate is issued by the next: the names
// say so, and the signature too where checking it is possible and cheap.
func (p *Parsed) ordered() bool {
	for i := range p.fields[:len(p.fields)-1] {
		next := i + 1
		if i == 0 && p.isTLCPPair() {
			next = min(2, len(p.fields)-1)
			if next == 1 {
				return true // the pair alone
			}
		}
		if !p.issued(next, i) {
			return false
		}
	}
	return true
}

// isTLCPPair reports whether the chain begins with the two SM2 certificates of
// a TLCP server, one to sign and one to encrypt, both by one issuer. (That they
// come first is the habit of implementations; GB/T 38636-2020 does not order them.)
func (p *Parsed) isTLCPPair() bool {
	if len(p.fields) < 2 {
		return false
	}
	sign, encrypt := &p.fields[0], &p.fields[1]
	return sign.isSM2() && encrypt.isSM2() && len(sign.rawIssuer) > 0 &&
		bytes.Equal(sign.rawIssuer, encrypt.rawIssuer) && !bytes.Equal(encrypt.rawSubject, encrypt.rawIssuer)
}

// issued reports whether certificate issuer issued certificate i. A signature
// that cannot be checked here is taken on the word of the names.
func (p *Parsed) issued(issuer, i int) bool {
	if !p.named(issuer, i) {
		return false
	}
	parent, child := p.X509[issuer], p.X509[i]
	if parent == nil || child == nil || oversized(parent) != nil || p.unverifiable(i) != nil {
		return true
	}
	err := checkSignature(parent, child)
	return err == nil || isUnsupported(err)
}

// named reports whether certificate issuer bears the name that certificate i
// gives for its issuer.
func (p *Parsed) named(issuer, i int) bool {
	name := p.fields[i].rawIssuer
	return len(name) > 0 && bytes.Equal(name, p.fields[issuer].rawSubject)
}

// selfSigned reports whether certificate i is its own issuer: a root, or a leaf
// made without an authority.
func (p *Parsed) selfSigned(i int) bool { return p.issued(i, i) }

// checkSignature verifies child's signature with parent's key. Unlike
// CheckSignatureFrom it does not ask whether parent may sign certificates.
func checkSignature(parent, child *x509.Certificate) error {
	return parent.CheckSignature(child.SignatureAlgorithm, child.RawTBSCertificate, child.Signature)
}

func isUnsupported(err error) bool { return errors.Is(err, x509.ErrUnsupportedAlgorithm) }

// maxRSABits bounds what a server's certificates can make us compute: a
// verification takes time quadratic in it, some milliseconds at this size.
// (crypto/tls stops at 8192 bits, which servers under test may exceed.)
const maxRSABits = 16384

// oversized returns an error if c has an RSA key too long to compute with.
func oversized(c *x509.Certificate) error {
	if k, ok := c.PublicKey.(*rsa.PublicKey); ok && k.N.BitLen() > maxRSABits {
		return fmt.Errorf("certificate %s has an RSA key of %d bits: at most %d are verified here", label(c), k.N.BitLen(), maxRSABits)
	}
	return nil
}

// label names a certificate in a sentence, quoted.
func label(c *x509.Certificate) string {
	name := c.Subject.CommonName
	if name == "" && len(c.DNSNames) > 0 {
		name = c.DNSNames[0]
	}
	if name == "" {
		name = c.Subject.String()
	}
	return fmt.Sprintf("%q", name)
}

// plain is the text of an error of crypto/x509 without the name of the package,
// which quoted errors repeat.
func plain(err error) string { return strings.ReplaceAll(err.Error(), "x509: ", "") }
