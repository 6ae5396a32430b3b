package host

import "time"

// A Process is a running process of this machine.
type Process struct {
	PID  int    `json:"pid"`
	Name string `json:"name"` // as the kernel has it: at most 15 bytes
}

// Usage is what the watched processes consumed between the start of a Watch
// and a Sample.
type Usage struct {
	// CPU is the time on a CPU in user and kernel mode, to the nanosecond for
	// every process that was alive at a Sample, its ended threads included.
	// Work the kernel does for a process in interrupts is not in it.
	CPU time.Duration `json:"cpu_ns"`
	// CPUCoarse is the part of CPU that was spent after the last sample by
	// children which ended before the next; it is known from their parents, to
	// 20 ms for each parent. Less than that is left out.
	CPUCoarse time.Duration `json:"cpu_coarse_ns"`
	// RunQueueWait is the time threads were ready to run and had no CPU. Of
	// threads that ended between two samples the last part is missing here and
	// in the switches.
	RunQueueWait time.Duration `json:"run_queue_wait_ns"`
	// VoluntarySwitches count waits for something; InvoluntarySwitches count
	// CPUs taken away.
	VoluntarySwitches   int64 `json:"voluntary_switches"`
	InvoluntarySwitches int64 `json:"involuntary_switches"`

	// Now, not since the start:
	Processes int   `json:"processes"`
	Threads   int   `json:"threads"`
	RSS       int64 `json:"rss_bytes"` // pages shared by several processes count once for each
}

// Memory is what processes hold in RAM.
type Memory struct {
	RSS int64 `json:"rss_bytes"` // shared pages count once for each process
	PSS int64 `json:"pss_bytes"` // shared pages are divided among those who share them
}

// SelfUsage is what this process, or one thread of it, has consumed since it
// began.
type SelfUsage struct {
	User                time.Duration `json:"user_ns"`
	System              time.Duration `json:"system_ns"`
	VoluntarySwitches   int64         `json:"voluntary_switches"`
	InvoluntarySwitches int64         `json:"involuntary_switches"`
}

// CPU is the time on a CPU in user and kernel mode.
func (u SelfUsage) CPU() time.Duration { return u.User + u.System }

// Since returns what was consumed after an earlier reading.
func (u SelfUsage) Since(earlier SelfUsage) SelfUsage {
	return SelfUsage{
		User:                u.User - earlier.User,
		System:              u.System - earlier.System,
		VoluntarySwitches:   u.VoluntarySwitches - earlier.VoluntarySwitches,
		InvoluntarySwitches: u.InvoluntarySwitches - earlier.InvoluntarySwitches,
	}
}
