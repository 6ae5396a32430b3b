package check

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"shakedown"
	"shakedown/handshake"
)

// mechanism is a way to resume. Each is offered alone: a client that offers
// tickets as well would hide that session IDs do not work.
type mechanism struct {
	name string
	mode shakedown.Mode
	// prime is how many full handshakes fetch sessions, all at once, so that they
	// come from several workers.
	prime int
	// once: a session is offered once (RFC 8446, appendix C.4), for there are
	// servers that take it once.
	once bool
}

var (
	psk       = &mechanism{MechanismPSK, shakedown.ModePSK, 4, true}
	ticket    = &mechanism{MechanismTicket, shakedown.ModeTicket, 4, false}
	sessionID = &mechanism{MechanismSessionID, shakedown.ModeSessionID, 3, false}
)

// The numbers of tries. Six say whether there is anything to see; where the
// answer is mixed, more narrow the interval, and where nothing was taken, they go
// on until rare is ruled out.
const (
	firstWave  = 6
	nextWave   = 6
	mixedWave  = 12
	noneWave   = 12
	inSequence = 4
)

// ask fetches sessions and offers them, many connections open at once and then
// one after the other. Where all of a first wave were taken, it may have met one
// worker, and a second one is made, unless tickets say by their key's name that
// there is one key; those that are timed later are enough in sequence.
func (m *mechanism) ask(ctx context.Context, p *prober) shakedown.Answer {
	primed := m.fetch(ctx, p, max(2, m.prime-len(p.stock[m.name])))
	switch n := len(p.stock[m.name]); {
	case n == 0:
		return m.nothing(p, primed)
	case m.once && n < firstWave:
		m.fetch(ctx, p, firstWave-n) // each brought one only
	}
	atOnce, sequence := p.row(m.name), p.row(m.name)
	sequence.AtOnce = 1
	m.wave(ctx, p, &atOnce, firstWave)
	if all := atOnce.Tried > 0 && atOnce.Resumed == atOnce.Tried; all && !p.oneKey(m) {
		m.wave(ctx, p, &atOnce, nextWave)
	}
	if atOnce.Tried == 0 || atOnce.Resumed < atOnce.Tried {
		m.sequence(ctx, p, &sequence, inSequence)
	}
	m.ruleOut(ctx, p, &atOnce, &sequence)
	if both := together(&atOnce, &sequence); mixed(&both) && atOnce.Tried < firstWave+mixedWave {
		m.wave(ctx, p, &atOnce, mixedWave)
	}
	p.seen.Resumption = append(p.seen.Resumption, atOnce, sequence)
	return m.answer(p)
}

// row is an empty one of this address with itself.
func (p *prober) row(mechanism string) Resumption {
	name := p.target.Config.ServerName
	return Resumption{Mechanism: mechanism, Origin: p.address, Destination: p.address, OriginName: name, DestinationName: name}
}

// ruleOut goes on while nothing was taken and that is not no yet: one worker of
// several takes few.
func (m *mechanism) ruleOut(ctx context.Context, p *prober, atOnce, sequence *Resumption) {
	for {
		seen := together(atOnce, sequence)
		if seen.Resumed > 0 || seen.Tried == 0 || seen.Verdict == shakedown.No {
			return
		}
		n := min(noneWave, enough-seen.Tried)
		if p.alone {
			m.sequence(ctx, p, sequence, n)
		} else {
			m.wave(ctx, p, atOnce, n)
		}
		if atOnce.Tried+sequence.Tried == seen.Tried {
			return // the budget is used up, or it came to trouble
		}
	}
}

// narrow spends what is left of the budget on intervals: where all of one wave
// were taken and no other was made, one more is.
func (p *prober) narrow(ctx context.Context) {
	for _, m := range []*mechanism{psk, ticket, sessionID} {
		r := p.seen.resumption(m.name, true)
		if r == nil || r.State != StateAccepted || p.alone || p.left() < nextWave || r.Tried > firstWave {
			continue
		}
		m.wave(ctx, p, r, nextWave)
		if mixed(r) {
			m.wave(ctx, p, r, mixedWave)
		}
	}
}

// judge joins both rows into one state: what some connections got and others did
// not is not shared. Where connections at once are not served, those in sequence
// have to do.
func (m *mechanism) judge(p *prober) (atOnce, sequence *Resumption, both Resumption) {
	atOnce, sequence = p.seen.resumption(m.name, true), p.seen.resumption(m.name, false)
	atOnce.count()
	sequence.count()
	both = together(&Resumption{}, sequence)
	if served(atOnce) {
		both = together(atOnce, sequence)
	}
	atOnce.State, sequence.State = both.State, both.State
	atOnce.Verdict = both.Verdict
	return atOnce, sequence, both
}

// served reports whether a row made at once says anything: of a server that leaves
// most connections waiting, those that it served are no fair sample.
func served(atOnce *Resumption) bool { return atOnce.Tried > 0 && atOnce.Tried >= atOnce.Failed }

// answer is what the rows say, as they are now.
func (m *mechanism) answer(p *prober) shakedown.Answer {
	atOnce, sequence, both := m.judge(p)
	text := fmt.Sprintf("%s; %d at once: %s; in sequence: %s", atOnce.State, atOnce.AtOnce, proportion(atOnce), proportion(sequence))
	if mixed(atOnce) && served(atOnce) {
		text += fmt.Sprintf("; as if there were %s separate states", apart(atOnce))
	}
	switch {
	case both.Verdict == shakedown.No:
		text += fmt.Sprintf("; fewer than %.0f%% resume, at 95%%", math.Ceil(100*both.High))
	case both.Resumed == 0 && both.Tried > 0:
		text += fmt.Sprintf("; none of %d rules out only that more than %.0f%% resume, and no takes %.0f%%", both.Tried, 100*both.High, 100*rare)
	}
	if !served(atOnce) && sequence.Tried > 0 {
		text += "; connections open at once are not served, so that it cannot be told whether state is shared"
	}
	if n := atOnce.Failed + sequence.Failed; n > 0 {
		text += fmt.Sprintf("; %s came to trouble and are not counted", plural(n, "connection"))
	}
	for _, r := range p.remarks[m.name] {
		text += "; " + r
	}
	return shakedown.Answer{Verdict: atOnce.Verdict, Evidence: text}
}

// nothing is the answer when no session was received.
func (m *mechanism) nothing(p *prober, primed []*outcome) shakedown.Answer {
	row := p.row(m.name)
	row.AtOnce = len(primed)
	row.count()
	a := unsure("no full handshake was made")
	var late, none int
	for _, o := range primed {
		switch {
		case o.kind() != taken:
			a = unsure("%d full handshakes at once: %s", len(primed), o.word())
		case o.answered:
			none++
		default:
			late++
		}
	}
	what := "ticket"
	if m.mode == shakedown.ModeSessionID {
		what = "session ID"
	}
	switch {
	case none > 0:
		row.State, row.Verdict = StateNoneSent, shakedown.No
		a = no("%s: no %s in %s", StateNoneSent, what, plural(none, "full handshake"))
	case late > 0:
		row.State, row.Verdict = StateLate, shakedown.Inconclusive
		a = unsure("%s: no %s within %s of %s, and no response either", StateLate, what, patience, plural(late, "full handshake"))
	}
	p.seen.Resumption = append(p.seen.Resumption, row)
	return a
}

// fetch makes n full handshakes for sessions, all open at once.
func (m *mechanism) fetch(ctx context.Context, p *prober, n int) []*outcome {
	asks := make([]ask, n)
	for i := range asks {
		asks[i] = ask{config: p.config(m.mode)}
		p.vary(&asks[i].config, false)
	}
	outcomes := p.crowd(ctx, asks)
	for _, o := range outcomes {
		m.keep(p, o)
	}
	return outcomes
}

// pick returns a session of the stock, nil if there is none. Which one is left to
// chance: kernels hand connections to workers in patterns, and sessions offered in
// the order in which they came would meet their own workers again, or never.
func (m *mechanism) pick(p *prober) *handshake.Session {
	all := p.stock[m.name]
	if len(all) == 0 {
		return nil
	}
	i := rand.IntN(len(all))
	s := all[i]
	if m.once {
		p.stock[m.name] = slices.Delete(all, i, i+1)
	}
	return s
}

// newest returns the session that came last, nil if there is none: in sequence it
// most likely meets the worker that made it, as it does for scanners.
func (m *mechanism) newest(p *prober) *handshake.Session {
	all := p.stock[m.name]
	if len(all) == 0 {
		return nil
	}
	s := all[len(all)-1]
	if m.once {
		p.stock[m.name] = all[:len(all)-1]
	}
	return s
}

// fits reports whether a session was given for this mechanism.
func (m *mechanism) fits(s *handshake.Session) bool {
	if m.mode == shakedown.ModeSessionID {
		return len(s.SessionID) > 0
	}
	return len(s.Ticket) > 0
}

// keep puts what a connection brought into the stock.
func (m *mechanism) keep(p *prober, o *outcome) {
	for _, s := range o.sessions {
		if m.fits(s) {
			p.stock[m.name] = append(p.stock[m.name], s)
		}
	}
}

// try is an ask that offers a session.
func (m *mechanism) try(p *prober, s *handshake.Session) ask {
	a := ask{config: p.config(m.mode), session: s}
	p.vary(&a.config, true)
	return a
}

// wave offers up to n sessions, all connections open at once, and adds what came
// of it to row.
func (m *mechanism) wave(ctx context.Context, p *prober, row *Resumption, n int) {
	var asks []ask
	for len(asks) < n && !p.alone {
		s := m.pick(p)
		if s == nil {
			break
		}
		asks = append(asks, m.try(p, s))
	}
	row.AtOnce = max(row.AtOnce, len(asks), 2) // 2: even if none was made, it is not the row in sequence
	m.tally(p, row, p.crowd(ctx, asks))
}

// sequence offers n sessions, each connection closed before the next, and adds
// what came of it to row. A server with state for each worker takes some of them
// where it took none at once: both are needed to say no.
func (m *mechanism) sequence(ctx context.Context, p *prober, row *Resumption, n int) {
	for range n {
		s := m.newest(p)
		if s == nil {
			break
		}
		a := m.try(p, s)
		a.purpose = forTime
		m.tally(p, row, []*outcome{p.try(ctx, a)})
	}
}

// tally counts outcomes into a row, takes over new sessions, and remembers what
// was odd.
func (m *mechanism) tally(p *prober, row *Resumption, outcomes []*outcome) {
	row.add(outcomes...)
	for _, o := range outcomes {
		if o.kind() != taken {
			if w := o.word(); !slices.Contains(p.remarks[m.name], w) {
				p.remarks[m.name] = append(p.remarks[m.name], w)
			}
		} else if m.once || !o.resumed() {
			m.keep(p, o)
		}
	}
}

// askPSKOnly offers tickets for a resumption without a key exchange.
func askPSKOnly(ctx context.Context, p *prober) shakedown.Answer {
	row := p.row(MechanismPSKOnly)
	row.AtOnce = 1
	shared := p.seen.resumption(MechanismPSK, true).State == StateAccepted
	tries := 1
	if !shared {
		tries = 3 // one may have met another worker
	}
	last := ""
	for range tries {
		s := psk.newest(p)
		if s == nil || row.Resumed > 0 {
			break
		}
		a := psk.try(p, s)
		a.config.PSKOnly = true
		o := p.try(ctx, a)
		psk.tally(p, &row, []*outcome{o})
		last = o.word()
	}
	row.count()
	switch {
	case row.Resumed > 0:
		row.State = StateAccepted // whether by all is what was asked of psk
	case row.Tried > 0 && shared:
		// Whatever worker it met has the key: it was not for want of that.
		row.State, row.Verdict = StateRefused, shakedown.No
	}
	p.seen.Resumption = append(p.seen.Resumption, row)
	switch {
	case row.Tried == 0:
		return unsure("no try came to an end: %s", last)
	case row.Resumed > 0:
		return yes("%s in sequence; such a resumption has no forward secrecy", proportion(&row))
	case !shared:
		return unsure("%s in sequence, which says little where state is per worker", proportion(&row))
	}
	return no("%s in sequence, where all take the same tickets with a key exchange", proportion(&row))
}

// askReuse offers a ticket once more that was taken before.
func askReuse(ctx context.Context, p *prober) shakedown.Answer {
	for _, o := range p.log {
		if !o.resumed() || o.ask.config.Mode != shakedown.ModePSK {
			continue
		}
		again := p.try(ctx, psk.try(p, o.ask.session))
		psk.keep(p, again)
		switch {
		case again.kind() == refused:
			return no("%s to a ticket that was taken before", again.word())
		case again.kind() != taken:
			return again.unanswered()
		case again.resumed():
			return yes("a ticket that was taken before was taken again")
		}
		return no("a ticket that was taken before was refused: full handshake")
	}
	return unsure("no ticket was taken")
}

// revise brings the answers about resumption up to date with what was tried
// after they were given.
func (p *prober) revise() {
	for _, m := range []*mechanism{psk, ticket, sessionID} {
		if p.seen.resumption(m.name, false) == nil {
			continue
		}
		a := p.seen.find("resume-" + m.name)
		now := m.answer(p)
		a.Verdict, a.Evidence = now.Verdict, now.Evidence
	}
	r, reuse := p.seen.resumption(MechanismPSK, true), p.seen.find("ticket-reuse")
	if r != nil && reuse != nil && r.State == StatePerWorker && reuse.Verdict == shakedown.No {
		reuse.Verdict, reuse.Evidence = shakedown.Inconclusive, reuse.Evidence+"; where state is per worker, that may have other reasons"
	}
}
