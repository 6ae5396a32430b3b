package link

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// batch is how many packets are taken from one device before the clock is looked
// at for those that are due.
const batch = 32

// forwarder is the thread that carries packets between two TUN devices.
type forwarder struct {
	toServer, toClient *path
	inner, outer       *device // the load's, the server's
	wake               int     // an eventfd that ends it
	thread             int     // its ID
	base               time.Time
	buffer             [mtu]byte
	done               chan struct{}
	ending             bool
	end                time.Duration // what arrives later is left

	mu       sync.Mutex // of all below and of the paths
	late     Late
	realTime bool
	failed   error // what ended it, of itself
}

// newForwarder starts a thread with start.
func newForwarder(c Config, inner, outer *device, start func(func()) error) (*forwarder, error) {
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("link: %w", err)
	}
	f := &forwarder{
		toServer: newPath(c, 0), toClient: newPath(c, 1), inner: inner, outer: outer, wake: wake,
		base: time.Now(), done: make(chan struct{}),
	}
	thread := make(chan int)
	err = start(func() {
		thread <- unix.Gettid()
		defer close(f.done)
		err := f.run()
		f.mu.Lock()
		f.failed = err
		f.mu.Unlock()
	})
	if err != nil {
		return nil, errors.Join(err, unix.Close(wake))
	}
	f.thread = <-thread
	return f, nil
}

// stop ends the thread, once what is under way to the server has arrived.
func (f *forwarder) stop() error {
	// A number above 0 in either byte order.
	if _, err := unix.Write(f.wake, []byte{1, 0, 0, 0, 0, 0, 0, 1}); err != nil {
		return fmt.Errorf("link: %w", err)
	}
	<-f.done
	return errors.Join(f.failed, unix.Close(f.wake))
}

// stats may be called until stop.
func (f *forwarder) stats() (Stats, error) {
	f.mu.Lock()
	s := Stats{ToServer: f.toServer.Direction, ToClient: f.toClient.Direction, Late: f.late, RealTime: f.realTime}
	failed := f.failed
	f.mu.Unlock()
	if failed != nil {
		return s, failed
	}
	thread := fmt.Sprintf("/proc/self/task/%d/", f.thread)
	scheduling, err := os.ReadFile(thread + "schedstat")
	if err != nil {
		return s, fmt.Errorf("link: the thread's use of CPU: %w", err)
	}
	if _, err := fmt.Sscan(string(scheduling), &s.CPU, &s.RunQueue); err != nil {
		return s, fmt.Errorf("link: the thread's use of CPU: %w", err)
	}
	// The forwarder's thread is in the load's namespace, the process in the
	// server's.
	missed, err := f.inner.drops(thread + "net/dev")
	if err != nil {
		return s, err
	}
	s.ToServer.Overrun += missed
	if missed, err = f.outer.drops("/proc/self/net/dev"); err != nil {
		return s, err
	}
	s.ToClient.Overrun += missed
	return s, nil
}

func (f *forwarder) clock() time.Duration { return time.Since(f.base) }

func (f *forwarder) run() error {
	// The kernel may wake a thread late by its timer slack to save power, 50 us
	// unless told otherwise.
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("link: timer slack: %w", err)
	}
	// On busy cores, which load makes, a thread of usual priority waits for
	// milliseconds; this one does little and waits a lot.
	realTime := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1, Flags: unix.SCHED_FLAG_RESET_ON_FORK}
	err := unix.SchedSetAttr(0, &realTime, 0)
	f.mu.Lock()
	f.realTime = err == nil
	f.mu.Unlock()
	fds := []unix.PollFd{
		{Fd: int32(f.inner.fd), Events: unix.POLLIN}, {Fd: int32(f.outer.fd), Events: unix.POLLIN}, {Fd: int32(f.wake), Events: unix.POLLIN},
	}
	for !f.over() {
		if err := f.turn(fds); err != nil {
			return err
		}
	}
	return nil
}

// turn waits until there is something to do, and does it.
func (f *forwarder) turn(fds []unix.PollFd) error {
	if _, err := unix.Ppoll(fds, f.patience(), nil); errors.Is(err, unix.EINTR) {
		return nil
	} else if err != nil {
		return fmt.Errorf("link: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	err := errors.Join(f.deliver(f.toServer, f.outer), f.deliver(f.toClient, f.inner))
	if fds[0].Revents != 0 {
		err = errors.Join(err, f.take(f.inner, f.toServer, batch))
	}
	if fds[1].Revents != 0 {
		err = errors.Join(err, f.take(f.outer, f.toClient, batch))
	}
	if fds[2].Revents != 0 {
		fds[2].Fd = -1 // which poll passes over
		err = errors.Join(err, f.finish())
	}
	return err
}

// finish plans the end: what was sent to the server is to arrive, and so are the
// resets with which the load's kernel answers the server's answers when the
// sockets are gone by then. Without them the server would keep its side of the
// connections.
func (f *forwarder) finish() error {
	const (
		answering = 100 * time.Millisecond // for two kernels, on busy cores
		patience  = time.Second            // with a queue that a slow link has
	)
	err := f.take(f.inner, f.toServer, queueLength)
	now := f.clock()
	arrived := min(max(f.toServer.last(), now), now+f.toServer.delay+patience)
	f.ending = true
	f.end = arrived + f.toClient.delay + f.toServer.delay + answering
	return err
}

// over reports whether the end that is planned has come, and all is delivered
// that was due by then.
func (f *forwarder) over() bool {
	at, ok := f.toServer.next()
	return f.ending && f.clock() >= f.end && (!ok || at > f.end)
}

// take reads packets, so many at the most, from a device onto a path.
func (f *forwarder) take(d *device, p *path, atMost int) error {
	for range atMost {
		n, err := unix.Read(d.fd, f.buffer[:])
		if errors.Is(err, unix.EAGAIN) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("link: reading packets: %w", err)
		}
		p.send(f.clock(), f.buffer[:n])
	}
	return nil
}

// deliver writes the packets of a path that are due to a device.
func (f *forwarder) deliver(p *path, d *device) error {
	for {
		at, ok := p.next()
		now := f.clock()
		if !ok || at > now {
			return nil
		}
		_, err := unix.Write(d.fd, p.packet())
		switch {
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.ENOBUFS), errors.Is(err, unix.ENOMEM):
			p.pop(false) // the kernel is short of memory
		case err != nil:
			return fmt.Errorf("link: writing packets: %w", err)
		default:
			p.pop(true)
			f.late.record(now - at)
		}
	}
}

// patience is until when nothing is to be done; nil: until a packet comes.
func (f *forwarder) patience() *unix.Timespec {
	first, ok := f.toServer.next()
	if at, other := f.toClient.next(); other && (!ok || at < first) {
		first, ok = at, true
	}
	if f.ending && (!ok || f.end < first) {
		first, ok = f.end, true
	}
	if !ok {
		return nil
	}
	ts := unix.NsecToTimespec(max(first-f.clock(), 0).Nanoseconds())
	return &ts
}
