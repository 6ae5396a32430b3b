package link

import (
	"math/rand/v2"
	"time"
)

// mostHeld is how many bytes one direction holds at the most. It is out of reach
// of TCP's windows unless very many connections send at once.
const mostHeld = 64 << 20

// path is one direction of a link. It does no I/O and knows no clock: times are
// since any instant, and come in order.
type path struct {
	delay time.Duration
	rate  int64 // bits per second; 0: no limit
	queue int64 // bytes
	loss  float64
	rng   *rand.Rand

	free  time.Duration // when all packets so far are sent
	held  fifo[arrival]
	bytes fifo[byte] // of the packets in held
	Direction
}

// arrival is when a packet comes out at the far end.
type arrival struct {
	at     time.Duration
	length int
}

// newPath returns one of the two directions, 0 or 1: an odd nanosecond of the
// RTT is given to the second.
func newPath(c Config, direction int) *path {
	return &path{
		delay: (c.RTT + time.Duration(direction)) / 2, rate: c.Rate, queue: c.queue(), loss: c.Loss / 100,
		rng: rand.New(rand.NewPCG(c.Seed, uint64(direction))),
	}
}

// send takes a packet that comes to the link now. It is a copy that is kept.
func (p *path) send(now time.Duration, packet []byte) {
	sent := now
	if p.rate > 0 {
		begin := max(now, p.free)
		if waiting := p.size(begin - now); waiting > 0 && waiting+int64(len(packet)) > p.queue {
			p.QueueFull++
			return
		}
		sent = begin + p.transmission(len(packet))
		p.free = sent
	}
	// A packet lost on the way has taken its time on the link all the same.
	if p.loss > 0 && p.rng.Float64() < p.loss {
		p.Lost++
		return
	}
	if p.bytes.len()+len(packet) > mostHeld {
		p.Overrun++
		return
	}
	p.held.push(arrival{sent + p.delay, len(packet)})
	p.bytes.push(packet...)
}

// transmission is how long n bytes take at the rate.
func (p *path) transmission(n int) time.Duration {
	return time.Duration(float64(n) * 8 / float64(p.rate) * float64(time.Second))
}

// size is how many bytes take d at the rate.
func (p *path) size(d time.Duration) int64 {
	return int64(d.Seconds() * float64(p.rate) / 8)
}

// next returns when the next packet arrives, if there is one.
func (p *path) next() (at time.Duration, ok bool) {
	if p.held.len() == 0 {
		return 0, false
	}
	return p.held.front()[0].at, true
}

// last returns when the last packet so far arrives; 0 if none is under way.
func (p *path) last() time.Duration {
	if p.held.len() == 0 {
		return 0
	}
	return p.held.front()[p.held.len()-1].at
}

// packet returns the next packet, until pop.
func (p *path) packet() []byte { return p.bytes.front()[:p.held.front()[0].length] }

// pop is done with the next packet, which has arrived or not.
func (p *path) pop(arrived bool) {
	n := p.held.front()[0].length
	if arrived {
		p.Packets++
		p.Bytes += int64(n)
	} else {
		p.Overrun++
	}
	p.held.pop(1)
	p.bytes.pop(n)
}

// fifo is a queue whose front is always one slice.
type fifo[T any] struct {
	items []T
	head  int // items before it are gone
}

func (f *fifo[T]) len() int        { return len(f.items) - f.head }
func (f *fifo[T]) front() []T      { return f.items[f.head:] }
func (f *fifo[T]) push(items ...T) { f.items = append(f.items, items...) }

// pop removes the first n items. Moving the rest up when half of the slice is
// gone costs less than one copy for each item.
func (f *fifo[T]) pop(n int) {
	f.head += n
	if 2*f.head >= len(f.items) {
		f.items = f.items[:copy(f.items, f.items[f.head:])]
		f.head = 0
	}
}
