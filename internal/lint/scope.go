package lint

import (
	"slices"
	"strings"

	"shakedown/internal/nginx"
)

// ignored calls found, with both servers, where a setting of name written for a server, in it or around it, differs from
// what is in force in the default server of a socket.
func (c *checker) ignored(name string, value func(server) string, found func(k *nginx.Socket, d, s server)) {
	c.others(func(k *nginx.Socket, d, s server) {
		if s.Get(name).Set() && value(s) != value(d) {
			found(k, d, s)
		}
	})
}

// toHTTP moves what s sets of name in front of the server block, where every server inherits it. It makes no edit when
// another server sets the same name, since then someone has to choose.
func (c *checker) toHTTP(s server, name string) []Edit {
	own := c.Named(s.Block, name)
	for _, d := range c.All(name) {
		if !slices.Contains(own, d) {
			return nil
		}
	}
	if slices.ContainsFunc(own, func(d *nginx.Directive) bool { return d.File != s.Block.File }) {
		return nil
	}
	var edits []Edit
	for _, d := range own {
		edits = append(edits, remove(d), insertBefore(s.Block, d.Source()))
	}
	return edits
}

// OpenSSL decrypts with the keys of the context the connection began with, which is the default server's (session_ctx).
func checkDefTicketKey(c *checker) {
	value := func(s server) string { return list(s, "ssl_session_ticket_key") }
	c.ignored("ssl_session_ticket_key", value, func(k *nginx.Socket, d, s server) {
		uses := "keys of its own"
		if v := value(d); v != "" {
			uses = v
		}
		c.report(at(s, "ssl_session_ticket_key"), "ignored for %s: on %s the default server %s decides, and it uses %s", s.Name(), k.Key, d.Name(), uses).
			fix(c.toHTTP(s, "ssl_session_ticket_key")...)
	})
}

// The two halves of the cache are compared as they are in force, not as they are written.
func checkDefCache(c *checker) {
	value := func(s server) string {
		v := s.Cache()
		if v.Mode == "on" {
			return strings.TrimSpace(map[bool]string{true: "builtin ", false: ""}[v.Builtin] + map[bool]string{true: "shared:" + v.Zone, false: ""}[v.Zone != ""])
		}
		return v.Mode
	}
	c.ignored("ssl_session_cache", value, func(k *nginx.Socket, d, s server) {
		c.report(at(s, "ssl_session_cache"), "ignored for %s: on %s the default server %s decides, and its cache is %s", s.Name(), k.Key, d.Name(), value(d)).
			fix(c.toHTTP(s, "ssl_session_cache")...)
	})
}

// Equal times written differently (60m, 1h) are equal.
func checkDefTimeout(c *checker) {
	c.ignored("ssl_session_timeout", func(s server) string { return timeout(s).String() }, func(k *nginx.Socket, d, s server) {
		v := d.Get("ssl_session_timeout")
		c.report(at(s, "ssl_session_timeout"), "ignored for %s: on %s the default server %s decides, and there it is %s (%s)", s.Name(), k.Key, d.Name(), v.Words, c.origin(v)).
			fix(c.toHTTP(s, "ssl_session_timeout")...)
	})
}

// On both sides of 1.29.2 the mix is told: what is harmless there breaks after a move to an older host.
func checkDefTicketsMix(c *checker) {
	c.others(func(k *nginx.Socket, d, s server) {
		if tickets(s) == tickets(d) || c.unsure(s, "ssl_session_tickets") || c.unsure(d, "ssl_session_tickets") {
			return
		}
		place := at(s, "ssl_session_tickets")
		if !s.Has("ssl_session_tickets") {
			place = at(d, "ssl_session_tickets")
		}
		if !c.before(1, 29, 2) {
			c.report(place, "%s on %s has ssl_session_tickets %s, the default server %s has %s: both resume from nginx 1.29.2 on, but not on an older one",
				s.Name(), k.Key, s.Get("ssl_session_tickets").Words, d.Name(), d.Get("ssl_session_tickets").Words).as(Info)
			return
		}
		what := "TLS 1.3 tickets are issued but never accepted, and TLS 1.2 gets none"
		if tickets(d) {
			what = "TLS 1.3 gets no ticket at all, and TLS 1.2 only session IDs"
		}
		c.report(place, "tickets are %s for %s and %s for the default server %s of %s: for %s %s",
			s.Get("ssl_session_tickets").Words, s.Name(), d.Get("ssl_session_tickets").Words, d.Name(), k.Key, s.Name(), what)
	})
}

func sortedProtocols(s server) string {
	words := strings.Fields(s.Get("ssl_protocols").Words)
	slices.Sort(words)
	return strings.Join(slices.Compact(words), " ")
}

// Where the default server names nothing, DEF-PROTO-IMPLICIT tells it better.
func checkDefProto(c *checker) {
	if !c.before(1, 29, 2) {
		return
	}
	c.others(func(k *nginx.Socket, d, s server) {
		if sortedProtocols(s) == sortedProtocols(d) || !s.Get("ssl_protocols").Set() || implicitlyWithout13(c, d, s) {
			return
		}
		f := c.report(at(s, "ssl_protocols"), "ignored for %s: on %s the default server %s decides, and it speaks %s (%s)",
			s.Name(), k.Key, d.Name(), d.Get("ssl_protocols").Words, c.origin(d.Get("ssl_protocols")))
		if lists(s, "TLSv1.3") && !lists(d, "TLSv1.3") {
			f.Message += "; TLS 1.3 is off for this name"
			f.as(Error)
		}
		f.fix(c.toHTTP(s, "ssl_protocols")...)
	})
}

// Found by asking a running nginx for its groups (lint --against), then shown by TestProofs.
func checkDefPrefer(c *checker) {
	const name = "ssl_prefer_server_ciphers"
	if !c.before(1, 29, 2) {
		return
	}
	c.others(func(k *nginx.Socket, d, s server) {
		if prefers(s) == prefers(d) || !lists(d, "TLSv1.3") || c.unsure(s, name) || c.unsure(d, name) {
			return
		}
		f := c.report(at(s, name), "%s for %s and %s for the default server %s of %s: a client that is asked for another key share and lists suites in another order than OpenSSL fails (illegal_parameter)",
			s.Get(name).Words, s.Name(), d.Get(name).Words, d.Name(), k.Key)
		if list, _ := groups(d); list != nil && !slices.Contains(list, "X25519") {
			f.Message += "; the groups lack X25519, so browsers are asked"
			f.as(Error)
		}
		f.fix(c.toHTTP(s, name)...)
	})
}

// implicitlyWithout13: the default server names no protocols, its release's default lacks TLS 1.3, and s wants it.
func implicitlyWithout13(c *checker, d, s server) bool {
	return c.before(1, 23, 4) && !c.Fragment && !d.Get("ssl_protocols").Set() && lists(s, "TLSv1.3")
}

func checkDefProtoImplicit(c *checker) {
	c.others(func(k *nginx.Socket, d, s server) {
		if implicitlyWithout13(c, d, s) {
			c.report(d.Block, "this is the default server of %s and sets no ssl_protocols; nginx %s's default has no TLSv1.3, so TLS 1.3 is off for every name there, %s included",
				k.Key, c.opt.Nginx, s.Name()).fix(c.toHTTP(s, "ssl_protocols")...)
		}
	})
}

func checkDefCurve(c *checker) {
	value := func(s server) string { return s.Get("ssl_ecdh_curve").Words }
	c.ignored("ssl_ecdh_curve", value, func(k *nginx.Socket, d, s server) {
		c.report(at(s, "ssl_ecdh_curve"), "ignored for %s: on %s the default server %s decides, and there it is %s (%s)",
			s.Name(), k.Key, d.Name(), value(d), c.origin(d.Get("ssl_ecdh_curve"))).fix(c.toHTTP(s, "ssl_ecdh_curve")...)
	})
}

// A server that inherits the command has the default server's own value and is not told.
func checkDefSuites13(c *checker) {
	if !c.before(1, 29, 2) {
		return
	}
	c.others(func(k *nginx.Socket, d, s server) {
		mine, place := command(s, "Ciphersuites")
		theirs, _ := command(d, "Ciphersuites")
		if place == nil || mine == theirs {
			return
		}
		if theirs == "" {
			theirs = "OpenSSL's default"
		}
		c.report(place, "ignored for %s: on %s the default server %s decides, and its TLS 1.3 suites are %s", s.Name(), k.Key, d.Name(), theirs)
	})
}

// Either direction is an error: requests replayed where nobody agreed to it, or early data that never comes.
func checkDefEarly(c *checker) {
	c.others(func(k *nginx.Socket, d, s server) {
		switch {
		case c.unsure(s, "ssl_early_data") || c.unsure(d, "ssl_early_data"):
		case early(d) && !early(s):
			c.report(at(d, "ssl_early_data"), "on in the default server %s of %s, so %s takes early data too although it is off there", d.Name(), k.Key, s.Name())
		case early(s) && !early(d):
			c.report(at(s, "ssl_early_data"), "has no effect for %s: on %s the default server %s decides, and there it is off", s.Name(), k.Key, d.Name())
		}
	})
}

// A finding stands at the refusing server: it is the one that lacks something.
func checkDefRejectNoTLS(c *checker) {
	c.others(func(k *nginx.Socket, d, s server) {
		if !rejects(d) || c.Fragment || len(keys(d)) > 0 || len(d.Cache().Directives) > 0 {
			return
		}
		for _, name := range []string{"ssl_session_cache", "ssl_session_ticket_key"} {
			if s.Has(name) {
				c.report(d.Block, "this server refuses handshakes but owns the session state of %s: it has no %s, so the one of %s is dead", k.Key, name, s.Name()).
					fix(c.toHTTP(s, name)...)
			}
		}
	})
}

func checkDefAccidental(c *checker) {
	seen := map[server]bool{}
	for _, k := range c.TLSSockets() {
		if len(k.Servers) > 1 && !k.Explicit && !seen[k.Default] {
			seen[k.Default] = true // the sockets of one server, IPv4 and IPv6, are one thing to change
			place := k.Listens[0].Directive
			if place == nil { // port 80 of a server without a listen
				place = k.Default.Block
			}
			c.report(place, "%d servers share %s and none is default_server: %s owns its session state because it is read first", len(k.Servers), k.Key, k.Default.Name())
		}
	}
}

// A pair resumes across families when both default servers have common keys and, before 1.29.2, one certificate: the session
// ID context that OpenSSL compares is a hash of it.
func checkDefV4V6(c *checker) {
	for _, s := range c.TLSServers() {
		sockets := s.Sockets(true)
		for _, v4 := range sockets {
			for _, v6 := range sockets {
				d4, d6 := v4.Default, v6.Default
				if v4.Family != nginx.IPv4 || v6.Family != nginx.IPv6 || v4.Port != v6.Port || v4.QUIC != v6.QUIC || d4 == d6 || rejects(s) || c.unsure(d4, "ssl_session_ticket_key") {
					continue
				}
				common := len(keys(d4)) > 0 && list(d4, "ssl_session_ticket_key") == list(d6, "ssl_session_ticket_key")
				if zone := d4.Cache(); zone.Shared() && zone.Zone == d6.Cache().Zone && (!c.before(1, 23, 2) || !tickets(d4)) {
					common = true
				}
				sameCerts := list(d4, "ssl_certificate") == list(d6, "ssl_certificate")
				if common && (sameCerts || !c.before(1, 29, 2)) {
					continue
				}
				why := "they share no ticket key and no session cache"
				if common {
					why = "their certificates differ"
				}
				c.report(d6.Block, "the default server of %s is %s, that of %s is %s, and %s: a client of %s that moves between IPv4 and IPv6 does not resume",
					v4.Key, d4.Name(), v6.Key, d6.Name(), why, s.Name())
			}
		}
	}
}

// A command of the same name in the server is a replacement that was meant.
func checkDefConfCmdLost(c *checker) {
	for _, s := range c.TLSServers() {
		own := c.Named(s.Block, "ssl_conf_command")
		if len(own) == 0 {
			continue
		}
		for _, d := range c.In(s.Block.Parent, "ssl_conf_command").Directives {
			if !slices.ContainsFunc(own, func(o *nginx.Directive) bool { return strings.EqualFold(o.Arg(0), d.Arg(0)) }) {
				c.report(own[0], "replaces the outer list, so %q of line %d is lost for %s", d.Words(), d.Pos.Line, s.Name()).
					fix(insertBefore(own[0], d.Source()))
			}
		}
	}
}
