package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// maxCPUs is how many CPUs a unix.CPUSet can name.
const maxCPUs = 1024

// AllowedCPUs returns the CPUs the calling thread may run on, ascending.
func AllowedCPUs() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("host: allowed CPUs: %w", err)
	}
	cpus := make([]int, 0, set.Count())
	for cpu := range maxCPUs {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}

// Pin binds the calling thread to the given CPUs. The caller must have locked
// its goroutine to the thread. Threads begun from this one inherit the binding,
// so undo it (with the earlier AllowedCPUs) before unlocking, or do not unlock.
func Pin(cpus ...int) error {
	return pin(0, cpus)
}

// PinProcess binds all threads of a process to the given CPUs; what the process
// starts later inherits that. Processes it has already started are left alone.
func PinProcess(pid int, cpus ...int) error {
	// A thread not yet bound may start another while we walk. Walk until a walk
	// finds no new one; those begun by bound threads are bound already.
	done := map[int]bool{}
	for {
		entries, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
		if err != nil {
			return fmt.Errorf("host: pin process %d: %w", pid, err)
		}
		found := false
		for _, entry := range entries {
			tid, err := strconv.Atoi(entry.Name())
			if err != nil || done[tid] {
				continue
			}
			found = true
			done[tid] = true
			if err := pin(tid, cpus); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("process %d: %w", pid, err)
			}
		}
		if !found {
			return nil
		}
	}
}

// pin binds a thread, 0 being the calling one, and makes sure the kernel took
// the CPUs as given: it drops those the machine or the cgroup does not have.
func pin(tid int, cpus []int) error {
	var want, got unix.CPUSet
	for _, cpu := range cpus {
		if cpu < 0 || cpu >= maxCPUs {
			return fmt.Errorf("host: pin to CPU %d: there is no such CPU", cpu)
		}
		want.Set(cpu)
	}
	if len(cpus) == 0 {
		return errors.New("host: pin to no CPU")
	}
	if err := unix.SchedSetaffinity(tid, &want); err != nil {
		if errors.Is(err, unix.EPERM) {
			err = fs.ErrPermission
		}
		return fmt.Errorf("host: pin to CPUs %v: %w", cpus, err)
	}
	if err := unix.SchedGetaffinity(tid, &got); err != nil {
		return fmt.Errorf("host: pin to CPUs %v: %w", cpus, err)
	}
	if got != want {
		return fmt.Errorf("host: pin to CPUs %v: some of them may not be used here", cpus)
	}
	return nil
}
