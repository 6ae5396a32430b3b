package lab

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"shakedown/internal/host"
	"shakedown/internal/load"
	"shakedown/internal/server"
)

// Options say how a run is made.
type Options struct {
	// Dir is the run directory. It must not hold a run yet, unless Resume is set.
	Dir    string
	Resume bool
	// Overrides of the plan, kept in the directory.
	Overrides Overrides
	// Command is that of [server.Embedded], whose CPU time could otherwise not be
	// told from the load's.
	Command []string
	// Machine is how long the primitives of the machine are measured before the
	// first round, these operations beside those that package host has; without a
	// time, none is.
	Machine    time.Duration
	Operations []host.Operation
	// Say is told what goes on, in a line; Warn what went wrong with a cell. Both
	// may be nil.
	Say  func(string)
	Warn func(string)
}

// runner is a run under way.
type runner struct {
	options      Options
	plan         *Plan
	cells        []*Cell // those still measured
	environment  host.Record
	state        state
	done         int             // rounds
	questioned   map[string]bool // cells
	begun        time.Time
	goOperations map[string]func() error
}

func (r *runner) path(parts ...string) string {
	return filepath.Join(append([]string{r.options.Dir}, parts...)...)
}

// ErrNothing: no cell could be measured.
var ErrNothing = errors.New("no cell could be measured")

// Run measures the plan, or goes on with the run in the directory, in which
// case plan is nil. It returns what was measured even when ctx ends early: then
// Record.Interrupted tells. The error says why nothing could be measured, or
// that the directory could not be written.
func Run(ctx context.Context, plan *Plan, o Options) (*Record, error) {
	r := &runner{options: o, plan: plan, begun: time.Now(), questioned: map[string]bool{}}
	var err error
	if o.Resume {
		err = r.resume(ctx)
	} else {
		err = r.begin(ctx)
	}
	if err != nil {
		return nil, err
	}
	if err := r.rounds(ctx); err != nil {
		return nil, err
	}
	return Read(o.Dir)
}

// begin makes the directory.
func (r *runner) begin(ctx context.Context) error {
	if _, err := os.Stat(r.path(stateFile)); err == nil {
		return fmt.Errorf("%s holds a run already", r.options.Dir)
	}
	r.state = state{PlanName: r.plan.Name, Overrides: r.options.Overrides, Started: r.begun, Failed: map[string]string{}}
	if err := r.plan.Override(r.options.Overrides); err != nil {
		return err
	}
	if err := r.ready(); err != nil {
		return err
	}
	if err := makeDir(r.path(roundsDir)); err != nil {
		return err
	}
	environment, err := host.Examine(ctx, r.options.Machine, func(text string) { r.say("%s", text) }, r.options.Operations...)
	if ctx.Err() != nil {
		return errors.New("interrupted before the first round")
	}
	if err != nil {
		return fmt.Errorf("before the first round: %w", err)
	}
	r.environment = *environment
	return errors.Join(
		writeFile(r.path(planFile), r.plan.Text()),
		writeJSON(r.path(environmentFile), r.environment),
		writeJSON(r.path(stateFile), r.state),
	)
}

// resume reads the directory and checks that this is still the same machine.
func (r *runner) resume(ctx context.Context) error {
	record, err := Read(r.options.Dir)
	if err != nil {
		return err
	}
	r.plan, r.state, r.environment, r.done = record.Plan, record.state, record.Environment, len(record.Rounds)
	r.state.Stopped = ""
	// A run may be given more rounds or time than at first; all else would make
	// it another experiment.
	if n := r.options.Overrides.Rounds; n > 0 {
		r.state.Overrides.Rounds = n
	}
	if b := r.options.Overrides.Budget; b > 0 {
		r.state.Overrides.Budget = b
	}
	if err := r.plan.Override(r.state.Overrides); err != nil {
		return err
	}
	now := host.Describe(ctx)
	for _, is := range []struct{ what, was, now string }{
		{"CPU", r.environment.CPU, now.CPU}, {"kernel", r.environment.Kernel, now.Kernel},
		{"software", fmt.Sprint(r.environment.Software), fmt.Sprint(now.Software)},
	} {
		if is.was != is.now {
			return fmt.Errorf("the run cannot be resumed here: its %s was %s and is now %s", is.what, is.was, is.now)
		}
	}
	if err := r.ready(); err != nil {
		return err
	}
	return writeJSON(r.path(stateFile), r.state)
}

// ready works out the cells and refuses what cannot be run here at all.
func (r *runner) ready() error {
	all, err := r.plan.Cells()
	if err != nil {
		return err
	}
	for _, c := range all {
		if e, ok := c.Driver.(server.Embedded); ok {
			if len(r.options.Command) == 0 {
				return errors.New("the embedded server needs a process of its own, and no command for it was given")
			}
			e.Command = r.options.Command
			c.Driver = e
		}
	}
	r.cells = Possible(all)
	if len(r.cells) == 0 {
		return fmt.Errorf("%w: all are impossible: %s: %s", ErrNothing, all[0].Name, all[0].Impossible)
	}
	for _, c := range r.cells {
		if err := c.Driver.Available(); err != nil {
			return err
		}
	}
	r.cells = slices.DeleteFunc(r.cells, func(c *Cell) bool { return r.state.Failed[c.ID] != "" })
	if len(r.cells) == 0 {
		return fmt.Errorf("%w: all failed: %s", ErrNothing, r.firstFailure())
	}
	return nil
}

func (r *runner) firstFailure() string {
	ids := make([]string, 0, len(r.state.Failed))
	for id := range r.state.Failed {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	if len(ids) == 0 {
		return ""
	}
	return r.state.Failed[ids[0]]
}

// rounds measures until all rounds are done, the budget is used up or ctx ends.
func (r *runner) rounds(ctx context.Context) error {
	var longest time.Duration
	for r.done < r.plan.Rounds {
		if b := r.plan.Budget; b > 0 && longest > 0 && time.Since(r.begun)+longest > b {
			return r.stopped(fmt.Sprintf("the budget of %s has no room for another round", b))
		}
		begun := time.Now()
		err := r.round(ctx, r.done+1)
		if ctx.Err() != nil {
			return r.stopped("it was interrupted")
		}
		if err != nil {
			return err
		}
		longest = max(longest, time.Since(begun))
		r.done++
	}
	return nil
}

// stopped keeps the reason for fewer rounds.
func (r *runner) stopped(why string) error {
	r.state.Stopped = why
	return writeJSON(r.path(stateFile), r.state)
}

// round measures every cell once, in an order of its own, and keeps the round
// if it is complete.
func (r *runner) round(ctx context.Context, number int) error {
	name := r.path(roundsDir, fmt.Sprintf("%02d", number))
	if err := os.RemoveAll(name + partial); err != nil {
		return err
	}
	if err := makeDir(name + partial); err != nil {
		return err
	}
	order := slices.Clone(r.cells)
	// The order is that of seed and number: a resumed run has the one it would
	// have had.
	rng := rand.New(rand.NewPCG(r.plan.Seed, uint64(number)))
	rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	for i, c := range order {
		r.say("round %d of %d, cell %d of %d: %s", number, r.plan.Rounds, i+1, len(order), c.Name)
		m, err := r.turn(ctx, c, number)
		for tries := 1; err != nil && tries < maxTries && r.passing(err) && ctx.Err() == nil; tries++ {
			r.say("round %d of %d: %s: once more, since %v", number, r.plan.Rounds, c.Name, err)
			m, err = r.turn(ctx, c, number)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			if err := r.fail(c, number, err); err != nil {
				return err
			}
			continue
		}
		if err := writeJSON(filepath.Join(name+partial, c.ID+".json"), m); err != nil {
			return err
		}
	}
	if number%2 == 1 {
		r.say("round %d of %d: measuring primitives", number, r.plan.Rounds)
		if p := r.primitives(ctx); len(p) > 0 {
			if err := writeJSON(filepath.Join(name+partial, primitivesFile), p); err != nil {
				return err
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return os.Rename(name+partial, name)
}

// maxTries is how often a turn is tried that failed for a reason that may pass.
const maxTries = 3

// passing reports whether a turn that failed is worth another try: the machine
// gave the load no time, or the cell could be measured in a round before.
func (r *runner) passing(err error) bool { return r.done > 0 || errors.Is(err, errStarved) }

// fail takes a cell out of the run, with the reason.
func (r *runner) fail(c *Cell, round int, err error) error {
	reason := err.Error()
	var start *server.StartError
	if !errors.As(err, &start) && round > 1 {
		reason = fmt.Sprintf("in round %d: %s", round, reason)
	}
	r.state.Failed[c.ID] = reason
	r.cells = slices.DeleteFunc(slices.Clone(r.cells), func(other *Cell) bool { return other == c })
	if r.options.Warn != nil {
		r.options.Warn(fmt.Sprintf("%s (%s) is not measured: %s", c.ID, c.Name, indent(reason)))
	}
	if err := writeJSON(r.path(stateFile), r.state); err != nil {
		return err
	}
	if len(r.cells) == 0 {
		if r.done > 0 {
			return r.stoppedWith(reason)
		}
		return fmt.Errorf("%w: %s", ErrNothing, indent(reason))
	}
	return nil
}

// stoppedWith ends a run whose last cell failed after rounds that count.
func (r *runner) stoppedWith(reason string) error {
	if err := r.stopped("no cell was left: " + reason); err != nil {
		return err
	}
	return fmt.Errorf("%w any more: %s", ErrNothing, indent(reason))
}

// indent sets off the lines of a server's log.
func indent(text string) string { return strings.ReplaceAll(text, "\n", "\n    ") }

func (r *runner) say(format string, args ...any) {
	if r.options.Say != nil {
		r.options.Say(fmt.Sprintf(format, args...))
	}
}

// watch tells how a turn goes.
func (r *runner) watch(c *Cell, round int) func(load.Progress) {
	return func(p load.Progress) {
		r.say("round %d of %d: %s: %.0f/s", round, r.plan.Rounds, c.Name, p.PerSecond)
	}
}

// Interrupted reports whether the run has fewer rounds than it was to have, and
// why.
func (r *Record) Interrupted() (string, bool) {
	return r.state.Stopped, len(r.Rounds) < r.Plan.Rounds
}
