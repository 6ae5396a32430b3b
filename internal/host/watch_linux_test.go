package host

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"
)

// near fails unless got is within a tenth of want, or within slack of it.
func near(t *testing.T, what string, got, want, slack time.Duration) {
	t.Helper()
	if difference := (got - want).Abs(); difference > max(want/10, slack) {
		t.Errorf("%s: %v; want about %v", what, got, want)
	}
}

// eventually waits until holds, and fails if it never does.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

func watch(t *testing.T, pids ...int) *Watch {
	t.Helper()
	w, err := Start(pids...)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func sample(t *testing.T, w *Watch) Usage {
	t.Helper()
	u, err := w.Sample()
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestWatchCPUAgainstRusageOfTheChild(t *testing.T) {
	c := startChild(t)
	c.do("burn 100ms") // before the watch: must not count
	w := watch(t, c.pid())
	spent := time.Duration(c.number("burn 500ms"))
	u := sample(t, w)
	near(t, "CPU", u.CPU, spent, 10*time.Millisecond)
	if u.CPUCoarse != 0 {
		t.Errorf("coarse CPU %v of a process without children", u.CPUCoarse)
	}
	// An independent source: the scheduler's own figure for each thread, which
	// holds what was burnt before too.
	near(t, "CPU of the threads in schedstat", schedstatSum(t, c.pid()), spent+100*time.Millisecond, 30*time.Millisecond)

	if u.Processes != 1 || u.Threads < 1 || u.RSS <= 0 {
		t.Errorf("%d processes, %d threads, %d bytes", u.Processes, u.Threads, u.RSS)
	}
	if u.VoluntarySwitches <= 0 {
		t.Error("the child waited for a command without a voluntary switch")
	}
	again := sample(t, w)
	if again.CPU < u.CPU || again.VoluntarySwitches < u.VoluntarySwitches || again.RunQueueWait < u.RunQueueWait {
		t.Errorf("counters ran backwards: %+v, then %+v", u, again)
	}
}

func schedstatSum(t *testing.T, pid int) time.Duration {
	t.Helper()
	directory := "/proc/" + strconv.Itoa(pid) + "/task/"
	entries, err := os.ReadDir(directory)
	if err != nil {
		t.Fatal(err)
	}
	var sum time.Duration
	for _, entry := range entries {
		data, err := os.ReadFile(directory + entry.Name() + "/schedstat")
		if gone(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		cpu, _, err := parseSchedstat(data)
		if err != nil {
			t.Fatal(err)
		}
		sum += cpu
	}
	return sum
}

func TestWatchKeepsThreadsThatEnded(t *testing.T) {
	c := startChild(t)
	w := watch(t, c.pid())
	first := time.Duration(c.number("thread 200ms"))
	u1 := sample(t, w)
	second := time.Duration(c.number("thread 200ms"))
	u2 := sample(t, w)
	near(t, "CPU after one thread ended", u1.CPU, first, 10*time.Millisecond)
	near(t, "CPU after two threads ended", u2.CPU, first+second, 10*time.Millisecond)
	// The threads go from /proc soon after: without the process's own clock
	// their time would be lost.
	eventually(t, "the burning threads end", func() bool { return schedstatSum(t, c.pid()) < first/2 })
	near(t, "CPU when they are gone", sample(t, w).CPU, first+second, 10*time.Millisecond)
}

func TestWatchCountsThreads(t *testing.T) {
	c := startChild(t)
	w := watch(t, c.pid())
	before := sample(t, w).Threads
	c.do("threads 7")
	if after := sample(t, w).Threads; after < before+5 || after < 7 {
		t.Errorf("%d threads, after 7 more were started %d", before, after)
	}
}

func TestWatchKeepsSwitchesOfThreadsThatEnded(t *testing.T) {
	c := startChild(t)
	w := watch(t, c.pid())
	c.do("threads 5")
	before := sample(t, w)
	if before.VoluntarySwitches < 500 {
		t.Errorf("%d voluntary switches after 500 waits", before.VoluntarySwitches)
	}
	c.do("release")
	eventually(t, "the threads end", func() bool { return sample(t, w).Threads <= before.Threads-3 })
	if after := sample(t, w).VoluntarySwitches; after < before.VoluntarySwitches {
		t.Errorf("%d voluntary switches, when threads ended %d", before.VoluntarySwitches, after)
	}
}

func TestWatchTakesInDescendants(t *testing.T) {
	c := startChild(t)
	before := c.number("start")
	w := watch(t, c.pid())
	if u := sample(t, w); u.Processes != 2 {
		t.Errorf("%d processes at the start; want the child and its own", u.Processes)
	}
	spent := time.Duration(c.number("sub burn 200ms"))
	after := c.number("start") // begun during the watch
	c.do("sub hello")
	spent += time.Duration(c.number("sub burn 200ms"))
	u := sample(t, w)
	near(t, "CPU", u.CPU, spent, 100*time.Millisecond) // and what it takes to start a process
	pids, want := w.PIDs(), sorted(c.pid(), before, after)
	if u.Processes != 3 || !slices.Equal(pids, want) {
		t.Errorf("%d processes %v; want %v", u.Processes, pids, want)
	}
}

// A child that lives wholly between two samples is known from its parent alone.
func TestWatchCountsChildrenNeverSeen(t *testing.T) {
	c := startChild(t)
	w := watch(t, c.pid())
	c.do("start")
	spent := time.Duration(c.number("sub burn 400ms"))
	c.do("end")
	u := sample(t, w)
	near(t, "CPU", u.CPU, spent, 100*time.Millisecond)
	if u.CPUCoarse < spent*9/10 {
		t.Errorf("coarse CPU %v; want all of the child's %v", u.CPUCoarse, spent)
	}
	if u.Processes != 1 {
		t.Errorf("%d processes; want 1", u.Processes)
	}
}

// One that was seen is counted once: as far as seen exactly, the rest coarsely.
func TestWatchCountsEndedChildrenOnce(t *testing.T) {
	c := startChild(t)
	w := watch(t, c.pid())
	c.do("start")
	seen := time.Duration(c.number("sub burn 300ms"))
	if u := sample(t, w); u.Processes != 2 || u.CPUCoarse != 0 {
		t.Errorf("%+v; want 2 processes and nothing coarse", u)
	}
	unseen := time.Duration(c.number("sub burn 300ms"))
	c.do("end")
	u := sample(t, w)
	near(t, "CPU", u.CPU, seen+unseen, 100*time.Millisecond)
	near(t, "coarse CPU", u.CPUCoarse, unseen, 50*time.Millisecond)
	again := sample(t, w)
	near(t, "CPU at a further sample", again.CPU, u.CPU, 20*time.Millisecond)
}

// A grandchild and its parent that end between the same two samples: the time
// of both arrives at the watched process at once.
func TestWatchCountsGenerationsOnce(t *testing.T) {
	c := startChild(t)
	w := watch(t, c.pid())
	c.do("start")
	c.do("sub start")
	spent := time.Duration(c.number("sub sub burn 300ms"))
	if u := sample(t, w); u.Processes != 3 {
		t.Errorf("%d processes; want 3", u.Processes)
	}
	c.do("end") // ends the grandchild as well
	u := sample(t, w)
	near(t, "CPU", u.CPU, spent, 100*time.Millisecond)
	if u.Processes != 1 {
		t.Errorf("%d processes; want 1", u.Processes)
	}
}

func TestWatchZombieIsNoProcess(t *testing.T) {
	c := startChild(t)
	pid := c.number("start")
	w := watch(t, c.pid())
	spent := time.Duration(c.number("sub burn 200ms"))
	c.do("kill")
	eventually(t, "the killed child becomes a zombie", func() bool {
		data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil {
			t.Fatal(err)
		}
		s, err := parseStat(data)
		if err != nil {
			t.Fatal(err)
		}
		return s.zombie
	})
	u := sample(t, w)
	near(t, "CPU", u.CPU, spent, 20*time.Millisecond)
	if u.Processes != 1 || slices.Contains(w.PIDs(), pid) {
		t.Errorf("%d processes %v; want the parent alone", u.Processes, w.PIDs())
	}
	if _, err := Start(pid); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("watching a zombie: %v", err)
	}
}

func TestWatchEnded(t *testing.T) {
	c := startChild(t)
	w := watch(t, c.pid())
	spent := time.Duration(c.number("burn 100ms"))
	sample(t, w)
	c.end()
	u, err := w.Sample()
	if !errors.Is(err, ErrEnded) {
		t.Errorf("error %v; want ErrEnded", err)
	}
	near(t, "CPU kept", u.CPU, spent, 10*time.Millisecond)
	if _, err := Start(c.pid()); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("watching an ended process: %v", err)
	}
}

func TestWatchMemory(t *testing.T) {
	c := startChild(t)
	w := watch(t, c.pid())
	m, err := w.Memory()
	if err != nil {
		t.Fatal(err)
	}
	if m.PSS <= 0 || m.PSS > m.RSS {
		t.Errorf("PSS %d, RSS %d; want 0 < PSS <= RSS", m.PSS, m.RSS)
	}
	// Child and test run one program, so they share its pages.
	if m.PSS == m.RSS {
		t.Error("PSS equals RSS: are shared pages divided?")
	}
	// Both sources count the same pages, a little apart in time.
	if u := sample(t, w); u.RSS < m.RSS/2 || u.RSS > m.RSS*2 {
		t.Errorf("RSS %d by statm, %d by smaps", u.RSS, m.RSS)
	}
}

func TestFamilyLeavesOutThisProcess(t *testing.T) {
	self := os.Getpid()
	table := map[int]stat{
		1:        {pid: 1},
		10:       {pid: 10, parent: 1},
		self:     {pid: self, parent: 1},
		9999999:  {pid: 9999999, parent: self},
		99999999: {pid: 99999999, parent: 10},
	}
	if got := family(table, []int{1}); len(got) != 3 || got[self].pid != 0 {
		t.Errorf("family of 1: %v; want 1, 10 and 99999999", got)
	}
	if got := family(table, []int{self}); len(got) != 2 {
		t.Errorf("family of this process: %v; want it and its child", got)
	}
	loop := map[int]stat{5: {pid: 5, parent: 6}, 6: {pid: 6, parent: 5}}
	if got := family(loop, []int{5, 5, 7}); len(got) != 2 {
		t.Errorf("family in a loop: %v", got)
	}
}
