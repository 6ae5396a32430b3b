package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"shakedown/internal/link"
)

// checkLink refuses what a link does not go together with.
func checkLink(plan *Plan) error {
	switch {
	case plan.Link == nil:
		return nil
	case !eventLoops:
		return errors.New("a link needs the event loops of Linux, which this build has not: hold flights back instead (--rtt)")
	case plan.RTT > 0:
		return errors.New("a link has a round-trip time of its own: it excludes holding flights back (--rtt)")
	case len(plan.Sources) > 0:
		return errors.New("over a link the load has an address of its own: leave out the source addresses (--source)")
	}
	return nil
}

// openLink makes the network that the plan asks for.
func (j *job) openLink() (err error) {
	if j.plan.Link == nil {
		return nil
	}
	config := *j.plan.Link
	if config.Seed == 0 {
		config.Seed = j.plan.Seed
	}
	j.link, err = link.Open(config, j.plan.Targets)
	return err
}

// closeLink takes the network down. What failed in it, linkStats has told.
func (j *job) closeLink() {
	if j.link != nil {
		j.link.Close()
	}
}

func (j *job) linkStats() (*link.Stats, error) {
	if j.link == nil {
		return nil, nil
	}
	s, err := j.link.Stats()
	return &s, err
}

// spawn runs f in a goroutine whose sockets are on the load's side of the network.
func (j *job) spawn(f func()) error {
	if j.link == nil {
		go f()
		return nil
	}
	return j.link.Go(f)
}

// dial connects to a target from the load's side of the network.
func (j *job) dial(ctx context.Context, dialer *net.Dialer, target int) (conn net.Conn, err error) {
	done := make(chan struct{})
	refused := j.spawn(func() {
		defer close(done)
		conn, err = dialer.DialContext(ctx, "tcp", j.plan.Targets[target].String())
	})
	if refused != nil {
		return nil, refused
	}
	<-done
	return conn, err
}

// linkUse tells of a measured time what lies between two readings.
func linkUse(c *link.Config, before, after *link.Stats, wall time.Duration) *LinkUse {
	u := &LinkUse{Stats: *after}
	if wall > 0 {
		u.Busy = (after.CPU - before.CPU).Seconds() / wall.Seconds()
		if c.Rate > 0 {
			bytes := max(after.ToClient.Bytes-before.ToClient.Bytes, after.ToServer.Bytes-before.ToServer.Bytes)
			u.Used = 8 * float64(bytes) / wall.Seconds() / float64(c.Rate)
		}
	}
	return u
}

// linkLimit is limit for a load whose link is what is left to blame.
func linkLimit(s *Summary, evidence []string) Limit {
	l, c := s.Link, s.Plan.Link
	if l.Busy >= busy {
		return Limit{"client", append(evidence, fmt.Sprintf("the thread that emulates the link was busy %.0f%% of its time: the emulation is the limit, not the link asked for", 100*l.Busy))}
	}
	if l.Used >= busy {
		return Limit{"link", append(evidence, fmt.Sprintf("%.0f%% of the link's rate was in use", 100*l.Used))}
	}
	return Limit{"link", append(evidence, fmt.Sprintf("each round trip took %s and more: more --connections would do more", c.RTT))}
}
