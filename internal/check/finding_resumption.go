package check

import (
	"fmt"
	"time"

	"shakedown"
)

// sharedCache and ticketKeys are the nginx lines of the usual cures.
var (
	sharedCache = []string{"ssl_session_cache shared:TLS:10m;", "ssl_session_timeout 1d;"}
	ticketKeys  = []string{"ssl_session_ticket_key current.key;", "ssl_session_ticket_key previous.key;"}
)

// findResumption judges each mechanism by its state, and each version by whether
// any mechanism works.
func findResumption(p *prober, _ time.Time) []shakedown.Finding {
	var list []shakedown.Finding
	works := map[shakedown.Version]bool{}
	for _, m := range []*mechanism{psk, ticket, sessionID} {
		r := p.seen.resumption(m.name, true)
		if r == nil {
			continue
		}
		version := shakedown.TLS12
		if m == psk {
			version = shakedown.TLS13
		}
		works[version] = works[version] || r.Verdict == shakedown.Yes
		evidence := p.seen.answer("resume-" + m.name).Evidence
		switch r.State {
		case StatePerWorker:
			list = append(list, p.perWorker(m, r, evidence))
		case StateSlower:
			list = append(list, finding("resumption-slower", shakedown.SeverityWarning, mechanismNames[m.name]+": slower than a full handshake", evidence,
				"the store of sessions or the way there is slow: tickets need none", ticketKeys...))
		}
	}
	for _, v := range []struct {
		version    shakedown.Version
		mechanisms []*mechanism
	}{{shakedown.TLS13, []*mechanism{psk}}, {shakedown.TLS12, []*mechanism{ticket, sessionID}}} {
		if works[v.version] || !p.allRefused(v.mechanisms) {
			continue
		}
		list = append(list, p.nothingResumes(v.version, v.mechanisms))
	}
	return list
}

// perWorker is the finding of a mechanism that works for some connections.
func (p *prober) perWorker(m *mechanism, r *Resumption, evidence string) shakedown.Finding {
	f := finding("state-per-worker", shakedown.SeverityWarning, mechanismNames[m.name]+": state is per worker",
		evidence, "keep sessions in one cache that all workers share (or per node, where a load balancer scatters clients: share ticket keys)", sharedCache...)
	t := p.seen.tickets(m.name)
	switch {
	case m == sessionID:
		// Clients that take tickets do without IDs.
		if other := p.seen.resumption(MechanismTicket, true); other != nil && other.State == StateAccepted {
			f.Severity = shakedown.SeverityInfo
			f.Evidence += "; clients that take tickets are not concerned"
		}
	case t != nil && t.Stateful:
		f.Evidence += "; tickets only name a session in the server's cache"
	case t != nil && len(t.Keys) > 1:
		f.Title = mechanismNames[m.name] + ": several ticket keys behind one address"
		f.Evidence += fmt.Sprintf("; %d key names: %s", len(t.Keys), keyList(t.Keys))
		f.Advice, f.Nginx = "give all workers and nodes the same ticket keys", ticketKeys
	case m == psk || m == ticket:
		f.Advice, f.Nginx = "give all workers and nodes the same ticket keys", ticketKeys
	}
	if r.Resumed == r.Tried {
		r = p.seen.resumption(m.name, false) // where the misses were
	}
	f.Cost = fmt.Sprintf("%.0f%% to %.0f%% of those that come back take a full handshake", 100*(1-r.High), 100*(1-r.Low))
	if gain := p.seen.gain(m); gain != "" {
		f.Cost += "; " + gain
	}
	return f
}

// allRefused reports whether every mechanism was seen not to work.
func (p *prober) allRefused(list []*mechanism) bool {
	for _, m := range list {
		if !p.seen.is("resume-"+m.name, shakedown.No) || p.seen.resumption(m.name, true) == nil {
			return false
		}
	}
	return true
}

func (p *prober) nothingResumes(v shakedown.Version, list []*mechanism) shakedown.Finding {
	evidence := ""
	for i, m := range list {
		if i > 0 {
			evidence += "; "
		}
		evidence += fmt.Sprintf("%s: %s", mechanismNames[m.name], p.seen.answer("resume-"+m.name).Evidence)
	}
	f := finding("no-resumption", shakedown.SeverityWarning, "nothing resumes in "+v.String(), evidence,
		"switch tickets on (ssl_session_tickets of the default server counts), or keep sessions in a cache that all workers share",
		append([]string{"ssl_session_tickets on;"}, sharedCache...)...)
	if full := p.seen.timing(shakedown.ModeFull, v); full != nil && full.ServerCPU.N > 0 {
		f.Cost = fmt.Sprintf("a full handshake each time: %s of server CPU (n=%d), %s of time (n=%d)", ms(full.ServerCPU.Median), full.ServerCPU.N, ms(full.Complete.Median), full.Complete.N)
	}
	return f
}

const (
	shortLifetime = 5 * time.Minute    // nginx's default, and not long for visitors
	longLifetime  = 7 * 24 * time.Hour // RFC 8446, section 4.6.1
)

func findTickets(p *prober, _ time.Time) []shakedown.Finding {
	var list []shakedown.Finding
	short := false
	for _, t := range p.seen.Tickets {
		name := mechanismNames[t.Mechanism]
		switch {
		case t.Lifetime == 0 && t.Mechanism == MechanismPSK:
			list = append(list, finding("ticket-lifetime", shakedown.SeverityWarning, name+": tickets are to be discarded at once", fmt.Sprintf("lifetime 0 in %s", plural(t.Seen, "ticket")),
				"set a lifetime", "ssl_session_timeout 1d;"))
		case t.Lifetime > longLifetime && t.Mechanism == MechanismPSK:
			list = append(list, finding("ticket-lifetime", shakedown.SeverityWarning, name+": ticket lifetime is over the seven days allowed", fmt.Sprintf("%s in %s (RFC 8446, section 4.6.1)", t.Lifetime, plural(t.Seen, "ticket")),
				"set a lifetime of a day or so", "ssl_session_timeout 1d;"))
		case t.Lifetime > 0 && t.Lifetime <= shortLifetime && !short:
			short = true // one setting makes both
			list = append(list, finding("ticket-lifetime", shakedown.SeverityInfo, fmt.Sprintf("sessions live for %.0f minutes only", t.Lifetime.Minutes()), fmt.Sprintf("the hint of %s", plural(t.Seen, "ticket")),
				"who comes back later takes a full handshake: let them live for hours", "ssl_session_timeout 1d;"))
		}
		if t.Mechanism == MechanismPSK && t.PerFull > 0 && t.PerResumption == 0 && p.seen.resumption(MechanismPSK, true).Resumed > 0 {
			list = append(list, finding("ticket-renewal", shakedown.SeverityWarning, "a resumed connection brings no new ticket",
				fmt.Sprintf("%d with a full handshake, none with those that resumed", t.PerFull),
				"browsers use a ticket once, and are soon out of them: nginx renews them with a key file since 1.21.6"))
		}
		if t.Stateful && t.Mechanism == MechanismPSK && p.seen.resumption(MechanismPSK, true).Verdict == shakedown.Yes {
			list = append(list, finding("stateful-tickets", shakedown.SeverityInfo, "TLS 1.3 tickets only name a session in the server's cache",
				fmt.Sprintf("%d bytes each, in %s", t.Bytes, plural(t.Seen, "ticket")),
				"each takes room in the cache, about 1,336 handshakes for each MB in nginx, and none works on another host: tickets with keys need neither", "ssl_session_tickets on;"))
		}
	}
	if p.seen.is("resume-psk-ke", shakedown.Yes) {
		list = append(list, finding("psk-ke", shakedown.SeverityInfo, "TLS 1.3 resumes without a key exchange", p.seen.answer("resume-psk-ke").Evidence,
			"it saves CPU and gives up forward secrecy: whoever gets the ticket key reads such connections"))
	}
	return list
}

// oldKey is how long a ticket key may be in use before it is worth a word.
const oldKey = 7 * 24 * time.Hour

func findKeys(p *prober, _ time.Time) []shakedown.Finding {
	for _, t := range p.seen.Tickets {
		for _, k := range t.Keys {
			if age := k.LastSeen.Sub(k.FirstSeen); age > oldKey {
				return []shakedown.Finding{finding("old-ticket-key", shakedown.SeverityWarning, "a ticket key has been in use for long",
					fmt.Sprintf("key %x: first seen %s, still in use after %s", k.Name[:8], k.FirstSeen.Format(time.RFC3339), age.Round(time.Hour)),
					"whoever gets it reads all that was resumed with it: rotate keys every day or so, the former one kept to decrypt", ticketKeys...)}
			}
		}
	}
	return nil
}

// keyList names keys with how often each was met.
func keyList(keys []KeyName) string {
	text := ""
	for i, k := range keys {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%x (%s)", k.Name[:8], plural(k.Tickets, "ticket"))
	}
	return text
}
