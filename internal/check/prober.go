package check

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"shakedown"
	"shakedown/handshake"
	"shakedown/internal/suite"
)

// prober makes the connections to one address. It owns the budget and the pace,
// and keeps what every connection came to, for answers to draw on.
type prober struct {
	plan    *Plan
	target  *Target
	address netip.AddrPort
	seen    *Observation

	names int // that are asked of this address, and share its budget and its rate

	// What is learnt on the way.
	http  bool // it answers requests
	wide  bool // it takes none of the suites of a client of today: all are offered
	alone bool // it does not serve connections that are open at once
	// troubled counts the latest tries that came to trouble in a row.
	troubled       int
	pace           time.Duration           // of the first handshake: how long one takes
	turn12, turn13 int                     // of vary
	struck         []shakedown.CipherSuite // of TLS 1.2, refused
	swept          bool                    // old suites were offered together
	refusal        string                  // the last word to suites of TLS 1.2
	space          *space                  // of TLS 1.3, once it was explored
	large          *outcome                // a large hello that was answered
	// remarks are what was odd about the tries of a mechanism.
	remarks map[string][]string
	stock   map[string][]*handshake.Session

	mu     sync.Mutex
	made   int // connections
	held   int // of the budget: kept for what comes later
	source int // of the plan's: the next
	next   time.Time
	log    []*outcome
}

func newProber(plan *Plan, target *Target, address netip.AddrPort) *prober {
	return &prober{
		plan: plan, target: target, address: address,
		seen: &Observation{}, stock: map[string][]*handshake.Session{}, remarks: map[string][]string{},
	}
}

// budget is how many connections this prober may make in all.
func (p *prober) budget() int { return p.plan.MaxConnections / max(1, p.names) }

// left is how many connections may still be made.
func (p *prober) left() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.budget() - p.made - p.held
}

// take takes up to n connections from the budget.
func (p *prober) take(n int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n = max(0, min(n, p.budget()-p.made-p.held))
	p.made += n
	return n
}

// pause waits until n connections may begin together.
func (p *prober) pause(ctx context.Context, n int) error {
	p.mu.Lock()
	now := time.Now()
	start := p.next
	if start.Before(now) {
		start = now
	}
	// What follows waits until these are paid for.
	p.next = start.Add(time.Duration(float64(n*max(1, p.names)) / p.plan.Rate * float64(time.Second)))
	p.mu.Unlock()
	return sleep(ctx, start.Sub(now))
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// dial connects from the next source address.
func (p *prober) dial(ctx context.Context) (net.Conn, error) {
	dialer := net.Dialer{}
	if n := len(p.plan.Sources); n > 0 {
		p.mu.Lock()
		source := p.plan.Sources[p.source%n]
		p.source++
		p.mu.Unlock()
		dialer.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(source, 0))
	}
	conn, err := dialer.DialContext(ctx, "tcp", p.address.String())
	if err != nil || p.plan.RTT == 0 {
		return conn, err
	}
	if err := sleep(ctx, p.plan.RTT); err != nil {
		conn.Close()
		return nil, err
	}
	return &distant{Conn: conn, rtt: p.plan.RTT}, nil
}

// distant is a connection whose answers take a round trip longer.
type distant struct {
	net.Conn
	rtt time.Duration

	mu   sync.Mutex
	sent time.Time // when it was last written to
}

func (d *distant) Write(b []byte) (int, error) {
	d.mu.Lock()
	d.sent = time.Now()
	d.mu.Unlock()
	return d.Conn.Write(b)
}

func (d *distant) Read(b []byte) (int, error) {
	n, err := d.Conn.Read(b)
	d.mu.Lock()
	wait := time.Until(d.sent.Add(d.rtt))
	d.mu.Unlock()
	if n > 0 {
		time.Sleep(wait) // no answer is older than what it answers
	}
	return n, err
}

// ErrBudget is in the evidence of what was not asked since no more connections may be
// made.
var ErrBudget = errors.New("the budget of connections is used up (raise --max-connections)")

// retryPause is how long to wait before a connection that failed is tried once
// more: a server or a firewall may limit how fast they come.
const retryPause = 300 * time.Millisecond

// hopeless is after how many tries in a row that came to trouble there is no more
// second one.
const hopeless = 3

// try makes one connection. One that came to trouble is tried once more, after a
// pause; the second outcome counts.
func (p *prober) try(ctx context.Context, a ask) *outcome {
	o := p.once(ctx, a)
	if o.kind() == trouble && p.troubled < hopeless && sleep(ctx, retryPause) == nil {
		if again := p.once(ctx, a); again.err == nil {
			o = again
			o.retried = true
		}
	}
	switch o.kind() {
	case trouble:
		p.troubled++
	case taken, refused:
		p.troubled = 0
	}
	return o
}

func (p *prober) once(ctx context.Context, a ask) *outcome { return p.wave(ctx, []ask{a})[0] }

// wave makes connections that are all open at once: they begin together, and none
// is closed before all are done. Each begins its handshake as soon as it is
// connected: while a worker computes, the next connection goes to another. There
// is an outcome for each, also for those that the budget did not allow.
func (p *prober) wave(ctx context.Context, asks []ask) []*outcome {
	outcomes := make([]*outcome, len(asks))
	n := p.take(len(asks))
	for i := n; i < len(asks); i++ {
		outcomes[i] = &outcome{ask: asks[i], err: ErrBudget}
	}
	if n == 0 {
		return outcomes
	}
	if err := p.pause(ctx, n); err != nil {
		for i := range n {
			outcomes[i] = &outcome{ask: asks[i], err: err}
		}
		return outcomes
	}
	lines := make([]*line, n)
	each(n, func(i int) {
		lines[i] = p.connect(ctx, asks[i], p.limit(n))
		lines[i].run(ctx)
	})
	for i, l := range lines {
		l.close()
		outcomes[i] = l.outcome
	}
	p.mu.Lock()
	p.log = append(p.log, outcomes[:n]...)
	p.mu.Unlock()
	return outcomes
}

// limit is how long n connections that are open at once may take: as long as one
// may, but not for ever behind a server that serves one after the other, and waits
// for the first to close.
func (p *prober) limit(n int) time.Duration {
	if n == 1 {
		return p.plan.Timeout
	}
	const least, slow = 2 * time.Second, 20
	return min(p.plan.Timeout, max(least+4*p.plan.RTT, slow*p.pace))
}

// crowd makes connections that are open at once, as long as the server serves
// such; once most of them come to trouble, they are made one by one.
func (p *prober) crowd(ctx context.Context, asks []ask) []*outcome {
	if p.alone {
		var outcomes []*outcome
		for _, a := range asks {
			outcomes = append(outcomes, p.try(ctx, a))
		}
		return outcomes
	}
	outcomes := p.wave(ctx, asks)
	bad, made := 0, 0
	for _, o := range outcomes {
		if o.err == nil {
			made++
		}
		if o.kind() == trouble {
			bad++
		}
	}
	p.alone = made > 1 && 2*bad >= made
	return outcomes
}

// each calls f for 0 to n-1 at once and waits for all.
func each(n int, f func(int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { f(i) })
	}
	all.Wait()
}

// config returns what to offer in one mode: the versions of the mode, or those
// given.
func (p *prober) config(mode shakedown.Mode, versions ...shakedown.Version) handshake.Config {
	c := p.target.Config
	c.Mode, c.Versions, c.Complete = mode, versions, shakedown.CompleteFinished
	c.StatusRequest = true
	if len(versions) == 0 {
		switch {
		case mode == shakedown.ModePSK || mode == shakedown.ModeEarlyData:
			c.Versions = []shakedown.Version{shakedown.TLS13}
		case mode.Resumes():
			c.Versions = []shakedown.Version{shakedown.TLS12}
		default:
			c.Versions = []shakedown.Version{shakedown.TLS13, shakedown.TLS12}
		}
	}
	if p.wide {
		for _, v := range c.Versions {
			c.CipherSuites = append(c.CipherSuites, suite.Supported(v)...)
		}
	}
	if p.http {
		c.ALPN = []string{"http/1.1"}
	}
	return c
}

// hello returns what to offer when only the server's choice of it matters.
func (p *prober) hello(versions ...shakedown.Version) handshake.Config {
	c := p.config(shakedown.ModeFull, versions...)
	c.ProbeOnly, c.ALPN = true, nil
	return c
}

// counted runs f and returns how many connections it made.
func (p *prober) counted(f func()) int {
	before := p.left()
	f()
	return before - p.left()
}

// yes, no and unsure make answers.
func yes(format string, args ...any) shakedown.Answer {
	return shakedown.Answer{Verdict: shakedown.Yes, Evidence: fmt.Sprintf(format, args...)}
}

func no(format string, args ...any) shakedown.Answer {
	return shakedown.Answer{Verdict: shakedown.No, Evidence: fmt.Sprintf(format, args...)}
}

func unsure(format string, args ...any) shakedown.Answer {
	return shakedown.Answer{Verdict: shakedown.Inconclusive, Evidence: fmt.Sprintf(format, args...)}
}
