package check

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"shakedown"
	"shakedown/handshake"
)

// Groups are the addresses that take each other's sessions of one mechanism.
type Groups struct {
	Mechanism string             `json:"mechanism"`
	Addresses [][]netip.AddrPort `json:"addresses"`
	// Names are what they were asked as, each at the place of its address: one
	// address may have several.
	Names [][]string `json:"names"`
	// Untried counts pairs of groups of which it is not known, either way, whether
	// they share: with any, there may be fewer groups.
	Untried int `json:"untried"`
}

// Place is whom to ask: an address as a name.
type Place struct {
	Address netip.AddrPort
	Name    string
}

// Members returns the places of each group.
func (g Groups) Members() [][]Place {
	all := make([][]Place, len(g.Addresses))
	for i, group := range g.Addresses {
		for j, a := range group {
			p := Place{Address: a}
			if i < len(g.Names) && j < len(g.Names[i]) {
				p.Name = g.Names[i][j]
			}
			all[i] = append(all[i], p)
		}
	}
	return all
}

// Label prints a place of these groups, with its name where the address has several.
func (g Groups) Label(p Place) string {
	n := 0
	for _, a := range slices.Concat(g.Addresses...) {
		if a == p.Address {
			n++
		}
	}
	if n > 1 {
		return p.Address.String() + " as " + p.Name
	}
	return p.Address.String()
}

func (p *prober) place() Place { return Place{p.address, p.target.Config.ServerName} }

func (r *Resumption) from() Place { return Place{r.Origin, r.OriginName} }
func (r *Resumption) to() Place   { return Place{r.Destination, r.DestinationName} }

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

// crossOver offers the sessions of each address to the others, mechanism by
// mechanism. Both have to resume their own sessions, or there is nothing to learn.
// Where the budget has no room for every pair, each address is offered sessions of
// one member of each group found so far.
func crossOver(ctx context.Context, probers []*prober) []Resumption {
	var rows []Resumption
	mechanisms := []*mechanism{psk, ticket, sessionID}
	for i, m := range mechanisms {
		if ctx.Err() != nil {
			break
		}
		share := len(mechanisms) - i // of what is left
		var members []*prober
		room := 0
		for _, p := range probers {
			if p.takesOwn(m) {
				if n := p.left() / share; len(members) == 0 || n < room {
					room = n
				}
				members = append(members, p)
			}
		}
		if room >= len(members)-1 {
			for _, to := range members {
				others := slices.DeleteFunc(slices.Clone(members), func(p *prober) bool { return p == to })
				rows = append(rows, m.cross(ctx, others, to, room)...)
			}
			continue
		}
		var heads []*prober // one of each group
		for _, to := range members {
			found := m.cross(ctx, heads, to, room)
			rows = append(rows, found...)
			if !slices.ContainsFunc(found, func(r Resumption) bool { return r.Resumed > 0 }) {
				heads = append(heads, to)
			}
		}
	}
	return rows
}

// cross offers sessions of each of some addresses to one, all at once, room of them
// at most.
func (m *mechanism) cross(ctx context.Context, origins []*prober, to *prober, room int) []Resumption {
	var asks []ask
	var from []*prober
	for i, origin := range origins {
		for range min(perPair, room/len(origins)) {
			if s := origin.lend(m); s != nil {
				asks, from = append(asks, m.try(to, s)), append(from, origins[i])
			}
		}
	}
	if len(asks) == 0 {
		return pairs(m, to, nil, nil)
	}
	to.plan.Progress(to.address, "sessions of others")
	defer to.plan.Progress(to.address, Done)
	return pairs(m, to, from, to.crowd(ctx, asks))
}

// takesAll reports whether an address takes all of its own sessions.
func (p *prober) takesAll(m *mechanism) bool {
	r := p.seen.resumption(m.name, true)
	return r != nil && (r.State == StateAccepted || r.State == StateSlower)
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

// pairs counts the outcomes by origin. Where both ends take all of their own, a
// few that are refused are no; where state is per worker, they say little.
func pairs(m *mechanism, to *prober, from []*prober, outcomes []*outcome) []Resumption {
	var rows []Resumption
	var origins []*prober
	for i, origin := range from {
		if slices.Contains(origins, origin) {
			continue
		}
		origins = append(origins, origin)
		row := Resumption{Mechanism: m.name, Origin: origin.address, Destination: to.address,
			OriginName: origin.place().Name, DestinationName: to.place().Name, AtOnce: len(outcomes)}
		var its []*outcome
		for j := i; j < len(outcomes); j++ {
			if from[j] == origin {
				its = append(its, outcomes[j])
			}
		}
		row.add(its...)
		row.count()
		if row.Tried > 0 && row.Resumed == 0 && origin.takesAll(m) && to.takesAll(m) {
			row.Verdict, row.State = shakedown.No, StateRefused
		}
		rows = append(rows, row)
	}
	for _, o := range outcomes {
		m.keep(to, o)
	}
	return rows
}

// findGroups joins addresses of which one takes the other's sessions.
func findGroups(probers []*prober, rows []Resumption) []Groups {
	var all []Groups
	for _, m := range []*mechanism{psk, ticket, sessionID} {
		var members []Place
		for _, p := range probers {
			if p.takesOwn(m) && !slices.Contains(members, p.place()) {
				members = append(members, p.place())
			}
		}
		if len(members) < 2 || !slices.ContainsFunc(rows, func(r Resumption) bool { return r.Mechanism == m.name && r.Tried > 0 }) {
			continue // there is nothing to join, or nothing was tried
		}
		group := map[Place]int{}
		for i, a := range members {
			group[a] = i
		}
		for _, r := range rows {
			if r.Mechanism != m.name || r.Resumed == 0 {
				continue
			}
			one, other := group[r.from()], group[r.to()]
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
			var names []string
			for _, a := range members {
				if group[a] == i {
					same, names = append(same, a.Address), append(names, a.Name)
				}
			}
			if len(same) > 0 {
				g.Addresses, g.Names = append(g.Addresses, same), append(g.Names, names)
			}
		}
		all = append(all, g)
	}
	return all
}

// untriedPairs counts the pairs of groups of which nothing is known.
func untriedPairs(m *mechanism, members []Place, group map[Place]int, rows []Resumption) int {
	n := 0
	for a := range members {
		for b := range a {
			if group[members[a]] != a || group[members[b]] != b {
				continue // a group is counted by its first member
			}
			tried := slices.ContainsFunc(rows, func(r Resumption) bool {
				from, to := group[r.from()], group[r.to()]
				return r.Mechanism == m.name && r.Tried > 0 && r.Verdict != shakedown.Inconclusive && (from == a && to == b || from == b && to == a)
			})
			if !tried {
				n++
			}
		}
	}
	return n
}

// oneAddress reports whether all are names of one address.
func (g Groups) oneAddress() bool {
	all := slices.Concat(g.Addresses...)
	return len(slices.Compact(all)) == 1
}

// String names the groups: "2 groups: {a, b} {c}".
func (g Groups) String() string {
	text := plural(len(g.Addresses), "group") + ":"
	for _, group := range g.Members() {
		var members []string
		for _, p := range group {
			members = append(members, g.Label(p))
		}
		text += " {" + strings.Join(members, ", ") + "}"
	}
	if g.Untried > 0 {
		text += fmt.Sprintf(" or fewer: of %s it is not known", plural(g.Untried, "pair"))
	}
	return text
}
