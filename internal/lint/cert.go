package lint

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"strings"

	"shakedown/internal/nginx"
)

// certificate is what the rules ask of a certificate file: its leaf first, then what nginx sends along.
type certificate struct {
	leaf   *x509.Certificate
	others []*x509.Certificate
	key    string // "RSA", "ECDSA" or another algorithm's name
	bits   int    // of an RSA modulus
	curve  string // of an ECDSA key, in OpenSSL's words
}

// certificates reads files once.
type certificates struct {
	config *nginx.Config
	read   map[string]*certificate
	errs   map[string]error
}

func newCertificates(c *nginx.Config) *certificates {
	return &certificates{c, map[string]*certificate{}, map[string]error{}}
}

// load returns the certificate of one file, or an error when there is no reading it here.
func (cs *certificates) load(path string) (*certificate, error) {
	if cert, err := cs.read[path], cs.errs[path]; cert != nil || err != nil {
		return cert, err
	}
	cert, err := readCertificate(cs.config.Resolve(path))
	cs.read[path], cs.errs[path] = cert, err
	return cert, err
}

func readCertificate(path string) (*certificate, error) {
	rest, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	c := &certificate{}
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if !strings.HasSuffix(block.Type, "CERTIFICATE") {
			continue
		}
		parsed, err := x509.ParseCertificate(block.Bytes)
		switch {
		case err != nil:
			return nil, err
		case c.leaf == nil:
			c.leaf = parsed
		default:
			c.others = append(c.others, parsed)
		}
	}
	if c.leaf == nil {
		return nil, errors.New("no certificate in it")
	}
	switch key := c.leaf.PublicKey.(type) {
	case *rsa.PublicKey:
		c.key, c.bits = "RSA", key.N.BitLen()
	case *ecdsa.PublicKey:
		c.key = "ECDSA"
		c.curve = map[string]string{"P-256": "prime256v1", "P-384": "secp384r1", "P-521": "secp521r1", "P-224": "secp224r1"}[key.Curve.Params().Name]
	case ed25519.PublicKey:
		c.key = "Ed25519"
	default:
		c.key = c.leaf.PublicKeyAlgorithm.String()
	}
	return c, nil
}

// issued reports whether one of the certificates signed the leaf.
func (c *certificate) issued(by []*x509.Certificate) bool {
	for _, issuer := range by {
		if c.leaf.CheckSignatureFrom(issuer) == nil {
			return true
		}
	}
	return false
}

// of returns the certificates of s that can be read and whether those are all; a note tells of the others.
func (c *checker) certificatesOf(s server) (list []*certificate, all bool) {
	all = true
	for _, d := range s.Get("ssl_certificate").Directives {
		path := d.Arg(0)
		if strings.Contains(path, "$") || strings.HasPrefix(path, "data:") || strings.HasPrefix(path, "engine:") {
			all = false
			continue
		}
		cert, err := c.certs.load(path)
		if err != nil {
			c.note("certificate %s is not read (%s): rules about it say nothing", path, plain(err))
			all = false
			continue
		}
		list = append(list, cert)
	}
	return list, all && len(list) > 0
}

// plain drops the path from a file error: the message names it already.
func plain(err error) string {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}

// keyName is the key in words, such as "RSA 2048" or "ECDSA prime256v1".
func (c *certificate) keyName() string {
	switch {
	case c.bits > 0:
		return fmt.Sprintf("%s %d", c.key, c.bits)
	case c.curve != "":
		return c.key + " " + c.curve
	}
	return c.key
}
