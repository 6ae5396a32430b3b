//go:build linux && !portable

package load

import (
	"io"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"shakedown"
	"shakedown/handshake"
)

// socket is a conn with its file descriptor.
type socket struct {
	conn
	fd         int
	generation uint32 // of the connections in this place
	stage      stage
	hungUp     bool // the peer sends no more
	unsent     []byte
	deadline   time.Duration
}

// stage is how far a connection is.
type stage uint8

const (
	stageConnecting stage = iota // TCP is under way
	stageGreeting                // TCP is connected; what we say first is held for the RTT
	stageUpgrading               // what comes is plain text, before TLS
	stageTalking
)

// start begins a handshake in place i.
func (l *loop) start(i int32, planned time.Duration) {
	c := &l.conns[i]
	c.generation++
	c.stage, c.unsent = stageConnecting, c.unsent[:0]
	c.idle, c.ticketed, c.priming, c.hungUp = false, false, false, false
	c.times = times{planned: planned}
	c.deadline = l.now + l.job.plan.Timeout
	c.share = l.job.order[l.turn]
	if l.turn++; l.turn == len(l.job.order) {
		l.turn = 0
	}
	l.active.add(i)
	c.target = l.target % len(l.remotes)
	l.target++
	if err := l.open(c); err != nil {
		l.refuse(i, err)
		return
	}
	err := unix.Connect(c.fd, l.remotes[c.target])
	if err != nil && err != unix.EINPROGRESS {
		l.refuse(i, err)
		return
	}
	// Over loopback the handshake of TCP is over when connect returns, which the
	// ClientHello finds out; a server that speaks first is waited for.
	if err == nil || l.local[c.target] && l.job.plan.StartTLS == "" {
		l.connected(i, c)
	}
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | edgeTriggered, Fd: i, Pad: int32(c.generation)}
	if c.fd >= 0 {
		if err := unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, c.fd, &event); err != nil {
			l.refuse(i, err)
		}
	}
}

// edgeTriggered events come once for each change, so that one registration
// serves a connection's whole life.
const edgeTriggered = 1 << 31

// open makes the socket.
func (l *loop) open(c *socket) error {
	family := unix.AF_INET6
	if _, is4 := l.remotes[c.target].(*unix.SockaddrInet4); is4 {
		family = unix.AF_INET
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, unix.IPPROTO_TCP)
	if err != nil {
		return err
	}
	c.fd = fd
	if l.job.plan.Close == CloseReset {
		if err := unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}); err != nil {
			return err
		}
	}
	if l.job.plan.Config.Request != nil {
		// The request follows Finished at once; Nagle would hold it back.
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
			return err
		}
	}
	if len(l.locals) == 0 {
		return nil
	}
	// The port is chosen at connect, where it need differ by target only.
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1); err != nil {
		return err
	}
	source := l.locals[l.source%len(l.locals)]
	l.source++
	return unix.Bind(fd, source)
}

// refuse ends a handshake whose connection could not be made.
func (l *loop) refuse(i int32, err error) {
	c := &l.conns[i]
	l.count(c, handshake.DialFailure(err))
	l.shut(i, c)
	l.resting.push(waiting{at: l.now + backoff, conn: i})
}

// connected goes on once TCP is, or turns out not to be: then it returns false
// and the connection waits for its event.
func (l *loop) connected(i int32, c *socket) bool {
	c.times.connected = l.job.clock()
	if rtt := l.job.plan.RTT; rtt > 0 {
		// SYN and SYN-ACK took a round trip.
		c.times.connected += rtt
		c.stage = stageGreeting
		l.hold(i, c)
		return true
	}
	return l.speak(i, c)
}

// speak says the first word, of TLS or of the plain text before it.
func (l *loop) speak(i int32, c *socket) bool {
	if l.job.plan.StartTLS != "" {
		l.upgrade(i, c)
		return true
	}
	return l.greet(i, c)
}

// greet sends the ClientHello.
func (l *loop) greet(i int32, c *socket) bool {
	if c.machine == nil {
		c.machine = handshake.NewMachine(&l.ws)
	}
	session := l.sessions.next(&c.conn)
	if c.priming && c.times.planned >= l.job.warmEnd {
		l.started-- // it is not one of those asked for
	}
	if err := c.machine.Start(l.job.clients[c.share], session); err != nil {
		l.fail(i, c, &shakedown.Failure{Class: shakedown.ClassOurs, Phase: shakedown.PhaseConnected, Text: err.Error(), Err: err})
		return true
	}
	e := c.machine.Next() // the ClientHello, always
	if c.stage == stageUpgrading {
		c.stage = stageTalking
		l.send(i, c, e.Bytes) // behind plain text that is not sent yet
		return true
	}
	n, err := unix.Write(c.fd, e.Bytes)
	if err == unix.EAGAIN && c.stage == stageConnecting {
		return false // not connected yet after all
	}
	c.stage = stageTalking
	switch {
	case err == unix.EAGAIN:
		c.unsent = append(c.unsent, e.Bytes...)
	case err != nil:
		l.refuse(i, err)
	case n < len(e.Bytes):
		c.unsent = append(c.unsent, e.Bytes[n:]...)
	}
	return true
}

// hold keeps what comes next back for the RTT.
func (l *loop) hold(i int32, c *socket) {
	l.held.push(waiting{at: l.job.clock() + l.job.plan.RTT, conn: i, generation: c.generation})
}

// ready handles an event of epoll.
func (l *loop) ready(e *unix.EpollEvent) {
	i := e.Fd
	c := &l.conns[i]
	if c.fd < 0 || uint32(e.Pad) != c.generation {
		return // of a connection that ended in this batch
	}
	if c.stage == stageConnecting {
		if e.Events&(unix.EPOLLERR|unix.EPOLLHUP) != 0 {
			l.refuse(i, socketError(c.fd))
			return
		}
		if e.Events&unix.EPOLLOUT == 0 || !l.connected(i, c) || c.fd < 0 {
			return
		}
	}
	if e.Events&unix.EPOLLOUT != 0 && len(c.unsent) > 0 && !l.sendRest(i, c) {
		return
	}
	if e.Events&(unix.EPOLLIN|unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0 && c.stage >= stageUpgrading {
		c.hungUp = c.hungUp || e.Events&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0
		if l.job.plan.RTT > 0 {
			l.hold(i, c)
			return
		}
		l.receive(i, c)
	}
}

// proceed goes on after the RTT.
func (l *loop) proceed(i int32, c *socket) {
	if c.stage == stageGreeting {
		l.speak(i, c)
		return
	}
	l.receive(i, c)
}

// receive reads all there is and goes through what it brings. A short read
// means that there is no more, unless the peer has hung up, whose end has to be
// read too: its event has come already.
func (l *loop) receive(i int32, c *socket) {
	for {
		n, err := unix.Read(c.fd, l.buffer)
		switch {
		case n > 0:
			if !l.feed(i, c, l.buffer[:n]) || n < len(l.buffer) && !c.hungUp {
				return
			}
		case err == unix.EAGAIN:
			return
		case err == unix.EINTR:
		default:
			if err == nil {
				err = io.EOF
			}
			l.broken(i, c, err)
			return
		}
	}
}

// feed takes what was received. It returns false when the connection is over.
func (l *loop) feed(i int32, c *socket, b []byte) bool {
	if c.stage == stageUpgrading {
		return l.heard(i, c, b)
	}
	c.machine.Feed(b)
	return l.pump(i, c)
}

// pump handles the Machine's events. It returns false when the connection is
// over.
func (l *loop) pump(i int32, c *socket) bool {
	var wrote time.Duration // 0: nothing
	for {
		switch e := c.machine.Next(); e.Kind {
		case handshake.EventWait:
			if c.idle && c.ticketed {
				l.end(i, c)
				return false
			}
			return true
		case handshake.EventWrite:
			wrote = l.job.clock()
			if !l.send(i, c, e.Bytes) {
				return false
			}
		case handshake.EventDone:
			l.done(c, wrote)
			if !l.sessions.wanted(&c.conn) {
				l.end(i, c)
				return false
			}
			l.idling.push(waiting{at: l.now + ticketWait, conn: i, generation: c.generation})
		case handshake.EventTicket:
			// It may come before the handshake counts as complete: with the response.
			c.ticketed = true
			l.sessions.keep(&c.conn)
		case handshake.EventFailed:
			if c.idle {
				l.end(i, c)
			} else {
				l.fail(i, c, c.machine.Failure())
			}
			return false
		case handshake.EventClosed:
			l.end(i, c)
			return false
		}
	}
}

// send writes b, or keeps what the socket does not take yet. It returns false
// when the connection is over.
func (l *loop) send(i int32, c *socket, b []byte) bool {
	if len(c.unsent) > 0 {
		c.unsent = append(c.unsent, b...)
		return true
	}
	n, err := unix.Write(c.fd, b)
	switch {
	case err == unix.EAGAIN:
		n = 0
	case err != nil && c.machine.Failure() == nil:
		l.broken(i, c, err)
		return false
	}
	if n < len(b) {
		c.unsent = append(c.unsent, b[max(n, 0):]...)
	}
	return true
}

func (l *loop) sendRest(i int32, c *socket) bool {
	rest := c.unsent
	c.unsent = nil
	return l.send(i, c, rest)
}

// done counts a complete handshake. One that our own flight completes lasted
// until that flight was handed to the kernel: over loopback, writing it takes in
// what the server's end of the connection does with it.
func (l *loop) done(c *socket, wrote time.Duration) {
	if c.times.complete = wrote; wrote == 0 {
		c.times.complete = l.job.clock()
	}
	c.idle = true
	if c.priming {
		l.tally.refill(nil, c.times.complete-l.job.warmEnd)
	} else {
		l.tally.success(&c.conn, c.times.complete-l.job.warmEnd)
	}
	if c.machine.Observed().Version != shakedown.TLS13 {
		l.sessions.keep(&c.conn) // all that it brings is here
	}
}

// fail counts a failed handshake and ends its connection.
func (l *loop) fail(i int32, c *socket, f *shakedown.Failure) {
	l.count(c, f)
	l.shut(i, c)
	l.free = append(l.free, i)
}

func (l *loop) count(c *socket, f *shakedown.Failure) {
	if c.priming {
		l.tally.refill(f, l.now-l.job.warmEnd)
	} else {
		l.tally.failure(&c.conn, f, l.now-l.job.warmEnd)
	}
}

// broken ends a connection that the network or the server ended.
func (l *loop) broken(i int32, c *socket, err error) {
	if c.idle {
		l.end(i, c)
		return
	}
	if c.stage == stageUpgrading {
		l.fail(i, c, c.dialogue.Close(err))
		return
	}
	l.fail(i, c, c.machine.Close(err))
}

// timeOut ends a connection whose time is up.
func (l *loop) timeOut(i int32) {
	c := &l.conns[i]
	switch {
	case c.idle: // it waited for a ticket only
		l.end(i, c)
	case c.stage >= stageUpgrading:
		l.broken(i, c, unix.ETIMEDOUT)
	default:
		l.refuse(i, unix.ETIMEDOUT)
	}
}

// end closes a connection that has done its work.
func (l *loop) end(i int32, c *socket) {
	if l.job.plan.Close == CloseNotify && c.machine.Failure() == nil {
		c.machine.SendCloseNotify()
		if e := c.machine.Next(); e.Kind == handshake.EventWrite {
			unix.Write(c.fd, e.Bytes) // the peer may be gone already
		}
	}
	l.shut(i, c)
	l.free = append(l.free, i)
}

// shut closes the socket, which takes it out of epoll too.
func (l *loop) shut(i int32, c *socket) {
	if c.fd >= 0 {
		unix.Close(c.fd)
		c.fd = -1
	}
	l.active.remove(i)
}

func socketError(fd int) error {
	n, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err != nil {
		return err
	}
	if n == 0 {
		return unix.ECONNRESET
	}
	return unix.Errno(n)
}

func sockaddr(a netip.AddrPort) unix.Sockaddr { return sockaddrOf(a.Addr(), a.Port()) }

func sockaddrOf(a netip.Addr, port uint16) unix.Sockaddr {
	if a = a.Unmap(); a.Is4() {
		return &unix.SockaddrInet4{Port: int(port), Addr: a.As4()}
	}
	return &unix.SockaddrInet6{Port: int(port), Addr: a.As16()}
}
