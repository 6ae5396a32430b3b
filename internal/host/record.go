package host

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Schema names the JSON of a [Record].
const Schema = "shakedown/host/v1"

// Record says what this machine is and can, and whether it is fit to measure on.
type Record struct {
	Schema string `json:"schema"`
	// Fit: nothing was found that makes figures of this machine unreliable.
	Fit      bool     `json:"fit"`
	Reasons  []string `json:"reasons"`  // why it is not, and what to do about it
	Cautions []string `json:"cautions"` // what to bear in mind all the same
	Environment
	// Busy is the share of all CPUs that other programs used in a second in
	// which this one did nothing, in percent; nil if it was not seen.
	Busy *float64 `json:"busy_percent"`
	Rates
	OpenSSL []Speed `json:"openssl_speed"` // beside the primitives of one thread
}

// Budget is a reasonable time for the primitives of [Examine].
const Budget = 15 * time.Second

// Examine describes the machine, watches for a second how busy others keep it,
// and measures primitives, those of the caller included, for the time of a
// budget: openssl speed gets up to half of it, if there is an openssl. Without a
// budget nothing is measured. It tells say what it does.
//
// When ctx ends, the record holds what was seen until then, and the error is
// that of ctx.
func Examine(ctx context.Context, budget time.Duration, say func(string), more ...Operation) (*Record, error) {
	r := &Record{Schema: Schema, Environment: Describe(ctx), OpenSSL: []Speed{}}
	r.Primitives, r.Scaling = []Primitive{}, []Scale{}
	defer r.Judge()
	say("watching how busy others keep this machine")
	before, seenErr := ReadCPUTimes()
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return r, ctx.Err()
	}
	idle, err := ReadCPUTimes()
	if seenErr == nil && err == nil {
		if share, err := idle.Since(before); err == nil {
			r.Busy, r.Steal = &share.Busy, &share.Steal
		}
	}
	if budget <= 0 {
		return r, nil
	}
	begun := time.Now()
	speeds, notSeen := speeds(ctx, budget/2, say)
	r.OpenSSL, r.NotSeen = speeds, append(r.NotSeen, notSeen...)
	say("measuring primitives")
	rates, err := Primitives(ctx, max(budget-time.Since(begun), budget/2), more...)
	if len(rates.Primitives) > 0 {
		r.Rates = rates
	}
	// Only who wants a CPU can be robbed of it: steal shows under load.
	if after, err := ReadCPUTimes(); err == nil && seenErr == nil {
		if share, err := after.Since(idle); err == nil {
			r.Steal = &share.Steal
		}
	}
	return r, err
}

const (
	// maxSteal is the steal, in percent, from which figures suffer.
	maxSteal = 2
	// maxBusy is how much of the machine, in percent, others may use.
	maxBusy = 10
	// maxSpread is how far apart the bounds of a primitive's rate may be, as a
	// fraction of it.
	maxSpread = 0.15
	// minFiles is the limit of open files under which a load is soon at its end.
	minFiles = 4096
	// minQueue is the accept queue under which a burst of a thousand connections
	// is turned away.
	minQueue = 1024
	// minPorts is the number of local ports under which closed connections soon
	// leave none: TIME-WAIT keeps each for a minute.
	minPorts = 20_000
	// minScaling is the least that a thread more should do of what one does.
	minScaling = 0.7
)

// Judge works out whether the machine is fit, from all else. Each reason names
// its remedy.
func (r *Record) Judge() {
	r.Reasons, r.Cautions = []string{}, []string{}
	unfit := func(format string, args ...any) { r.Reasons = append(r.Reasons, fmt.Sprintf(format, args...)) }
	caution := func(format string, args ...any) { r.Cautions = append(r.Cautions, fmt.Sprintf(format, args...)) }

	if n := len(r.AllowedCPU); n == 1 || n == 0 && r.CPUs == 1 {
		unfit("there is one CPU for client and server, and each takes time from the other: give it two, or load from another machine")
	}
	if r.Steal != nil && *r.Steal >= maxSteal {
		unfit("the hypervisor gave %.1f%% of the time wanted to others (steal), %d%% is bearable: wait, or take a machine with CPUs of its own", *r.Steal, maxSteal)
	}
	if r.Busy != nil && *r.Busy >= maxBusy {
		unfit("other programs use %.1f%% of the CPUs, %d%% is bearable: end them, or wait", *r.Busy, maxBusy)
	}
	if worst, spread := r.unsteadiest(); spread > maxSpread {
		unfit("the machine is unsteady, the rate of %s is known to within %.0f%% only over %d rounds: end other programs, measure for longer, or look at frequency and cooling", worst.Name, 100*spread, worst.N)
	}
	r.judgeFrequency(caution)
	if l := r.Limits; l != nil {
		if l.OpenFiles < minFiles {
			caution("this process may open %d files, and each connection is one: raise it with ulimit -n", l.OpenFiles)
		}
		if l.AcceptQueueMax < minQueue {
			caution("a server here may have %d connections wait to be accepted: raise it with sysctl -w net.core.somaxconn=4096", l.AcceptQueueMax)
		}
		if l.SYNBacklogMax < minQueue {
			caution("a server here may have %d connections begun by a SYN: raise it with sysctl -w net.ipv4.tcp_max_syn_backlog=4096", l.SYNBacklogMax)
		}
		if l.Ports() < minPorts {
			caution("there are %d local ports, and a closed connection keeps one for a minute: widen them with sysctl -w net.ipv4.ip_local_port_range='10240 65535'", l.Ports())
		}
	}
	// Where others keep the CPUs busy, scaling tells of them and not of cores.
	alone := r.Busy == nil || *r.Busy < maxBusy
	for _, s := range r.Scaling {
		if alone && s.High < minScaling*float64(s.Threads) {
			caution("%d threads do %.2f times the work of one at %s: cores share something, such as hyper-threads do", s.Threads, s.Ratio, s.Name)
			break // one is enough: they all share the same cores
		}
	}
	if r.Hypervisor != "" {
		caution("it is a virtual machine (%s): what its neighbours do is felt here, so compare in interleaved rounds only", r.Hypervisor)
	}
	if r.OS != "linux" {
		caution("the CPU time of a server on this machine is seen on Linux only")
	}
	r.Fit = len(r.Reasons) == 0
}

// judgeFrequency tells of clocks that change or are slow to read.
func (r *Record) judgeFrequency(caution func(format string, args ...any)) {
	if r.Governor != "" && r.Governor != "performance" {
		caution("the frequency follows the load (governor %s): set it with cpupower frequency-set -g performance", r.Governor)
	}
	// These are read in a system call, and not by the program itself.
	if slices.Contains([]string{"hpet", "acpi_pm", "jiffies", "refined-jiffies"}, r.ClockSource) {
		caution("each look at the clock (%s) is slow and takes time from what is measured: see whether tsc is among /sys/devices/system/clocksource/clocksource0/available_clocksource", r.ClockSource)
	}
}

// unsteadiest returns the primitive of one thread whose rate is known least
// well, and the width of its interval as a fraction of it.
func (r *Record) unsteadiest() (worst Primitive, spread float64) {
	for _, p := range r.Primitives {
		if w := (p.High - p.Low) / p.PerS; p.Threads == 1 && w > spread {
			worst, spread = p, w
		}
	}
	return worst, spread
}
