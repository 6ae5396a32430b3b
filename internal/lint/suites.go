package lint

import (
	"slices"
	"strings"

	"shakedown/internal/nginx"
)

// suites returns the TLS 1.2 suites s would use: those of its cipher string that work without what is missing (DHE needs
// ssl_dhparam since nginx 1.11.0).
func (c *checker) suites(s server) []suite {
	text := s.Get("ssl_ciphers").Words
	list, ok := c.expanded[text]
	if !ok {
		list = expandCiphers(text)
		c.expanded[text] = list
	}
	return usable(s, list)
}

func usable(s server, list []suite) []suite {
	return slices.DeleteFunc(slices.Clone(list), func(x suite) bool {
		return x.auth == "None" || x.auth == "DSS" || x.kx == "DH" && !s.Get("ssl_dhparam").Set()
	})
}

func prefers(s server) bool { return s.Is("ssl_prefer_server_ciphers", "on") }

// kinds returns the key types of the certificates of s as suites name them, and whether all could be read.
func (c *checker) kinds(s server) (kinds []string, all bool) {
	certs, all := c.certificatesOf(s)
	for _, cert := range certs {
		kind := cert.key
		if kind == "Ed25519" {
			kind = "ECDSA" // such certificates use the ECDHE-ECDSA suites (RFC 8422, section 5.10)
		}
		if !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds, all
}

// each12 calls f for each server that may do TLS 1.2, once, with the directive that gives its cipher string.
func (c *checker) each12(f func(k *nginx.Socket, s server, place *nginx.Directive)) {
	c.handshakes(func(k *nginx.Socket, s server) {
		if c.speaks(k, s, "TLSv1.2") {
			f(k, s, at(s, "ssl_ciphers"))
		}
	})
}

func isTLS13Name(word string) bool {
	return strings.HasPrefix(word, "TLS_") || strings.HasPrefix(word, "TLS13-") || strings.HasPrefix(word, "TLS-")
}

// Whether anything is left decides between "does not start" and "ignored".
func checkCiphTLS13(c *checker) {
	for _, d := range c.All("ssl_ciphers") {
		words := strings.FieldsFunc(d.Arg(0), func(r rune) bool { return strings.ContainsRune(": ,;", r) })
		var rest, names []string
		for _, w := range words {
			if isTLS13Name(w) {
				names = append(names, w)
			} else {
				rest = append(rest, w)
			}
		}
		switch {
		case len(names) == 0:
		case len(expandCiphers(strings.Join(rest, ":"))) == 0:
			c.report(d, "only TLS 1.3 names, which ssl_ciphers does not take: \"no cipher match\", and nginx does not start").as(Error)
		default:
			c.report(d, "%s: TLS 1.3 names are ignored in ssl_ciphers", strings.Join(names, ", ")).fix(setArgs(d, quote(strings.Join(rest, ":"))))
		}
	}
}

// quote writes a value as one argument.
func quote(s string) string {
	if strings.ContainsAny(s, " \t;{}\"'\\$") || s == "" {
		return "'" + s + "'"
	}
	return s
}

// All certificates must be readable: an unknown one might match.
func checkCiphNoMatchCert(c *checker) {
	c.each12(func(k *nginx.Socket, s server, place *nginx.Directive) {
		kinds, all := c.kinds(s)
		if !all || c.unsure(s, "ssl_ciphers") {
			return
		}
		if !slices.ContainsFunc(c.suites(s), func(x suite) bool { return slices.Contains(kinds, x.auth) }) {
			c.report(place, "no suite in force for %s works with its certificate (%s): TLS 1.2 clients fail with \"no shared cipher\", which only the info log tells",
				s.Name(), strings.Join(kinds, ", "))
		}
	})
}

// The first suite that works is the one real clients get when the server's order counts.
func checkCiphDHE(c *checker) {
	c.each12(func(k *nginx.Socket, s server, place *nginx.Directive) {
		list := c.suites(s)
		if prefers(s) && len(list) > 0 && list[0].kx == "DH" {
			c.report(place, "%s comes first and ssl_prefer_server_ciphers is on: TLS 1.2 clients of %s get DHE at 2.0 times the CPU of ECDHE (2850 against 1448 us)", list[0].name, s.Name())
		}
	})
}

// isDHEWord reports whether a word of a cipher string asks for DHE by name.
func isDHEWord(word string) bool {
	for _, p := range []string{"DHE", "EDH", "kDHE", "kEDH"} {
		if rest, ok := strings.CutPrefix(word, p); ok && (rest == "" || rest[0] == '-' || rest[0] == '+') {
			return true
		}
	}
	return strings.HasSuffix(word, "+EDH") || strings.HasSuffix(word, "+DHE") || strings.HasSuffix(word, "+kEDH")
}

// Only suites asked for by name: HIGH and the like bring DHE along unasked.
func checkCiphDHEDead(c *checker) {
	if c.before(1, 11, 0) {
		return
	}
	c.each12(func(k *nginx.Socket, s server, place *nginx.Directive) {
		if !s.Get("ssl_ciphers").Set() || s.Get("ssl_dhparam").Set() || c.unsure(s, "ssl_dhparam") {
			return
		}
		text := place.Arg(0)
		var live, dead []string
		for word := range strings.SplitSeq(text, ":") {
			if isDHEWord(word) {
				dead = append(dead, word)
			} else {
				live = append(live, word)
			}
		}
		if len(dead) > 0 {
			f := c.report(place, "DHE without ssl_dhparam is never negotiated: %s", strings.Join(dead, ", "))
			if len(expandCiphers(strings.Join(live, ":"))) > 0 {
				f.fix(setArgs(place, quote(strings.Join(live, ":"))))
			}
		}
	})
}

// An ECDSA certificate cannot do it whatever the string says.
func checkCiphStaticRSA(c *checker) {
	c.each12(func(k *nginx.Socket, s server, place *nginx.Directive) {
		kinds, all := c.kinds(s)
		if all && !slices.Contains(kinds, "RSA") || c.unsure(s, "ssl_ciphers") {
			return
		}
		i := slices.IndexFunc(c.suites(s), func(x suite) bool { return x.kx == "RSA" })
		if i < 0 {
			return
		}
		which := "nginx's default " + s.Get("ssl_ciphers").Words
		if s.Get("ssl_ciphers").Set() {
			which = "the cipher string"
		}
		f := c.report(place, "%s lets RSA key exchange in (%s) for %s: no forward secrecy, and no faster (1314 against 1448 us)", which, c.suites(s)[i].name, s.Name())
		if !all {
			f.Message += " (if its certificate, which is not read, is RSA)"
		}
		if s.Get("ssl_ciphers").Set() && !strings.Contains(place.Arg(0), "@") {
			f.fix(setArgs(place, quote(place.Arg(0)+":!kRSA")))
		}
	})
}

// ECDHE suites alone: the others are told by other rules.
func checkCiphRSAFirst(c *checker) {
	c.each12(func(k *nginx.Socket, s server, place *nginx.Directive) {
		kinds, _ := c.kinds(s)
		list := slices.DeleteFunc(c.suites(s), func(x suite) bool { return x.kx != "ECDH" })
		if prefers(s) && len(kinds) > 1 && len(list) > 0 && list[0].auth == "RSA" {
			c.report(place, "%s comes before every ECDSA suite and the server's order counts: TLS 1.2 clients of %s get the RSA certificate at 2.3 times the CPU of the ECDSA one", list[0].name, s.Name())
		}
	})
}

// In TLS 1.3 the option also makes OpenSSL follow its own order of signature algorithms, ECDSA first.
func checkCiphPreferDual(c *checker) {
	c.handshakes(func(k *nginx.Socket, s server) {
		if kinds, _ := c.kinds(s); len(kinds) > 1 && !prefers(s) && !c.unsure(s, "ssl_prefer_server_ciphers") {
			place := at(s, "ssl_prefer_server_ciphers")
			f := c.report(place, "%s has RSA and ECDSA certificates and lets the client choose: clients that list RSA-PSS first (Go and others) get RSA at twice the CPU (1093 to 1281 against 567 us)", s.Name())
			if place.Name == "ssl_prefer_server_ciphers" {
				f.fix(setArgs(place, "on"))
			}
		}
	})
}

// Where another server of the socket lists TLS 1.3, DEF-PROTO tells what is wrong.
func checkProtoNo13(c *checker) {
	if !c.opt.OpenSSL.IsZero() && c.opt.OpenSSL.Before(1, 1, 1) {
		return
	}
	c.handshakes(func(k *nginx.Socket, s server) {
		if c.speaks(k, s, "TLSv1.3") || c.before(1, 29, 2) && slices.ContainsFunc(k.Servers, func(o server) bool { return lists(o, "TLSv1.3") }) {
			return // in the second case DEF-PROTO speaks
		}
		if c.before(1, 29, 2) {
			s = k.Default
		}
		v := s.Get("ssl_protocols")
		if c.unsure(s, "ssl_protocols") {
			return
		}
		f := c.report(at(s, "ssl_protocols"), "TLS 1.3 is off on %s (%s, %s): a full handshake takes two round trips, not one", k.Key, v.Words, c.origin(v))
		if v.Set() {
			f.fix(setArgs(at(s, "ssl_protocols"), "TLSv1.2 TLSv1.3"))
		}
	})
}

// @SECLEVEL=0 is never set by accident.
func checkProtoOld(c *checker) {
	c.handshakes(func(k *nginx.Socket, s server) {
		if strings.Contains(s.Get("ssl_ciphers").Words, "@SECLEVEL=0") {
			return
		}
		if c.before(1, 29, 2) {
			s = k.Default
		}
		v := s.Get("ssl_protocols")
		var old []string
		for _, p := range strings.Fields(v.Words) {
			if p == "SSLv2" || p == "SSLv3" || p == "TLSv1" || p == "TLSv1.1" {
				old = append(old, p)
			}
		}
		if len(old) == 0 || c.unsure(s, "ssl_protocols") {
			return
		}
		effect := "broken protocols nothing should speak"
		if !c.opt.OpenSSL.IsZero() && !c.opt.OpenSSL.Before(3, 0, 0) {
			effect = "OpenSSL 3 does not negotiate them at its usual security level, so they promise what is not there"
		}
		f := c.report(at(s, "ssl_protocols"), "%s on %s (%s): %s", strings.Join(old, ", "), k.Key, c.origin(v), effect)
		if !v.Set() {
			f.as(Info)
			return
		}
		f.fix(setArgs(at(s, "ssl_protocols"), "TLSv1.2 TLSv1.3"))
	})
}
