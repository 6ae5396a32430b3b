package host

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// userHZ is the unit of times in /proc: 10 ms in every Linux ABI Go supports.
const userHZ = 10 * time.Millisecond

// A stat is what is needed of /proc/PID/stat.
type stat struct {
	pid, parent int
	name        string
	zombie      bool          // ended, but its parent has not asked how
	children    time.Duration // user and system time of children that ended and were waited for
	start       uint64        // in ticks since boot; with pid it names a process for good
}

// parseStat reads /proc/PID/stat (proc_pid_stat(5)).
func parseStat(data []byte) (stat, error) {
	fail := func() (stat, error) {
		return stat{}, fmt.Errorf("host: /proc/PID/stat holds %.80q", data)
	}
	// The name is in brackets and may itself hold spaces and brackets.
	open, end := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
	if open < 0 || end < open || !bytes.HasSuffix(data, []byte("\n")) {
		return fail()
	}
	fields := strings.Fields(string(data[end+1:])) // fields[0] is field 3 of the manual
	if len(fields) < 20 {
		return fail()
	}
	s := stat{name: string(data[open+1 : end]), zombie: fields[0] == "Z" || fields[0] == "X"}
	var err1, err2 error
	s.pid, err1 = strconv.Atoi(strings.TrimSpace(string(data[:open])))
	s.parent, err2 = strconv.Atoi(fields[1])
	user, err3 := strconv.ParseInt(fields[13], 10, 64)
	system, err4 := strconv.ParseInt(fields[14], 10, 64)
	start, err5 := strconv.ParseUint(fields[19], 10, 64)
	if errors.Join(err1, err2, err3, err4, err5) != nil {
		return fail()
	}
	s.children = time.Duration(user+system) * userHZ
	s.start = start
	return s, nil
}

// processes reads the stat of every process that can be seen, by PID.
func processes() (map[int]stat, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("host: %w", err)
	}
	table := make(map[int]stat, len(entries))
	for _, entry := range entries {
		if _, err := strconv.Atoi(entry.Name()); err != nil {
			continue
		}
		data, err := os.ReadFile("/proc/" + entry.Name() + "/stat")
		if gone(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("host: %w", err)
		}
		s, err := parseStat(data)
		if err != nil {
			return nil, err
		}
		table[s.pid] = s
	}
	return table, nil
}

// gone reports whether err says that a process or thread has ended.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH)
}

// family returns the roots and all their descendants that are in the table. This
// process, unless it is a root, is no part of it, nor is what it has begun: a
// client orphaned in a container becomes a child of its process 1.
func family(table map[int]stat, roots []int) map[int]stat {
	children := map[int][]int{}
	for _, s := range table {
		if s.pid != os.Getpid() {
			children[s.parent] = append(children[s.parent], s.pid)
		}
	}
	members := map[int]stat{}
	for next := slices.Clone(roots); len(next) > 0; {
		pid := next[len(next)-1]
		next = next[:len(next)-1]
		s, ok := table[pid]
		if _, known := members[pid]; known || !ok {
			continue
		}
		members[pid] = s
		next = append(next, children[pid]...)
	}
	return members
}

// processCPU returns the CPU time of all threads of a process, past and
// present, from the process's own CPU clock (clock_getcpuclockid(3)). It needs
// no permission. Unlike the sum of /proc/PID/task/*/schedstat it keeps threads
// that ended and is not up to a tick behind for one that runs right now.
func processCPU(pid int) (time.Duration, error) {
	const schedClock = 2 // CPUCLOCK_SCHED of the kernel: on-CPU time in nanoseconds
	var t unix.Timespec
	err := unix.ClockGettime(int32(^pid<<3|schedClock), &t)
	if errors.Is(err, unix.EINVAL) {
		err = unix.ESRCH // how this call says that there is no such process
	}
	if err != nil {
		return 0, fmt.Errorf("host: CPU clock of process %d: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}

// A task is what is counted of one thread.
type task struct {
	wait                   time.Duration
	voluntary, involuntary int64
}

// tasks reads the counters of all threads a process has now, by thread ID.
func tasks(pid int) (map[int]task, error) {
	directory := "/proc/" + strconv.Itoa(pid) + "/task/"
	entries, err := os.ReadDir(directory)
	if err != nil {
		return nil, fmt.Errorf("host: %w", err)
	}
	all := make(map[int]task, len(entries))
	for _, entry := range entries {
		tid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		schedstat, err1 := os.ReadFile(directory + entry.Name() + "/schedstat")
		status, err2 := os.ReadFile(directory + entry.Name() + "/status")
		if gone(err1) || gone(err2) {
			continue
		}
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("host: %w", err)
		}
		var t task
		_, t.wait, err1 = parseSchedstat(schedstat)
		t.voluntary, err2 = parseField(status, "voluntary_ctxt_switches:")
		var err3 error
		t.involuntary, err3 = parseField(status, "nonvoluntary_ctxt_switches:")
		if err := errors.Join(err1, err2, err3); err != nil {
			return nil, err
		}
		all[tid] = t
	}
	return all, nil
}

// parseSchedstat reads a schedstat file: nanoseconds on a CPU, nanoseconds
// ready to run but waiting for one, and the number of turns.
func parseSchedstat(data []byte) (cpu, wait time.Duration, err error) {
	fields := strings.Fields(string(data))
	if len(fields) != 3 || !bytes.HasSuffix(data, []byte("\n")) {
		return 0, 0, fmt.Errorf("host: schedstat holds %.80q", data)
	}
	var values [2]int64
	for i := range values {
		if values[i], err = strconv.ParseInt(fields[i], 10, 64); err != nil {
			return 0, 0, fmt.Errorf("host: schedstat: %w", err)
		}
	}
	return time.Duration(values[0]), time.Duration(values[1]), nil
}

// parseField returns the number after a name that begins a line, as in the
// status and smaps_rollup files of a process.
func parseField(data []byte, name string) (int64, error) {
	for line := range strings.Lines(string(data)) {
		rest, ok := strings.CutPrefix(line, name)
		fields := strings.Fields(rest)
		if !ok || len(fields) == 0 || !strings.HasSuffix(line, "\n") {
			continue
		}
		v, err := strconv.ParseInt(fields[0], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("host: %s %w", name, err)
		}
		return v, nil
	}
	return 0, fmt.Errorf("host: no line %q", name)
}

// residentBytes returns the resident set of a process.
func residentBytes(pid int) (int64, error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0, fmt.Errorf("host: %w", err)
	}
	fields := strings.Fields(string(data)) // all in pages: total, resident, ...
	if len(fields) < 2 {
		return 0, fmt.Errorf("host: /proc/%d/statm holds %.80q", pid, data)
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("host: /proc/%d/statm: %w", pid, err)
	}
	return pages * int64(os.Getpagesize()), nil
}
