package main

import (
	"slices"

	"shakedown"
	"shakedown/handshake"
	"shakedown/internal/load"
	"shakedown/internal/suite"
)

// A flag that would change nothing beside the others is refused: whoever typed it
// believes that it does something.

// idleOffers are the flags of an offer that only some offers have a use for.
var idleOffers = []struct {
	flag   string
	useful func(*handshake.Config) bool
	reason string
	hint   string
}{
	{"key-share", offersTLS13, "key shares are of TLS 1.3, which is not offered", "leave it out, or offer --version 1.3"},
	{"compress-cert", offersTLS13, "certificates are compressed in TLS 1.3 only, which is not offered", "leave it out, or offer --version 1.3"},
	{"no-compat", offersTLS13, "it is about TLS 1.3, which is not offered", "leave it out, or offer --version 1.3"},
	{"psk-only", resumesTLS13, "no session of TLS 1.3 is offered", "add --mode psk or --mode early-data"},
	{"no-ems", offersTLS12, "extended_master_secret is of TLS 1.2, which is not offered", "leave it out, or offer --version 1.2"},
	{"no-etm", offersCBC, "encrypt_then_mac goes with CBC suites of TLS 1.2 (RFC 7366), and none is offered", "leave it out, or offer one with --suite"},
}

func offersTLS13(c *handshake.Config) bool { return slices.Contains(c.Versions, shakedown.TLS13) }
func offersTLS12(c *handshake.Config) bool { return slices.Contains(c.Versions, shakedown.TLS12) }

func resumesTLS13(c *handshake.Config) bool {
	return c.Mode == shakedown.ModePSK || c.Mode == shakedown.ModeEarlyData
}

func offersCBC(c *handshake.Config) bool {
	return slices.ContainsFunc(c.CipherSuites, func(id shakedown.CipherSuite) bool {
		info, ok := suite.Lookup(id)
		return ok && info.MAC != suite.MACNone
	})
}

// refuseIdle refuses flags that none of the offers has a use for. Their defaults
// are filled in.
func refuseIdle(changed func(string) bool, offers ...handshake.Config) error {
	for _, f := range idleOffers {
		useful := func(c handshake.Config) bool { return f.useful(&c) }
		if changed(f.flag) && !slices.ContainsFunc(offers, useful) {
			return failed(f.hint, "--%s changes nothing: %s", f.flag, f.reason)
		}
	}
	return nil
}

// refuseIdle refuses flags of a load that would change nothing.
func (b *bencher) refuseIdle() error {
	offers := b.offers()
	resumes := slices.ContainsFunc(offers, func(c handshake.Config) bool { return c.Mode.Resumes() })
	switch {
	case b.all && b.address != "":
		return failed("leave out one of them", "--all-addresses changes nothing beside --address, which is one")
	case b.sessionIn != "" && !resumes:
		return failed("leave out --mode, or give the sessions' one", "--session-in is for a mode that resumes, not for full")
	case b.changed("tickets") && !resumes:
		return failed("add --mode ticket or --mode psk", "--tickets changes nothing: no session is offered in mode full")
	case b.changed("seed") && !b.plan.Arrivals.Poisson && b.plan.Link == nil && (!resumes || b.sessionIn != ""):
		return failed("it is for --poisson, the losses of --link, and the order in which sessions made for the load are offered",
			"--seed changes nothing: nothing here is random")
	}
	return refuseIdle(b.changed, offers...)
}

// offers are the configs of the load's modes, as they are offered.
func (b *bencher) offers() (list []handshake.Config) {
	mix := b.plan.Mix
	if len(mix) == 0 {
		mix = []load.Share{{Mode: b.plan.Config.Mode}}
	}
	for _, share := range mix {
		cfg := b.plan.Config
		cfg.Mode = share.Mode
		if len(mix) > 1 && share.Mode.Resumes() && len(cfg.Versions) > 1 {
			cfg.Versions = nil // each mode takes the version it belongs to
		}
		if client, err := handshake.NewClient(&cfg); err == nil { // or the load will tell
			list = append(list, client.Config())
		}
	}
	return list
}
