package load

import (
	"time"

	"shakedown"
	"shakedown/handshake"
	"shakedown/internal/stats"
)

// tally is what one thread has counted in the measured time. It has no lock: it
// is read when the thread has ended.
type tally struct {
	// from is the planned instant of the first handshake that counts, where
	// there is a plan to hold the count against: those begun in the warm-up are
	// then none of it. They and the refills of sessions that end in the measured
	// time are counted apart, since CPU time is theirs, too.
	from                 time.Duration
	early, refills       int64
	handshakes, failures int64
	missed, abandoned    int64
	connect              *stats.Recorder
	handshake            *stats.Recorder
	total                *stats.Recorder
	lag                  *stats.Recorder
	series               stats.Series
	observed             map[way]*Observed
	lastWay              way
	lastObserved         *Observed
	failed               map[failing]*FailureCount
	peak                 int
	targets              []targetTally // of each target, when there are several
	primed               Priming       // handshakes made during the run for new sessions
	runQueue             time.Duration
	looked               time.Duration // for events that did not come, before planned instants
}

// way is all that tells apart how handshakes came out.
type way struct {
	share       uint8
	retried     bool
	staple      bool
	mode        shakedown.Mode
	early       shakedown.EarlyData
	version     shakedown.Version
	suite       shakedown.CipherSuite
	group       shakedown.Group
	signature   shakedown.SignatureScheme
	dhBits      int
	certificate string
}

type failing struct {
	class shakedown.Class
	phase shakedown.Phase
	alert int // -1: none
}

// targetTally is what was counted of one target.
type targetTally struct {
	handshakes, failures int64
	total                *stats.Recorder
}

func newTally(plan *Plan) *tally {
	t := &tally{
		connect: stats.NewRecorder(), handshake: stats.NewRecorder(), total: stats.NewRecorder(), lag: stats.NewRecorder(),
		observed: make(map[way]*Observed), failed: make(map[failing]*FailureCount),
	}
	if plan.Count > 0 || plan.Arrivals.Open() {
		t.from = plan.Warmup
	}
	if n := len(plan.Targets); n > 1 {
		t.targets = make([]targetTally, n)
		for i := range t.targets {
			t.targets[i].total = stats.NewRecorder()
		}
	}
	return t
}

// times are the marks of one handshake, since the load's begin.
type times struct{ planned, connected, complete time.Duration }

// counts reports whether what ended at time at is one of the measured
// handshakes.
func (t *tally) counts(c *conn, at time.Duration) bool {
	if at >= 0 && c.times.planned < t.from {
		t.early++
		return false
	}
	return at >= 0
}

// refill counts a handshake that was made for a session and ended at time at; f
// is why it failed, or nil.
func (t *tally) refill(f *shakedown.Failure, at time.Duration) {
	if at >= 0 {
		t.refills++
	}
	if f == nil {
		t.primed.Handshakes++
	} else {
		t.primed.Failures++
	}
}

// success counts a complete handshake at time at since measuring began. A
// negative at, in the warm-up, does not count.
func (t *tally) success(c *conn, at time.Duration) {
	if !t.counts(c, at) {
		return
	}
	m, ts := c.machine, c.times
	t.handshakes++
	if t.targets != nil {
		t.targets[c.target].handshakes++
		t.targets[c.target].total.Record(ts.complete - ts.planned)
	}
	// Recorders refuse negative durations alone, which the marks' order excludes.
	t.connect.Record(ts.connected - ts.planned)
	t.handshake.Record(ts.complete - ts.connected)
	t.total.Record(ts.complete - ts.planned)
	t.series.Handshake(at)
	o := m.Observed()
	w := way{
		share: c.share, retried: o.HelloRetryRequest, staple: m.StapleBytes() > 0, mode: o.Mode, early: o.EarlyData, version: o.Version,
		suite: o.CipherSuite, group: o.Group, signature: o.SignatureScheme, dhBits: o.DHBits, certificate: o.Chain.Key(),
	}
	if t.lastObserved == nil || w != t.lastWay {
		t.lastWay, t.lastObserved = w, t.find(w, m)
	}
	t.lastObserved.N++
}

func (t *tally) find(w way, m *handshake.Machine) *Observed {
	o := t.observed[w]
	if o == nil {
		asked := m.Asked()
		o = &Observed{
			Asked: asked.Mode, Mode: w.mode, Version: w.version, CipherSuite: w.suite, Group: w.group, Signature: w.signature,
			Certificate: w.certificate, DHBits: w.dhBits, Retried: w.retried, Staple: w.staple, EarlyData: w.early,
			Mismatch: asked.Mismatch(m.Observed()),
		}
		t.observed[w] = o
	}
	return o
}

// failure counts a handshake that failed at time at since measuring began.
func (t *tally) failure(c *conn, f *shakedown.Failure, at time.Duration) {
	if !t.counts(c, at) {
		return
	}
	t.failures++
	if t.targets != nil {
		t.targets[c.target].failures++
	}
	t.series.Failure(at)
	key := failing{f.Class, f.Phase, -1}
	if f.Alert != nil {
		key.alert = int(*f.Alert)
	}
	count := t.failed[key]
	if count == nil {
		count = &FailureCount{Class: f.Class, Phase: f.Phase, Alert: f.Alert, Text: f.Text, Hint: f.Hint, Err: f.Err}
		t.failed[key] = count
	}
	count.N++
}

// merge adds what another thread counted.
func (t *tally) merge(o *tally) error {
	t.handshakes += o.handshakes
	t.failures += o.failures
	t.early += o.early
	t.refills += o.refills
	t.missed += o.missed
	t.abandoned += o.abandoned
	t.peak += o.peak
	t.runQueue += o.runQueue
	t.looked += o.looked
	t.primed.Handshakes += o.primed.Handshakes
	t.primed.Failures += o.primed.Failures
	t.primed.Duration += o.primed.Duration
	t.series.Merge(&o.series)
	for w, obs := range o.observed {
		if mine := t.observed[w]; mine != nil {
			mine.N += obs.N
		} else {
			t.observed[w] = obs
		}
	}
	for k, c := range o.failed {
		if mine := t.failed[k]; mine != nil {
			mine.N += c.N
		} else {
			t.failed[k] = c
		}
	}
	pairs := [][2]*stats.Recorder{{t.connect, o.connect}, {t.handshake, o.handshake}, {t.total, o.total}, {t.lag, o.lag}}
	for i := range t.targets {
		t.targets[i].handshakes += o.targets[i].handshakes
		t.targets[i].failures += o.targets[i].failures
		pairs = append(pairs, [2]*stats.Recorder{t.targets[i].total, o.targets[i].total})
	}
	for _, pair := range pairs {
		if err := pair[0].Merge(pair[1]); err != nil {
			return err
		}
	}
	return nil
}

// snapshot returns the thread's progress at a time since the load's begin.
func (t *tally) snapshot(at time.Duration, inFlight int) *snapshot {
	s := &snapshot{at: at, handshakes: t.handshakes, failures: t.failures, inFlight: inFlight, modes: make(map[shakedown.Mode]int64)}
	for _, o := range t.observed {
		s.modes[o.Mode] += o.N
	}
	if t.handshakes > 0 {
		s.p50, s.p99 = t.total.Quantile(0.5), t.total.Quantile(0.99)
	}
	return s
}
