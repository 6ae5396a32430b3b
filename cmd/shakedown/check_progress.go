package main

import (
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"shakedown/internal/check"
)

// addresses is how many addresses are asked.
func (c *checker) addresses() int {
	all := map[netip.AddrPort]bool{}
	for _, t := range c.plan.Targets {
		for _, a := range t.Addresses {
			all[netip.AddrPortFrom(a.Unmap(), t.Port)] = true
		}
	}
	return len(all)
}

// asking is what progress shows of a check: a line for each address that is being
// asked, which goes when it is done, and how many are.
type asking struct {
	show func(lines []string, line string)
	of   int // addresses

	mu    sync.Mutex
	done  map[netip.AddrPort]bool
	at    []netip.AddrPort
	lines []string // of at
}

// say takes what is asked of an address now.
func (a *asking) say(address netip.AddrPort, question string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.done == nil {
		a.done = map[netip.AddrPort]bool{}
	}
	a.done[address] = question == check.Done
	line := fmt.Sprintf("%s: %s", address, question)
	switch i := slices.Index(a.at, address); {
	case a.done[address] && i >= 0:
		a.at, a.lines = slices.Delete(a.at, i, i+1), slices.Delete(a.lines, i, i+1)
	case a.done[address]:
	case i >= 0:
		a.lines[i] = line
	default:
		a.at, a.lines = append(a.at, address), append(a.lines, line)
	}
	lines := slices.Clone(a.lines)
	if a.of > 1 {
		n := 0
		for _, done := range a.done {
			if done {
				n++
			}
		}
		lines = append(lines, fmt.Sprintf("%d of %d addresses done", n, a.of))
	}
	a.show(lines, line)
}
