package load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"shakedown"
	"shakedown/handshake"
	"shakedown/internal/host"
	"shakedown/internal/link"
	"shakedown/internal/starttls"
)

const (
	// backoff is how long a connection rests after it could not be made, so
	// that a server that is down is asked often and not without pause.
	backoff = 50 * time.Millisecond
	// readSize is the buffer that a loop reads into: a whole server flight.
	readSize = 64 << 10
	// publishEvery is how often a thread tells its progress.
	publishEvery = 200 * time.Millisecond
	// ticketWait is how long a complete handshake waits for the ticket that is
	// to be offered next; a server that sends none does not stop the load.
	ticketWait = 200 * time.Millisecond
)

// job is a Plan made ready, as its threads see it. While the clock runs only
// the atomic members change.
type job struct {
	plan    Plan
	clients []*handshake.Client      // one for each share of the mix
	order   []uint8                  // shares in the order in which they take turns
	pools   [][][]*handshake.Session // to begin with, by share and target

	base    time.Time       // the clock's zero: the load begins
	warmEnd time.Duration   // since base: measuring begins
	end     time.Duration   // since base: no handshake begins any more
	stop    atomic.Int32    // see the stop constants
	halt    context.Context // ends with stopNow, for those who block
	cancel  context.CancelFunc
	quota   []int64 // of each thread, with a Count

	link *link.Link // nil: the load is in the network of the machine

	published []atomic.Pointer[snapshot] // of each thread
}

// The states of job.stop.
const (
	stopNot   = iota
	stopStart // begin no more handshakes, let those under way end
	stopNow   // leave those under way
)

// snapshot is a thread's progress. It is never written to once it is published.
type snapshot struct {
	at                   time.Duration // since job.base
	handshakes, failures int64
	inFlight             int
	p50, p99             time.Duration
	modes                map[shakedown.Mode]int64
}

// leave has every thread leave what is under way.
func (j *job) leave() {
	j.stop.Store(stopNow)
	j.cancel()
}

func (j *job) clock() time.Duration { return time.Since(j.base) }

// prepare fills in defaults and refuses what cannot be done.
func prepare(plan Plan) (*job, error) {
	if len(plan.Targets) == 0 {
		return nil, errors.New("no target address")
	}
	if plan.Duration <= 0 && plan.Count <= 0 {
		return nil, errors.New("neither a duration nor a count says when the load ends")
	}
	if plan.Arrivals.Open() {
		var total time.Duration
		for _, s := range plan.Arrivals.Stages {
			total += s.Duration
		}
		if plan.Duration == 0 {
			plan.Duration = max(total-plan.Warmup, 0)
		}
	}
	if plan.Duration <= 0 {
		plan.Duration = 24 * time.Hour // the count ends it
	}
	if plan.Connections < 1 {
		return nil, fmt.Errorf("%d connections: at least one is needed", plan.Connections)
	}
	if plan.Timeout <= 0 {
		plan.Timeout = 10 * time.Second
	}
	if plan.Close == "" {
		plan.Close = CloseReset
	}
	if plan.Tickets == "" {
		plan.Tickets = TicketsReuse
	}
	if len(plan.Mix) == 0 {
		mode := plan.Config.Mode
		if mode == "" {
			mode = shakedown.ModeFull
		}
		plan.Mix = []Share{{mode, 1}}
	}
	if err := checkLink(&plan); err != nil {
		return nil, err
	}
	if plan.StartTLS != "" {
		if _, err := starttls.New(plan.StartTLS, plan.Config.ServerName); err != nil {
			return nil, err
		}
	}
	plan.Threads = threads(&plan)
	j := &job{plan: plan, published: make([]atomic.Pointer[snapshot], plan.Threads)}
	j.halt, j.cancel = context.WithCancel(context.Background())
	for _, share := range plan.Mix {
		cfg := plan.Config
		cfg.Mode = share.Mode
		if share.Mode != shakedown.ModeFull && len(plan.Mix) > 1 && len(cfg.Versions) > 1 {
			cfg.Versions = nil // each mode takes the version it belongs to
		}
		client, err := handshake.NewClient(&cfg)
		if err != nil {
			return nil, err
		}
		j.clients = append(j.clients, client)
	}
	j.order = turns(plan.Mix)
	if plan.Count > 0 {
		for i := range plan.Threads {
			n := plan.Count / int64(plan.Threads)
			if int64(i) < plan.Count%int64(plan.Threads) {
				n++
			}
			j.quota = append(j.quota, n)
		}
	}
	if err := checkSources(&plan); err != nil {
		return nil, err
	}
	return j, checkLimits(&plan)
}

// threads returns how many threads the load gets: by default the cores it may
// use, less half of them, one at least, when the server shares the machine.
func threads(plan *Plan) int {
	n := plan.Threads
	if n <= 0 && len(plan.CPUs) > 0 {
		n = len(plan.CPUs)
	}
	if n <= 0 {
		n = runtime.GOMAXPROCS(0)
		if slices.ContainsFunc(plan.Targets, isLoopback) {
			n = max(n/2, 1)
		}
	}
	return min(n, plan.Connections)
}

// turns spreads the shares of a mix evenly over a round (smooth weighted
// round-robin), so that every stretch of the run has nearly the mix asked for.
func turns(mix []Share) []uint8 {
	total, divisor := 0, 0
	for _, s := range mix {
		total += s.Weight
		divisor = gcd(divisor, s.Weight)
	}
	if len(mix) == 1 {
		return []uint8{0}
	}
	// A round longer than this only makes the mix exact over a longer time.
	const longest = 10_000
	rounds := min(total/divisor, longest)
	credit := make([]float64, len(mix))
	order := make([]uint8, 0, rounds)
	for range rounds {
		best := 0
		for i, s := range mix {
			credit[i] += float64(s.Weight) / float64(total)
			if credit[i] > credit[best] {
				best = i
			}
		}
		credit[best]--
		order = append(order, uint8(best))
	}
	return order
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// checkSources refuses addresses to connect from that are none of this machine's
// or of another family than a target: at connect both look like a want of ports.
func checkSources(plan *Plan) error {
	for _, source := range plan.Sources {
		for _, target := range plan.Targets {
			if source.Unmap().Is4() != target.Addr().Unmap().Is4() {
				return fmt.Errorf("source %s cannot reach %s: one is IPv4 and the other IPv6", source, target)
			}
		}
		conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(source, 0)))
		if err != nil {
			return fmt.Errorf("source %s cannot be used: it is no address of this machine: %w", source, errors.Unwrap(err))
		}
		conn.Close()
	}
	return nil
}

// checkLimits refuses what this machine's limits do not allow, before the run.
func checkLimits(plan *Plan) error {
	limits, err := host.ReadLimits()
	if err != nil {
		return nil // not seen on this system: the run will tell
	}
	const spare = 64 // descriptors of the program itself
	if need := uint64(plan.Connections + spare); limits.OpenFiles > 0 && need > limits.OpenFiles {
		return fmt.Errorf("%d connections need %d file descriptors, but this process may have %d: "+
			"raise the limit with ulimit -n, or use at most %d connections", plan.Connections, need, limits.OpenFiles, limits.OpenFiles-spare)
	}
	pairs := max(len(plan.Sources), 1) * len(plan.Targets)
	if ports := limits.Ports() * pairs; plan.Connections > ports {
		return fmt.Errorf("%d connections need as many local ports, but %s and the port range give %d: "+
			"add source addresses with --source, or widen net.ipv4.ip_local_port_range", plan.Connections, several(pairs, "address", "addresses"), ports)
	}
	return nil
}

// arrivals yields the planned instants of one thread's handshakes in an open
// loop, since the load's begin. Thread i of n takes a stream of its own with
// the n-th part of the rate.
type arrivals struct {
	stages  []Stage
	poisson bool
	share   float64
	rng     *rand.Rand
	stage   int
	begin   time.Duration // of the stage
	next    time.Duration
}

func newArrivals(plan *Plan, thread int) *arrivals {
	a := &arrivals{
		stages: plan.Arrivals.Stages, poisson: plan.Arrivals.Poisson, share: 1 / float64(plan.Threads),
		rng: rand.New(rand.NewPCG(plan.Seed, uint64(thread))),
	}
	// Threads at a constant rate take turns instead of beginning together.
	if len(a.stages) > 0 && !a.poisson {
		a.next = time.Duration(float64(thread) / a.stages[0].Rate * float64(time.Second))
	} else {
		a.advance()
	}
	return a
}

// advance goes on to the next instant, through the stages; after the last one
// its rate goes on, since the run's duration ends the load.
func (a *arrivals) advance() {
	if len(a.stages) == 0 {
		return
	}
	gap := 1 / (a.stages[a.stage].Rate * a.share)
	if a.poisson {
		gap *= a.rng.ExpFloat64()
	}
	a.next += time.Duration(gap * float64(time.Second))
	for a.stage+1 < len(a.stages) && a.next >= a.begin+a.stages[a.stage].Duration {
		a.begin += a.stages[a.stage].Duration
		a.stage++
	}
}
