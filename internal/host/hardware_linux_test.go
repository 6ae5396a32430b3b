package host

import (
	"errors"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// TestEvents counts something that every machine can count, page faults, for a
// process and for children that it starts meanwhile.
func TestEvents(t *testing.T) {
	faults := []perfEvent{{unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_PAGE_FAULTS}}
	shell := exec.Command("sh", "-c", "read go; i=0; while [ $i -lt 20 ]; do /bin/true; i=$((i+1)); done; echo done; read go")
	in, err := shell.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := shell.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); shell.Wait() })
	w, err := startEvents(faults, []int{shell.Process.Pid})
	if err != nil {
		t.Skipf("this machine lets nobody count: %v", err)
	}
	t.Cleanup(w.Close)
	before, err := w.read()
	if err != nil {
		t.Fatal(err)
	}
	in.Write([]byte("go\n"))
	if _, err := out.Read(make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	after, err := w.read()
	if err != nil {
		t.Fatal(err)
	}
	// A process that is executed faults for its own pages: some dozens.
	if n := after[0] - before[0]; n < 20*20 {
		t.Errorf("%d page faults in 20 children", n)
	}
}

// TestHardware counts what the processor has done, or says that it cannot.
func TestHardware(t *testing.T) {
	c := startChild(t)
	w, err := StartHardware(c.pid())
	if errors.Is(err, ErrNoHardware) {
		t.Skipf("%v: a machine with them would run this", err)
	}
	if err != nil {
		t.Skipf("not allowed here: %v", err)
	}
	t.Cleanup(w.Close)
	c.do("burn 100ms")
	h, err := w.Read()
	if err != nil {
		t.Fatal(err)
	}
	if h.Instructions == 0 || h.Cycles == 0 {
		t.Errorf("100 ms of work: %+v", h)
	}
}

func TestHardwareOfNobody(t *testing.T) {
	c := startChild(t)
	pid := c.pid()
	c.end()
	if _, err := StartHardware(pid); err == nil {
		t.Error("a process that has ended is counted for")
	}
}
