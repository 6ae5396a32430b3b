package host

import (
	"errors"
)

// CPUTimes is where the time of all CPUs went since the machine started, in
// ticks of the kernel.
type CPUTimes struct {
	User, Nice, System, Idle, IOWait, IRQ, SoftIRQ, Steal uint64
}

// CPUShare is where the time of all CPUs went between two readings, in percent.
type CPUShare struct {
	Busy  float64 `json:"busy_percent"`  // not idle, steal left out
	Steal float64 `json:"steal_percent"` // wanted, but taken by the hypervisor for others
}

// Since returns the shares of the time that passed after an earlier reading. It
// fails if none has: a tick is 10 ms on most systems, so readings should lie a
// second apart.
func (t CPUTimes) Since(earlier CPUTimes) (CPUShare, error) {
	// Idle and iowait may step back by a tick (proc_stat(5)).
	passed := func(now, then uint64) float64 {
		if now < then {
			return 0
		}
		return float64(now - then)
	}
	busy := passed(t.User, earlier.User) + passed(t.Nice, earlier.Nice) + passed(t.System, earlier.System) +
		passed(t.IRQ, earlier.IRQ) + passed(t.SoftIRQ, earlier.SoftIRQ)
	steal := passed(t.Steal, earlier.Steal)
	total := busy + steal + passed(t.Idle, earlier.Idle) + passed(t.IOWait, earlier.IOWait)
	if total == 0 {
		return CPUShare{}, errors.New("host: no CPU tick between two readings")
	}
	return CPUShare{Busy: 100 * busy / total, Steal: 100 * steal / total}, nil
}

// ListenDrops counts connections that the kernel turned away, on all listening
// sockets of this network namespace together.
type ListenDrops struct {
	Overflows uint64 `json:"overflows"` // the accept queue was full
	Drops     uint64 `json:"drops"`     // for any reason, overflows included
}

// Since returns what was turned away after an earlier reading.
func (d ListenDrops) Since(earlier ListenDrops) ListenDrops {
	return ListenDrops{Overflows: d.Overflows - earlier.Overflows, Drops: d.Drops - earlier.Drops}
}

// Limits are the kernel's limits that a load meets first.
type Limits struct {
	OpenFiles      uint64 `json:"open_files"`       // RLIMIT_NOFILE of this process
	OpenFilesMax   uint64 `json:"open_files_max"`   // up to which it may be raised
	PortLow        int    `json:"port_low"`         // net.ipv4.ip_local_port_range
	PortHigh       int    `json:"port_high"`        // the last one, included
	AcceptQueueMax int    `json:"accept_queue_max"` // net.core.somaxconn
	SYNBacklogMax  int    `json:"syn_backlog_max"`  // net.ipv4.tcp_max_syn_backlog
}

// Ports is how many connections this machine can have at a time from one
// source address to one destination address and port.
func (l Limits) Ports() int { return l.PortHigh - l.PortLow + 1 }
