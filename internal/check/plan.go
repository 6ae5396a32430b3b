package check

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"shakedown"
	"shakedown/handshake"
	"shakedown/internal/starttls"
)

// Defaults of a [Plan].
const (
	DefaultMaxConnections = 100
	DefaultRate           = 50 // connections a second
	DefaultTimeout        = 10 * time.Second
)

// Plan says whom to ask, and how hard.
type Plan struct {
	Targets []Target
	// Questions are the IDs of those to put, with what they need; none means all.
	// Some answers are not the whole picture, and no findings are drawn from them.
	Questions []string
	// MaxConnections bounds the connections to each address; 0 means
	// DefaultMaxConnections. With few, questions stay open and are said to.
	MaxConnections int
	// Rate bounds the connections begun to an address each second, as an average;
	// those that are to be open at once begin together. 0 means DefaultRate.
	Rate float64
	// Timeout is for one handshake, its connection included; 0 means
	// DefaultTimeout.
	Timeout time.Duration
	// Sources are local addresses to connect from, in turn; none leaves it to the
	// system.
	Sources []netip.Addr
	// RTT is added to every round trip, to see a server as from far away.
	RTT time.Duration
	// Roots to verify chains against; nil verifies none.
	Roots *x509.CertPool
	// AllowReplay lets early data be sent twice with the same bytes.
	AllowReplay bool
	// KeyNames are the names of ticket keys of earlier runs; nil keeps none.
	KeyNames *KeyNames
	// Policy to judge by; nil judges by none.
	Policy *Policy
	// Progress is told what is being asked; nil is told nothing.
	Progress func(address netip.AddrPort, question string)
}

// Target is a server to ask: where it is and what to offer it. Addresses are
// all asked.
type Target struct {
	shakedown.Target
	// Config has the name for SNI and the client's certificate, if any.
	Config handshake.Config
	// Request is an HTTP/1.1 request that leaves the connection open. It is sent
	// to servers that answer it, so that tickets are surely received.
	Request []byte
}

// withDefaults fills in what was left out.
func (p Plan) withDefaults() Plan {
	if p.MaxConnections == 0 {
		p.MaxConnections = DefaultMaxConnections
	}
	if p.Rate == 0 {
		p.Rate = DefaultRate
	}
	if p.Timeout == 0 {
		p.Timeout = DefaultTimeout
	}
	if p.Progress == nil {
		p.Progress = func(netip.AddrPort, string) {}
	}
	return p
}

// validate returns what is wrong with the plan.
func (p *Plan) validate() error {
	if len(p.Targets) == 0 {
		return errors.New("no target to check")
	}
	for _, t := range p.Targets {
		switch {
		case len(t.Addresses) == 0:
			return fmt.Errorf("target %s has no address", t.Target)
		case t.Transport == shakedown.QUIC:
			return fmt.Errorf("target %s: check speaks TLS over TCP only", t.Target)
		case t.StartTLS != "":
			if _, err := starttls.New(t.StartTLS, t.ServerName); err != nil {
				return fmt.Errorf("target %s: %w", t.Target, err)
			}
		}
	}
	for _, id := range p.Questions {
		if !slices.ContainsFunc(Questions(), func(q Question) bool { return q.ID == id }) {
			return fmt.Errorf("there is no question %q", id)
		}
	}
	switch {
	case p.MaxConnections < 1:
		return fmt.Errorf("%d connections are too few to ask anything", p.MaxConnections)
	case p.Rate <= 0:
		return fmt.Errorf("a rate of %g connections a second asks nothing", p.Rate)
	case p.RTT < 0 || p.Timeout <= p.RTT:
		return fmt.Errorf("a round trip of %s does not fit into the time-out of %s", p.RTT, p.Timeout)
	}
	return nil
}
