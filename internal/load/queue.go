package load

import "time"

// queue is a doubly linked list of connections by index, in the order in which
// they were added; adding and removing take constant time and no memory.
type queue struct {
	prev, next     []int32
	oldest, newest int32
	n              int
}

func (q *queue) init(n int) {
	q.prev, q.next = make([]int32, n), make([]int32, n)
	q.oldest, q.newest, q.n = -1, -1, 0
}

func (q *queue) add(i int32) {
	q.prev[i], q.next[i] = q.newest, -1
	if q.newest >= 0 {
		q.next[q.newest] = i
	} else {
		q.oldest = i
	}
	q.newest = i
	q.n++
}

func (q *queue) remove(i int32) {
	if p := q.prev[i]; p >= 0 {
		q.next[p] = q.next[i]
	} else {
		q.oldest = q.next[i]
	}
	if n := q.next[i]; n >= 0 {
		q.prev[n] = q.prev[i]
	} else {
		q.newest = q.prev[i]
	}
	q.n--
}

// waiting is a connection that waits for a time.
type waiting struct {
	at         time.Duration
	conn       int32
	generation uint32
}

// fifo is a queue of waiting connections whose times come in order, since each
// waits equally long. Its memory is used again.
type fifo struct {
	ring       []waiting
	head, size int
}

func (f *fifo) push(w waiting) {
	if f.size == len(f.ring) {
		grown := make([]waiting, max(2*len(f.ring), 64))
		for i := range f.size {
			grown[i] = f.ring[(f.head+i)%len(f.ring)]
		}
		f.ring, f.head = grown, 0
	}
	f.ring[(f.head+f.size)%len(f.ring)] = w
	f.size++
}

func (f *fifo) pop() waiting {
	w := f.ring[f.head]
	f.head = (f.head + 1) % len(f.ring)
	f.size--
	return w
}

// next returns the time of the first, if there is one.
func (f *fifo) next() (time.Duration, bool) {
	if f.size == 0 {
		return 0, false
	}
	return f.ring[f.head].at, true
}

func (f *fifo) due(now time.Duration) bool {
	at, ok := f.next()
	return ok && at <= now
}
