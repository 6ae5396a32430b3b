package link

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// arrivals takes all packets off p and returns when they arrive.
func arrivals(p *path) (at []time.Duration) {
	for {
		next, ok := p.next()
		if !ok {
			return at
		}
		at = append(at, next)
		p.pop(true)
	}
}

func TestPathDelay(t *testing.T) {
	c := Config{RTT: 11}
	for direction, want := range [][]time.Duration{{5, 5, 105}, {6, 6, 106}} {
		p := newPath(c, direction)
		for _, now := range []time.Duration{0, 0, 100} {
			p.send(now, make([]byte, 100))
		}
		if got := arrivals(p); !slices.Equal(got, want) {
			t.Errorf("direction %d: packets arrive at %v, want %v", direction, got, want)
		}
	}
}

// TestPathRate has packets of 1,000 bytes take 8 ms each at 1 Mbit/s.
func TestPathRate(t *testing.T) {
	const ms = time.Millisecond
	p := newPath(Config{RTT: 20 * ms, Rate: 1e6, Queue: 3000}, 0)
	for range 5 { // the first three fill the queue
		p.send(0, make([]byte, 1000))
	}
	p.send(9*ms, make([]byte, 1000))  // one has left, and an eighth of the next
	p.send(100*ms, make([]byte, 500)) // all have
	if got, want := arrivals(p), []time.Duration{18 * ms, 26 * ms, 34 * ms, 42 * ms, 114 * ms}; !slices.Equal(got, want) {
		t.Errorf("packets arrive at %v, want %v", got, want)
	}
	if want := (Direction{Packets: 5, Bytes: 4500, QueueFull: 2}); p.Direction != want {
		t.Errorf("counted %+v, want %+v", p.Direction, want)
	}
}

// TestPathQueue has the queue hold what is sent in an RTT, and one packet however
// long it is.
func TestPathQueue(t *testing.T) {
	for _, c := range []struct {
		config Config
		want   int64
	}{
		{Config{RTT: 50 * time.Millisecond, Rate: 100e6}, 625_000},
		{Config{RTT: time.Millisecond, Rate: 1e6}, 65_536},
		{Config{Rate: 1e6, Queue: 1}, 1},
	} {
		if got := c.config.queue(); got != c.want {
			t.Errorf("%s: a queue of %d bytes, want %d", c.config, got, c.want)
		}
	}
	p := newPath(Config{Rate: 1e6, Queue: 1}, 0)
	p.send(0, make([]byte, 1500))
	p.send(0, make([]byte, 1500))
	if n := len(arrivals(p)); n != 1 || p.QueueFull != 1 {
		t.Errorf("%d packets pass and %d are dropped, want 1 and 1", n, p.QueueFull)
	}
}

func TestPathLoss(t *testing.T) {
	const n = 100_000
	lost := func(seed uint64, direction int) int64 {
		p := newPath(Config{Loss: 2, Seed: seed}, direction)
		for range n {
			p.send(0, []byte{1})
			if _, ok := p.next(); ok {
				p.pop(true)
			}
		}
		if p.Packets+p.Lost != n {
			t.Errorf("%+v: want %d packets", p.Direction, n)
		}
		return p.Lost
	}
	a := lost(1, 0)
	if a < 1800 || a > 2200 { // 2,000 with a deviation of 44
		t.Errorf("%d of %d packets are lost, want 2%%", a, n)
	}
	if b := lost(1, 0); a != b {
		t.Errorf("the same seed loses %d and %d packets", a, b)
	}
	if lost(1, 1) == a && lost(2, 0) == a && lost(3, 0) == a {
		t.Error("the seed and the direction change nothing")
	}
}

// TestPathOverrun holds more than there is room for.
func TestPathOverrun(t *testing.T) {
	p := newPath(Config{RTT: time.Second}, 0)
	packet := make([]byte, 1<<20)
	for range mostHeld/len(packet) + 3 {
		p.send(0, packet)
	}
	p.pop(false)
	if got := len(arrivals(p)); int64(got) != p.Packets || got != mostHeld/len(packet)-1 || p.Overrun != 4 {
		t.Errorf("%d arrive, counted %+v", got, p.Direction)
	}
}

// TestPathKeepsOrder holds what comes out against what went in, while both go on.
func TestPathKeepsOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	p := newPath(Config{RTT: 200 * time.Microsecond}, 0)
	var in, out []byte
	for now := time.Duration(0); now < 10*time.Millisecond; now += time.Microsecond {
		packet := make([]byte, 20+rng.IntN(1480))
		for i := range packet {
			packet[i] = byte(rng.Uint32())
		}
		in = append(in, packet...)
		p.send(now, packet)
		for {
			at, ok := p.next()
			if !ok || at > now {
				break
			}
			out = append(out, p.packet()...)
			p.pop(true)
		}
	}
	for p.held.len() > 0 {
		out = append(out, p.packet()...)
		p.pop(true)
	}
	if !bytes.Equal(in, out) {
		t.Error("what comes out is not what went in")
	}
	if p.Bytes != int64(len(in)) || p.last() != 0 {
		t.Errorf("counted %+v, want %d bytes", p.Direction, len(in))
	}
}
