package load

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"shakedown"
	"shakedown/handshake"
	"shakedown/internal/link"
)

// Plan says what load to make. The zero value of a field leaves the matter to
// the default that is told with it.
type Plan struct {
	// Targets are the addresses to connect to, in turn.
	Targets []netip.AddrPort `json:"targets"`
	// Config is what every handshake offers. Its mode is that of the handshakes
	// measured, unless Mix says otherwise.
	Config handshake.Config `json:"config"`
	// StartTLS names the protocol of package starttls that is spoken on each
	// connection before TLS, with Config.ServerName; empty: none.
	StartTLS string `json:"starttls,omitempty"`
	// Mix shares the handshakes out over several modes; empty: Config.Mode alone.
	Mix []Share `json:"mix,omitempty"`
	// Tickets says how often a session is used; "" is reuse.
	Tickets TicketPolicy `json:"tickets"`
	// Sessions to offer instead of priming for them.
	Sessions []*handshake.Session `json:"-"`

	// Connections at once. In an open loop it is the most there may be.
	Connections int `json:"connections"`
	// Arrivals say when handshakes begin; the zero value is a closed loop: each
	// connection begins the next handshake when the last one ended.
	Arrivals Arrivals `json:"arrivals"`
	// Duration measured, after Warmup. With a Count, it bounds the time.
	Duration time.Duration `json:"duration_ns"`
	Warmup   time.Duration `json:"warmup_ns"`
	// Count of handshakes to measure; 0: as many as go into Duration.
	Count int64 `json:"count"`
	// Timeout of one handshake, from its connection on; 0: 10 s.
	Timeout time.Duration `json:"timeout_ns"`
	// Close says how connections end; "" is reset.
	Close Close `json:"close"`
	// RTT holds each flight of the server for this long, the connection's too.
	RTT time.Duration `json:"rtt_ns"`
	// Link, unless nil, has the load reach the targets, which are on this
	// machine, over an emulated network. It needs Linux, root and the event
	// loops, and excludes RTT and Sources.
	Link *link.Config `json:"link,omitempty"`
	// Sources are local addresses to connect from, in turn; empty: the kernel's
	// choice.
	Sources []netip.Addr `json:"sources,omitempty"`

	// Threads of the load; 0: one for each core that the server leaves free.
	Threads int `json:"threads"`
	// CPUs to run on, thread i on the i-th; empty: not pinned.
	CPUs []int `json:"cpus,omitempty"`
	// ServerPIDs are processes of the server, on this machine, whose use of CPU
	// and memory is to be measured. Their children count too.
	ServerPIDs []int `json:"server_pids,omitempty"`
	// Seed of arrivals and of the order of modes.
	Seed uint64 `json:"seed"`
}

// Share is one mode's part of a mix.
type Share struct {
	Mode   shakedown.Mode `json:"mode"`
	Weight int            `json:"weight"`
}

// ParseMix reads a mix such as "full=20,psk=80".
func ParseMix(s string) ([]Share, error) {
	var mix []Share
	for part := range strings.SplitSeq(s, ",") {
		name, weight, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok {
			return nil, fmt.Errorf("mix %q: want mode=weight, such as full=20,psk=80", part)
		}
		mode, err := shakedown.ParseMode(name)
		if err != nil {
			return nil, fmt.Errorf("mix: %w", err)
		}
		n, err := strconv.Atoi(weight)
		if err != nil || n < 1 || n > 1_000_000 {
			return nil, fmt.Errorf("mix: the weight of %s is %q: want a whole number from 1 to 1000000", mode, weight)
		}
		for _, other := range mix {
			if other.Mode == mode {
				return nil, fmt.Errorf("mix: mode %s stands twice", mode)
			}
		}
		mix = append(mix, Share{mode, n})
	}
	return mix, nil
}

// TicketPolicy says how often a session is offered: "reuse": as many sessions as
// connections, 256 at the most, are offered in turn, again and again; "single-use": each is offered once, and
// the handshake it is offered in brings the next; "pool=N": N sessions are
// offered in turn.
type TicketPolicy string

const (
	TicketsReuse     TicketPolicy = "reuse"
	TicketsSingleUse TicketPolicy = "single-use"
)

// Pool returns N of "pool=N", and whether p is that.
func (p TicketPolicy) Pool() (int, bool) {
	text, ok := strings.CutPrefix(string(p), "pool=")
	n, err := strconv.Atoi(text)
	return n, ok && err == nil && n > 0
}

// ParseTicketPolicy returns the policy called s.
func ParseTicketPolicy(s string) (TicketPolicy, error) {
	p := TicketPolicy(s)
	if _, ok := p.Pool(); ok || p == TicketsReuse || p == TicketsSingleUse {
		return p, nil
	}
	return "", fmt.Errorf("unknown ticket policy %q (one of reuse, single-use, pool=N with N from 1)", s)
}

// Close says how a connection ends once its handshake is complete.
type Close string

const (
	CloseReset  Close = "rst"          // by RST: leaves no port in TIME_WAIT
	CloseFIN    Close = "fin"          // by FIN alone
	CloseNotify Close = "close-notify" // by a close_notify alert and FIN
)

// ParseClose returns the way to close called s.
func ParseClose(s string) (Close, error) {
	switch c := Close(s); c {
	case CloseReset, CloseFIN, CloseNotify:
		return c, nil
	}
	return "", fmt.Errorf("unknown way to close %q (one of rst, fin, close-notify)", s)
}

// Arrivals say when handshakes begin.
type Arrivals struct {
	// Stages of an open loop, one after the other, their rates reached by a
	// ramp from the one before if Ramp is set; empty: a closed loop.
	Stages []Stage `json:"stages,omitempty"`
	// Poisson draws the times between arrivals from an exponential
	// distribution; otherwise they are equal.
	Poisson bool `json:"poisson,omitempty"`
}

// Open reports whether arrivals follow a clock and not the server.
func (a Arrivals) Open() bool { return len(a.Stages) > 0 }

// Stage is a time at one rate.
type Stage struct {
	Duration time.Duration `json:"duration_ns"`
	Rate     float64       `json:"rate_per_s"` // handshakes begun per second
}

// ParseStages reads stages such as "10s:500,30s:5000".
func ParseStages(s string) ([]Stage, error) {
	var stages []Stage
	for part := range strings.SplitSeq(s, ",") {
		length, rate, ok := strings.Cut(strings.TrimSpace(part), ":")
		if !ok {
			return nil, fmt.Errorf("stage %q: want duration:rate, such as 10s:500", part)
		}
		d, err := time.ParseDuration(length)
		if err != nil || d <= 0 {
			return nil, fmt.Errorf("stage %q: %q is not a duration such as 10s", part, length)
		}
		r, err := strconv.ParseFloat(rate, 64)
		if err != nil || !(r > 0 && r <= 1e7) {
			return nil, fmt.Errorf("stage %q: %q is not a rate from above 0 to 10000000 per second", part, rate)
		}
		stages = append(stages, Stage{d, r})
	}
	return stages, nil
}
