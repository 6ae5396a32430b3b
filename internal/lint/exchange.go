package lint

import (
	"slices"
	"strings"

	"shakedown/internal/nginx"
)

const goodGroups = "X25519:prime256v1:secp384r1"

// groups returns the group list in force for handshakes decided by d, canonical names, and the directive. An
// ssl_conf_command is applied last and wins. The list is nil for "auto".
func groups(d server) ([]string, *nginx.Directive) {
	text, place := command(d, "Curves", "Groups")
	if place == nil {
		text, place = d.Get("ssl_ecdh_curve").Words, at(d, "ssl_ecdh_curve")
	}
	if text == "auto" {
		return nil, place
	}
	return splitGroups(text), place
}

func splitGroups(text string) []string {
	var names []string
	for name := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ':' || r == '/' }) {
		name = strings.TrimLeft(name, "?*")
		switch strings.ToLower(name) {
		case "p-256", "secp256r1", "prime256v1":
			name = "prime256v1"
		case "p-384", "secp384r1":
			name = "secp384r1"
		case "p-521", "secp521r1":
			name = "secp521r1"
		case "x25519":
			name = "X25519"
		}
		names = append(names, name)
	}
	return names
}

// setGroups is the edit that puts the list in force right, when it stands in ssl_ecdh_curve.
func setGroups(place *nginx.Directive) []Edit {
	if place.Name != "ssl_ecdh_curve" {
		return nil
	}
	return []Edit{setArgs(place, goodGroups)}
}

// auto has X25519 on every OpenSSL that nginx can be built with today.
func checkKXHRR(c *checker) {
	c.defaults(func(k *nginx.Socket, d server) {
		if list, place := groups(d); list != nil && lists(d, "TLSv1.3") && !slices.Contains(list, "X25519") {
			c.report(place, "no X25519 among the groups of %s: clients that start with it (browsers, OpenSSL, Go) pay a HelloRetryRequest, one more round trip on every TLS 1.3 handshake", k.Key).
				fix(setGroups(place)...)
		}
	})
}

func checkKXNoP256(c *checker) {
	c.defaults(func(k *nginx.Socket, d server) {
		if list, place := groups(d); list != nil && !slices.Contains(list, "prime256v1") {
			c.report(place, "no prime256v1 among the groups of %s: clients that start with it pay a HelloRetryRequest or fail", k.Key).
				fix(setGroups(place)...)
		}
	})
}

func checkKXCertCurve(c *checker) {
	c.handshakes(func(k *nginx.Socket, s server) {
		list, place := groups(k.Default)
		// Later releases look at the client's groups alone (tls1_check_cert_param of t1_lib.c), which TestProofs shows.
		if list == nil || !c.speaks(k, s, "TLSv1.2") || c.opt.OpenSSL.IsZero() || !c.opt.OpenSSL.Before(1, 1, 1) {
			return
		}
		certs, _ := c.certificatesOf(s)
		for _, cert := range certs {
			if cert.curve != "" && !slices.Contains(list, cert.curve) {
				c.report(place, "the certificate of %s is ECDSA on %s, which is not among the groups of %s: TLS 1.2 clients do not get it", s.Name(), cert.curve, k.Key).
					fix(setGroups(place)...)
			}
		}
	})
}

func checkKXSlowGroup(c *checker) {
	cost := map[string]string{
		"secp384r1": "5.3 times the CPU of X25519 for a handshake with OpenSSL 3.0 (3464 against 648 us)",
		"secp521r1": "3.1 times the CPU of X25519 for a handshake with OpenSSL 3.0 (2004 against 648 us)",
	}
	c.handshakes(func(k *nginx.Socket, s server) {
		list, place := groups(k.Default)
		if len(list) == 0 || cost[list[0]] == "" {
			return
		}
		switch fast := slices.Contains(list, "X25519") || slices.Contains(list, "prime256v1"); {
		case !fast:
			c.report(place, "%s is the best %s has: %s", list[0], k.Key, cost[list[0]]).fix(setGroups(place)...)
		case prefers(s) && c.speaks(k, s, "TLSv1.2"):
			c.report(place, "%s comes first for %s and the server's order counts, so TLS 1.2 clients get it: %s", list[0], k.Key, cost[list[0]]).fix(setGroups(place)...)
		}
	})
}

// A wrong list is wrong in any server, so all are looked at, in force or not.
func checkKXPQUnsupported(c *checker) {
	for _, place := range c.All("ssl_ecdh_curve") {
		for name := range strings.SplitSeq(place.Arg(0), ":") {
			switch {
			case !strings.Contains(name, "MLKEM"):
			case !strings.HasPrefix(name, "?"):
				if !c.opt.OpenSSL.IsZero() && !c.openssl(3, 5, 0) {
					c.report(place, "OpenSSL %s has no %s and takes the whole list for wrong: nginx does not start", c.opt.OpenSSL, name).fix(setArgs(place, goodGroups))
				}
			case !c.opt.OpenSSL.IsZero() && !c.openssl(3, 3, 0):
				c.report(place, "OpenSSL %s does not know the \"?\" of %s (3.3 does): nginx does not start", c.opt.OpenSSL, name).fix(setArgs(place, goodGroups))
			}
			if strings.Contains(name, "MLKEM") {
				c.openssl(3, 5, 0) // leaves the note when the release is not known
			}
		}
	}
}

// OpenSSL 3.5's built-in list is in tiers.
func checkKXPQAutoHRR(c *checker) {
	c.defaults(func(k *nginx.Socket, d server) {
		list, place := groups(d)
		if list != nil && !strings.Contains(place.Words(), "/") || !lists(d, "TLSv1.3") || c.unsure(d, "ssl_ecdh_curve") || !c.openssl(3, 5, 0) {
			return
		}
		c.report(place, "the group list of %s is in tiers (auto on OpenSSL 3.5 and later is): a client that lists X25519MLKEM768 but sends another share gets a HelloRetryRequest", k.Key)
	})
}
