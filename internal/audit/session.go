package audit

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"shakedown"
	"shakedown/internal/check"
	"shakedown/internal/lint"
	"shakedown/internal/nginx"
	"shakedown/internal/stek"
)

// What belongs to sessions: tickets, their keys and life, resumption by each mechanism, early data.

func on(s *nginx.Server, name string) bool { return s.Is(name, "on") }

// issued says whether tickets are given out in TLS 1.2 and 1.3 as ssl_session_tickets has it.
type issued string

const (
	stateless issued = "tickets"
	stateful  issued = "tickets that are no more than a key of the server's cache"
	nothing   issued = "no tickets"
)

// mixed reports whether tickets are on and off on one socket, which before 1.29.2 breaks TLS 1.3 (rule DEF-TICKETS-MIX).
func (v *view) mixed() bool {
	return v.before(1, 29, 2) && on(v.decider, "ssl_session_tickets") != on(v.server, "ssl_session_tickets")
}

// expectTickets is what the file comes to in each version.
func (v *view) expectTickets() (in12, in13 issued) {
	switch named := on(v.server, "ssl_session_tickets"); {
	case v.mixed() && named:
		return nothing, stateless // and dead
	case v.mixed():
		return nothing, nothing
	case lint.AntiReplayKills(v.decider):
		return stateless, stateful
	case named:
		return stateless, stateless
	}
	return nothing, stateful
}

func tickets(v *view) []*row {
	in12, in13 := v.expectTickets()
	var want, got []string
	agree, open := true, ""
	look := func(version shakedown.Version, mechanism string, expected issued) {
		if !v.spoken(version) {
			return
		}
		found, why := v.issued(mechanism)
		want = append(want, fmt.Sprintf("%s in %s", expected, version))
		if found == "" {
			open = fmt.Sprintf("%s: %s", version, why)
			return
		}
		if expected == stateful && found == stateless && on(v.decider, "ssl_session_tickets") != on(v.server, "ssl_session_tickets") {
			open = fmt.Sprintf("%s: those that came without a name are among the tickets seen", version)
			return
		}
		got = append(got, fmt.Sprintf("%s in %s", found, version))
		agree = agree && found == expected
	}
	look(shakedown.TLS12, check.MechanismTicket, in12)
	if n, _ := lint.Command(v.decider, "NumTickets"); n != "0" {
		look(shakedown.TLS13, check.MechanismPSK, in13)
	}
	if len(want) == 0 {
		return nil
	}
	expected := strings.Join(want, ", ")
	if v.mixed() {
		expected += fmt.Sprintf(" (%s here, %s in the default server %s)", v.server.Get("ssl_session_tickets").Words, v.decider.Get("ssl_session_tickets").Words, v.decider.Name())
	}
	r := v.setting(v.server, "ssl_session_tickets", expected)
	if agree && open != "" {
		return r.open("%s", open)
	}
	return r.settle(agree, "%s", strings.Join(got, ", "))
}

// issued says what tickets of a mechanism were; empty if that is not known, for the reason. That none came counts first:
// among the tickets seen are those of handshakes without a name, which the default server gave.
func (v *view) issued(mechanism string) (kind issued, why string) {
	for _, r := range v.seen.Resumption {
		if r.Mechanism == mechanism && r.State == check.StateNoneSent {
			return nothing, ""
		}
	}
	if t := v.tickets(mechanism); t != nil {
		if t.Stateful {
			return stateful, ""
		}
		return stateless, ""
	}
	return "", v.answer("resume-" + mechanism).Evidence
}

func (v *view) tickets(mechanism string) *check.Tickets {
	i := slices.IndexFunc(v.seen.Tickets, func(t check.Tickets) bool { return t.Mechanism == mechanism })
	if i < 0 {
		return nil
	}
	return &v.seen.Tickets[i]
}

// keys holds the names that tickets begin with against the key files. The first file's key is to be seen and no other.
func keys(v *view) []*row {
	files := v.decider.Get("ssl_session_ticket_key").Directives
	if len(files) == 0 {
		return nil // keys of nginx's own making have no names known before
	}
	if in12, in13 := v.expectTickets(); in12 != stateless && in13 != stateless {
		return nil
	}
	r := v.setting(v.decider, "ssl_session_ticket_key", "")
	r.place = files[0]
	var names []string
	for _, f := range files {
		key, err := stek.ReadKey(v.model.Config.Resolve(f.Arg(0)))
		if err != nil {
			r.Expected = "the key of " + files[0].Arg(0)
			return r.open("%s is not read: %v", f.Arg(0), err)
		}
		names = append(names, key.Name())
	}
	r.Expected = fmt.Sprintf("%s of %s%s", names[0], files[0].Arg(0), v.inherited("ssl_session_ticket_key"))
	var seen []string
	random := false
	for _, t := range v.seen.Tickets {
		random = random || t.KeyName == check.KeyNameRandom
		for _, k := range t.Keys {
			text, _ := k.Name.MarshalText() // it has no error
			if name := string(text); !slices.Contains(seen, name) {
				seen = append(seen, name)
			}
		}
	}
	switch {
	case len(seen) == 0 && random:
		return r.settle(false, "tickets that begin with no key name")
	case len(seen) == 0:
		return r.open("too few tickets to tell the name of a key")
	}
	var words []string
	for _, name := range seen {
		where := "none of the files"
		if i := slices.Index(names, name); i >= 0 {
			where = files[i].Arg(0)
		}
		words = append(words, fmt.Sprintf("%s of %s", name, where))
	}
	return r.settle(len(seen) == 1 && seen[0] == names[0], "%s", strings.Join(words, " and "))
}

// lifetime compares ssl_session_timeout with the hint of tickets, which in TLS 1.3 is seven days at most (RFC 8446, section
// 4.6.1).
func lifetime(v *view) []*row {
	want := lint.Timeout(v.decider)
	r := v.setting(v.decider, "ssl_session_timeout", want.String()+v.inherited("ssl_session_timeout"))
	if len(v.seen.Tickets) == 0 {
		return r.open("no ticket came that would tell")
	}
	const week = 7 * 24 * time.Hour
	agree := true
	var got []string
	for _, t := range v.seen.Tickets {
		if t.Mechanism == check.MechanismPSK {
			agree = agree && t.Lifetime == min(want, week)
		} else {
			agree = agree && t.Lifetime == want
		}
		if text := t.Lifetime.String(); !slices.Contains(got, text) {
			got = append(got, text)
		}
	}
	return r.settle(agree, "a lifetime hint of %s", strings.Join(got, " and "))
}

// excused says why resumption cannot be told from outside; empty if it can.
func (v *view) excused() string {
	if !v.server.Is("ssl_verify_client", "off") {
		return "client certificates are asked for, and none was shown"
	}
	return ""
}

func resume13(v *view) []*row {
	if !v.spoken(shakedown.TLS13) {
		return nil
	}
	cache := v.decider.Cache()
	expected, want, shared, place := "resumption by ticket", shakedown.Yes, true, v.server
	switch _, in13 := v.expectTickets(); {
	case v.mixed():
		expected, want = "no resumption: tickets are on and off on this socket", shakedown.No
	case lint.AntiReplayKills(v.decider):
		expected, want = "no resumption: AntiReplay needs a cache that is off", shakedown.No
	case in13 == stateless:
	case cache.Shared():
		expected = "resumption from the shared cache " + cache.Zone
	case cache.Builtin:
		expected, shared = "resumption from a cache in each worker", false
	default:
		expected, want = fmt.Sprintf("no resumption: tickets off, session cache %s", cache.Mode), shakedown.No
	}
	if n, _ := lint.Command(v.decider, "NumTickets"); n == "0" && want == shakedown.Yes {
		expected, want = "no resumption: NumTickets is 0", shakedown.No
	}
	r := v.setting(place, "ssl_session_tickets", expected)
	r.Setting = "TLS 1.3 resumption"
	return v.resumption(r, check.MechanismPSK, want, shared)
}

func resumeID(v *view) []*row {
	if !v.spoken(shakedown.TLS12) {
		return nil
	}
	cache := v.decider.Cache()
	expected, want, shared := "resumption from the shared cache "+cache.Zone, shakedown.Yes, true
	switch {
	case cache.Shared():
	case cache.Builtin:
		expected, shared = "resumption from a cache in each worker", false
	default:
		expected, want = "no resumption: session cache "+cache.Mode, shakedown.No
	}
	r := v.setting(v.decider, "ssl_session_cache", expected+v.inherited("ssl_session_cache"))
	r.Setting = "session-ID resumption"
	return v.resumption(r, check.MechanismSessionID, want, shared)
}

// resumption settles a row by the tries of a mechanism. Where all workers share the state, a part is as little as expected.
func (v *view) resumption(r *row, mechanism string, want shakedown.Verdict, shared bool) []*row {
	a := v.answer("resume-" + mechanism)
	if why := v.excused(); why != "" {
		return r.open("%s: %s", why, a.Evidence)
	}
	if a.Verdict == shakedown.Yes && want == shakedown.Yes && shared {
		part := slices.ContainsFunc(v.seen.Resumption, func(r check.Resumption) bool {
			return r.Mechanism == mechanism && r.State == check.StatePerWorker
		})
		if part && v.report.Options.Hosts > 1 {
			return r.open("several hosts may answer here: %s", a.Evidence)
		}
		return r.settle(!part, "%s", a.Evidence)
	}
	return v.byAnswer(r, "resume-"+mechanism, want)
}

// earlyData goes by what tickets allow; the default server decides for every name.
func earlyData(v *view) []*row {
	if !v.spoken(shakedown.TLS13) {
		return nil
	}
	r := v.setting(v.decider, "ssl_early_data", v.decider.Get("ssl_early_data").Words+v.inherited("ssl_early_data"))
	t := v.tickets(check.MechanismPSK)
	if t == nil {
		return r.open("no ticket came that would tell")
	}
	seen := "tickets allow none"
	if t.MaxEarlyData > 0 {
		seen = fmt.Sprintf("tickets allow %d bytes", t.MaxEarlyData)
	}
	return r.settle(on(v.decider, "ssl_early_data") == (t.MaxEarlyData > 0), "%s", seen)
}
