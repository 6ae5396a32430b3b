package check

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

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
	psk       = &mechanism{MechanismPSK, shakedown.ModePSK, 6, true}
	ticket    = &mechanism{MechanismTicket, shakedown.ModeTicket, 4, false}
	sessionID = &mechanism{MechanismSessionID, shakedown.ModeSessionID, 4, false}
)

// The numbers of tries. Six say whether there is anything to see; where the
// answer is mixed, more narrow the interval.
const (
	firstWave  = 6
	nextWave   = 6
	mixedWave  = 12
	inSequence = 4
)

// ask fetches sessions and offers them, many connections open at once and then
// one after the other.
func (m *mechanism) ask(ctx context.Context, p *prober) shakedown.Answer {
	primed := m.primeAll(ctx, p)
	if len(p.stock[m.name]) == 0 {
		return m.nothing(p, primed)
	}
	atOnce, remarks := m.wave(ctx, p, firstWave)
	if atOnce.Resumed == atOnce.Tried && atOnce.Tried > 0 {
		m.more(ctx, p, &atOnce, &remarks, nextWave)
	}
	sequence, _ := m.sequence(ctx, p, inSequence)
	if mixed(&atOnce) || sequence.Resumed > 0 && atOnce.Resumed == 0 {
		m.more(ctx, p, &atOnce, &remarks, mixedWave)
	}
	atOnce.count()
	sequence.count()
	m.judge(&atOnce, &sequence)
	p.seen.Resumption = append(p.seen.Resumption, atOnce, sequence)
	return m.answer(&atOnce, &sequence, remarks)
}

func mixed(r *Resumption) bool { return r.Resumed > 0 && r.Resumed < r.Tried }

// judge joins both rows into one state: what some connections got in one way
// and not in the other is not shared.
func (m *mechanism) judge(atOnce, sequence *Resumption) {
	if atOnce.Resumed == 0 && sequence.Resumed > 0 || mixed(sequence) && atOnce.Tried > 0 {
		atOnce.State, atOnce.Verdict = StatePerWorker, shakedown.Yes
	}
	if sequence.Resumed > 0 && atOnce.Tried > 0 {
		sequence.State = atOnce.State
	}
}

func (m *mechanism) answer(atOnce, sequence *Resumption, remarks []string) shakedown.Answer {
	text := fmt.Sprintf("%s; at once %s; in sequence %s", atOnce.State, proportion(atOnce), proportion(sequence))
	if atOnce.State == StatePerWorker && atOnce.Resumed > 0 {
		text += fmt.Sprintf("; as if there were %s separate states", apart(atOnce))
	}
	if n := atOnce.Failed + sequence.Failed; n > 0 {
		text += fmt.Sprintf("; %s came to trouble and are not counted", plural(n, "connection"))
	}
	for _, r := range remarks {
		text += "; " + r
	}
	switch {
	case atOnce.Tried+sequence.Tried == 0:
		return unsure("no try came to an end: %s", strings.Join(remarks, "; "))
	case atOnce.Tried == 0:
		// In sequence alone it cannot be told whether state is shared.
		return unsure("%s", text)
	case atOnce.Resumed+sequence.Resumed == 0:
		return no("%s", text)
	}
	return yes("%s", text)
}

// proportion prints a row: never a number without its interval.
func proportion(r *Resumption) string {
	if r.Tried == 0 {
		return "not tried"
	}
	return fmt.Sprintf("%d of %d (95%% interval %.0f%% to %.0f%%)", r.Resumed, r.Tried, 100*r.Low, 100*r.High)
}

// apart is how many equal and separate states would give the interval of r.
func apart(r *Resumption) string {
	low, high := 1/r.High, 1/max(r.Low, 1e-9)
	return fmt.Sprintf("%.0f to %.0f", max(2, low), max(2, high))
}

// nothing is the answer when no session was received.
func (m *mechanism) nothing(p *prober, primed []*outcome) shakedown.Answer {
	row := Resumption{Mechanism: m.name, Origin: p.address, Destination: p.address, AtOnce: len(primed)}
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
	if m == sessionID {
		what = "session ID"
	}
	switch {
	case none > 0:
		row.State, row.Verdict = StateNoneSent, shakedown.No
		a = no("%s: no %s in %s", StateNoneSent, what, plural(none, "full handshake"))
	case late > 0:
		row.State = StateLate
		a = unsure("%s: no %s within %s of %s, and no response either", StateLate, what, patience, plural(late, "full handshake"))
	}
	p.seen.Resumption = append(p.seen.Resumption, row)
	return a
}

// primeAll fetches sessions, those connections all open at once.
func (m *mechanism) primeAll(ctx context.Context, p *prober) []*outcome {
	asks := make([]ask, m.prime)
	for i := range asks {
		asks[i] = ask{config: p.config(m.mode)}
	}
	outcomes := p.wave(ctx, asks)
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
	if m == sessionID {
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
	return ask{config: p.config(m.mode), session: s}
}

// wave offers up to n sessions, all connections open at once.
func (m *mechanism) wave(ctx context.Context, p *prober, n int) (Resumption, []string) {
	var asks []ask
	for len(asks) < n {
		s := m.pick(p)
		if s == nil {
			break
		}
		asks = append(asks, m.try(p, s))
	}
	row := Resumption{Mechanism: m.name, Origin: p.address, Destination: p.address, AtOnce: len(asks)}
	return row, m.tally(p, &row, p.wave(ctx, asks))
}

// more adds another wave to a row.
func (m *mechanism) more(ctx context.Context, p *prober, row *Resumption, remarks *[]string, n int) {
	next, more := m.wave(ctx, p, n)
	row.AtOnce = max(row.AtOnce, next.AtOnce)
	row.Tried, row.Resumed, row.Failed = row.Tried+next.Tried, row.Resumed+next.Resumed, row.Failed+next.Failed
	for _, r := range more {
		if !slices.Contains(*remarks, r) {
			*remarks = append(*remarks, r)
		}
	}
}

// sequence offers n sessions, each connection closed before the next. A server
// with state for each worker takes some of them where it took none at once: both
// are needed to say no.
func (m *mechanism) sequence(ctx context.Context, p *prober, n int) (Resumption, []string) {
	row := Resumption{Mechanism: m.name, Origin: p.address, Destination: p.address, AtOnce: 1}
	var remarks []string
	for range n {
		s := m.newest(p)
		if s == nil {
			break
		}
		a := m.try(p, s)
		a.purpose = forTime
		remarks = m.tally(p, &row, []*outcome{p.try(ctx, a)})
	}
	return row, remarks
}

// tally counts outcomes into a row, takes over new sessions, and returns what was
// odd. A handshake that ends in an alert because a session was offered is a try
// that did not resume.
func (m *mechanism) tally(p *prober, row *Resumption, outcomes []*outcome) []string {
	var remarks []string
	for _, o := range outcomes {
		switch o.kind() {
		case taken:
			row.Tried++
			if o.resumed() {
				row.Resumed++
			}
			if m.once || !o.resumed() {
				m.keep(p, o)
			}
			continue
		case refused:
			row.Tried++
		case trouble:
			row.Failed++
		case untried:
		}
		if w := o.word(); !slices.Contains(remarks, w) {
			remarks = append(remarks, w)
		}
	}
	return remarks
}

// askPSKOnly offers tickets for a resumption without a key exchange.
func askPSKOnly(ctx context.Context, p *prober) shakedown.Answer {
	row := Resumption{Mechanism: MechanismPSKOnly, Origin: p.address, Destination: p.address, AtOnce: 1}
	var remarks []string
	tries := 1
	if r := p.seen.resumption(MechanismPSK, true); r == nil || r.State != StateAccepted {
		tries = 3 // one may have met another worker
	}
	for range tries {
		s := psk.newest(p)
		if s == nil {
			break
		}
		a := psk.try(p, s)
		a.config.PSKOnly = true
		remarks = psk.tally(p, &row, []*outcome{p.try(ctx, a)})
		if row.Resumed > 0 {
			break
		}
	}
	row.count()
	if row.State == StatePerWorker { // after one refusal and one acceptance
		row.State = StateAccepted
	}
	p.seen.Resumption = append(p.seen.Resumption, row)
	switch {
	case row.Tried == 0:
		return unsure("no try came to an end: %s", strings.Join(remarks, "; "))
	case row.Resumed > 0:
		return yes("%s in sequence; such a resumption has no forward secrecy", proportion(&row))
	case p.seen.resumption(MechanismPSK, true).State == StatePerWorker:
		return unsure("%s in sequence, which says little where state is per worker", proportion(&row))
	}
	return no("%s in sequence", proportion(&row))
}

// askReuse offers one ticket until it is taken, and then once more.
func askReuse(ctx context.Context, p *prober) shakedown.Answer {
	r := p.seen.resumption(MechanismPSK, true)
	if r == nil || r.State == StatePerWorker {
		return unsure("where state is per worker, a refusal has other reasons")
	}
	for _, o := range p.log {
		if !o.resumed() || o.ask.config.Mode != shakedown.ModePSK {
			continue
		}
		again := p.try(ctx, psk.try(p, o.ask.session))
		psk.tally(p, new(Resumption), []*outcome{again})
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
