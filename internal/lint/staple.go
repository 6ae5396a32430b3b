package lint

import (
	"crypto/x509"
	"net"
	"net/url"
	"strings"

	"shakedown/internal/nginx"
)

// Ed25519 counts as not RSA: who serves it knows what clients come.
func checkCertRSAOnly(c *checker) {
	c.handshakes(func(k *nginx.Socket, s server) {
		certs, all := c.certificatesOf(s)
		if !all || c.before(1, 11, 0) {
			return
		}
		bits := 0
		for _, cert := range certs {
			if cert.key != "RSA" {
				return
			}
			bits = max(bits, cert.bits)
		}
		cost := "2.3 times the CPU of ECDSA P-256 for a full handshake (1477 against 648 us)"
		if bits > 2048 {
			cost = "more than 2.3 times the CPU of ECDSA P-256 for a full handshake, 9.7 times at 4096 bits (6279 against 648 us)"
		}
		c.report(at(s, "ssl_certificate"), "%s has an RSA %d certificate alone: %s", s.Name(), bits, cost)
	})
}

// variableCertificates calls f for each certificate path with a variable in force for handshakes.
func (c *checker) variableCertificates(f func(s server, d *nginx.Directive)) {
	c.handshakes(func(k *nginx.Socket, s server) {
		for _, d := range s.Get("ssl_certificate").Directives {
			if strings.Contains(d.Arg(0), "$") {
				f(s, d)
			}
		}
	})
}

// "off" turns an inherited cache off.
func checkCertVariable(c *checker) {
	c.variableCertificates(func(s server, d *nginx.Directive) {
		if v := s.Get("ssl_certificate_cache"); v.Set() && v.Words != "off" || !c.before(1, 27, 4) && c.unsure(s, "ssl_certificate_cache") {
			return
		}
		cure := "ssl_certificate_cache keeps them"
		if c.before(1, 27, 4) {
			cure = "before nginx 1.27.4 only a name without variables avoids it"
		}
		c.report(d, "a variable in the name: files are read and parsed again for every full handshake, 1.4 to 2.6 times the CPU (%s)", cure)
	})
}

// A variable that map made of it holds only what the map lists. data: is no path.
func checkCertSNIPath(c *checker) {
	for _, name := range []string{"ssl_certificate", "ssl_certificate_key"} {
		for _, d := range c.All(name) {
			if text := strings.NewReplacer("{", "", "}", "").Replace(strings.ToLower(d.Arg(0))); strings.Contains(text, "$ssl_server_name") && !strings.HasPrefix(text, "data:") {
				c.report(d, "$ssl_server_name is what the client sent: it chooses which file is opened")
			}
		}
	}
}

func staples(s server) bool { return s.Is("ssl_stapling", "on") }

// stapling calls f for each server with ssl_stapling on, once.
func (c *checker) stapling(f func(s server, place *nginx.Directive)) {
	c.handshakes(func(k *nginx.Socket, s server) {
		if staples(s) {
			f(s, at(s, "ssl_stapling"))
		}
	})
}

// nginx prints a warning for each of these but variables, and starts.
func checkOCSPDead(c *checker) {
	c.stapling(func(s server, place *nginx.Directive) {
		if s.Get("ssl_stapling_file").Set() {
			return
		}
		dead := func(format string, args ...any) *Finding { return c.report(place, format, args...) }
		for _, d := range s.Get("ssl_certificate").Directives {
			if strings.Contains(d.Arg(0), "$") {
				dead("never staples for %s: nginx takes no certificate with a variable in its name, and does not say so", s.Name())
				return
			}
		}
		certs, _ := c.certificatesOf(s)
		for _, cert := range certs {
			responders := cert.leaf.OCSPServer
			if s.Get("ssl_stapling_responder").Set() {
				responders = strings.Fields(s.Get("ssl_stapling_responder").Words)
			}
			switch {
			case len(responders) == 0:
				f := dead("never staples for %s: its certificate (%s) names no OCSP responder; nginx only warns at start", s.Name(), cert.keyName())
				if len(c.All("ssl_stapling")) == 1 {
					f.fix(setArgs(place, "off"))
				}
			case !strings.HasPrefix(responders[0], "http://"):
				dead("never staples for %s: nginx asks http:// responders only, and this is %s", s.Name(), responders[0])
			case !c.unsure(s, "ssl_trusted_certificate") && !cert.issued(cert.others) && !cert.issued(c.trusted(s)):
				dead("never staples for %s: the certificate's issuer is neither in ssl_certificate nor in ssl_trusted_certificate", s.Name())
			}
		}
		if len(certs) > 0 {
			return
		}
		for _, d := range s.Get("ssl_certificate").Directives {
			if strings.Contains(d.Arg(0), "/letsencrypt/") {
				dead("never staples for %s if %s is from Let's Encrypt, as its path says: its certificates name no OCSP responder since May 2025", s.Name(), d.Arg(0))
			}
		}
	})
}

// trusted returns the certificates of ssl_trusted_certificate that can be read.
func (c *checker) trusted(s server) []*x509.Certificate {
	d := s.Get("ssl_trusted_certificate")
	if !d.Set() {
		return nil
	}
	t, err := c.certs.load(d.Words)
	if err != nil {
		c.note("certificate %s is not read (%s): rules about it say nothing", d.Words, plain(err))
		return nil
	}
	return append([]*x509.Certificate{t.leaf}, t.others...)
}

func checkOCSPFileDual(c *checker) {
	c.handshakes(func(k *nginx.Socket, s server) {
		if n := len(s.Get("ssl_certificate").Directives); staples(s) && s.Get("ssl_stapling_file").Set() && n > 1 {
			c.report(at(s, "ssl_stapling_file"), "one response is sent with each of the %d certificates of %s: it is wrong for all but one", n, s.Name())
		}
	})
}

// Never more than an info: a CA that signs its responses itself needs no more than the chain.
func checkOCSPVerifyTrust(c *checker) {
	c.stapling(func(s server, place *nginx.Directive) {
		if s.Is("ssl_stapling_verify", "on") && !s.Get("ssl_trusted_certificate").Set() && !c.Fragment {
			c.report(at(s, "ssl_stapling_verify"), "%s has no ssl_trusted_certificate: a response signed by a delegated responder is refused, one signed by the CA itself is taken", s.Name())
		}
	})
}

// Where nothing is stapled there is nothing to resolve.
func checkOCSPResolver(c *checker) {
	c.stapling(func(s server, place *nginx.Directive) {
		certs, _ := c.certificatesOf(s)
		if s.Get("resolver").Set() || s.Get("ssl_stapling_file").Set() || c.Fragment {
			return
		}
		for _, cert := range certs {
			for _, responder := range cert.leaf.OCSPServer {
				if u, err := url.Parse(responder); err == nil && u.Scheme == "http" && net.ParseIP(u.Hostname()) == nil {
					c.report(place, "stapling works without a resolver, with the addresses %s has at start, until the next reload; nginx warns once", u.Hostname())
				}
			}
		}
	})
}

func checkOCSPCompress(c *checker) {
	c.stapling(func(s server, place *nginx.Directive) {
		if s.Is("ssl_certificate_compression", "on") && !c.before(1, 29, 3) {
			c.report(at(s, "ssl_certificate_compression"), "cannot be on together with ssl_stapling: nginx does not start")
		}
	})
}
