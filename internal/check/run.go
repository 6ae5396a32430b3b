package check

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"

	"shakedown"
)

// Report is what a run came to.
type Report struct {
	Connections int            `json:"connections"`
	Duration    time.Duration  `json:"duration_ns"`
	Targets     []TargetReport `json:"targets"`
	// Resumption has the pairs of different addresses; each with itself stands in
	// its observation.
	Resumption []Resumption `json:"resumption"`
	// Groups are found in the pairs, for each mechanism.
	Groups []Groups `json:"groups"`
	// Replays are early data of one address sent again to another, if that is
	// allowed.
	Replays []Replay `json:"replays"`
	// Findings are those of all addresses together.
	Findings []shakedown.Finding `json:"findings"`
	// Policy is what was judged by; empty: nothing.
	Policy string `json:"policy"`
	// Breaches are what the policy does not allow.
	Breaches []Breach `json:"breaches"`
	// Changes since an earlier report, if there was one to compare with.
	Changes []Change `json:"changes"`
}

// TargetReport is what one address of a target came to.
type TargetReport struct {
	Target      shakedown.Target    `json:"target"`
	Address     netip.AddrPort      `json:"address"`
	Connections int                 `json:"connections"`
	Observation Observation         `json:"observation"`
	Findings    []shakedown.Finding `json:"findings"` // the worst first
}

// Reached reports whether the address answered anything at all.
func (t *TargetReport) Reached() bool {
	return t.Observation.Usual != nil || len(t.Observation.Versions) > 0
}

// atATime is how many addresses are asked at a time.
const atATime = 4

// Run asks all that plan says. The error is the plan's; what goes wrong with an
// address is in its answers. When ctx ends, the questions left are not answered.
func Run(ctx context.Context, plan Plan) (*Report, error) {
	plan = plan.withDefaults()
	if err := plan.validate(); err != nil {
		return nil, err
	}
	began := time.Now()
	var probers []*prober
	for i := range plan.Targets {
		t := &plan.Targets[i]
		for _, a := range t.Addresses {
			p := newProber(&plan, t, netip.AddrPortFrom(a.Unmap(), t.Port))
			if !slices.ContainsFunc(probers, func(other *prober) bool { return other.place() == p.place() }) {
				probers = append(probers, p) // who is named twice is asked once
			}
		}
	}
	for _, p := range probers {
		for _, other := range probers {
			if other.address == p.address {
				p.names++
			}
		}
	}
	kept := reserve(len(probers), plan.MaxConnections/slices.MaxFunc(probers, func(a, b *prober) int { return a.names - b.names }).names)
	slots := make(chan struct{}, atATime)
	var all sync.WaitGroup
	for _, p := range probers {
		p.held = kept
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			p.askAll(ctx)
		})
	}
	all.Wait()
	r := &Report{}
	for _, p := range probers {
		p.held = 0
	}
	r.Resumption = crossOver(ctx, probers)
	r.Groups = findGroups(probers, r.Resumption)
	r.Replays = replayElsewhere(ctx, probers, r.Groups)
	for _, p := range probers {
		p.revise()
		p.markSlower()
		p.describeTickets()
		p.describeCertificates(time.Now())
		plan.KeyNames.note(p)
		p.seen.fill()
		t := TargetReport{Target: p.target.Target, Address: p.address, Connections: p.made, Observation: *p.seen, Findings: []shakedown.Finding{}}
		if len(plan.Questions) == 0 {
			t.Findings = p.findings(time.Now())
		}
		r.Connections += p.made
		r.Targets = append(r.Targets, t)
	}
	list(&r.Resumption)
	list(&r.Groups)
	list(&r.Replays)
	list(&r.Breaches)
	list(&r.Changes)
	list(&r.Findings)
	if len(plan.Questions) == 0 {
		r.Findings = fleetFindings(r)
	}
	if plan.Policy != nil {
		r.Policy, r.Breaches = plan.Policy.Name, plan.Policy.judge(r)
	}
	r.Duration = time.Since(began)
	return r, nil
}

// byWorst orders findings.
func byWorst(list []shakedown.Finding) []shakedown.Finding {
	slices.SortStableFunc(list, func(a, b shakedown.Finding) int { return a.Severity.Rank() - b.Severity.Rank() })
	return list
}
