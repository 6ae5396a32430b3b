package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"shakedown"
	"shakedown/internal/host"
	"shakedown/internal/load"
	"shakedown/internal/report"
)

const (
	// findFrom is the first rate that a search tries, per second.
	findFrom = 100
	// findStep is how long it keeps each rate.
	findStep = 5 * time.Second
)

// finder is what was typed about the search for the highest rate.
type finder struct {
	expressions []string // that are to be kept; none: no search
	from        float64
	step        time.Duration
}

func (f *finder) flags() section {
	fs := pflag.NewFlagSet("find", pflag.ContinueOnError)
	fs.StringArrayVar(&f.expressions, "find-max", nil, "search for the highest rate that keeps this `expression`, such as 'p99<20ms'; repeat for more that are to be kept as well. Figures are those of --expect")
	fs.Float64Var(&f.from, "find-from", findFrom, "the first `rate` tried, per second; it is doubled from there")
	fs.DurationVar(&f.step, "find-step", findStep, "`time` for which each rate is kept, after the warm-up")
	return section{"Searching for the highest rate", fs}
}

// search makes the arrivals of a search, which are its own.
func (b *bencher) search() error {
	if len(b.find.expressions) == 0 {
		for _, flag := range []string{"find-from", "find-step"} {
			if b.changed(flag) {
				return failed("add --find-max 'p99<20ms' or the like", "--%s is for a search", flag)
			}
		}
		return nil
	}
	for _, flag := range []string{"rate", "stages", "duration", "count", "expect", "hdr"} {
		if b.changed(flag) {
			return failed("", "--find-max and --%s exclude each other", flag)
		}
	}
	switch {
	case b.output.format != "text" && b.output.format != "json":
		return failed("", "--find-max writes text or json, not %s", b.output.format)
	case !(b.find.from >= 1 && b.find.from <= 1e7):
		return failed("", "--find-from: %v is not from 1 to 10000000 per second", b.find.from)
	case b.find.step <= 0:
		return failed("", "--find-step: %s is no time to measure", b.find.step)
	}
	b.plan.Duration = b.find.step
	if !b.changed("connections") {
		b.plan.Connections = openConnections
	}
	return nil
}

// runSearch makes the search and writes what it found.
func (b *bencher) runSearch(ctx context.Context, a *app, target shakedown.Target, asked shakedown.Asked, thresholds []report.Expectation) error {
	doc, err := report.NewFindMax(target, asked, host.Describe(ctx), b.plan, thresholds)
	if err != nil {
		return failed("", "%w", err)
	}
	p := b.progress(a)
	p.plain = 0 // each step is told when it is done
	_, _, err = load.FindMax(ctx, load.Search{
		Plan: b.plan, Begin: b.find.from, Step: b.find.step,
		Keeps: func(s *load.Summary) (bool, error) { return doc.Keeps(s), nil },
		Observe: func(rate float64, now load.Progress) {
			head := fmt.Sprintf("step %d: %.4g/s", len(doc.Steps)+1, rate)
			p.show(append([]string{head}, report.Live(b.plan, now)...), head)
		},
		Told: func(step load.SearchStep) {
			doc.Add(step)
			p.note(fmt.Sprintf("step %d: %s", len(doc.Steps), &doc.Steps[len(doc.Steps)-1]))
		},
	})
	p.clear()
	if len(doc.Steps) == 0 && err != nil {
		return b.notDone(ctx, target, err)
	}
	doc.Conclude(err)
	if err := b.output.write(a, doc, nil); err != nil {
		return err
	}
	return b.found(ctx, target, doc, err)
}

// found says what of a search is not as it should be, once it is written.
func (b *bencher) found(ctx context.Context, target shakedown.Target, doc *report.FindMax, err error) error {
	last := doc.Steps[len(doc.Steps)-1]
	switch {
	case doc.Interrupted:
		return failed("", "interrupted in step %d of the search", len(doc.Steps))
	case errors.Is(err, load.ErrNoneComplete):
		return failed("try it with: shakedown trace "+target.String(), "%s: not one of %d handshakes was complete", target, last.Failures)
	case errors.Is(err, load.ErrNotKept):
		return unmet("no rate tried keeps %s: at %.3g/s %s", strings.Join(doc.Thresholds, " and "), last.Rate, last.Reason)
	case err != nil:
		return b.notDone(ctx, target, err)
	case doc.Mismatched() > 0:
		return unmet("%d handshakes were not as asked", doc.Mismatched())
	}
	return nil
}
