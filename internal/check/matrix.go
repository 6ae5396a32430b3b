package check

import (
	"context"
	"net/netip"
	"slices"

	"shakedown"
	"shakedown/handshake"
)

// Groups are the addresses that take each other's sessions of one mechanism.
type Groups struct {
	Mechanism string             `json:"mechanism"`
	Addresses [][]netip.AddrPort `json:"addresses"`
	// Untried counts pairs of groups between which no session was tried, either
	// way: with any, there may be fewer groups.
	Untried int `json:"untried"`
}

// perPair is how many sessions of one address are offered to another, if the
// budget has room.
const perPair = 3

// reserve is how many connections of each address are kept for the matrix.
func reserve(addresses, budget int) int {
	if addresses < 2 {
		return 0
	}
	return min(2*perPair*(addresses-1), budget/3)
}

// crossOver offers the sessions of each address to each other one, mechanism by
// mechanism, those of one destination all at once. Both have to resume their own
// sessions, or there is nothing to learn.
func crossOver(ctx context.Context, probers []*prober) []Resumption {
	var rows []Resumption
	for _, m := range []*mechanism{psk, ticket, sessionID} {
		for _, to := range probers {
			if !to.takesOwn(m) {
				continue
			}
			var asks []ask
			var from []*prober
			for _, origin := range probers {
				if origin == to || !origin.takesOwn(m) {
					continue
				}
				n := perPair
				if room := to.left() / max(1, len(probers)-1); room < n {
					n = max(1, room)
				}
				for range n {
					if s := origin.lend(m); s != nil {
						asks = append(asks, m.try(to, s))
						from = append(from, origin)
					}
				}
			}
			rows = append(rows, pairs(m, to, from, to.crowd(ctx, asks))...)
		}
	}
	return rows
}

// takesOwn reports whether sessions of an address are taken by itself.
func (p *prober) takesOwn(m *mechanism) bool {
	r := p.seen.resumption(m.name, true)
	return r != nil && r.Verdict == shakedown.Yes
}

// lend returns a session to offer elsewhere.
func (p *prober) lend(m *mechanism) *handshake.Session {
	s := m.pick(p)
	if s == nil && m == psk {
		// Each was offered once; that the origin took one does not spend it for
		// another server, which has a memory of its own if it has one at all.
		for _, o := range p.log {
			if o.resumed() && o.ask.config.Mode == shakedown.ModePSK {
				return o.ask.session
			}
		}
	}
	return s
}

// pairs counts the outcomes by origin.
func pairs(m *mechanism, to *prober, from []*prober, outcomes []*outcome) []Resumption {
	var rows []Resumption
	for i, o := range outcomes {
		at := slices.IndexFunc(rows, func(r Resumption) bool { return r.Origin == from[i].address })
		if at < 0 {
			rows = append(rows, Resumption{Mechanism: m.name, Origin: from[i].address, Destination: to.address, AtOnce: len(outcomes)})
			at = len(rows) - 1
		}
		rows[at].add(o)
		m.keep(to, o)
	}
	for i := range rows {
		rows[i].count()
	}
	return rows
}

// findGroups joins addresses of which one takes the other's sessions.
func findGroups(probers []*prober, rows []Resumption) []Groups {
	var all []Groups
	for _, m := range []*mechanism{psk, ticket, sessionID} {
		var members []netip.AddrPort
		for _, p := range probers {
			if p.takesOwn(m) {
				members = append(members, p.address)
			}
		}
		if len(members) < 2 {
			continue
		}
		group := map[netip.AddrPort]int{}
		for i, a := range members {
			group[a] = i
		}
		for _, r := range rows {
			if r.Mechanism != m.name || r.Resumed == 0 {
				continue
			}
			one, other := group[r.Origin], group[r.Destination]
			now, old := min(one, other), max(one, other) // a group has the number of its first member
			for _, a := range members {
				if group[a] == old {
					group[a] = now
				}
			}
		}
		g := Groups{Mechanism: m.name, Untried: untriedPairs(m, members, group, rows)}
		for i := range members {
			var same []netip.AddrPort
			for _, a := range members {
				if group[a] == i {
					same = append(same, a)
				}
			}
			if len(same) > 0 {
				g.Addresses = append(g.Addresses, same)
			}
		}
		all = append(all, g)
	}
	return all
}

// untriedPairs counts the pairs of groups of which nothing is known.
func untriedPairs(m *mechanism, members []netip.AddrPort, group map[netip.AddrPort]int, rows []Resumption) int {
	n := 0
	for a := range members {
		for b := range a {
			if group[members[a]] != a || group[members[b]] != b {
				continue // a group is counted by its first member
			}
			tried := slices.ContainsFunc(rows, func(r Resumption) bool {
				from, to := group[r.Origin], group[r.Destination]
				return r.Mechanism == m.name && r.Tried > 0 && (from == a && to == b || from == b && to == a)
			})
			if !tried {
				n++
			}
		}
	}
	return n
}
