//go:build !linux || portable

package load

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"shakedown"
	"shakedown/handshake"
	"shakedown/internal/starttls"
)

// eventLoops: this build has none.
const eventLoops = false

// portable is one thread's share of load where there is no event loop for the
// system: a goroutine for each connection, over package net. Its results are the
// same; it costs the client more, and says so in what it measures of itself.
type portable struct {
	job   *job
	id    int
	conns int
	tally *tally

	mu       sync.Mutex // of all below
	sessions *sessions
	arrivals *arrivals
	started  int64
	turn     int
	target   int
	source   int
	inFlight int
}

func newWorker(j *job, id int) (worker, error) {
	p := &portable{
		job: j, id: id, conns: j.plan.Connections / j.plan.Threads, tally: newTally(&j.plan), sessions: newSessions(j),
		turn: id * len(j.order) / j.plan.Threads, target: id, source: id,
	}
	if id < j.plan.Connections%j.plan.Threads {
		p.conns++
	}
	if j.plan.Arrivals.Open() {
		p.arrivals = newArrivals(&j.plan, id)
	}
	return p, nil
}

// reserve has nothing to do: goroutines share the scheduler's processors.
func reserve(int) (release func()) { return func() {} }

func (p *portable) result() *tally { return p.tally }

func (p *portable) run() error {
	if len(p.job.plan.CPUs) > 0 {
		if err := pinThread(&p.job.plan, p.id); err != nil {
			return err
		}
	}
	var wg sync.WaitGroup
	for range p.conns {
		wg.Go(p.connection)
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	ticker := time.NewTicker(publishEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			p.publish()
		case <-done:
			p.publish()
			p.countMissed()
			return nil
		}
	}
}

func (p *portable) publish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.job.published[p.id].Store(p.tally.snapshot(p.job.clock(), p.inFlight))
}

// countMissed counts the arrivals that were planned but never begun.
func (p *portable) countMissed() {
	now := p.job.clock()
	for a := p.arrivals; a != nil && p.job.quota == nil && a.next < min(now, p.job.end); a.advance() {
		if a.next >= p.job.warmEnd {
			p.tally.missed++
		}
	}
}

// connection takes one handshake after the other.
func (p *portable) connection() {
	c := &portableConn{conn: conn{machine: handshake.NewMachine(nil)}, buffer: make([]byte, 1<<14)}
	for {
		planned, ok := p.next(c)
		if !ok {
			return
		}
		if at := planned - p.job.clock(); at > 0 {
			time.Sleep(at)
			if p.job.stop.Load() != stopNot {
				return
			}
		}
		if !p.one(c, planned) {
			time.Sleep(backoff)
		}
	}
}

// portableConn is a conn with what its goroutine needs.
type portableConn struct {
	conn
	buffer []byte
	at     int // index of the source
}

// next plans the connection's next handshake, or says that there is none.
func (p *portable) next(c *portableConn) (time.Duration, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	j := p.job
	planned := j.clock()
	if p.arrivals != nil {
		planned = p.arrivals.next
	}
	if planned >= j.end || j.clock() >= j.end || j.stop.Load() != stopNot || j.quota != nil && p.started >= j.quota[p.id] {
		return 0, false
	}
	if p.arrivals != nil {
		p.arrivals.advance()
	}
	if planned >= j.warmEnd {
		p.started++
	}
	c.share = j.order[p.turn]
	p.turn = (p.turn + 1) % len(j.order)
	c.target = p.target % len(j.plan.Targets)
	p.target++
	c.at = p.source
	p.source++
	c.idle, c.ticketed, c.priming = false, false, false
	c.times = times{planned: planned}
	p.inFlight++
	p.tally.peak = max(p.tally.peak, p.inFlight)
	return planned, true
}

// one takes one handshake. It returns false when no connection could be made.
func (p *portable) one(c *portableConn, planned time.Duration) bool {
	defer func() {
		p.mu.Lock()
		p.inFlight--
		p.mu.Unlock()
	}()
	ctx, cancel := context.WithTimeout(p.job.halt, p.job.plan.Timeout)
	defer cancel()
	var dialer net.Dialer
	if n := len(p.job.plan.Sources); n > 0 {
		dialer.LocalAddr = &net.TCPAddr{IP: p.job.plan.Sources[c.at%n].AsSlice()}
	}
	nc, err := dialer.DialContext(ctx, "tcp", p.job.plan.Targets[c.target].String())
	if err != nil {
		p.count(c, handshake.DialFailure(err))
		return false
	}
	defer nc.Close()
	if tcp, ok := nc.(*net.TCPConn); ok && p.job.plan.Close == CloseReset {
		tcp.SetLinger(0)
	}
	time.Sleep(p.job.plan.RTT)
	if p.job.plan.StartTLS != "" {
		// It leaves no deadline behind, so it comes before ours is set.
		err := starttls.Upgrade(ctx, heldConn{nc, p.job.plan.RTT}, p.job.plan.StartTLS, p.job.plan.Config.ServerName)
		if f, failed := errors.AsType[*shakedown.Failure](err); failed {
			p.count(c, f)
			return true
		}
	}
	deadline, _ := ctx.Deadline()
	nc.SetDeadline(deadline)
	stop := context.AfterFunc(p.job.halt, func() { nc.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	c.times.connected = p.job.clock()
	p.mu.Lock()
	session := p.sessions.next(&c.conn)
	if c.priming && planned >= p.job.warmEnd {
		p.started-- // it is not one of those asked for
	}
	p.mu.Unlock()
	if err := c.machine.Start(p.job.clients[c.share], session); err != nil {
		p.count(c, &shakedown.Failure{Class: shakedown.ClassOurs, Phase: shakedown.PhaseConnected, Text: err.Error(), Err: err})
		return true
	}
	p.talk(c, nc)
	if p.job.plan.Close == CloseNotify && c.idle && c.machine.Failure() == nil {
		c.machine.SendCloseNotify()
		if e := c.machine.Next(); e.Kind == handshake.EventWrite {
			nc.Write(e.Bytes) // the peer may be gone already
		}
	}
	return true
}

// heldConn holds what it reads for the RTT.
type heldConn struct {
	net.Conn
	rtt time.Duration
}

func (h heldConn) Read(b []byte) (int, error) {
	n, err := h.Conn.Read(b)
	time.Sleep(h.rtt)
	return n, err
}

// talk drives the Machine until the connection has done its work.
func (p *portable) talk(c *portableConn, nc net.Conn) {
	var wrote time.Duration // 0: the last was reading
	for {
		e := c.machine.Next()
		var err error
		switch e.Kind {
		case handshake.EventWrite:
			wrote = p.job.clock()
			_, err = nc.Write(e.Bytes)
		case handshake.EventDone:
			if !p.done(c, wrote) {
				return
			}
			nc.SetReadDeadline(time.Now().Add(ticketWait))
		case handshake.EventTicket:
			p.ticket(c)
		case handshake.EventFailed:
			if !c.idle {
				p.count(c, c.machine.Failure())
			}
			return
		case handshake.EventClosed:
			return
		case handshake.EventWait:
			if c.idle && c.ticketed {
				return
			}
			wrote = 0
			var n int
			if n, err = nc.Read(c.buffer); n > 0 {
				time.Sleep(p.job.plan.RTT)
				c.machine.Feed(c.buffer[:n])
				err = nil
			}
		}
		if err != nil && c.machine.Failure() == nil {
			if !c.idle {
				p.count(c, c.machine.Close(err))
			}
			return
		}
	}
}

// done counts a complete handshake and reports whether it is to wait for a ticket.
// One that our own flight completes lasted until that flight was handed over.
func (p *portable) done(c *portableConn, wrote time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.times.complete = wrote; wrote == 0 {
		c.times.complete = p.job.clock()
	}
	c.idle = true
	if c.priming {
		p.tally.refill(nil, c.times.complete-p.job.warmEnd)
	} else {
		p.tally.success(&c.conn, c.times.complete-p.job.warmEnd)
	}
	if c.machine.Observed().Version != shakedown.TLS13 {
		p.sessions.keep(&c.conn)
	}
	return p.sessions.wanted(&c.conn)
}

func (p *portable) ticket(c *portableConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.ticketed = true
	p.sessions.keep(&c.conn)
}

func (p *portable) count(c *portableConn, f *shakedown.Failure) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.job.stop.Load() == stopNow:
		p.tally.abandoned++
	case c.priming:
		p.tally.refill(f, p.job.clock()-p.job.warmEnd)
	default:
		p.tally.failure(&c.conn, f, p.job.clock()-p.job.warmEnd)
	}
}
