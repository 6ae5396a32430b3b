package lab

import (
	"context"
	"net/netip"
	"slices"

	"shakedown"
	"shakedown/handshake"
	"shakedown/internal/check"
	"shakedown/internal/server"
)

// question puts the questions of check to a server whose answers its spec
// settles: the versions, all of its certificates, and what becomes of sessions
// that many connections offer at once. It takes some dozens of connections, so
// a cell is asked once in a run and confirmed by [confirm] before each turn.
func (c *Confirmation) question(ctx context.Context, cell *Cell, s *server.Server) {
	ids := []string{"http", "certificates"}
	if len(cell.Spec.Versions) > 0 {
		ids = append(ids, "tls12", "tls13")
	}
	modes := resumptionModes(cell)
	for _, m := range modes {
		ids = append(ids, "resume-"+mechanism(m))
	}
	r, err := check.Run(ctx, check.Plan{
		Targets: []check.Target{{
			Target:  shakedown.Target{Host: s.Name, Port: s.Addr.Port(), ServerName: s.Name, Addresses: []netip.Addr{s.Addr.Addr()}},
			Config:  handshake.Config{ServerName: s.Name},
			Request: []byte("GET / HTTP/1.1\r\nHost: " + s.Name + "\r\n\r\n"),
		}},
		Questions: ids, Rate: questionRate, Timeout: probeTime,
	})
	if err != nil {
		c.wrong("it could not be asked: %v", err)
		return
	}
	o := &r.Targets[0].Observation
	c.saw("%d connections of check", r.Connections)
	for _, a := range o.Answers {
		c.saw("%s %s: %s", a.Title, a.Verdict, a.Evidence)
	}
	c.versions(cell, o)
	c.certificates(cell, o)
	for _, m := range modes {
		c.sessions(cell, o, m)
	}
}

// questionRate is in connections a second: the server is there to be measured.
const questionRate = 10_000

// versions holds the answers against the versions that the spec has.
func (c *Confirmation) versions(cell *Cell, o *check.Observation) {
	if len(cell.Spec.Versions) == 0 {
		return
	}
	for _, v := range []shakedown.Version{shakedown.TLS12, shakedown.TLS13} {
		id := map[shakedown.Version]string{shakedown.TLS12: "tls12", shakedown.TLS13: "tls13"}[v]
		i := slices.IndexFunc(o.Answers, func(a shakedown.Answer) bool { return a.ID == id })
		switch a, has := o.Answers[i], slices.Contains(cell.Spec.Versions, v); {
		case has && a.Verdict == shakedown.No:
			c.wrong("it does not speak %s: %s", v, a.Evidence)
		case !has && a.Verdict == shakedown.Yes:
			c.wrong("it speaks %s, which is not among its versions", v)
		}
	}
}

// certificates wants each certificate of the spec to be found.
func (c *Confirmation) certificates(cell *Cell, o *check.Observation) {
	if !slices.ContainsFunc(o.Answers, func(a shakedown.Answer) bool { return a.ID == "certificates" && a.Verdict == shakedown.Yes }) {
		return
	}
	for _, k := range cell.Spec.Certificates {
		if !slices.ContainsFunc(o.Certificates, func(f check.Certificate) bool { return f.Chain.Key() == chainName(k) }) {
			c.wrong("no certificate with a key of %s was found", chainName(k))
		}
	}
}

// sessions holds what became of sessions against what the spec means for them.
// What check could not tell is no contradiction.
func (c *Confirmation) sessions(cell *Cell, o *check.Observation, m shakedown.Mode) {
	i := slices.IndexFunc(o.Resumption, func(r check.Resumption) bool { return r.Mechanism == mechanism(m) && r.AtOnce > 1 })
	if i < 0 {
		return
	}
	state := o.Resumption[i].State
	some := state == check.StateAccepted || state == check.StateSlower || state == check.StatePerWorker
	all := some && state != check.StatePerWorker
	none := state == check.StateNoneSent || state == check.StateRefused
	switch want := expected(cell.Spec, m); {
	case want == always && (none || some && !all):
		c.wrong("sessions for %s are to resume on every worker: %s", m, state)
	case want == never && some:
		c.wrong("sessions for %s are not to resume: %s", m, state)
	}
}

// mechanism is what check calls a mode's sessions.
func mechanism(m shakedown.Mode) string {
	switch m {
	case shakedown.ModeTicket:
		return check.MechanismTicket
	case shakedown.ModeSessionID:
		return check.MechanismSessionID
	}
	return check.MechanismPSK // early data rides on it
}

// resumptionModes are those whose sessions the cell is about.
func resumptionModes(c *Cell) []shakedown.Mode {
	var modes []shakedown.Mode
	for _, share := range c.plan.Mix {
		if share.Mode.Resumes() {
			modes = append(modes, share.Mode)
		}
	}
	if c.Spec.Tickets == server.TicketsOff && len(modes) == 0 {
		modes = append(modes, byTicket(c))
	}
	return modes
}
