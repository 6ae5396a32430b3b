package lab

import (
	"fmt"
	"slices"
	"strings"

	"shakedown/internal/stats"
)

// busyOthers is how many cores' worth of other work make a figure doubtful.
const busyOthers = 0.25

// caveats says what to know before the figures are read.
func caveats(o *Outcome, r *Record) []string {
	all := []string{}
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if o.Rounds < o.Plan.Rounds {
		why := o.Stopped
		if why == "" {
			why = "it has not ended"
		}
		add("%d of %d rounds are complete: %s", o.Rounds, o.Plan.Rounds, why)
	}
	if o.Rounds < stats.MinMedian {
		add("%d rounds are too few for intervals, which take %d: nothing here tells a difference from chance", o.Rounds, stats.MinMedian)
	}
	if reasons := o.Environment.Reasons; len(reasons) > 0 {
		add("before the first round this machine was not fit to measure on: %s", strings.Join(reasons, "; "))
	}
	var steals, others []float64
	for _, round := range r.Rounds {
		for _, m := range round.Measurements {
			o.Repeated += m.Repeated
			if m.Summary.Steal != nil {
				steals = append(steals, *m.Summary.Steal)
			}
			if m.Others != nil {
				others = append(others, *m.Others)
			}
		}
	}
	if len(steals) > 0 {
		m := middle(steals)
		o.Environment.Steal = &m
	}
	if o.Repeated > 0 {
		add("%d turns were repeated because more than %g%% of the machine's time was taken by others (steal)", o.Repeated, o.Plan.Steal)
	}
	if n := len(slices.DeleteFunc(steals, func(s float64) bool { return s <= o.Plan.Steal })); n > 0 {
		add("%d turns had steal above %g%% even after %d repeats, and count all the same", n, o.Plan.Steal, maxRepeats)
	}
	if len(others) > 0 {
		if m := middle(others); m > busyOthers {
			add("other programs, and the kernel's work for the network, took %.2f cores in the middle turn: rates and latencies suffer from that more than CPU per handshake does", m)
		}
	}
	if h := o.Environment.Hypervisor; h != "" {
		add("this is a virtual machine (%s): compare figures of one run with one another, not with those of other machines", h)
	}
	all = append(all, cellCaveats(o)...)
	if len(o.Effects) > 20 {
		shown := 0
		for _, e := range o.Effects {
			if e.Verdict != stats.Inconclusive {
				shown++
			}
		}
		if shown > 0 {
			add("%d comparisons at 5%% each: about %.0f of them would show a difference where there is none", shown, max(1, alpha*float64(shown)))
		}
	}
	if len(o.Parts) > 0 {
		add("signature and key exchange are what the operations cost by themselves; the rest is all else, the request and the answer included")
	}
	return all
}

// cellCaveats says what is to be known of single cells.
func cellCaveats(o *Outcome) []string {
	var all, byClient, failing []string
	for _, c := range o.Cells {
		if c.LimitedBy["client"] > 0 {
			byClient = append(byClient, c.Name)
		}
		if c.Failures > 0 {
			failing = append(failing, fmt.Sprintf("%s (%d of %d: %s)", c.Name, c.Failures, c.Failures+c.Handshakes, c.Failure))
		}
		if c.Status == Impossible {
			all = append(all, fmt.Sprintf("%s is impossible: %s", c.Name, c.Reason))
		}
		if c.Status == Failed {
			all = append(all, fmt.Sprintf("%s failed: %s", c.Name, c.Reason))
		}
	}
	if len(byClient) > 0 {
		all = append(all, "limited by the client, so that the rate says nothing of the server: "+strings.Join(byClient, "; "))
	}
	if len(failing) > 0 {
		all = append(all, "handshakes failed: "+strings.Join(failing, "; "))
	}
	return all
}
