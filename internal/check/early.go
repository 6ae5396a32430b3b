package check

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"time"

	"shakedown"
	"shakedown/handshake"
)

// askEarlyData sends the request as early data. Where a HelloRetryRequest rules
// that out, it is tried again with a share of the server's own group.
func askEarlyData(ctx context.Context, p *prober) shakedown.Answer {
	if len(p.target.Request) == 0 {
		return unsure("no request was given to send")
	}
	seen := &p.seen.EarlyData
	var share []shakedown.Group
	var last *outcome
	for range 3 {
		s := earlySession(p)
		if s == nil {
			if seen.Tried == 0 {
				return no("no ticket allows early data")
			}
			break
		}
		c := p.config(shakedown.ModeEarlyData)
		c.Request = p.target.Request
		if share != nil {
			c = withShares(c, share...)
		}
		o := p.try(ctx, ask{config: c, session: s})
		if o.kind() != taken {
			return o.unanswered()
		}
		last = o
		psk.keep(p, o)
		seen.Tried++
		if o.response != nil {
			seen.Status = o.response.StatusCode
		}
		if o.Observed.EarlyData == shakedown.EarlyDataAccepted {
			seen.Accepted++
			where := ""
			if seen.Retried {
				where = ", with a share of the group that it asks for"
			}
			return yes("%d of %s%s; %s", seen.Accepted, plural(seen.Tried, "try"), where, seen.status())
		}
		if o.Observed.HelloRetryRequest {
			seen.Retried, share = true, []shakedown.Group{o.Observed.Group}
		}
	}
	if r := p.seen.resumption(MechanismPSK, true); r != nil && r.State == StatePerWorker {
		return unsure("none of %s, which says little where state is per worker", plural(seen.Tried, "try"))
	}
	return no("none of %s was accepted, though tickets allow %d bytes (last: %s, %s)", plural(seen.Tried, "try"), seen.MaxBytes, last.Observed.Mode, last.Observed.EarlyData)
}

// status says how the request was answered.
func (e *EarlyData) status() string {
	switch e.Status {
	case 0:
		return "no response was seen"
	case http425:
		return "answered 425 (Too Early): a client has to send the request again"
	}
	return fmt.Sprintf("HTTP status %d", e.Status)
}

// earlySession takes a session from the stock that allows early data.
func earlySession(p *prober) *handshake.Session {
	all := p.stock[MechanismPSK]
	i := slices.IndexFunc(all, func(s *handshake.Session) bool { return int64(s.MaxEarlyData) >= int64(len(p.target.Request)) })
	if i < 0 {
		return nil
	}
	s := all[i]
	p.stock[MechanismPSK] = slices.Delete(all, i, i+1)
	return s
}

// askReplay sends the same bytes twice, as an attacker who recorded them would.
func askReplay(ctx context.Context, p *prober) shakedown.Answer {
	if !p.plan.AllowReplay {
		return unsure("not tried: it takes --allow-replay, since the request is served twice")
	}
	if !bytes.HasPrefix(p.target.Request, []byte("GET ")) {
		return unsure("not tried: only a GET may be repeated")
	}
	s := earlySession(p)
	if s == nil {
		return unsure("no ticket that allows early data is left")
	}
	flight := newReplay(p, s)
	first := p.replay(ctx, flight)
	if first.kind() != taken || first.Observed.EarlyData != shakedown.EarlyDataAccepted {
		return unsure("the first time it was not accepted: %s", first.word())
	}
	again := p.replay(ctx, flight)
	if !flight.same {
		return unsure("the second ClientHello did not come out the same")
	}
	n := 0
	if again.kind() == taken && again.Observed.EarlyData == shakedown.EarlyDataAccepted {
		n = 1
	}
	p.seen.EarlyData.Replayed = &n
	switch {
	case n > 0 && again.tooEarly():
		return no("accepted again, but answered 425 (Too Early)")
	case n > 0 && first.tooEarly():
		// The server took it for complete, since our Finished had come by then. Who
		// only recorded the flight cannot send that.
		return no("answered 425 (Too Early) the first time, and the second time only after the handshake was complete")
	case n > 0:
		return yes("the same %d bytes were accepted twice", flight.size)
	case again.kind() == trouble || again.kind() == untried:
		return again.unanswered()
	}
	return no("the same bytes were not accepted again: %s", again.word())
}

const http425 = 425 // Too Early (RFC 8470, section 5.2)

// tooEarly reports whether the request was answered 425.
func (o *outcome) tooEarly() bool { return o.response != nil && o.response.StatusCode == http425 }

// flight is a ClientHello with early data that can be made again, byte for byte:
// its randomness and its clock stand still, and its key share is constant.
type flight struct {
	ask   ask
	bytes []byte // of the first time
	size  int
	same  bool
}

func newReplay(p *prober, s *handshake.Session) *flight {
	c := p.config(shakedown.ModeEarlyData)
	c.Request, c.Work = p.target.Request, shakedown.WorkMinimal
	if g := p.seen.Usual.Group; p.seen.EarlyData.Retried {
		c = withShares(c, g)
	}
	now := time.Now()
	c.Time = func() time.Time { return now }
	return &flight{ask: ask{config: c, session: s}}
}

// replay sends the flight, and compares it with what was sent the first time.
func (p *prober) replay(ctx context.Context, f *flight) *outcome {
	f.ask.config.Rand = rand.NewChaCha8([32]byte{})
	f.ask.record = func(sent []byte) {
		if f.bytes == nil {
			f.bytes, f.size = sent, len(sent)
			return
		}
		f.same = bytes.Equal(f.bytes, sent)
	}
	return p.once(ctx, f.ask)
}

// recorded is a connection that keeps what is written before anything is read.
type recorded struct {
	net.Conn
	sent []byte
	done func([]byte)
}

func (r *recorded) Write(b []byte) (int, error) {
	if r.done != nil {
		r.sent = append(r.sent, b...)
	}
	return r.Conn.Write(b)
}

func (r *recorded) Read(b []byte) (int, error) {
	if r.done != nil {
		r.done(r.sent)
		r.done = nil
	}
	return r.Conn.Read(b)
}

// Replay is early data that one address accepted, sent again to another.
type Replay struct {
	Origin          netip.AddrPort `json:"origin"`
	Destination     netip.AddrPort `json:"destination"`
	OriginName      string         `json:"origin_name"`
	DestinationName string         `json:"destination_name"`
	// Accepted is yes if the same bytes were accepted there too.
	Accepted shakedown.Verdict `json:"accepted"`
	Status   int               `json:"status"` // of the response; 425 refuses the request
	Evidence string            `json:"evidence"`
}

// replayElsewhere sends early data of one address to the others that take its
// sessions: a memory of what was seen that is not shared does not help.
func replayElsewhere(ctx context.Context, probers []*prober, groups []Groups) []Replay {
	var list []Replay
	for _, g := range groups {
		for _, group := range g.Members() {
			if g.Mechanism != MechanismPSK {
				continue
			}
			var origin *prober
			for _, member := range group {
				at := slices.IndexFunc(probers, func(p *prober) bool { return p.place() == member })
				switch p := probers[at]; {
				case !p.plan.AllowReplay || !bytes.HasPrefix(p.target.Request, []byte("GET ")):
				case origin == nil:
					origin = p
				default:
					list = append(list, origin.replayAt(ctx, p))
				}
			}
		}
	}
	return list
}

// replayAt sends early data to its origin, and the same bytes to another.
func (p *prober) replayAt(ctx context.Context, to *prober) Replay {
	from, at := p.place(), to.place()
	r := Replay{from.Address, at.Address, from.Name, at.Name, shakedown.Inconclusive, 0, "no ticket that allows early data is left"}
	s := earlySession(p)
	if s == nil {
		return r
	}
	flight := newReplay(p, s)
	first := p.replay(ctx, flight)
	if first.kind() != taken || first.Observed.EarlyData != shakedown.EarlyDataAccepted {
		r.Evidence = "the first time it was not accepted: " + first.word()
		return r
	}
	again := to.replay(ctx, flight)
	if again.response != nil {
		r.Status = again.response.StatusCode
	}
	switch {
	case !flight.same:
		r.Evidence = "the second ClientHello did not come out the same"
	case again.kind() == trouble || again.kind() == untried:
		r.Evidence = again.word()
	case again.kind() == taken && again.Observed.EarlyData == shakedown.EarlyDataAccepted:
		r.Accepted, r.Evidence = shakedown.Yes, fmt.Sprintf("the same %d bytes were accepted by both", flight.size)
	default:
		r.Accepted, r.Evidence = shakedown.No, "the same bytes were not accepted again: "+again.word()
	}
	return r
}
