package lint

import (
	"slices"
	"strings"
	"time"

	"shakedown/internal/nginx"
)

// Sessions one MB of a shared zone holds, measured on 64-bit nginx 1.22.1 and 1.31.4. TLS 1.3 without tickets stores two
// entries for each handshake. The "about 4000" of nginx's manual is not reached by either.
const (
	sessions12PerMB = 2682
	sessions13PerMB = 1336
)

// ticketsOff calls f for each socket and server whose handshakes go without tickets. Until 1.29.2 mixed values break
// resumption instead, which DEF-TICKETS-MIX tells; those are left out here.
func (c *checker) ticketsOff(f func(k *nginx.Socket, d, s server)) {
	c.handshakes(func(k *nginx.Socket, s server) {
		if !tickets(s) && (!c.before(1, 29, 2) || !tickets(k.Default)) {
			f(k, k.Default, s)
		}
	})
}

// Which server's switch counts depends on the release (ticketsOff); whose cache counts does not.
func checkResNone(c *checker) {
	c.ticketsOff(func(k *nginx.Socket, d, s server) {
		cache := d.Cache()
		switch {
		case cache.Shared() || c.unsure(d, "ssl_session_cache"):
		case cache.Builtin && c.In(nil, "worker_processes").Words == "1" && !c.Fragment:
			c.report(at(s, "ssl_session_tickets"), "tickets are off and sessions are kept in the one worker alone: a reload loses them").as(Info)
		case !cache.Builtin:
			dead := ""
			if c.speaks(k, s, "TLSv1.3") {
				dead = "; TLS 1.3 clients still get two tickets, both dead"
			}
			c.report(at(s, "ssl_session_tickets"), "tickets are off and %s has no shared session cache in force (%s): nothing resumes%s",
				k.Key, cache.Mode, dead).fix(setArgs(at(s, "ssl_session_tickets"), "on"))
		}
	})
}

func checkResOffStateful(c *checker) {
	c.ticketsOff(func(k *nginx.Socket, d, s server) {
		if !d.Cache().Shared() {
			return
		}
		f := c.report(at(s, "ssl_session_tickets"), "tickets are off, so each session takes room in %s: TLS 1.3 resumes, but with %d handshakes for each MB and on this host only", d.Cache().Zone, sessions13PerMB)
		if c.hosts() == 1 {
			f.as(Info)
		}
	})
}

// Before 1.23.2 a shared zone does not hold the keys.
func checkResReloadKeys(c *checker) {
	c.defaults(func(k *nginx.Socket, d server) {
		if !tickets(d) || len(keys(d)) > 0 || c.unsure(d, "ssl_session_ticket_key") || !c.before(1, 23, 2) && d.Cache().Shared() {
			return
		}
		why := "a reload makes a new ticket key and every ticket handed out is lost: no shared session cache is in force"
		if c.before(1, 23, 2) {
			why = "a reload makes a new ticket key and every ticket handed out is lost: before nginx 1.23.2 only a ssl_session_ticket_key survives it"
		}
		c.report(d.Block, "%s: %s", k.Key, why)
	})
}

func checkResFleetKeys(c *checker) {
	c.defaults(func(k *nginx.Socket, d server) {
		if c.hosts() > 1 && tickets(d) && len(keys(d)) == 0 && !c.unsure(d, "ssl_session_ticket_key") {
			c.report(d.Block, "%d hosts answer and each makes its own ticket key for %s: a client that comes back resumes 1 time in %d", c.hosts(), k.Key, c.hosts())
		}
	})
}

// hasCVE97629 reports whether automatic ticket keys of the release have the flaw; key files avoid it.
func (c *checker) hasCVE97629() bool {
	return !c.before(1, 23, 2) && c.before(1, 30, 6) || !c.before(1, 31, 0) && c.before(1, 31, 5)
}

func checkResCVE(c *checker) {
	c.defaults(func(k *nginx.Socket, d server) {
		if cache := d.Cache(); c.hasCVE97629() && cache.Shared() && tickets(d) && len(keys(d)) == 0 && !c.unsure(d, "ssl_session_ticket_key") {
			c.report(cache.Directives[0], "automatic ticket keys in a shared zone on nginx %s: a worker tries a key it never copied (CVE-2026-97629, as Debian's changelog tells it; a distribution's build may be repaired)", c.opt.Nginx)
		}
	})
}

// With one worker there is nobody to miss the session.
func checkResBuiltin(c *checker) {
	c.defaults(func(k *nginx.Socket, d server) {
		cache := d.Cache()
		if !cache.Builtin || cache.Zone != "" || c.In(nil, "worker_processes").Words == "1" && !c.Fragment {
			return
		}
		f := c.report(cache.Directives[0], "each worker keeps its own sessions: a client resumes only when it meets the same worker again")
		if tickets(d) {
			f.Message += " (clients that take tickets do not need it)"
			f.as(Info)
		}
		f.fix(setArgs(cache.Directives[0], "shared:TLS:20m"))
	})
}

func checkResBuiltinShared(c *checker) {
	c.defaults(func(k *nginx.Socket, d server) {
		if cache := d.Cache(); cache.Builtin && cache.Shared() {
			f := c.report(cache.Directives[0], "builtin beside shared: a reload empties zone %s, which shared alone keeps", cache.Zone)
			for _, a := range cache.Directives[0].Args {
				if strings.HasPrefix(a.Text, "shared:") {
					f.fix(setArgs(cache.Directives[0], a.Text))
				}
			}
		}
	})
}

func checkResCacheSmall(c *checker) {
	c.handshakes(func(k *nginx.Socket, s server) {
		d := k.Default
		cache, tls13 := d.Cache(), c.speaks(k, s, "TLSv1.3")
		// With tickets only clients without them use the zone, and their rate is not known; before 1.23.2 TLS 1.3 fills it too.
		if !cache.Shared() || cache.Bytes == 0 || c.opt.SessionsPerSecond <= 0 || tickets(s) && (!c.before(1, 23, 2) || !tls13) {
			return
		}
		perMB := sessions12PerMB
		if tls13 && !tickets(s) {
			perMB = sessions13PerMB
		}
		holds := float64(cache.Bytes) / (1 << 20) * float64(perMB)
		if wants := c.opt.SessionsPerSecond * timeout(d).Seconds(); holds < wants {
			c.report(cache.Directives[0], "zone %s holds about %.0f sessions (%d for each MB); %.0f a second kept for %s are %.0f, which takes %.0fm",
				cache.Zone, holds, perMB, c.opt.SessionsPerSecond, d.Get("ssl_session_timeout").Words, wants, wants/float64(perMB)+1)
		}
	})
}

func checkResCache13Flood(c *checker) {
	c.defaults(func(k *nginx.Socket, d server) {
		if cache := d.Cache(); c.before(1, 23, 2) && cache.Shared() && tickets(d) && lists(d, "TLSv1.3") {
			c.report(cache.Directives[0], "before nginx 1.23.2 every TLS 1.3 session is written to zone %s too, though its ticket makes that useless, and pushes TLS 1.2 sessions out", cache.Zone)
		}
	})
}

// Zones of http and stream are apart; the same name in both is an error of another kind.
func checkResCacheConflict(c *checker) {
	type zone struct{ module, name string }
	seen := map[zone]*nginx.Directive{}
	for _, d := range c.All("ssl_session_cache") {
		for _, a := range d.Args {
			name, size, ok := strings.Cut(strings.TrimPrefix(a.Text, "shared:"), ":")
			if !strings.HasPrefix(a.Text, "shared:") || !ok {
				continue
			}
			module, _, _ := strings.Cut(c.Context(d), "/")
			first := seen[zone{module, name}]
			if first == nil {
				seen[zone{module, name}] = d
				continue
			}
			bytes, _ := nginx.ParseSize(size)
			for _, b := range first.Args {
				other, ok := strings.CutPrefix(b.Text, "shared:"+name+":")
				if otherBytes, _ := nginx.ParseSize(other); ok && otherBytes != bytes {
					c.report(d, "zone %s has size %s here and %s at line %d: nginx does not start", name, size, other, first.Pos.Line)
				}
			}
		}
	}
}

// Where nothing resumes the time is of no account; RES-NONE speaks.
func checkResTimeoutShort(c *checker) {
	c.defaults(func(k *nginx.Socket, d server) {
		if timeout(d) > 5*time.Minute || c.unsure(d, "ssl_session_timeout") || !tickets(d) && !d.Cache().Shared() {
			return
		}
		v := d.Get("ssl_session_timeout")
		f := c.report(at(d, "ssl_session_timeout"), "sessions of %s live %s (%s): who returns later makes a full handshake", k.Key, v.Words, c.origin(v))
		if v.Set() {
			f.fix(setArgs(at(d, "ssl_session_timeout"), "1d"))
		}
	})
}

func checkResTimeoutLong(c *checker) {
	c.defaults(func(k *nginx.Socket, d server) {
		if timeout(d) > 7*24*time.Hour {
			c.report(at(d, "ssl_session_timeout"), "%s is more than the 7 days TLS 1.3 allows: OpenSSL cuts the ticket lifetime to 604800 s", d.Get("ssl_session_timeout").Words).
				fix(setArgs(at(d, "ssl_session_timeout"), "1d"))
		}
	})
}

// Any other number is a choice.
func checkResNumTickets(c *checker) {
	c.defaults(func(k *nginx.Socket, d server) {
		switch n, place := command(d, "NumTickets"); n {
		case "0":
			c.report(place, "NumTickets 0: TLS 1.3 on %s never resumes", k.Key).as(Error).fix(remove(place))
		case "1":
			c.report(place, "NumTickets 1: browsers use a ticket once, so of two parallel connections one resumes").fix(remove(place))
		}
	})
}

// The option may stand in a list: "Options PrioritizeChaCha,AntiReplay"; a leading "-" turns it off.
func checkResAntiReplay(c *checker) {
	c.defaults(func(k *nginx.Socket, d server) {
		if !early(d) || d.Cache().Builtin && !d.Cache().Shared() || c.unsure(d, "ssl_session_cache") {
			return
		}
		if cmd := antiReplay(d); cmd != nil {
			f := c.report(cmd, "AntiReplay needs OpenSSL's own session cache, which nginx switches off here: TLS 1.3 on %s never resumes, early data never works", k.Key)
			if !strings.Contains(cmd.Arg(1), ",") {
				f.fix(remove(cmd))
			}
		}
	})
}

// antiReplay returns the ssl_conf_command in force in d that asks for AntiReplay, nil if none does.
func antiReplay(d server) *nginx.Directive {
	for _, cmd := range d.Get("ssl_conf_command").Directives {
		for word := range strings.SplitSeq(cmd.Arg(1), ",") {
			if strings.EqualFold(cmd.Arg(0), "Options") && strings.EqualFold(strings.TrimPrefix(strings.TrimSpace(word), "+"), "AntiReplay") {
				return cmd
			}
		}
	}
	return nil
}

func verifies(s server) bool { return !s.Is("ssl_verify_client", "off") }

// How large the certificates of clients are is not in the file, so it is never more than an info.
func checkResMTLSBig(c *checker) {
	limit := "8192 bytes, reached by a client certificate of some 7.5 KB"
	if c.before(1, 27, 5) {
		limit = "4096 bytes, reached by a client certificate of some 3.5 KB"
	}
	c.ticketsOff(func(k *nginx.Socket, d, s server) {
		if verifies(s) && d.Cache().Shared() {
			c.report(at(s, "ssl_session_tickets"), "with client certificates and no tickets a session holds the client's certificate, and one of more than %s, is silently not cached", limit).as(Info)
		}
	})
}

// 1.26.3 is the stable release with the repair; what a distribution carries is not in the number.
func checkResMTLSCrossSNI(c *checker) {
	if c.before(1, 11, 0) || !c.before(1, 29, 2) {
		return
	}
	c.handshakes(func(k *nginx.Socket, s server) {
		// Who refuses handshakes gives no tickets.
		other := func(o server) bool { return o != s && !rejects(o) }
		if !verifies(s) || !slices.ContainsFunc(k.Servers, other) || !c.speaks(k, s, "TLSv1.3") {
			return
		}
		f := c.report(at(s, "ssl_verify_client"), "a TLS 1.3 ticket from another name on %s offered to %s ends the handshake with alert access_denied", k.Key, s.Name())
		if c.before(1, 27, 4) {
			f.Message += ", when this build has the repair of CVE-2025-23419 (1.26.3 and the distributions' backports have it)"
			if !(c.opt.Nginx == nginx.Version{Major: 1, Minor: 26, Patch: 3}) {
				f.as(Info)
			}
		}
	})
}
