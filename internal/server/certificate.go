package server

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
)

// Certificate is a leaf with its chain and key.
type Certificate struct {
	Leaf  *x509.Certificate
	Chain []*x509.Certificate // what a server sends: leaf, intermediate
	Root  *x509.Certificate   // what a client trusts

	// Key is nil for the kinds that Go does not know; KeyPEM is there always.
	Key    crypto.Signer
	KeyPEM []byte
}

// TLS returns the certificate for use with crypto/tls, by a server or, if it
// was issued for one, by a client. It fails for keys that Go does not know.
func (c *Certificate) TLS() (tls.Certificate, error) {
	if c.Key == nil {
		return tls.Certificate{}, errors.New("crypto/tls cannot use a key of this kind")
	}
	t := tls.Certificate{PrivateKey: c.Key, Leaf: c.Leaf}
	for _, cert := range c.Chain {
		t.Certificate = append(t.Certificate, cert.Raw)
	}
	return t, nil
}

// ChainPEM returns leaf and intermediate as PEM, leaf first.
func (c *Certificate) ChainPEM() []byte { return certificatesPEM(c.Chain...) }

// CertificateFiles are the places of a certificate on disk. All are PEM.
type CertificateFiles struct {
	Leaf  string // the leaf alone
	Chain string // leaf and intermediate
	CA    string // the intermediate alone
	Key   string // PKCS #8
	Both  string // leaf, intermediate and key in one file, as haproxy wants it
}

// Write puts the certificate into dir under names that begin with name, all
// readable by their owner alone.
func (c *Certificate) Write(dir, name string) (CertificateFiles, error) {
	files := certificateFiles(dir, name)
	err := errors.Join(
		writePrivate(files.Leaf, certificatesPEM(c.Leaf)),
		writePrivate(files.CA, certificatesPEM(c.Chain[1:]...)),
		writePrivate(files.Key, c.KeyPEM),
		writePrivate(files.Both, append(c.ChainPEM(), c.KeyPEM...)),
		writePrivate(files.Chain, c.ChainPEM()),
	)
	return files, err
}

// certificateFiles names the files of [Certificate.Write].
func certificateFiles(dir, name string) CertificateFiles {
	file := func(suffix string) string { return filepath.Join(dir, name+suffix) }
	return CertificateFiles{Leaf: file("-leaf.pem"), Chain: file(".pem"), CA: file("-ca.pem"), Key: file(".key"), Both: file("-both.pem")}
}

// readCertificate reads what [Certificate.Write] wrote. A key that Go does not
// know stays nil.
func readCertificate(files CertificateFiles, root *x509.Certificate) (*Certificate, error) {
	chain, err := readCertificates(files.Chain)
	if err != nil {
		return nil, err
	}
	keyPEM, err := os.ReadFile(files.Key)
	if err != nil {
		return nil, err
	}
	c := &Certificate{Leaf: chain[0], Chain: chain, Root: root, KeyPEM: keyPEM}
	if chain[0].PublicKey != nil {
		if c.Key, err = readKey(files.Key); err != nil {
			return nil, err
		}
	}
	return c, nil
}
