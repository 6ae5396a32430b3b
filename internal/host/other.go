//go:build !linux

package host

import (
	"fmt"
	"net/netip"
	"runtime"
	"time"
)

// A Watch measures what processes and all their descendants consume. Only
// Linux has one.
type Watch struct{}

func notSeen(what string) error {
	return fmt.Errorf("host: %s: %w (%s)", what, ErrSystem, runtime.GOOS)
}

// Listeners returns the processes that serve a local TCP address.
func Listeners(address netip.AddrPort) ([]Process, error) {
	return nil, notSeen("processes that listen on " + address.String())
}

// Start begins to watch processes.
func Start(pids ...int) (*Watch, error) { return nil, notSeen("consumption of other processes") }

// Sample returns what was consumed since Start.
func (w *Watch) Sample() (Usage, error) {
	return Usage{}, notSeen("consumption of other processes")
}

// PIDs returns the watched processes.
func (w *Watch) PIDs() []int { return nil }

// Memory returns what the watched processes hold now.
func (w *Watch) Memory() (Memory, error) { return Memory{}, notSeen("memory of other processes") }

// Self returns what this whole process has consumed.
func Self() (SelfUsage, error) { return SelfUsage{}, notSeen("own usage") }

// Thread returns what the calling thread has consumed.
func Thread() (SelfUsage, error) { return SelfUsage{}, notSeen("usage of a thread") }

// ThreadRunQueueWait returns how long the calling thread had no CPU.
func ThreadRunQueueWait() (time.Duration, error) { return 0, notSeen("run queue wait") }

// ReadCPUTimes reads the machine's CPU times.
func ReadCPUTimes() (CPUTimes, error) { return CPUTimes{}, notSeen("CPU times of the machine") }

// ReadListenDrops reads what the kernel turned away.
func ReadListenDrops() (ListenDrops, error) { return ListenDrops{}, notSeen("listen drops") }

// ReadLimits reads the kernel's limits.
func ReadLimits() (Limits, error) { return Limits{}, notSeen("limits") }

// AllowedCPUs returns the CPUs the calling thread may run on.
func AllowedCPUs() ([]int, error) { return nil, notSeen("allowed CPUs") }

// Pin binds the calling thread to CPUs.
func Pin(cpus ...int) error { return notSeen("binding a thread to CPUs") }

// PinProcess binds a process to CPUs.
func PinProcess(pid int, cpus ...int) error { return notSeen("binding a process to CPUs") }

func kernel() (string, error) { return "", notSeen("kernel version") }

func memory() (int64, error) { return 0, notSeen("memory size") }

func clockSource() (string, error) { return "", notSeen("clock source") }

func (e *Environment) readFrequency(string) error { return notSeen("frequency and governor") }

// A HardwareWatch counts what the processor does for processes. Only Linux has one.
type HardwareWatch struct{}

// StartHardware begins to count for processes.
func StartHardware(pids ...int) (*HardwareWatch, error) { return nil, notSeen("hardware counters") }

// Read returns what was counted so far.
func (w *HardwareWatch) Read() (Hardware, error) { return Hardware{}, notSeen("hardware counters") }

// Close ends the counting.
func (w *HardwareWatch) Close() {}
