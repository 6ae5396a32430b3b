package report

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"shakedown"
	"shakedown/internal/load"
)

// aSearch is a search whose steps are those given, by rate: whether p99 is kept.
func aSearch(t *testing.T, expressions []string, err error, steps ...load.SearchStep) *FindMax {
	t.Helper()
	var thresholds []Expectation
	for _, text := range expressions {
		e, err := ParseExpectation(text)
		if err != nil {
			t.Fatal(err)
		}
		thresholds = append(thresholds, e)
	}
	asked := shakedown.Asked{Mode: shakedown.ModeFull, Versions: []shakedown.Version{shakedown.TLS13}, Work: shakedown.WorkMinimal, Complete: shakedown.CompleteFinished}
	plan := aSummary(t, 1).Plan
	plan.Arrivals = load.Arrivals{}
	f, failed := NewFindMax(target, asked, machine, plan, thresholds)
	if failed != nil {
		t.Fatal(failed)
	}
	for _, step := range steps {
		if step.Summary.Missed == 0 && !step.Summary.Interrupted {
			step.Kept = f.Keeps(step.Summary)
		}
		f.Add(step)
	}
	f.Conclude(err)
	return f
}

// step is one at a rate, with a tenth of a handshake's latency for each.
func step(t *testing.T, rate float64, change func(*load.Summary)) load.SearchStep {
	s := aSummary(t, int64(rate))
	s.Failures, s.Failed = 0, nil
	s.Limit = load.Limit{By: "rate asked", Evidence: []string{"the server used 0.50 cores"}}
	if change != nil {
		change(s)
	}
	return load.SearchStep{Rate: rate, Summary: s}
}

func TestFindMaxText(t *testing.T) {
	f := aSearch(t, []string{"p99<30ms", "p50<1s"}, nil,
		step(t, 1000, nil), step(t, 2000, nil),
		step(t, 4000, func(s *load.Summary) { s.Missed, s.Limit.By = 1200, "client" }),
		step(t, 3000, func(s *load.Summary) { s.Failures = 12 }))
	if f.Best == nil || *f.Best != 2000 || f.Broken == nil || *f.Broken != 3000 || f.Limit.By != "threshold" {
		t.Errorf("best %v, broken %v, limit %+v", f.Best, f.Broken, f.Limit)
	}
	golden(t, "find_max", text(t, f))
}

// TestFindMaxNone: a search that found nothing, one that found no end, one that
// was interrupted, and one whose last threshold is about failures.
func TestFindMaxNone(t *testing.T) {
	slow := func(s *load.Summary) { s.Missed = 1 }
	interrupted := func(s *load.Summary) { s.Interrupted = true }
	for _, c := range []struct {
		name         string
		expressions  []string
		err          error
		steps        []load.SearchStep
		best, broken float64 // 0: null
		problem      string
	}{
		{"none", []string{"p99<1ns"}, load.ErrNotKept, []load.SearchStep{step(t, 20, nil), step(t, 10, slow)}, 0, 10, load.ErrNotKept.Error()},
		{"no end", []string{"p99<1s"}, errors.New("no limit found"), []load.SearchStep{step(t, 20, nil)}, 20, 0, "no limit found"},
		{"interrupted", []string{"p99<1s"}, context.Canceled, []load.SearchStep{step(t, 20, nil), step(t, 40, interrupted)}, 20, 0, ""},
		{"failures allowed", []string{"failed<=50%"}, nil, []load.SearchStep{step(t, 20, func(s *load.Summary) { s.Failures = 20 }), step(t, 40, slow)}, 20, 40, ""},
	} {
		f := aSearch(t, c.expressions, c.err, c.steps...)
		of := func(p *float64) float64 {
			if p == nil {
				return 0
			}
			return *p
		}
		if of(f.Best) != c.best || of(f.Broken) != c.broken || f.Problem != c.problem || (f.Limit == nil) != (c.broken == 0) {
			t.Errorf("%s: best %v, broken %v, problem %q, limit %v", c.name, of(f.Best), of(f.Broken), f.Problem, f.Limit)
		}
		for _, step := range f.Steps {
			if step.Kept != (step.Reason == "") {
				t.Errorf("%s: %+v is kept or not for no reason", c.name, step)
			}
		}
		if _, err := json.Marshal(f); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		text(t, f)
	}
}
