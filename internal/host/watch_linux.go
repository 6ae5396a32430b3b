package host

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"time"
)

// A Watch measures what processes and all their descendants consume, those
// begun and ended meanwhile included. It starts no goroutine: it looks when
// Sample is called. Looking more often splits CPU time from CPUCoarse, and costs
// some microseconds for each process of the machine and each watched thread.
type Watch struct {
	watched map[identity]*watched
}

// identity names a process for good; a PID alone is used again.
type identity struct {
	pid   int
	start uint64
}

// watched is one process, alive or ended.
type watched struct {
	first, last counters // first is zero for a process begun since the start
	tasks       map[int]task
	retired     task // sum over threads that ended
	parent      identity
	rss         int64
	zombie      bool // its counters are final, and still there
	ended       bool // nothing is left of it
	// reaped is the CPU time known of children that have ended: the part of the
	// growth of counters.children that is no news.
	reaped time.Duration
}

// counters are totals since a process began.
type counters struct {
	cpu, children time.Duration
	task          // sum over all threads
}

// coarse is how far the CPU time of all ended children together, as their parent
// has it, may be off: user and system time are each rounded down to a tick.
const coarse = 2 * userHZ

// Start begins to watch the processes with the given PIDs and their descendants.
// Any user's processes may be watched. It fails if one of them has ended.
func Start(pids ...int) (*Watch, error) {
	w := &Watch{watched: map[identity]*watched{}}
	table, err := processes()
	if err != nil {
		return nil, err
	}
	for _, pid := range pids {
		s, ok := table[pid]
		if !ok || s.zombie {
			return nil, fmt.Errorf("host: watch process %d: %w", pid, os.ErrProcessDone)
		}
		w.watched[identity{pid, s.start}] = &watched{}
	}
	if err := w.look(table); err != nil {
		return nil, err
	}
	for _, p := range w.watched {
		p.first = p.last
	}
	return w, nil
}

// Sample returns what was consumed since Start. When no watched process is left
// it returns that together with ErrEnded.
func (w *Watch) Sample() (Usage, error) {
	table, err := processes()
	if err != nil {
		return Usage{}, err
	}
	if err := w.look(table); err != nil {
		return Usage{}, err
	}
	var u Usage
	for _, p := range w.watched {
		u.CPU += p.last.cpu - p.first.cpu
		// Children whose end was seen are counted above up to their last sample;
		// their parent knows the rest, and those that were never seen.
		if rest := p.last.children - p.first.children - p.reaped; rest > coarse {
			u.CPU += rest
			u.CPUCoarse += rest
		}
		u.RunQueueWait += p.last.wait - p.first.wait
		u.VoluntarySwitches += p.last.voluntary - p.first.voluntary
		u.InvoluntarySwitches += p.last.involuntary - p.first.involuntary
		if !p.ended && !p.zombie {
			u.Processes++
			u.Threads += len(p.tasks)
			u.RSS += p.rss
		}
	}
	if u.Processes == 0 {
		return u, ErrEnded
	}
	return u, nil
}

// PIDs returns the watched processes that were alive at the last look, ascending.
func (w *Watch) PIDs() []int {
	var pids []int
	for id, p := range w.watched {
		if !p.ended && !p.zombie {
			pids = append(pids, id.pid)
		}
	}
	slices.Sort(pids)
	return pids
}

// Memory returns what the watched processes hold now. Reading it stops changes
// to their memory maps for a moment, so do it before or after a measurement.
// It needs to be the processes' user, or root (fs.ErrPermission).
func (w *Watch) Memory() (Memory, error) {
	var m Memory
	for _, pid := range w.PIDs() {
		data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
		if gone(err) {
			continue
		}
		if err != nil {
			return Memory{}, fmt.Errorf("host: memory of process %d: %w", pid, err)
		}
		rss, err1 := parseField(data, "Rss:")
		pss, err2 := parseField(data, "Pss:")
		if err := errors.Join(err1, err2); err != nil {
			return Memory{}, err
		}
		m.RSS += rss * 1024
		m.PSS += pss * 1024
	}
	return m, nil
}

// look reads the counters of all watched processes, takes in their new
// descendants and marks those that ended.
func (w *Watch) look(table map[int]stat) error {
	var alive []int
	for id, p := range w.watched {
		if s, ok := table[id.pid]; !p.ended && ok && s.start == id.start {
			alive = append(alive, id.pid)
		}
	}
	seen := map[identity]bool{}
	for pid, s := range family(table, alive) {
		id := identity{pid, s.start}
		p := w.watched[id]
		if p == nil {
			p = &watched{}
		}
		err := p.read(s)
		if gone(err) {
			continue // it ended between the table and now
		}
		if err != nil {
			return err
		}
		p.parent = identity{s.parent, table[s.parent].start}
		w.watched[id] = p
		seen[id] = true
	}
	w.bury(seen)
	return nil
}

// bury marks the processes that are no longer seen, children before their
// parents, and tells each parent what is already known of the CPU time its
// children brought it.
func (w *Watch) bury(seen map[identity]bool) {
	var dead []identity
	for id, p := range w.watched {
		if !p.ended && !seen[id] {
			dead = append(dead, id)
		}
	}
	slices.SortFunc(dead, func(a, b identity) int {
		return cmp.Or(cmp.Compare(b.start, a.start), cmp.Compare(b.pid, a.pid))
	})
	for _, id := range dead {
		p := w.watched[id]
		p.ended = true
		if parent := w.watched[p.parent]; parent != nil {
			parent.reaped += p.last.cpu + max(p.last.children, p.first.children+p.reaped)
		}
	}
}

// read takes the counters of a process that is alive. It changes nothing if the
// process turns out to have ended.
func (p *watched) read(s stat) error {
	cpu, err := processCPU(s.pid)
	if err != nil {
		return err
	}
	now, err := tasks(s.pid)
	if err != nil {
		return err
	}
	rss, err := residentBytes(s.pid)
	if err != nil {
		return err
	}
	if len(now) == 0 {
		return fs.ErrNotExist
	}
	for tid, old := range p.tasks {
		if _, ok := now[tid]; !ok {
			p.retired.add(old)
		}
	}
	sum := p.retired
	for _, t := range now {
		sum.add(t)
	}
	p.tasks, p.rss, p.zombie = now, rss, s.zombie
	p.last = counters{cpu: cpu, children: s.children, task: sum}
	return nil
}

func (t *task) add(other task) {
	t.wait += other.wait
	t.voluntary += other.voluntary
	t.involuntary += other.involuntary
}
