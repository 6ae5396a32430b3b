//go:build linux && !portable

package load

import (
	"errors"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"shakedown/handshake"
)

// eventLoops: this build has them.
const eventLoops = true

// loop is one thread of load: one epoll, its connections, and all they need.
type loop struct {
	job     *job
	id      int
	epoll   int
	conns   []socket
	free    []int32 // connections at rest
	active  queue   // connections at work, oldest first: their time-outs are in order
	resting fifo    // connections at rest until a time, after a failure to connect
	held    fifo    // flights held back for the RTT
	idling  fifo    // complete handshakes that wait for a ticket
	plan    *arrivals
	started int64 // handshakes begun in the measured time
	late    bool  // the end has passed: arrivals not begun by now are missed
	turn    int   // in job.order
	target  int
	source  int

	sessions  *sessions
	now       time.Duration
	published time.Duration
	ws        handshake.Workspace
	tally     *tally
	events    []unix.EpollEvent
	buffer    []byte
	remotes   []unix.Sockaddr
	locals    []unix.Sockaddr
	local     []bool // the target of the same index is reached by loopback
}

func newLoop(j *job, id int) (*loop, error) {
	p := &j.plan
	n := p.Connections / p.Threads
	if id < p.Connections%p.Threads {
		n++
	}
	l := &loop{
		job: j, id: id, conns: make([]socket, n), free: make([]int32, 0, n), tally: newTally(p),
		events: make([]unix.EpollEvent, 512), buffer: make([]byte, readSize), sessions: newSessions(j),
		turn: id * len(j.order) / p.Threads, target: id, source: id,
	}
	l.active.init(n)
	for i := range l.conns {
		l.conns[i].fd = -1
		l.free = append(l.free, int32(n-1-i))
	}
	if p.Arrivals.Open() {
		l.plan = newArrivals(p, id)
	}
	for _, t := range p.Targets {
		l.remotes = append(l.remotes, sockaddr(t))
		l.local = append(l.local, isLoopback(t) && p.Link == nil)
	}
	for _, s := range p.Sources {
		l.locals = append(l.locals, sockaddrOf(s, 0))
	}
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	l.epoll = fd
	return l, nil
}

func newWorker(j *job, id int) (worker, error) { return newLoop(j, id) }

func (l *loop) result() *tally { return l.tally }

// run is the thread's life. It returns when the load is over and nothing is
// under way any more.
func (l *loop) run() error {
	runtime.LockOSThread()
	defer unix.Close(l.epoll)
	defer l.closeAll()
	if err := pinThread(&l.job.plan, l.id); err != nil {
		return err
	}
	if l.plan != nil {
		// The kernel lets timers slip by 50 us to wake less often; an open loop
		// has instants to keep. It only costs precision where it is refused.
		unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	}
	waited := runQueueWait()
	defer func() { l.tally.runQueue = runQueueWait() - waited }()
	for {
		l.now = l.job.clock()
		l.begin()
		if l.now-l.published >= publishEvery {
			l.publish()
		}
		if l.over() {
			l.publish()
			return nil
		}
		slept, patience := l.now, l.patience()
		n, err := epollWait(l.epoll, l.events, patience)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
		l.now = l.job.clock()
		woken := l.now
		if l.plan != nil && patience == 0 && n <= 0 && slept >= l.job.warmEnd {
			l.tally.looked += min(woken-slept, punctual)
		}
		for i := range max(n, 0) {
			l.ready(&l.events[i])
		}
		l.release()
		l.expire()
		if n > 0 && woken >= l.job.warmEnd {
			l.tally.lag.Record(l.job.clock() - woken)
		}
	}
}

// begin starts every handshake that is due.
func (l *loop) begin() {
	for l.resting.due(l.now) {
		l.free = append(l.free, l.resting.pop().conn)
	}
	for len(l.free) > 0 && l.mayStart() {
		planned := l.now
		if l.plan != nil {
			if l.plan.next > l.now {
				return
			}
			planned = l.plan.next
			l.plan.advance()
		}
		i := l.free[len(l.free)-1]
		l.free = l.free[:len(l.free)-1]
		if planned >= l.job.warmEnd {
			l.started++
		}
		l.start(i, planned)
	}
	l.late = l.now >= l.job.end
	l.tally.peak = max(l.tally.peak, l.active.n)
}

// mayStart reports whether one more handshake may begin.
func (l *loop) mayStart() bool {
	j := l.job
	switch {
	case j.stop.Load() != stopNot:
		return false
	case l.plan != nil && (l.late || l.plan.next >= j.end), l.plan == nil && l.now >= j.end:
		return false
	}
	return j.quota == nil || l.started < j.quota[l.id]
}

// over reports whether nothing is left to do.
func (l *loop) over() bool {
	j := l.job
	if j.stop.Load() == stopNow {
		l.tally.abandoned += int64(l.active.n)
		l.countMissed()
		return true
	}
	if l.mayStart() || l.active.n > 0 {
		return false
	}
	l.countMissed()
	return true
}

// countMissed counts the arrivals that were planned but never begun.
func (l *loop) countMissed() {
	if l.plan == nil {
		return
	}
	for ; l.plan.next < min(l.now, l.job.end) && l.job.quota == nil; l.plan.advance() {
		if l.plan.next >= l.job.warmEnd {
			l.tally.missed++
		}
	}
}

// punctual is how long before a planned instant the thread stops sleeping and
// looks for events without waiting: a core that has gone idle takes this long to
// come back, in a virtual machine above all, and the wait would be told as
// latency.
const punctual = 80 * time.Microsecond

// patience returns for how long there is nothing to do but to wait for events.
func (l *loop) patience() time.Duration {
	until := l.now + publishEvery
	if l.plan != nil && len(l.free) > 0 && l.mayStart() {
		until = min(until, l.plan.next-punctual)
	}
	if l.now < l.job.end {
		until = min(until, l.job.end)
	}
	if at, ok := l.resting.next(); ok && l.mayStart() {
		until = min(until, at)
	}
	if at, ok := l.held.next(); ok {
		until = min(until, at)
	}
	if at, ok := l.idling.next(); ok {
		until = min(until, at)
	}
	if i := l.active.oldest; i >= 0 {
		until = min(until, l.conns[i].deadline)
	}
	if l.plan == nil && len(l.free) > 0 && l.mayStart() {
		until = l.now
	}
	return max(until-l.now, 0)
}

// expire ends the handshakes whose time is up.
func (l *loop) expire() {
	for l.active.oldest >= 0 && l.conns[l.active.oldest].deadline <= l.now {
		l.timeOut(l.active.oldest)
	}
}

// release goes on with the flights that were held long enough, and ends the
// connections that waited long enough for a ticket.
func (l *loop) release() {
	for l.idling.due(l.now) {
		w := l.idling.pop()
		if c := &l.conns[w.conn]; c.fd >= 0 && c.generation == w.generation {
			l.end(w.conn, c)
		}
	}
	for l.held.due(l.now) {
		h := l.held.pop()
		if c := &l.conns[h.conn]; c.fd >= 0 && c.generation == h.generation {
			l.proceed(h.conn, c)
		}
	}
}

func (l *loop) publish() {
	l.published = l.now
	l.job.published[l.id].Store(l.tally.snapshot(l.now, l.active.n))
}

func (l *loop) closeAll() {
	for i := range l.conns {
		if l.conns[i].fd >= 0 {
			unix.Close(l.conns[i].fd)
		}
	}
}
