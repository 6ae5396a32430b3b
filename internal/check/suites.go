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

// What no one should take, or need not.
var (
	staticRSA = named("TLS_RSA_")
	dhe       = named("TLS_DHE_")
	weak      = named("NULL", "anon", "RC4", "3DES", "_DES_", "EXPORT")
)

func askStaticRSA(ctx context.Context, p *prober) shakedown.Answer {
	return p.askSuites(ctx, staticRSA)
}

func askWeak(ctx context.Context, p *prober) shakedown.Answer { return p.askSuites(ctx, weak) }

// unrefused returns those of a list that were not refused.
func (p *prober) unrefused(list []shakedown.CipherSuite) []shakedown.CipherSuite {
	return slices.DeleteFunc(slices.Clone(list), func(id shakedown.CipherSuite) bool { return slices.Contains(p.struck, id) })
}

// sweep offers all at once that the questions about old suites are about and that
// was not seen: one refusal answers them all.
func (p *prober) sweep(ctx context.Context) {
	if p.swept {
		return
	}
	p.swept = true
	seen := p.suitesSeen(shakedown.TLS12)
	var list []shakedown.CipherSuite
	for _, group := range [][]shakedown.CipherSuite{staticRSA, dhe, weak} {
		if !slices.ContainsFunc(seen, func(id shakedown.CipherSuite) bool { return slices.Contains(group, id) }) {
			list = append(list, p.unrefused(group)...)
		}
	}
	c := p.hello(shakedown.TLS12)
	c.CipherSuites = slices.Compact(list)
	if o := p.try(ctx, ask{config: c}); o.kind() == refused {
		p.struck, p.refusal = append(p.struck, list...), o.word()
	}
}

func (p *prober) askSuites(ctx context.Context, list []shakedown.CipherSuite) shakedown.Answer {
	p.sweep(ctx)
	for _, id := range p.suitesSeen(shakedown.TLS12) {
		if slices.Contains(list, id) {
			return yes("%s was chosen", id)
		}
	}
	c := p.hello(shakedown.TLS12)
	if c.CipherSuites = p.unrefused(list); len(c.CipherSuites) == 0 {
		return no("%d offered: %s", len(list), p.refusal)
	}
	o := p.try(ctx, ask{config: c})
	switch o.kind() {
	case taken:
		return yes("%s was chosen of %d offered", o.Observed.CipherSuite, len(list))
	case refused:
		p.struck, p.refusal = append(p.struck, list...), o.word()
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
	p.sweep(ctx)
	if len(p.unrefused(dhe)) == 0 {
		return no("%d offered: %s", len(dhe), p.refusal)
	}
	o := p.try(ctx, ask{config: c})
	switch o.kind() {
	case taken:
		return yes("%s with a prime of %d bits", o.Observed.CipherSuite, o.Observed.DHBits)
	case refused:
		p.struck = append(p.struck, c.CipherSuites...)
		return no("%s", o.word())
	}
	return o.unanswered()
}

// askSuites12 finds all that are left: it offers what was neither chosen nor
// refused before, strikes out what is chosen, and ends when the server refuses.
// One connection refutes all that is left at once; each other finds one.
func askSuites12(ctx context.Context, p *prober) shakedown.Answer {
	found := p.suitesSeen(shakedown.TLS12)
	var a shakedown.Answer
	for a.Verdict == "" {
		left := slices.DeleteFunc(allSuites(shakedown.TLS12), func(id shakedown.CipherSuite) bool {
			return slices.Contains(found, id) || slices.Contains(p.struck, id)
		})
		if len(left) == 0 {
			a = yes("all %d", len(found))
			break
		}
		c := p.hello(shakedown.TLS12)
		c.CipherSuites = left
		switch o := p.try(ctx, ask{config: c}); o.kind() {
		case taken:
			found = append(found, o.Observed.CipherSuite)
		case refused:
			a = yes("%d found; the rest was refused: %s", len(found), o.word())
		default:
			a = unsure("%d found, then: %s", len(found), o.word())
		}
	}
	s := p.suitesOf(shakedown.TLS12)
	s.Found, s.Complete = inOrder(allSuites(shakedown.TLS12), found), a.Verdict == shakedown.Yes
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

// askPreference looks at what was chosen of lists in several orders. If that does
// not tell, it offers two suites in both orders, in TLS 1.2 if it is spoken, since
// servers leave TLS 1.3 to clients.
func askPreference(ctx context.Context, p *prober) shakedown.Answer {
	v := shakedown.TLS12
	if !p.seen.is("tls12", shakedown.Yes) {
		v = shakedown.TLS13
	}
	if whose, a := p.choices(v); whose != "" {
		p.suitesOf(v).Preference = whose
		return a
	}
	pair := []shakedown.CipherSuite{shakedown.TLS_AES_128_GCM_SHA256, shakedown.TLS_AES_256_GCM_SHA384}
	if v == shakedown.TLS12 {
		pair = []shakedown.CipherSuite{shakedown.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, shakedown.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384}
		if c := p.first(); c != nil && !strings.HasPrefix(c.chain.Chain.Key(), "RSA") {
			pair = []shakedown.CipherSuite{shakedown.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, shakedown.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384}
		}
	}
	// Servers that go by their own order may yet prefer ChaCha20 for clients that do.
	seen := slices.DeleteFunc(p.suitesSeen(v), func(id shakedown.CipherSuite) bool { return strings.Contains(id.String(), "CHACHA20") })
	if len(seen) > 1 {
		pair = seen[:2]
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

// choices tells whose order counts by the full handshakes made so far. The
// client's, if each time the first of what the server is known to take was chosen,
// and one suite was chosen over another and the other over it. The server's, if it
// was not always the first. Otherwise it is empty.
func (p *prober) choices(v shakedown.Version) (whose string, a shakedown.Answer) {
	known := p.suitesSeen(v)
	over := map[[2]shakedown.CipherSuite]bool{}
	both, first, n := false, true, 0
	for _, o := range p.log {
		if !p.own(o, v) || o.resumed() || len(o.ask.config.CipherSuites) == 0 {
			continue
		}
		n++
		before := true // what comes before the one chosen
		for _, id := range o.ask.config.CipherSuites {
			switch {
			case id == o.Observed.CipherSuite:
				before = false
			case slices.Contains(known, id):
				over[[2]shakedown.CipherSuite{o.Observed.CipherSuite, id}] = true
				both = both || over[[2]shakedown.CipherSuite{id, o.Observed.CipherSuite}]
				first = first && !before
			}
		}
	}
	switch {
	case first && both:
		return "client", no("the first that it knows of %s in different orders was chosen each time", plural(n, "list"))
	case !first:
		text := "what was chosen was not always the first that it knows"
		if both {
			text += ", though the client's order made a difference"
		}
		return "server", yes("%s in different orders: %s", plural(n, "list"), text)
	}
	return "", a
}

// names joins values.
func names[T fmt.Stringer](values []T) string {
	var parts []string
	for _, v := range values {
		parts = append(parts, v.String())
	}
	return strings.Join(parts, ", ")
}
