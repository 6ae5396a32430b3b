package load

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"shakedown"
	"shakedown/handshake"
	"shakedown/internal/starttls"
)

// sessions is one thread's stock of sessions to offer.
type sessions struct {
	job   *job
	stock [][][]*handshake.Session // by share and target
	turn  int
}

func newSessions(j *job) *sessions {
	s := &sessions{job: j, stock: make([][][]*handshake.Session, len(j.pools))}
	for share := range j.pools {
		s.stock[share] = make([][]*handshake.Session, len(j.pools[share]))
		for target := range j.pools[share] {
			s.stock[share][target] = append([]*handshake.Session(nil), j.pools[share][target]...)
		}
	}
	return s
}

func (s *sessions) singleUse() bool { return s.job.plan.Tickets == TicketsSingleUse }

func (s *sessions) resumes(c *conn) bool { return s.job.plan.Mix[c.share].Mode.Resumes() }

// next returns the session for c to offer. Without one left, c becomes a full
// handshake that fetches some and is not measured.
func (s *sessions) next(c *conn) *handshake.Session {
	if !s.resumes(c) {
		return nil
	}
	stock := s.stock[c.share][c.target]
	now := time.Now()
	for len(stock) > 0 {
		i := 0
		if !s.singleUse() {
			s.turn++
			i = s.turn % len(stock)
		}
		session := stock[i]
		expired := session.Expired(now)
		if expired || s.singleUse() {
			stock = append(stock[:i], stock[i+1:]...)
			s.stock[c.share][c.target] = stock
		}
		if !expired {
			return session
		}
	}
	c.priming = true
	return nil
}

// wanted reports whether c is to stay open for a ticket.
func (s *sessions) wanted(c *conn) bool {
	return s.resumes(c) && (s.singleUse() || c.priming) && c.machine.Observed().Version == shakedown.TLS13
}

// keep puts the session that c brought into stock.
func (s *sessions) keep(c *conn) {
	if !s.resumes(c) || !s.singleUse() && !c.priming {
		return
	}
	if o := c.machine.Observed(); s.singleUse() && o.Mode.Resumes() && len(o.Tickets) == 0 {
		return // the session is the one that was used
	}
	session := c.machine.Session()
	if session != nil && s.job.clients[c.share].CanOffer(session) == nil {
		s.stock[c.share][c.target] = append(s.stock[c.share][c.target], session)
	}
}

const (
	// primedAtMost bounds the sessions fetched for one mode and target before
	// the clock starts.
	primedAtMost = 256
	// primingAtOnce bounds the connections that fetch them.
	primingAtOnce = 16
)

// prime fetches the sessions that the load will offer, before the clock starts.
func (j *job) prime(ctx context.Context) (Priming, error) {
	begin := time.Now()
	var p Priming
	n := min(j.plan.Connections, primedAtMost)
	if pool, ok := j.plan.Tickets.Pool(); ok {
		n = pool
	}
	j.pools = make([][][]*handshake.Session, len(j.plan.Mix))
	for share, s := range j.plan.Mix {
		j.pools[share] = make([][]*handshake.Session, len(j.plan.Targets))
		if !s.Mode.Resumes() {
			continue
		}
		for target := range j.plan.Targets {
			if j.plan.Sessions != nil {
				j.pools[share][target] = j.plan.Sessions
				continue
			}
			got, failed, err := j.fetch(ctx, share, target, n)
			p.Handshakes += int64(len(got))
			p.Failures += int64(failed)
			if ctx.Err() != nil {
				return p, fmt.Errorf("interrupted after %s for sessions: nothing was measured: %w", several(p.Handshakes, "handshake", "handshakes"), ctx.Err())
			}
			if len(got) == 0 {
				return p, fmt.Errorf("no session to resume from %s in mode %s: %w", j.plan.Targets[target], s.Mode, err)
			}
			j.pools[share][target] = got
		}
	}
	p.Duration = time.Since(begin)
	return p, nil
}

// fetch makes n full handshakes and returns the sessions they brought, how many
// brought none, and why the last of those did not.
func (j *job) fetch(ctx context.Context, share, target, n int) (got []*handshake.Session, failed int, err error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	tokens := make(chan struct{}, primingAtOnce)
	for i := range n {
		tokens <- struct{}{}
		if ctx.Err() != nil {
			break // those not begun are no failures
		}
		wg.Go(func() {
			defer func() { <-tokens }()
			session, e := j.fetchOne(ctx, share, target, i)
			mu.Lock()
			defer mu.Unlock()
			if e != nil {
				failed++
				err = e
				return
			}
			got = append(got, session)
		})
		mu.Lock()
		hopeless := failed >= 2*primingAtOnce && len(got) == 0
		mu.Unlock()
		if hopeless {
			break
		}
	}
	wg.Wait()
	rand.New(rand.NewPCG(j.plan.Seed, uint64(share))).Shuffle(len(got), func(a, b int) { got[a], got[b] = got[b], got[a] })
	return got, failed, err
}

func (j *job) fetchOne(ctx context.Context, share, target, i int) (*handshake.Session, error) {
	ctx, cancel := context.WithTimeout(ctx, j.plan.Timeout)
	defer cancel()
	dialer := net.Dialer{}
	if n := len(j.plan.Sources); n > 0 {
		dialer.LocalAddr = &net.TCPAddr{IP: j.plan.Sources[i%n].AsSlice()}
	}
	conn, err := j.dial(ctx, &dialer, target)
	if err != nil {
		return nil, handshake.DialFailure(err)
	}
	defer conn.Close()
	if j.plan.StartTLS != "" {
		if err := starttls.Upgrade(ctx, conn, j.plan.StartTLS, j.plan.Config.ServerName); err != nil {
			return nil, err
		}
	}
	session, err := handshake.Fetch(ctx, conn, j.clients[share])
	if err != nil {
		return nil, err
	}
	return session, j.clients[share].CanOffer(session)
}
