package check

import (
	"time"

	"shakedown"
)

// statefulTicket is the size of OpenSSL's tickets that hold no session but the
// key of one in the server's cache.
const statefulTicket = 32

// enoughNames is how many tickets have to differ in their first bytes before
// these are taken for random.
const enoughNames = 4

// describeTickets looks at all tickets that were received.
func (p *prober) describeTickets() {
	for _, m := range []*mechanism{psk, ticket} {
		t := Tickets{Mechanism: m.name}
		type use struct {
			count       int
			first, last time.Time
		}
		var order []shakedown.TicketName
		uses := map[shakedown.TicketName]*use{}
		for _, o := range p.log {
			if o.kind() != taken || (o.Observed.Version == shakedown.TLS13) != (m == psk) {
				continue
			}
			n := len(o.Observed.Tickets)
			if o.Observed.Mode.Resumes() {
				t.PerResumption = max(t.PerResumption, n)
			} else {
				t.PerFull = max(t.PerFull, n)
			}
			for _, k := range o.Observed.Tickets {
				t.Seen++
				t.Bytes, t.Lifetime = max(t.Bytes, k.Bytes), max(t.Lifetime, k.Lifetime)
				t.MaxEarlyData = max(t.MaxEarlyData, k.MaxEarlyData)
				u := uses[k.Name]
				if u == nil {
					u = &use{first: o.began}
					uses[k.Name] = u
					order = append(order, k.Name)
				}
				u.count++
				u.last = o.began
			}
		}
		if t.Seen == 0 {
			continue
		}
		t.Stateful = t.Bytes == statefulTicket
		repeated := len(order) < t.Seen
		switch {
		case t.Stateful:
			// The key of a session names no ticket key.
		case repeated:
			t.KeyName = KeyNameRepeated
		case t.Seen >= enoughNames:
			t.KeyName = KeyNameRandom
		}
		if t.KeyName == KeyNameRepeated {
			for _, name := range order {
				// A name seen once among repeated ones may be a key that is rarely met.
				t.Keys = append(t.Keys, KeyName{Name: name, Tickets: uses[name].count, FirstSeen: uses[name].first, LastSeen: uses[name].last})
			}
		}
		p.seen.Tickets = append(p.seen.Tickets, t)
	}
	p.seen.EarlyData.MaxBytes = 0
	if t := p.seen.tickets(MechanismPSK); t != nil {
		p.seen.EarlyData.MaxBytes = t.MaxEarlyData
	}
}

// oneKey reports whether the tickets of a mechanism that came so far, from
// connections that were open at once, begin with the name of one key.
func (p *prober) oneKey(m *mechanism) bool {
	names := map[shakedown.TicketName]bool{}
	seen := 0
	for _, o := range p.log {
		if o.kind() != taken || m == sessionID || (o.Observed.Version == shakedown.TLS13) != (m == psk) {
			continue
		}
		for _, k := range o.Observed.Tickets {
			if k.Bytes == statefulTicket {
				return false
			}
			names[k.Name] = true
			seen++
		}
	}
	return len(names) == 1 && seen >= enoughNames
}
