package audit

import (
	"fmt"
	"slices"
	"strings"

	"shakedown"
	"shakedown/internal/lint"
	"shakedown/internal/suite"
)

// What is settled in the hellos: versions, suites, groups.

// protocols expects no TLS 1.0 and 1.1 of OpenSSL 3, which refuses them at its usual security level whatever nginx asks for.
func protocols(v *view) []*row {
	d := v.decides("ssl_protocols")
	r := v.setting(d, "ssl_protocols", d.Get("ssl_protocols").Words+v.inherited("ssl_protocols"))
	var more, fewer []shakedown.Version
	open, refused := "", ""
	for _, x := range []struct {
		version shakedown.Version
		word    string
		answer  string
	}{{shakedown.TLS13, "TLSv1.3", "tls13"}, {shakedown.TLS12, "TLSv1.2", "tls12"}, {shakedown.TLS11, "TLSv1.1", "legacy-versions"}, {shakedown.TLS10, "TLSv1", "legacy-versions"}} {
		spoken, listed := v.spoken(x.version), lint.Lists(d, x.word)
		switch {
		case spoken && !listed:
			more = append(more, x.version)
		case spoken == listed:
		case x.answer == "legacy-versions" && !v.openssl.Before(3, 0, 0):
			refused = ", older ones refused by OpenSSL's security level"
		case !v.is(x.answer, shakedown.No):
			open = fmt.Sprintf("%s: %s", x.version, v.answer(x.answer).Evidence)
		case x.version == shakedown.TLS12 && len(v.suites()) == 0:
			open = "TLS 1.2: no suite of the file works with its certificates"
		default:
			fewer = append(fewer, x.version)
		}
	}
	spoken := list(v.seen.Versions) + refused
	switch {
	case len(more)+len(fewer) > 0:
		return r.settle(false, "%s", spoken)
	case open != "":
		return r.open("%s", open)
	}
	return r.settle(true, "%s", spoken)
}

// suites are those before TLS 1.3 that the file comes to with the certificates it names; nil if one could not be read.
func (v *view) suites() []shakedown.CipherSuite {
	var kinds []string
	for _, l := range lint.Leaves(v.model.Config, v.server) {
		if l.Err != nil {
			kinds = nil
			break
		}
		kinds = append(kinds, l.Kind)
	}
	return lint.Suites(v.server, kinds)
}

// few suites are named, more are counted.
const few = 8

// suites12 asks for a whole list only where every certificate is known.
func suites12(v *view) []*row {
	if !v.spoken(shakedown.TLS12) {
		return nil
	}
	want := slices.DeleteFunc(v.suites(), odd)
	expected := list(want)
	if len(want) > few {
		expected = plural(len(want), "suite")
	}
	r := v.setting(v.server, "ssl_ciphers", expected)
	for _, l := range lint.Leaves(v.model.Config, v.server) {
		if l.Err != nil {
			return r.open("which suites work hangs on a certificate that is not read: %v", l.Err)
		}
	}
	for _, s := range v.seen.Suites {
		if s.Version == shakedown.TLS12 {
			level := strings.Contains(v.server.Get("ssl_ciphers").Words, "@SECLEVEL")
			return r.sets(stringers(want), stringers(slices.DeleteFunc(slices.Clone(s.Found), odd)), s.Complete && !level, v.answer("suites12").Evidence)
		}
	}
	return r.open("%s", v.answer("suites12").Evidence)
}

// odd suites are left out: those without a name here, which check does not offer, and those with a tag of 8 bytes, which
// later releases of OpenSSL count as weak.
func odd(c shakedown.CipherSuite) bool {
	return strings.HasPrefix(c.String(), "0x") || strings.HasSuffix(c.String(), "CCM_8")
}

func suites13(v *view) []*row {
	if !v.spoken(shakedown.TLS13) {
		return nil
	}
	d := v.server
	if v.before(1, 29, 2) {
		d = v.decider
	}
	words, place := lint.Command(d, "Ciphersuites")
	name := "TLS 1.3 suites"
	if place == nil {
		words = "TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256"
	}
	r := v.setting(d, "ssl_conf_command", words)
	r.Setting = name
	if place != nil {
		r.place = place
	}
	var want []shakedown.CipherSuite
	for word := range strings.SplitSeq(words, ":") {
		c, err := shakedown.ParseCipherSuite(word)
		if err != nil {
			return r.open("%v", err)
		}
		want = append(want, c)
	}
	for _, s := range v.seen.Suites {
		if s.Version == shakedown.TLS13 {
			return r.sets(stringers(want), stringers(s.Found), s.Complete, v.answer("suites13").Evidence)
		}
	}
	return r.open("%s", v.answer("suites13").Evidence)
}

// order tells whose order of suites counts, for TLS 1.2; both of the pair asked for must be taken to tell.
func order(v *view) []*row {
	for _, s := range v.seen.Suites {
		if s.Version != shakedown.TLS12 {
			continue
		}
		on := v.server.Is("ssl_prefer_server_ciphers", "on")
		r := v.setting(v.server, "ssl_prefer_server_ciphers", v.server.Get("ssl_prefer_server_ciphers").Words)
		switch pair := len(aesPair(v.suites())) == 2; {
		case s.Preference == "":
			return r.open("%s", v.answer("preference").Evidence)
		case s.Preference == "server" && !pair:
			return r.open("fewer than two of the suites that tell are taken")
		}
		return r.settle(on == (s.Preference == "server"), "the %s's order counts", s.Preference)
	}
	return nil
}

// aesPair are the two suites whose order check asks about.
func aesPair(list []shakedown.CipherSuite) []shakedown.CipherSuite {
	ecdsa := []shakedown.CipherSuite{shakedown.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, shakedown.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384}
	rsa := []shakedown.CipherSuite{shakedown.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, shakedown.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384}
	var best []shakedown.CipherSuite
	for _, pair := range [][]shakedown.CipherSuite{ecdsa, rsa} {
		found := slices.DeleteFunc(slices.Clone(pair), func(c shakedown.CipherSuite) bool { return !slices.Contains(list, c) })
		if len(found) > len(best) {
			best = found
		}
	}
	return best
}

// groups of TLS 1.3; of finite fields one is asked for, since who has one has all.
func groups(v *view) []*row {
	if !v.spoken(shakedown.TLS13) {
		return nil
	}
	want, place, err := lint.Groups(v.decider, v.openssl)
	r := v.setting(v.decider, "ssl_ecdh_curve", list(want)+v.inherited("ssl_ecdh_curve"))
	r.place = place
	if err != nil {
		return r.open("%v", err)
	}
	if v.before(1, 29, 2) && on(v.server, "ssl_prefer_server_ciphers") != on(v.decider, "ssl_prefer_server_ciphers") {
		// Whoever asks for groups is asked for another share, and that ends here.
		return r.open("ssl_prefer_server_ciphers differs from the default server's, so that a HelloRetryRequest ends handshakes (rule DEF-PREFER)")
	}
	finite := func(g shakedown.Group) bool { return g>>8 == shakedown.FFDHE2048>>8 }
	one := func(groups []shakedown.Group) []shakedown.Group {
		some := slices.ContainsFunc(groups, finite)
		groups = slices.DeleteFunc(slices.Clone(groups), finite)
		if some {
			groups = append(groups, shakedown.FFDHE2048)
		}
		return groups
	}
	// Others, such as those of Brainpool, check cannot offer.
	known := func(g shakedown.Group) bool { return slices.Contains(suite.Groups(shakedown.TLS13), g) }
	want = slices.DeleteFunc(one(want), func(g shakedown.Group) bool { return !known(g) })
	return r.sets(stringers(want), stringers(one(v.seen.Groups)), v.is("groups", shakedown.Yes), v.answer("groups").Evidence)
}

// retry: a client that begins with X25519, as all do today, is asked again exactly if the file does not have it.
func retry(v *view) []*row {
	if !v.spoken(shakedown.TLS13) {
		return nil
	}
	want, place, err := lint.Groups(v.decider, v.openssl)
	if err != nil {
		return nil // said of groups
	}
	has := slices.Contains(want, shakedown.X25519)
	expected, verdict := "no HelloRetryRequest for clients that begin with x25519", shakedown.No
	if !has {
		expected, verdict = "a HelloRetryRequest for clients that begin with x25519", shakedown.Yes
	}
	r := v.setting(v.decider, "ssl_ecdh_curve", expected+v.inherited("ssl_ecdh_curve"))
	r.Setting, r.place = "HelloRetryRequest", place
	if strings.Contains(v.decider.Get("ssl_ecdh_curve").Words, "/") && !v.openssl.Before(3, 5, 0) {
		return r.open("groups in tiers: it hangs on what the client supports beside")
	}
	return v.byAnswer(r, "retry", verdict)
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
