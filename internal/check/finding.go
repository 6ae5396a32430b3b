package check

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"shakedown"
	"shakedown/internal/stats"
)

// rules are what findings are made by, each from what was seen of one address.
// What was not answered gives no finding: there is nothing to say of it.
var rules = []func(*prober, time.Time) []shakedown.Finding{
	findResumption, findTickets, findKeys,
	findVersions, findSuites, findRetry, findHello,
	findChains, findExpiry, findKeyKinds, findStaples,
	findEarlyData, findStalls, findHTTP,
}

func (p *prober) findings(now time.Time) []shakedown.Finding {
	list := []shakedown.Finding{}
	for _, rule := range rules {
		list = append(list, rule(p, now)...)
	}
	return byWorst(list)
}

// finding makes one.
func finding(id string, s shakedown.Severity, title, evidence, advice string, nginx ...string) shakedown.Finding {
	return shakedown.Finding{ID: id, Severity: s, Title: title, Evidence: evidence, Advice: advice, Nginx: nginx}
}

// mechanismNames are what mechanisms are called in sentences.
var mechanismNames = map[string]string{
	MechanismPSK: "TLS 1.3 resumption", MechanismTicket: "TLS 1.2 tickets", MechanismSessionID: "TLS 1.2 session IDs",
}

// timing returns the row of a mode and version; nil if it was not timed.
func (o *Observation) timing(mode shakedown.Mode, v shakedown.Version) *Timing {
	for i := range o.Timing {
		if t := &o.Timing[i]; t.Mode == mode && t.Version == v {
			return t
		}
	}
	return nil
}

// gain says what a mechanism saves, as measured; empty if it was not, or if no
// difference was detected.
func (o *Observation) gain(m *mechanism) string {
	v := shakedown.TLS12
	if m == psk {
		v = shakedown.TLS13
	}
	t, full := o.timing(m.mode, v), o.timing(shakedown.ModeFull, v)
	if t == nil || full == nil {
		return ""
	}
	var parts []string
	if c := t.Saves; c != nil && c.Verdict == stats.Lower {
		parts = append(parts, fmt.Sprintf("a resumed handshake took %s of a full one's time (%s against %s)", ratio(c), ms(t.Complete.Median), ms(full.Complete.Median)))
	}
	if c := t.SavesCPU; c != nil && c.Verdict == stats.Lower {
		parts = append(parts, fmt.Sprintf("%s of its server CPU (%s against %s)", ratio(c), ms(t.ServerCPU.Median), ms(full.ServerCPU.Median)))
	}
	return strings.Join(parts, ", ")
}

// ratio prints a comparison with its interval.
func ratio(c *stats.Comparison) string {
	return fmt.Sprintf("%.0f%% (95%% interval %.0f%% to %.0f%%, n=%d rounds)", 100*c.Ratio, 100*c.Low, 100*c.High, c.A.N)
}

// ms prints nanoseconds.
func ms(ns float64) string {
	if math.IsNaN(ns) {
		return "?"
	}
	return fmt.Sprintf("%.3g ms", ns/1e6)
}

func findRetry(p *prober, _ time.Time) []shakedown.Finding {
	a := p.seen.answer("retry")
	if a.Verdict != shakedown.Yes {
		return nil
	}
	f := finding("retry", shakedown.SeverityWarning, "every handshake of a client of today takes a round trip more", a.Evidence,
		"take x25519, and X25519MLKEM768 where the library has it, beside the others",
		"ssl_ecdh_curve X25519:prime256v1:secp384r1;")
	var rtts []float64
	for _, o := range p.log {
		if d, ok := o.took(shakedown.PhaseStarted, shakedown.PhaseConnected); ok && o.ask.purpose == forTime {
			rtts = append(rtts, float64(d))
		}
	}
	if e := stats.Median(rtts); e.N >= stats.MinMedian {
		f.Cost = fmt.Sprintf("one round trip of %s (95%% interval %s to %s, n=%d connections)", ms(e.Median), ms(e.Low), ms(e.High), e.N)
	}
	return []shakedown.Finding{f}
}

func findHello(p *prober, _ time.Time) []shakedown.Finding {
	a := p.seen.answer("large-hello")
	if a.Verdict == shakedown.Yes || !p.seen.is("reach", shakedown.Yes) || a.Verdict == shakedown.Inconclusive && strings.Contains(a.Evidence, ErrBudget.Error()) {
		return nil
	}
	severity := shakedown.SeverityError
	if a.Verdict == shakedown.Inconclusive {
		severity = shakedown.SeverityWarning
	}
	return []shakedown.Finding{finding("large-hello", severity, "a ClientHello over one segment is not answered", a.Evidence,
		"clients with post-quantum key shares send such: look for a box between that expects the whole hello in one packet")}
}

func findStalls(p *prober, _ time.Time) []shakedown.Finding {
	stalls, of, where := p.stalled(forTime)
	if of < stats.MinMedian || 2*stalls < of {
		return nil
	}
	low, high := stats.Wilson(int64(stalls), int64(of))
	evidence := fmt.Sprintf("%d of %s one at a time (95%% interval %.0f%% to %.0f%%) stood still for 36 to 60 ms before %s", stalls, plural(of, "handshake"), 100*low, 100*high, where)
	switch left, tried, _ := p.stalled(forStall); {
	case tried == 0:
		evidence += "; it was not tried whether it goes away with prompt acknowledgements, so that it may also be what the server computes"
	case 2*left >= tried:
		return nil // it computes, or waits for something else
	default:
		evidence += fmt.Sprintf(", and %d of %d in which the client acknowledged at once", left, tried)
	}
	f := finding("stall", shakedown.SeverityWarning, "handshakes pause for about 40 ms", evidence,
		"the server waits for an acknowledgement before it sends the rest (Nagle's algorithm), and the client delays that: set TCP_NODELAY and write each flight at once",
		"tcp_nodelay on;")
	f.Cost = "about 40 ms a handshake"
	return []shakedown.Finding{f}
}

func findHTTP(p *prober, _ time.Time) []shakedown.Finding {
	var list []shakedown.Finding
	if a := p.seen.answer("hsts"); a.Verdict == shakedown.No && p.seen.HTTP != nil {
		list = append(list, finding("no-hsts", shakedown.SeverityInfo, "no HSTS: first requests in plain text cost a redirect", a.Evidence,
			"add the header once every name works over TLS", `add_header Strict-Transport-Security "max-age=31536000" always;`))
	}
	if a := p.seen.answer("http2"); a.Verdict == shakedown.No && p.seen.HTTP != nil {
		list = append(list, finding("no-http2", shakedown.SeverityInfo, "no HTTP/2: browsers open up to six connections, each with a handshake", a.Evidence,
			"offer h2 (http2 on; from nginx 1.25.1, before that the parameter of listen)", "listen 443 ssl http2;"))
	}
	return list
}

func findEarlyData(p *prober, _ time.Time) []shakedown.Finding {
	e := &p.seen.EarlyData
	switch {
	case p.seen.is("early-data-replay", shakedown.Yes):
		return []shakedown.Finding{finding("early-data-replay", shakedown.SeverityWarning, "recorded early data is served again", p.seen.answer("early-data-replay").Evidence,
			"let the application see that a request came early, and answer 425 to what must not be repeated (RFC 8470)", "proxy_set_header Early-Data $ssl_early_data;")}
	case e.Accepted > 0 && e.Retried:
		return []shakedown.Finding{finding("early-data-retry", shakedown.SeverityWarning, "early data is on and useless to clients of today", p.seen.answer("early-data").Evidence,
			"the server asks them for another key share, which rules early data out: take x25519", "ssl_ecdh_curve X25519:prime256v1:secp384r1;")}
	case e.Accepted > 0 && e.Status == http425:
		return []shakedown.Finding{finding("early-data-too-early", shakedown.SeverityInfo, "early data is accepted and this request answered 425", p.seen.answer("early-data").Evidence,
			"nothing is served twice, and nothing is gained: the request takes another round trip. Answer 425 only to what must not be repeated (RFC 8470), or switch early data off", "ssl_early_data off;")}
	case e.Accepted > 0:
		return []shakedown.Finding{finding("early-data", shakedown.SeverityInfo, "early data is on", p.seen.answer("early-data").Evidence,
			"whoever records it can send it again: see that only what may be repeated is served (--allow-replay shows whether it is)", "proxy_set_header Early-Data $ssl_early_data;")}
	}
	return nil
}

// fleetFindings are those of all addresses together.
func fleetFindings(r *Report) []shakedown.Finding {
	list := []shakedown.Finding{}
	for _, g := range r.Groups {
		if len(g.Addresses) < 2 || g.Untried > 0 {
			continue // what was not tried is no difference
		}
		total := 0
		for _, a := range g.Addresses {
			total += len(a)
		}
		f := finding("groups", shakedown.SeverityWarning, fmt.Sprintf("%s: %s that do not take each other's sessions", mechanismNames[g.Mechanism], plural(len(g.Addresses), "group")),
			fmt.Sprintf("%s; %s%s%s", g, pairSummary(r, g.Mechanism), groupKeys(r, g), scattered(r, g)),
			"give all the same ticket keys, and rotate them together", "ssl_session_ticket_key current.key;", "ssl_session_ticket_key previous.key;")
		if g.Mechanism == MechanismSessionID {
			f.ID, f.Severity, f.Nginx = "groups-session-id", shakedown.SeverityInfo, nil
			f.Advice = "most servers cannot share session caches between hosts: tickets with shared keys do the same"
		}
		if g.oneAddress() {
			f.ID, f.Severity, f.Nginx = "groups-names", shakedown.SeverityInfo, nil
			f.Title = fmt.Sprintf("%s: names of one address that do not take each other's sessions", mechanismNames[g.Mechanism])
			f.Advice = "clients offer a session under the name that gave it, and under another only if the certificate holds for both (RFC 8446, section 4.6.1)"
			list = append(list, f)
			continue
		}
		// A client that comes back to any of them with equal chance.
		meets := 0.0
		for _, a := range g.Addresses {
			meets += float64(len(a)*len(a)) / float64(total*total)
		}
		f.Cost = fmt.Sprintf("a client that comes back to any of the %d addresses alike meets its group %.0f%% of the time", total, 100*meets)
		list = append(list, f)
	}
	return byWorst(append(list, replayFindings(r)...))
}

// replayFindings are of early data that was served by one address and, the same
// bytes, by another.
func replayFindings(r *Report) []shakedown.Finding {
	var words []string
	for _, x := range r.Replays {
		if x.Accepted == shakedown.Yes && x.Status != http425 {
			words = append(words, fmt.Sprintf("of %s by %s: %s, HTTP status %d", x.Origin, x.Destination, x.Evidence, x.Status))
		}
	}
	if len(words) == 0 {
		return nil
	}
	return []shakedown.Finding{finding("early-data-replay-elsewhere", shakedown.SeverityWarning, "recorded early data is served by other addresses too", strings.Join(words, "; "),
		"a server's memory of what it has seen does not reach the others: answer 425 to what must not be repeated (RFC 8470), or switch early data off", "proxy_set_header Early-Data $ssl_early_data;")}
}

// groupKeys names the ticket keys of each group; empty if they have no names.
func groupKeys(r *Report, g Groups) string {
	text := ""
	for _, group := range g.Addresses {
		var keys []string
		for i := range r.Targets {
			t := r.Targets[i].Observation.tickets(g.Mechanism)
			if t == nil || !slices.Contains(group, r.Targets[i].Address) {
				continue
			}
			for _, k := range t.Keys {
				if name := fmt.Sprintf("%x", k.Name[:8]); !slices.Contains(keys, name) {
					keys = append(keys, name)
				}
			}
		}
		if len(keys) == 0 {
			return ""
		}
		text += " {" + strings.Join(keys, ", ") + "}"
	}
	return "; ticket keys:" + text
}

// scattered warns of addresses that do not even take all their own sessions.
func scattered(r *Report, g Groups) string {
	for i := range r.Targets {
		if row := r.Targets[i].Observation.resumption(g.Mechanism, true); row != nil && row.State == StatePerWorker {
			return fmt.Sprintf("; at %s state is per worker: a few sessions that are refused say little there", r.Targets[i].Address)
		}
	}
	return ""
}

// pairSummary counts the pairs of a mechanism between groups.
func pairSummary(r *Report, mechanism string) string {
	tried, resumed, pairs := 0, 0, 0
	for _, row := range r.Resumption {
		if row.Mechanism == mechanism && row.Resumed == 0 && row.Tried > 0 {
			pairs++
			tried, resumed = tried+row.Tried, resumed+row.Resumed
		}
	}
	_, high := stats.WilsonClustered(int64(resumed), int64(tried), leastEffect)
	return fmt.Sprintf("over %s of addresses in different groups, %d of %s were taken (95%% interval 0%% to %.0f%%)", plural(pairs, "pair"), resumed, plural(tried, "session"), 100*high)
}
