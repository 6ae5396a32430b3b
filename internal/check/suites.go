package check

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"shakedown"
	"shakedown/internal/suite"
)

// allSuites lists every suite of a version that is known by name, those that can
// be completed first.
func allSuites(v shakedown.Version) []shakedown.CipherSuite {
	list := suite.Supported(v)
	for _, r := range [][2]shakedown.CipherSuite{{0x0001, 0x00C5}, {0xC001, 0xC0AF}, {0xCCA8, 0xCCAE}} {
		for id := r[0]; id <= r[1]; id++ {
			if !strings.HasPrefix(id.String(), "0x") && !slices.Contains(list, id) && v != shakedown.TLS13 {
				list = append(list, id)
			}
		}
	}
	return list
}

// named returns the suites of TLS 1.2 and before whose name holds one of words.
func named(words ...string) []shakedown.CipherSuite {
	return slices.DeleteFunc(allSuites(shakedown.TLS12), func(id shakedown.CipherSuite) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(id.String(), w) })
	})
}

// askStaticRSA offers no suite with forward secrecy.
func askStaticRSA(ctx context.Context, p *prober) shakedown.Answer {
	return p.askSuites(ctx, named("TLS_RSA_"))
}

// askWeak offers only what no one should take.
func askWeak(ctx context.Context, p *prober) shakedown.Answer {
	return p.askSuites(ctx, named("NULL", "anon", "RC4", "3DES", "_DES_", "EXPORT"))
}

func (p *prober) askSuites(ctx context.Context, list []shakedown.CipherSuite) shakedown.Answer {
	c := p.hello(shakedown.TLS12)
	c.CipherSuites = list
	o := p.try(ctx, ask{config: c})
	switch o.kind() {
	case taken:
		return yes("%s was chosen of %d offered", o.Observed.CipherSuite, len(list))
	case refused:
		return no("%d offered: %s", len(list), o.word())
	}
	return o.unanswered()
}

// askDHE takes a whole handshake, since the prime comes after the hello.
func askDHE(ctx context.Context, p *prober) shakedown.Answer {
	c := p.config(shakedown.ModeFull, shakedown.TLS12)
	c.CipherSuites = slices.DeleteFunc(suite.Supported(shakedown.TLS12), func(id shakedown.CipherSuite) bool {
		info, _ := suite.Lookup(id)
		return info.KeyExchange != suite.KeyExchangeDHE
	})
	o := p.try(ctx, ask{config: c})
	switch o.kind() {
	case taken:
		return yes("%s with a prime of %d bits", o.Observed.CipherSuite, o.Observed.DHBits)
	case refused:
		return no("%s", o.word())
	}
	return o.unanswered()
}

// eliminate finds all of a list that a server takes: it offers what is left,
// strikes out what was chosen, and ends when the server refuses. One connection
// refutes all that is left at once; each other finds one.
func eliminate[T comparable](ctx context.Context, p *prober, list []T, offer func([]T) ask, chosen func(*shakedown.Observed) T) ([]T, shakedown.Answer) {
	var found []T
	for len(list) > 0 {
		o := p.try(ctx, offer(list))
		switch o.kind() {
		case taken:
			c := chosen(&o.Observed)
			i := slices.Index(list, c)
			if i < 0 {
				return found, unsure("the server chose %v, which was not offered", c)
			}
			found = append(found, c)
			list = slices.Delete(slices.Clone(list), i, i+1)
		case refused:
			return found, yes("%d found; the rest was refused: %s", len(found), o.word())
		default:
			return found, unsure("%d found, then: %s", len(found), o.word())
		}
	}
	return found, yes("all %d", len(found))
}

func askSuites13(ctx context.Context, p *prober) shakedown.Answer {
	return p.listSuites(ctx, shakedown.TLS13)
}

func askSuites12(ctx context.Context, p *prober) shakedown.Answer {
	return p.listSuites(ctx, shakedown.TLS12)
}

func (p *prober) listSuites(ctx context.Context, v shakedown.Version) shakedown.Answer {
	found, a := eliminate(ctx, p, allSuites(v), func(list []shakedown.CipherSuite) ask {
		c := p.hello(v)
		c.CipherSuites = list
		return ask{config: c}
	}, func(o *shakedown.Observed) shakedown.CipherSuite { return o.CipherSuite })
	s := p.suitesOf(v)
	s.Found, s.Complete = found, a.Verdict == shakedown.Yes
	return a
}

// suitesOf returns the entry of a version, made if it is not there.
func (p *prober) suitesOf(v shakedown.Version) *Suites {
	for i := range p.seen.Suites {
		if p.seen.Suites[i].Version == v {
			return &p.seen.Suites[i]
		}
	}
	p.seen.Suites = append(p.seen.Suites, Suites{Version: v})
	return &p.seen.Suites[len(p.seen.Suites)-1]
}

// askPreference offers two suites in both orders, in TLS 1.2 if it is spoken,
// since servers leave TLS 1.3 to clients.
func askPreference(ctx context.Context, p *prober) shakedown.Answer {
	v := shakedown.TLS12
	if !p.seen.is("tls12", shakedown.Yes) {
		v = shakedown.TLS13
	}
	pair := []shakedown.CipherSuite{shakedown.TLS_AES_128_GCM_SHA256, shakedown.TLS_AES_256_GCM_SHA384}
	if v == shakedown.TLS12 {
		pair = []shakedown.CipherSuite{shakedown.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, shakedown.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384}
		if c := p.first(); c != nil && !strings.HasPrefix(c.chain.Chain.Key(), "RSA") {
			pair = []shakedown.CipherSuite{shakedown.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, shakedown.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384}
		}
	}
	var chose [2]shakedown.CipherSuite
	for i := range chose {
		c := p.hello(v)
		c.CipherSuites = []shakedown.CipherSuite{pair[i], pair[1-i]}
		o := p.try(ctx, ask{config: c})
		if o.kind() != taken {
			return unsure("offered %s and %s: %s", pair[0], pair[1], o.word())
		}
		chose[i] = o.Observed.CipherSuite
	}
	if chose[0] == chose[1] {
		p.suitesOf(v).Preference = "server"
		return yes("%s whichever of %s and %s was offered first (one of them may not be supported)", chose[0], pair[0], pair[1])
	}
	p.suitesOf(v).Preference = "client"
	return no("the first of %s and %s that was offered, in both orders", pair[0], pair[1])
}

// askGroups offers no key share, so that the server has to name a group. Finite
// fields are asked for together: who has one has all, and few clients take any.
func askGroups(ctx context.Context, p *prober) shakedown.Answer {
	offer := func(list []shakedown.Group) ask {
		c := p.hello(shakedown.TLS13)
		c.Groups, c.KeyShares = list, []shakedown.Group{}
		return ask{config: c}
	}
	finite := func(g shakedown.Group) bool { return g>>8 == shakedown.FFDHE2048>>8 }
	all := suite.Groups(shakedown.TLS13)
	var fields []shakedown.Group
	for _, g := range all {
		if finite(g) {
			fields = append(fields, g)
		}
	}
	found, a := eliminate(ctx, p, slices.DeleteFunc(all, finite), offer, func(o *shakedown.Observed) shakedown.Group { return o.Group })
	p.seen.Groups = found
	if a.Verdict != shakedown.Yes {
		return a
	}
	switch o := p.try(ctx, offer(fields)); o.kind() {
	case taken:
		p.seen.Groups = append(p.seen.Groups, o.Observed.Group)
		a.Evidence += fmt.Sprintf("; of finite fields, %s at least", o.Observed.Group)
	case refused:
		a.Evidence += "; no finite field"
	default:
		return unsure("%s; finite fields: %s", a.Evidence, o.word())
	}
	return a
}

// askSchemes takes whole handshakes: the scheme comes with the signature.
func askSchemes(ctx context.Context, p *prober) shakedown.Answer {
	all := p.config(shakedown.ModeFull, shakedown.TLS13)
	list := []shakedown.SignatureScheme{
		shakedown.ECDSASecp256r1, shakedown.ECDSASecp384r1, shakedown.ECDSASecp521r1, shakedown.Ed25519, shakedown.Ed448,
		shakedown.RSAPSSRSAESHA256, shakedown.RSAPSSRSAESHA384, shakedown.RSAPSSRSAESHA512,
		shakedown.RSAPSSPSSSHA256, shakedown.RSAPSSPSSSHA384, shakedown.RSAPSSPSSSHA512,
	}
	found, a := eliminate(ctx, p, list, func(list []shakedown.SignatureScheme) ask {
		c := all
		// Chains are signed in other ways too; PKCS #1 never signs a handshake of
		// TLS 1.3 (RFC 8446, section 4.2.3).
		c.SignatureSchemes = append(slices.Clone(list), shakedown.RSAPKCS1SHA256, shakedown.RSAPKCS1SHA384, shakedown.RSAPKCS1SHA512)
		return ask{config: c}
	}, func(o *shakedown.Observed) shakedown.SignatureScheme { return o.SignatureScheme })
	p.seen.SignatureSchemes = found
	return a
}

// names joins values.
func names[T fmt.Stringer](values []T) string {
	var parts []string
	for _, v := range values {
		parts = append(parts, v.String())
	}
	return strings.Join(parts, ", ")
}
