package load

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"shakedown"
	"shakedown/internal/host"
	"shakedown/internal/link"
	"shakedown/internal/stats"
)

// drainAtMost is how long an interrupted run waits for the handshakes under way.
const drainAtMost = time.Second

// gcPercent is the garbage collector's target during a run. The live heap is
// small and its garbage, ciphers mostly, plenty: at the usual 100 the collector
// takes cores from the load several hundred times a second.
const gcPercent = 1000

// refillsOneIn bounds the handshakes for new sessions among the measured: from
// one in this many on, the server's CPU time says nothing of the measured ones.
const refillsOneIn = 200

// worker is one thread of load.
type worker interface {
	run() error
	result() *tally
}

// Run makes the load of plan until it is done or ctx ends, which still gives a
// Summary. observe, unless nil, is told the progress about four times a second.
// An error means that the run could not be made, with the reason.
func Run(ctx context.Context, plan Plan, observe func(Progress)) (*Summary, error) {
	j, err := prepare(plan)
	if err != nil {
		return nil, err
	}
	defer j.cancel()
	if err := j.openLink(); err != nil {
		return nil, err
	}
	defer j.closeLink()
	priming, err := j.prime(ctx)
	if err != nil {
		return nil, err
	}
	workers := make([]worker, j.plan.Threads)
	for i := range workers {
		if workers[i], err = newWorker(j, i); err != nil {
			return nil, err
		}
	}
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	defer reserve(len(workers))()

	m := monitor{job: j, observe: observe}
	if j.plan.Warmup == 0 {
		m.begin() // before the first handshake, which is measured
	}
	j.base = time.Now()
	j.warmEnd = j.plan.Warmup
	j.end = j.warmEnd + j.plan.Duration
	ended := make(chan error, len(workers))
	for _, w := range workers {
		if err := j.spawn(func() { ended <- w.run() }); err != nil {
			j.leave()
			return nil, err
		}
	}
	if err := m.watch(ctx, ended, len(workers)); err != nil {
		return nil, err
	}
	if m.linkErr != nil {
		return nil, m.linkErr
	}
	total := newTally(&j.plan)
	for _, w := range workers {
		if err := total.merge(w.result()); err != nil {
			return nil, err
		}
	}
	return m.summary(total, priming), nil
}

// monitor samples what the run costs while it goes on.
type monitor struct {
	job     *job
	observe func(Progress)

	begun       time.Time // readings were taken; zero: the run ended in its warm-up
	ended       time.Time
	interrupted bool
	selfBefore  host.SelfUsage
	selfAfter   host.SelfUsage
	drops       host.ListenDrops
	dropsSeen   bool
	cpu         host.CPUTimes
	cpuSeen     bool
	steal       *float64
	server      *host.Watch
	serverUse   host.Usage
	serverErr   error
	hardware    *host.HardwareWatch
	counted     host.Hardware
	hardwareErr error
	memory      host.Memory
	serverCost  []float64 // ns of CPU per handshake, by second
	linkBefore  *link.Stats
	linkAfter   *link.Stats
	linkErr     error

	shown    [][]*snapshot // of each thread, the latest last
	lastCPU  time.Duration
	lastDone int64
}

// watch follows the run until all workers have ended.
func (m *monitor) watch(ctx context.Context, ended <-chan error, workers int) error {
	j := m.job
	var warm <-chan time.Time
	if m.begun.IsZero() {
		timer := time.NewTimer(time.Until(j.base.Add(j.warmEnd)))
		defer timer.Stop()
		warm = timer.C
	}
	progress := time.NewTicker(250 * time.Millisecond)
	defer progress.Stop()
	second := time.NewTicker(time.Second)
	defer second.Stop()
	var drain <-chan time.Time
	done := ctx.Done()
	var first error
	for workers > 0 {
		select {
		case <-warm:
			m.begin()
			second.Reset(time.Second)
		case <-second.C:
			m.sampleServer()
		case <-progress.C:
			if m.observe != nil {
				m.observe(m.progress())
			}
		case <-done:
			done = nil
			m.interrupted = true
			j.stop.Store(stopStart)
			drain = time.After(drainAtMost)
		case <-drain:
			j.leave()
		case err := <-ended:
			workers--
			if err != nil {
				j.leave()
				first = errors.Join(first, err)
			}
		}
	}
	m.finish()
	return first
}

// begin takes the readings at the start of the measured time. What cannot be
// seen on this system stays unseen and is said to be so.
func (m *monitor) begin() {
	var err error
	if len(m.job.plan.ServerPIDs) > 0 {
		m.server, m.serverErr = host.Start(m.job.plan.ServerPIDs...)
		if m.serverErr == nil {
			m.hardware, m.hardwareErr = host.StartHardware(m.server.PIDs()...)
		}
	} else {
		m.serverErr = errors.New("no process of the server is known on this machine")
	}
	m.drops, err = host.ReadListenDrops()
	m.dropsSeen = err == nil
	m.cpu, err = host.ReadCPUTimes()
	m.cpuSeen = err == nil
	m.selfBefore, _ = host.Self()
	m.linkBefore, m.linkErr = m.job.linkStats()
	m.begun = time.Now()
}

func (m *monitor) finish() {
	m.ended = time.Now()
	if m.begun.IsZero() {
		m.serverErr = errors.New("the run ended within its warm-up")
		return
	}
	m.selfAfter, _ = host.Self()
	if m.linkErr == nil {
		m.linkAfter, m.linkErr = m.job.linkStats()
	}
	if m.server != nil {
		if m.serverUse, m.serverErr = m.server.Sample(); errors.Is(m.serverErr, host.ErrEnded) {
			m.serverErr = errors.New("the server's processes ended during the run")
		}
		m.memory, _ = m.server.Memory()
	}
	if m.hardware != nil {
		m.counted, m.hardwareErr = m.hardware.Read()
		m.hardware.Close()
	}
	if m.cpuSeen {
		if now, err := host.ReadCPUTimes(); err == nil {
			if share, err := now.Since(m.cpu); err == nil {
				m.steal = &share.Steal
			}
		}
	}
}

// sampleServer adds the last second's CPU per handshake.
func (m *monitor) sampleServer() {
	if m.server == nil {
		return
	}
	use, err := m.server.Sample()
	if err != nil {
		return
	}
	done := int64(0)
	for i := range m.job.published {
		if s := m.job.published[i].Load(); s != nil {
			done += s.handshakes + s.failures
		}
	}
	// The threads publish a fifth of a second late at the most, and the first
	// second has no beginning to compare with.
	if n := done - m.lastDone; m.lastDone > 0 && n > 0 {
		m.serverCost = append(m.serverCost, float64(use.CPU-m.lastCPU)/float64(n))
	}
	m.lastDone, m.lastCPU = done, use.CPU
}

// rateOver is how many snapshots of a thread, less one, a rate is told of: about
// a second's.
const rateOver = int(time.Second / publishEvery)

func (m *monitor) progress() Progress {
	p := Progress{At: m.job.clock(), Measuring: !m.begun.IsZero(), Modes: make(map[shakedown.Mode]int64)}
	if m.shown == nil {
		m.shown = make([][]*snapshot, len(m.job.published))
	}
	for i := range m.job.published {
		s := m.job.published[i].Load()
		if s == nil {
			continue
		}
		p.Handshakes += s.handshakes
		p.Failures += s.failures
		p.InFlight += s.inFlight
		p.P50, p.P99 = max(p.P50, s.p50), max(p.P99, s.p99)
		for mode, n := range s.modes {
			p.Modes[mode] += n
		}
		p.PerSecond += m.rate(i, s)
	}
	if n := len(m.serverCost); n > 0 {
		p.ServerCPU = time.Duration(m.serverCost[n-1])
	}
	return p
}

// rate returns how many handshakes a second the i-th thread did of late, by the
// times at which it told them and not those at which it was asked.
func (m *monitor) rate(i int, now *snapshot) float64 {
	list := m.shown[i]
	if len(list) == 0 || list[len(list)-1] != now {
		list = append(list, now)
	}
	list = list[max(len(list)-1-rateOver, 0):]
	m.shown[i] = list
	first := list[0]
	if now.at <= first.at {
		return 0
	}
	return float64(now.handshakes-first.handshakes) / (now.at - first.at).Seconds()
}

// summary puts the workers' counts and the monitor's readings together.
func (m *monitor) summary(t *tally, priming Priming) *Summary {
	j := m.job
	// The measured time begins by the plan; the readings may be taken some
	// milliseconds later.
	started := j.base.Add(j.warmEnd)
	wall := max(m.ended.Sub(m.begun), 0)
	measured := min(max(m.ended.Sub(started), 0), j.plan.Duration)
	if m.begun.IsZero() {
		wall, measured = 0, 0
	}
	priming.Handshakes += t.primed.Handshakes
	priming.Failures += t.primed.Failures
	s := &Summary{
		Plan: j.plan, Started: started, Duration: measured, Interrupted: m.interrupted,
		Handshakes: t.handshakes, Failures: t.failures, Missed: t.missed, Abandoned: t.abandoned,
		PerSecond: t.series.Rate(0, measured),
		Connect:   t.connect.Percentiles(), Handshake: t.handshake.Percentiles(), Total: t.total.Percentiles(),
		Series: t.series.Seconds(), Priming: priming, Steal: m.steal,
		Recorders: [3]*stats.Recorder{t.connect, t.handshake, t.total},
	}
	for _, o := range t.observed {
		s.Observed = append(s.Observed, *o)
	}
	slices.SortFunc(s.Observed, func(a, b Observed) int { return int(b.N - a.N) })
	for i, target := range t.targets {
		s.Targets = append(s.Targets, TargetSummary{
			Address: j.plan.Targets[i], Handshakes: target.handshakes, Failures: target.failures, Total: target.total.Percentiles(),
		})
	}
	for _, f := range t.failed {
		s.Failed = append(s.Failed, *f)
	}
	slices.SortFunc(s.Failed, func(a, b FailureCount) int { return int(b.N - a.N) })

	// CPU time is of everything that ended in the measured time.
	ended := t.handshakes + t.failures + t.early + t.refills
	self := m.selfAfter.Since(m.selfBefore)
	cpu := self.CPU()
	if m.linkAfter != nil {
		cpu = max(cpu-(m.linkAfter.CPU-m.linkBefore.CPU), 0)
		s.Link = linkUse(j.plan.Link, m.linkBefore, m.linkAfter, wall)
	}
	cpu = max(cpu-t.looked, 0) // being punctual is no part of a handshake
	s.Client = ClientUse{
		Threads: j.plan.Threads, CPU: cpu, Looked: t.looked, User: min(self.User, cpu), PerHandshake: per(cpu, ended),
		Lag: t.lag.Percentiles(), RunQueue: t.runQueue, PeakInFlight: t.peak,
		InvoluntarySwitches: self.InvoluntarySwitches,
	}
	if wall > 0 {
		s.Client.Busy = cpu.Seconds() / wall.Seconds() / float64(j.plan.Threads)
	}
	if refilled := t.refills > 0 && t.refills*refillsOneIn >= ended; refilled && m.serverErr == nil {
		m.serverErr = fmt.Errorf("%s for new sessions fell into the measured time, and the server's CPU time is of both", several(t.refills, "full handshake", "full handshakes"))
	}
	if m.server != nil && m.serverErr == nil {
		s.Server = &ServerUse{
			PIDs: m.server.PIDs(), CPU: m.serverUse.CPU, PerHandshake: per(m.serverUse.CPU, ended),
			Series: append([]float64{}, m.serverCost...), PerSecond: stats.Median(m.serverCost), Memory: m.memory, Processes: m.serverUse.Processes, Cores: runtime.NumCPU(),
		}
		if m.hardwareErr != nil {
			s.Server.HardwareNotSeen = m.hardwareErr.Error()
		} else {
			each := m.counted.Per(ended)
			s.Server.Hardware = &each
		}
		if wall > 0 {
			s.Server.Busy = m.serverUse.CPU.Seconds() / wall.Seconds()
			s.Server.waited = m.serverUse.RunQueueWait.Seconds() / wall.Seconds()
		}
	} else {
		s.Why = m.serverErr.Error()
	}
	if m.dropsSeen {
		if now, err := host.ReadListenDrops(); err == nil {
			drops := now.Since(m.drops)
			s.ListenDrops = &drops
		}
	}
	s.Limit = limit(s)
	return s
}

func per(d time.Duration, n int64) time.Duration {
	if n == 0 {
		return 0
	}
	return d / time.Duration(n)
}
