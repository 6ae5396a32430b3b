package load

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Search looks for the highest rate of an open loop at which a threshold is
// kept: it doubles the rate until the threshold breaks and then halves the
// interval. Each step is a run of its own, so that one step's backlog does not
// weigh on the next.
type Search struct {
	Plan Plan // its Arrivals, Duration and Count are the search's own
	// Begin is the first rate tried, per second; 0: 100.
	Begin float64
	// Step is how long each rate is kept; 0: 5 s.
	Step time.Duration
	// Precision ends the search: the share by which the rates that were kept
	// and not kept may differ; 0: 0.05.
	Precision float64
	// Keeps judges a run. A run that missed arrivals is not asked about: the
	// rate was not kept.
	Keeps func(*Summary) (bool, error)
	// Told, unless nil, is told every step when it is done.
	Told func(SearchStep)
	// Observe, unless nil, is told the progress of the step under way.
	Observe func(rate float64, now Progress)
}

// SearchStep is one rate that was tried.
type SearchStep struct {
	Rate    float64  `json:"rate_per_s"`
	Kept    bool     `json:"kept"`
	Summary *Summary `json:"summary"`
}

// maxSteps bounds a search: 2^20 times the first rate, halved ten times.
const maxSteps = 30

var (
	// ErrNotKept: the threshold is broken at every rate that was tried.
	ErrNotKept = errors.New("the threshold was not kept at any rate tried")
	// ErrNoneComplete: at some rate every handshake failed, and none was kept
	// before. Such a server does not answer, so that a lower rate would be no help.
	ErrNoneComplete = errors.New("not one handshake was complete")
)

// FindMax runs the search. It returns every step, in order, and the highest rate
// that was kept. A search that ctx ends returns what it has found and ctx's error.
func FindMax(ctx context.Context, s Search) (steps []SearchStep, best float64, err error) {
	if s.Begin <= 0 {
		s.Begin = 100
	}
	if s.Step <= 0 {
		s.Step = 5 * time.Second
	}
	if s.Precision <= 0 {
		s.Precision = 0.05
	}
	broken := 0.0 // the lowest rate not kept
	for rate := s.Begin; len(steps) < maxSteps; {
		step, err := s.try(ctx, rate)
		if err != nil {
			return steps, best, err
		}
		steps = append(steps, step)
		if s.Told != nil {
			s.Told(step)
		}
		switch sum := step.Summary; {
		case ctx.Err() != nil:
			return steps, best, ctx.Err()
		case best == 0 && sum.Handshakes == 0 && sum.Failures > 0:
			return steps, 0, ErrNoneComplete
		}
		if step.Kept {
			best = max(best, rate)
		} else if broken == 0 || rate < broken {
			broken = rate
		}
		switch {
		case broken == 0:
			rate *= 2
		case best == 0:
			rate = broken / 2
		case broken-best <= s.Precision*best:
			return steps, best, nil
		default:
			rate = (best + broken) / 2
		}
		if rate < 1 {
			return steps, 0, ErrNotKept
		}
	}
	return steps, best, fmt.Errorf("no limit found in %d steps up to %.0f per second", maxSteps, best)
}

// try keeps one rate for a step.
func (s *Search) try(ctx context.Context, rate float64) (SearchStep, error) {
	p := s.Plan
	p.Count, p.Duration = 0, s.Step
	p.Arrivals = Arrivals{Stages: []Stage{{Duration: s.Plan.Warmup + s.Step, Rate: rate}}, Poisson: s.Plan.Arrivals.Poisson}
	var observe func(Progress)
	if s.Observe != nil {
		observe = func(now Progress) { s.Observe(rate, now) }
	}
	sum, err := Run(ctx, p, observe)
	if err != nil {
		return SearchStep{}, err
	}
	step := SearchStep{Rate: rate, Summary: sum}
	if sum.Missed == 0 && !sum.Interrupted && sum.Handshakes > 0 {
		step.Kept, err = s.Keeps(sum)
	}
	return step, err
}
