package host

import (
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestCPUShare(t *testing.T) {
	tests := []struct {
		name    string
		earlier CPUTimes
		now     CPUTimes
		want    CPUShare
	}{
		{"all kinds", CPUTimes{}, CPUTimes{User: 10, Nice: 5, System: 10, Idle: 40, IOWait: 10, IRQ: 3, SoftIRQ: 2, Steal: 20}, CPUShare{Busy: 30, Steal: 20}},
		{"only what passed", CPUTimes{User: 1000, Idle: 1000, Steal: 7}, CPUTimes{User: 1001, Idle: 1003, Steal: 7}, CPUShare{Busy: 25}},
		{"idle stepped back", CPUTimes{Idle: 100}, CPUTimes{Idle: 99, User: 4}, CPUShare{Busy: 100}},
	}
	for _, test := range tests {
		if got, err := test.now.Since(test.earlier); err != nil || got != test.want {
			t.Errorf("%s: %+v, %v; want %+v", test.name, got, err, test.want)
		}
	}
	if _, err := (CPUTimes{User: 5}).Since(CPUTimes{User: 5}); err == nil {
		t.Error("a share of no time was given")
	}
}

func TestReadCPUTimes(t *testing.T) {
	earlier, err := ReadCPUTimes()
	if err != nil {
		t.Fatal(err)
	}
	burn(100 * time.Millisecond)
	now, err := ReadCPUTimes()
	if err != nil {
		t.Fatal(err)
	}
	share, err := now.Since(earlier)
	if err != nil {
		t.Fatal(err)
	}
	if share.Busy <= 0 || share.Busy > 100 || share.Steal < 0 || share.Steal > 100 {
		t.Errorf("after 0.1 s of work: %+v", share)
	}
}

func TestListenDropsCountsAFullBacklog(t *testing.T) {
	before, err := ReadListenDrops()
	if err != nil {
		t.Fatal(err)
	}
	// A backlog of 0 takes one connection; nobody accepts it.
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(name.(*syscall.SockaddrInet4).Port))
	for range 4 {
		if conn, err := net.DialTimeout("tcp", address, 100*time.Millisecond); err == nil {
			defer conn.Close()
		}
	}
	now, err := ReadListenDrops()
	if err != nil {
		t.Fatal(err)
	}
	if d := now.Since(before); d.Overflows == 0 || d.Drops < d.Overflows {
		t.Errorf("a full backlog turned away %+v; want overflows, and no fewer drops", d)
	}
}

func TestReadLimits(t *testing.T) {
	l, err := ReadLimits()
	if err != nil {
		t.Fatal(err)
	}
	if l.OpenFiles == 0 || l.OpenFiles > l.OpenFilesMax {
		t.Errorf("open files %d of %d", l.OpenFiles, l.OpenFilesMax)
	}
	if l.PortLow <= 0 || l.PortHigh > 65535 || l.Ports() <= 0 {
		t.Errorf("ports %d to %d, %d in number", l.PortLow, l.PortHigh, l.Ports())
	}
	if l.AcceptQueueMax <= 0 || l.SYNBacklogMax <= 0 {
		t.Errorf("accept queue %d, SYN backlog %d", l.AcceptQueueMax, l.SYNBacklogMax)
	}
	if got := (Limits{PortLow: 32768, PortHigh: 60999}).Ports(); got != 28232 {
		t.Errorf("32768 to 60999 are %d ports; want 28232", got)
	}
}

func TestSelfAndThread(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	self, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	thread, err := Thread()
	if err != nil {
		t.Fatal(err)
	}
	burn(100 * time.Millisecond)
	thread2, err := Thread()
	if err != nil {
		t.Fatal(err)
	}
	self2, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	byThread, bySelf := thread2.Since(thread).CPU(), self2.Since(self).CPU()
	if byThread < 100*time.Millisecond {
		t.Errorf("the thread burnt 100ms, and used %v", byThread)
	}
	// Read inside, the thread's part cannot be more than the whole, but for the
	// microsecond each is rounded to.
	if bySelf < byThread-2*time.Microsecond {
		t.Errorf("the process used %v, less than its thread's %v", bySelf, byThread)
	}
	// The CPU clock of a process is the same figure from another source.
	clock, err := processCPU(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	near(t, "own CPU clock against rusage", clock, self2.CPU(), 10*time.Millisecond)
}

func TestThreadRunQueueWait(t *testing.T) {
	// Two threads that both want one CPU must wait for it.
	cpus, err := AllowedCPUs()
	if err != nil {
		t.Fatal(err)
	}
	waits := make(chan time.Duration, 2)
	for range 2 {
		go func() {
			runtime.LockOSThread() // not unlocked, so the pinned thread ends here
			before, err := ThreadRunQueueWait()
			if err == nil {
				err = Pin(cpus[0])
			}
			burn(50 * time.Millisecond)
			after, err2 := ThreadRunQueueWait()
			if err != nil || err2 != nil {
				t.Errorf("%v, %v", err, err2)
			}
			waits <- after - before
		}()
	}
	if sum := <-waits + <-waits; sum <= 0 {
		t.Errorf("two threads on one CPU waited %v", sum)
	}
}

func TestPin(t *testing.T) {
	all, err := AllowedCPUs()
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // not unlocked, so the pinned thread ends here
		last := all[len(all)-1]
		if err := Pin(last); err != nil {
			t.Error(err)
			return
		}
		if got, err := AllowedCPUs(); err != nil || !slices.Equal(got, []int{last}) {
			t.Errorf("pinned to %d: may run on %v, %v", last, got, err)
		}
		if err := Pin(all...); err != nil {
			t.Error(err)
		}
		if got, err := AllowedCPUs(); err != nil || !slices.Equal(got, all) {
			t.Errorf("pinned to all: may run on %v, %v; want %v", got, err, all)
		}
		for _, bad := range [][]int{{}, {-1}, {1024}, {1023}, {all[0], 1023}} {
			if err := Pin(bad...); err == nil {
				t.Errorf("pinned to %v", bad)
			}
		}
	}()
	<-done
}

func TestPinProcess(t *testing.T) {
	all, err := AllowedCPUs()
	if err != nil {
		t.Fatal(err)
	}
	c := startChild(t)
	c.do("threads 5")
	if err := PinProcess(c.pid(), all[0]); err != nil {
		t.Fatal(err)
	}
	c.do("threads 5") // begun later, they inherit it
	directory := "/proc/" + strconv.Itoa(c.pid()) + "/task/"
	entries, err := os.ReadDir(directory)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) < 10 {
		t.Errorf("%d threads; want at least 10", len(entries))
	}
	for _, entry := range entries {
		status, err := os.ReadFile(directory + entry.Name() + "/status")
		if err != nil {
			t.Fatal(err)
		}
		if want := "Cpus_allowed_list:\t" + strconv.Itoa(all[0]) + "\n"; !strings.Contains(string(status), want) {
			t.Errorf("thread %s is not bound to CPU %d", entry.Name(), all[0])
		}
	}
	if err := PinProcess(c.pid(), 1023); err == nil || !strings.Contains(err.Error(), "process "+strconv.Itoa(c.pid())) {
		t.Errorf("pinned to a CPU that is not there: %v", err)
	}
	c.end()
	if err := PinProcess(c.pid(), all[0]); err == nil {
		t.Error("an ended process was pinned")
	}
}
