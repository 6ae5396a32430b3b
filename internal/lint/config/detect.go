package config

import (
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"strings"

	"shakedown/internal/nginx"
)

// ReadCertificate looks at a chain file for what its leaf's key is and whether it can be stapled. The paths are kept as given;
// open resolves the chain's.
func ReadCertificate(chain, key string, open func(string) string) (Certificate, error) {
	c := Certificate{Chain: chain, Key: key}
	b, err := os.ReadFile(open(chain))
	if err != nil {
		return c, err
	}
	block, _ := pem.Decode(b)
	for ; block != nil && block.Type != "CERTIFICATE"; block, b = pem.Decode(b) {
	}
	if block == nil {
		return c, fmt.Errorf("%s holds no certificate", chain)
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return c, fmt.Errorf("%s: %w", chain, err)
	}
	switch leaf.PublicKey.(type) {
	case *ecdsa.PublicKey:
		c.Kind = ECDSA
	case *rsa.PublicKey:
		c.Kind = RSA
	default:
		return c, fmt.Errorf("%s has a key of type %s; ECDSA and RSA are covered", chain, leaf.PublicKeyAlgorithm)
	}
	c.Staples = len(leaf.OCSPServer) > 0 && strings.HasPrefix(leaf.OCSPServer[0], "http://")
	return c, nil
}

// Detect takes the sites of an existing nginx configuration: the names and certificates of its TLS servers.
func Detect(m *nginx.Model) ([]Site, error) {
	var sites []Site
	for _, s := range m.TLSServers() {
		if s.Module != "http" || s.Is("ssl_reject_handshake", "on") {
			continue
		}
		var site Site
		for _, n := range s.Names {
			if n != "_" && n != "" {
				site.Names = append(site.Names, n)
			}
		}
		keys := s.Get("ssl_certificate_key").Directives
		for i, d := range s.Get("ssl_certificate").Directives {
			if i >= len(keys) {
				return nil, fmt.Errorf("%s: the certificate has no key", d.Pos)
			}
			c, err := ReadCertificate(d.Arg(0), keys[i].Arg(0), m.Config.Resolve)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", d.Pos, err)
			}
			site.Certificates = append(site.Certificates, c)
		}
		if len(site.Names) > 0 && len(site.Certificates) > 0 {
			sites = append(sites, site)
		}
	}
	if len(sites) == 0 {
		return nil, fmt.Errorf("no TLS server with a name and a certificate in it")
	}
	return sites, nil
}
