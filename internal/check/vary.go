package check

import (
	"context"
	"fmt"
	"slices"

	"shakedown"
	"shakedown/handshake"
	"shakedown/internal/suite"
)

// vary makes a connection that is needed anyway tell one thing more: what the
// server was not yet seen to take is offered first, in another order each time.
// All that is usual stays in the offer, so that nothing is refused for it. It is
// not for connections that are timed.
//
// In TLS 1.3 suites stay as they are: servers choose one before they look at the
// ticket, and one with another hash makes them pass it over.
func (p *prober) vary(c *handshake.Config, resumes bool) {
	switch {
	case slices.Equal(c.Versions, []shakedown.Version{shakedown.TLS12}):
		// DHE is left to the question of its own: its primes may be of any size.
		offer := slices.DeleteFunc(suite.Supported(shakedown.TLS12), func(id shakedown.CipherSuite) bool {
			info, _ := suite.Lookup(id)
			return info.KeyExchange == suite.KeyExchangeDHE && !p.wide
		})
		c.CipherSuites = unseenFirst(offer, append(p.suitesSeen(shakedown.TLS12), p.struck...), p.turn12)
		p.turn12++
	case slices.Equal(c.Versions, []shakedown.Version{shakedown.TLS13}) && !resumes && p.usual13():
		_, groups, schemes := p.seen13()
		usual := p.seen.Usual.Group
		// Both get a share, or a round trip more would be spent on it.
		// First what servers often have and do not choose of the usual offer.
		c.Groups = append(unseenFirst([]shakedown.Group{shakedown.Secp256r1, shakedown.Secp384r1, shakedown.Secp521r1, shakedown.X448}, groups, p.turn13),
			shakedown.X25519, shakedown.X25519MLKEM768)
		if !slices.Contains(c.Groups, usual) {
			c.Groups = append(c.Groups, usual)
		}
		c.KeyShares = slices.Compact([]shakedown.Group{c.Groups[0], usual})
		often := []shakedown.SignatureScheme{shakedown.RSAPSSRSAESHA512, shakedown.RSAPSSRSAESHA384, shakedown.RSAPSSRSAESHA256, shakedown.ECDSASecp256r1, shakedown.ECDSASecp384r1}
		first := unseenFirst(often, schemes, p.turn13)
		c.SignatureSchemes = slices.Concat(first, without(handshakeSchemes, first), chainSchemes)
		p.turn13++
	}
}

// unseenFirst returns all with those not yet seen first, beginning with the n-th
// of them.
func unseenFirst[T comparable](all, seen []T, n int) []T {
	var first, last []T
	for _, x := range all {
		if slices.Contains(seen, x) {
			last = append(last, x)
		} else {
			first = append(first, x)
		}
	}
	if len(first) > 0 {
		n %= len(first)
		first = append(slices.Clone(first[n:]), first[:n]...)
	}
	return append(first, last...)
}

// without returns the members of list that are not among others.
func without[T comparable](list, others []T) []T {
	return slices.DeleteFunc(slices.Clone(list), func(x T) bool { return slices.Contains(others, x) })
}

// usual13 reports whether clients of today get TLS 1.3.
func (p *prober) usual13() bool {
	return p.seen.Usual != nil && p.seen.Usual.Version == shakedown.TLS13
}

// own reports whether a connection asked for the target's own name, and got an
// answer in version v.
func (p *prober) own(o *outcome, v shakedown.Version) bool {
	return o.kind() == taken && o.Observed.Version == v && o.ask.config.ServerName == p.target.Config.ServerName
}

// suitesSeen lists the suites of a version that were chosen so far.
func (p *prober) suitesSeen(v shakedown.Version) []shakedown.CipherSuite {
	var list []shakedown.CipherSuite
	for _, o := range p.log {
		if p.own(o, v) && !slices.Contains(list, o.Observed.CipherSuite) {
			list = append(list, o.Observed.CipherSuite)
		}
	}
	return list
}

// seen13 lists what was chosen in handshakes of TLS 1.3 so far.
func (p *prober) seen13() (suites []shakedown.CipherSuite, groups []shakedown.Group, schemes []shakedown.SignatureScheme) {
	for _, o := range p.log {
		if !p.own(o, shakedown.TLS13) {
			continue
		}
		if g := o.Observed.Group; g != 0 && !slices.Contains(groups, g) {
			groups = append(groups, g)
		}
		if s := o.Observed.SignatureScheme; s != 0 && !slices.Contains(schemes, s) {
			schemes = append(schemes, s)
		}
	}
	return p.suitesSeen(shakedown.TLS13), groups, schemes
}

// finite reports whether a group of TLS 1.3 is a finite field.
func finite(g shakedown.Group) bool { return g>>8 == shakedown.FFDHE2048>>8 }

// handshakeSchemes can sign a handshake of TLS 1.3; chainSchemes can sign a chain
// only (RFC 8446, section 4.2.3).
var (
	handshakeSchemes = []shakedown.SignatureScheme{
		shakedown.ECDSASecp256r1, shakedown.ECDSASecp384r1, shakedown.ECDSASecp521r1, shakedown.Ed25519, shakedown.Ed448,
		shakedown.RSAPSSRSAESHA256, shakedown.RSAPSSRSAESHA384, shakedown.RSAPSSRSAESHA512,
		shakedown.RSAPSSPSSSHA256, shakedown.RSAPSSPSSSHA384, shakedown.RSAPSSPSSSHA512,
	}
	chainSchemes = []shakedown.SignatureScheme{shakedown.RSAPKCS1SHA256, shakedown.RSAPKCS1SHA384, shakedown.RSAPKCS1SHA512}
)

// dimension is one of the things that a ClientHello of TLS 1.3 offers a list of,
// each member a code point.
type dimension struct {
	left, found []uint16
	done        bool
	answer      shakedown.Answer
}

// took records what the server chose.
func (d *dimension) took(code uint16) {
	if !slices.Contains(d.found, code) {
		d.found = append(d.found, code)
	}
	d.left = slices.DeleteFunc(slices.Clone(d.left), func(c uint16) bool { return c == code })
}

// end closes a dimension.
func (d *dimension) end(a shakedown.Answer) { d.done, d.answer = true, a }

// The dimensions of TLS 1.3.
const (
	ofSuites = iota
	ofGroups
	ofSchemes
	dimensions
)

// explore13 finds all suites, groups and signature schemes of TLS 1.3 in one
// series of handshakes. Each offers what is left of one of the three, until that
// is refused, and of the others what is left before what was found: a server that
// goes by the client's order tells of all three at once, and a refusal is of the
// first alone.
func (p *prober) explore13(ctx context.Context) *space {
	if p.space != nil {
		return p.space
	}
	p.space = &space{}
	s := p.space
	suites, groups, schemes := p.seen13()
	s[ofSuites].found, s[ofGroups].found, s[ofSchemes].found = codes(suites), codes(groups), codes(schemes)
	s[ofSuites].left, s[ofGroups].left, s[ofSchemes].left = codes(allSuites(shakedown.TLS13)), codes(suite.Groups(shakedown.TLS13)), codes(handshakeSchemes)
	for i := range s {
		s[i].left = without(s[i].left, s[i].found)
	}
	for {
		// One of the finite fields stands for all: who has one has all, and few
		// clients take any.
		if slices.ContainsFunc(s[ofGroups].found, func(c uint16) bool { return finite(shakedown.Group(c)) }) {
			s[ofGroups].left = slices.DeleteFunc(s[ofGroups].left, func(c uint16) bool { return finite(shakedown.Group(c)) })
		}
		alone := -1
		for i := range s {
			d := &s[i]
			if !d.done && len(d.left) == 0 {
				d.end(yes("all %d", len(d.found)))
			}
			if !d.done && alone < 0 {
				alone = i
			}
		}
		if alone < 0 || !s.ask(ctx, p, alone) {
			return s
		}
	}
}

// space are the dimensions together.
type space [dimensions]dimension

// ask makes one connection that offers what is left in the dimension alone by
// itself. It reports whether it makes sense to go on.
func (s *space) ask(ctx context.Context, p *prober, alone int) bool {
	offer := func(i int) []uint16 {
		if i == alone {
			return s[i].left
		}
		return append(slices.Clone(s[i].left), s[i].found...)
	}
	c := p.config(shakedown.ModeFull, shakedown.TLS13)
	// The scheme comes with the signature; the rest is in the server's hello.
	if c.ProbeOnly = s[ofSchemes].done; c.ProbeOnly {
		c.ALPN = nil
	}
	c.CipherSuites = values[shakedown.CipherSuite](offer(ofSuites))
	c.SignatureSchemes = append(values[shakedown.SignatureScheme](offer(ofSchemes)), chainSchemes...)
	if c.Groups = values[shakedown.Group](offer(ofGroups)); !s[ofGroups].done {
		c.KeyShares = []shakedown.Group{} // so that the server has to name a group
	} else if p.usual13() {
		c.KeyShares = []shakedown.Group{p.seen.Usual.Group}
	}
	o := p.try(ctx, ask{config: c})
	switch {
	case o.kind() == taken:
		s[ofSuites].took(uint16(o.Observed.CipherSuite))
		s[ofGroups].took(uint16(o.Observed.Group))
		if !c.ProbeOnly {
			s[ofSchemes].took(uint16(o.Observed.SignatureScheme))
		}
		return true
	case o.kind() == refused:
		d := &s[alone]
		d.end(yes("%d found; the rest was refused: %s", len(d.found), o.word()))
		return true
	}
	for i := range s {
		if d := &s[i]; !d.done {
			d.end(unsure("%d found, then: %s", len(d.found), o.word()))
		}
	}
	return false
}

// codes and values turn code points into numbers and back.
func codes[T ~uint16](list []T) []uint16 { return values[uint16](list) }

func values[T, F ~uint16](list []F) []T {
	all := make([]T, len(list))
	for i, x := range list {
		all[i] = T(x)
	}
	return all
}

func askSuites13(ctx context.Context, p *prober) shakedown.Answer {
	d := &p.explore13(ctx)[ofSuites]
	s := p.suitesOf(shakedown.TLS13)
	s.Found, s.Complete = inOrder(allSuites(shakedown.TLS13), values[shakedown.CipherSuite](d.found)), d.answer.Verdict == shakedown.Yes
	return d.answer
}

func askGroups(ctx context.Context, p *prober) shakedown.Answer {
	d := &p.explore13(ctx)[ofGroups]
	p.seen.Groups = inOrder(suite.Groups(shakedown.TLS13), values[shakedown.Group](d.found))
	a := d.answer
	for _, g := range p.seen.Groups {
		if finite(g) {
			a.Evidence += fmt.Sprintf("; of finite fields, %s at least", g)
		}
	}
	return a
}

func askSchemes(ctx context.Context, p *prober) shakedown.Answer {
	d := &p.explore13(ctx)[ofSchemes]
	p.seen.SignatureSchemes = inOrder(handshakeSchemes, values[shakedown.SignatureScheme](d.found))
	return d.answer
}

// inOrder returns the members of list in the order of all; what is not among
// those comes last.
func inOrder[T comparable](all, list []T) []T {
	var sorted []T
	for _, x := range all {
		if slices.Contains(list, x) {
			sorted = append(sorted, x)
		}
	}
	for _, x := range list {
		if !slices.Contains(all, x) {
			sorted = append(sorted, x)
		}
	}
	return sorted
}
