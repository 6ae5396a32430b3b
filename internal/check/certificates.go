package check

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"shakedown"
	"shakedown/handshake"
	"shakedown/internal/certificate"
	"shakedown/internal/suite"
)

// In TLS 1.3 the signature schemes decide the certificate, before it the suites.
var (
	rsaSchemes   = []shakedown.SignatureScheme{shakedown.RSAPSSRSAESHA256, shakedown.RSAPSSRSAESHA384, shakedown.RSAPSSRSAESHA512, shakedown.RSAPSSPSSSHA256, shakedown.RSAPKCS1SHA256, shakedown.RSAPKCS1SHA384, shakedown.RSAPKCS1SHA512}
	ecdsaSchemes = []shakedown.SignatureScheme{shakedown.ECDSASecp256r1, shakedown.ECDSASecp384r1, shakedown.ECDSASecp521r1, shakedown.Ed25519}
)

// askCertificates offers what forces an RSA certificate and what forces another,
// in each version spoken, unless it was seen before.
func askCertificates(ctx context.Context, p *prober) shakedown.Answer {
	var missed []string
	for _, v := range []shakedown.Version{shakedown.TLS13, shakedown.TLS12} {
		if !slices.Contains(p.seen.Versions, v) {
			continue
		}
		for _, rsa := range []bool{true, false} {
			if p.knows(v, rsa) {
				continue
			}
			if o := p.try(ctx, ask{config: p.forced(v, rsa)}); o.kind() == trouble || o.kind() == untried {
				missed = append(missed, fmt.Sprintf("%s: %s", v, o.word()))
			}
		}
	}
	var keys []string
	for _, g := range p.chains() {
		keys = append(keys, fmt.Sprintf("%s (%s)", g.chain.Chain.Key(), names(g.versions)))
	}
	if len(missed) > 0 {
		return unsure("%s; %s", strings.Join(keys, ", "), strings.Join(missed, "; "))
	}
	return yes("%s", strings.Join(keys, ", "))
}

// knows reports whether a certificate of this kind was seen in this version.
func (p *prober) knows(v shakedown.Version, rsa bool) bool {
	return slices.ContainsFunc(p.chains(), func(s *seenChain) bool {
		return slices.Contains(s.versions, v) && strings.HasPrefix(s.chain.Chain.Key(), "RSA") == rsa
	})
}

// forced returns what only a certificate of one kind can answer.
func (p *prober) forced(v shakedown.Version, rsa bool) handshake.Config {
	c := p.config(shakedown.ModeFull, v)
	if v == shakedown.TLS13 {
		// Chains may be signed in ways that the handshake is not.
		c.SignatureSchemes = ecdsaSchemes
		if rsa {
			c.SignatureSchemes = rsaSchemes
		}
		return c
	}
	want := suite.AuthECDSA
	if rsa {
		want = suite.AuthRSA
	}
	offered := c.CipherSuites
	if len(offered) == 0 {
		offered = suite.Supported(v)
	}
	c.CipherSuites = slices.DeleteFunc(slices.Clone(offered), func(id shakedown.CipherSuite) bool {
		info, ok := suite.Lookup(id)
		return !ok || info.Authentication != want || info.KeyExchange != suite.KeyExchangeECDHE && !p.wide
	})
	return c
}

// seenChain is one certificate with all full handshakes that showed it.
type seenChain struct {
	chain    *certificate.Parsed
	versions []shakedown.Version
	outcomes []*outcome
}

func sameLeaf(a, b *outcome) bool { return bytes.Equal(a.chain.DER[0], b.chain.DER[0]) }

// chains groups the full handshakes with the target's own name by certificate.
func (p *prober) chains() []*seenChain {
	var list []*seenChain
	for _, o := range p.log {
		if !o.full() || o.ask.config.ServerName != p.target.Config.ServerName {
			continue
		}
		i := slices.IndexFunc(list, func(s *seenChain) bool { return sameLeaf(s.outcomes[0], o) })
		if i < 0 {
			list = append(list, &seenChain{chain: o.chain})
			i = len(list) - 1
		}
		s := list[i]
		s.outcomes = append(s.outcomes, o)
		if !slices.Contains(s.versions, o.Observed.Version) {
			s.versions = append(s.versions, o.Observed.Version)
		}
	}
	return list
}

// describeCertificates says all that is known of each certificate.
func (p *prober) describeCertificates(now time.Time) {
	p.seen.Certificates = nil
	for _, s := range p.chains() {
		c := Certificate{Chain: s.chain.Chain, Versions: s.versions, Verification: shakedown.VerificationSkipped, Stapling: stapling(s)}
		if facts, err := s.chain.Facts(); err == nil {
			c.MustStaple, c.OCSP, c.RootSent, c.SelfSigned = facts.MustStaple, facts.OCSP, facts.RootSent, facts.SelfSigned
		} else {
			c.Problem = err.Error()
		}
		for _, o := range s.outcomes {
			c.FlightBytes = max(c.FlightBytes, flightBytes(&o.Observed))
		}
		if p.plan.Roots != nil {
			name := p.target.Config.ServerName
			if name == "" {
				name = p.target.Host
			}
			err := certificate.Verify(s.chain, p.plan.Roots, name, now)
			if c.Verification = certificate.Outcome(err); err != nil {
				c.Problem = err.Error()
			}
		}
		p.seen.Certificates = append(p.seen.Certificates, c)
	}
}

// stapling looks through the handshakes of one certificate, in the order in which
// the server answered: those of a wave are in the log as they were begun.
func stapling(s *seenChain) Stapling {
	var st Stapling
	distinct := map[shakedown.Staple]bool{}
	ordered := slices.SortedStableFunc(slices.Values(s.outcomes), func(a, b *outcome) int { return a.helloAt().Compare(b.helloAt()) })
	for _, o := range ordered {
		if !o.ask.config.StatusRequest {
			continue
		}
		st.Asked++
		if staple := o.Observed.Staple; staple != nil {
			st.Stapled++
			if st.First == 0 {
				st.First = st.Asked
			}
			st.Staple = staple
			distinct[*staple] = true
		}
	}
	st.Distinct = len(distinct)
	return st
}

// askStapling asks once more for a staple of each certificate that can have one:
// servers that fetch them when first asked had time by now.
func askStapling(ctx context.Context, p *prober) shakedown.Answer {
	for _, s := range p.chains() {
		if facts, err := s.chain.Facts(); err == nil && len(facts.OCSP) == 0 && !facts.MustStaple && stapling(s).Stapled == 0 {
			continue
		}
		c := s.outcomes[0].ask.config
		if o := p.try(ctx, ask{config: c}); o.kind() == trouble {
			return o.unanswered()
		}
	}
	var words []string
	good, all := 0, 0
	for _, s := range p.chains() {
		all++
		st := stapling(s)
		word := fmt.Sprintf("%s: %d of %s had a staple", s.chain.Chain.Key(), st.Stapled, plural(st.Asked, "full handshake"))
		switch {
		case st.Staple == nil:
			if facts, err := s.chain.Facts(); err == nil && len(facts.OCSP) == 0 {
				word += ", and cannot: the certificate names no OCSP responder"
			}
		case st.Staple.Problem != "":
			word += ": " + st.Staple.Problem
		case st.Staple.Status != "good":
			word += ": " + st.Staple.Status
		default:
			good++
			word += fmt.Sprintf(": good, until %s", st.Staple.NextUpdate.UTC().Format("2006-01-02 15:04 UTC"))
		}
		if st.First > 1 {
			word += fmt.Sprintf("; none in the first %d: it is fetched when first asked for", st.First-1)
		}
		words = append(words, word)
	}
	switch {
	case all == 0:
		return unsure("no certificate was seen")
	case good == all:
		return yes("%s", strings.Join(words, "; "))
	}
	return no("%s", strings.Join(words, "; "))
}
