package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"shakedown/internal/host"
)

// maxCPU is the highest core that can be named.
const maxCPU = 1023

// parseCPUs returns the cores of a list such as "0,2-3"; none for "".
func parseCPUs(list string) ([]int, error) {
	if list == "" {
		return nil, nil
	}
	var cpus []int
	for part := range strings.SplitSeq(list, ",") {
		first, last, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			last = first
		}
		low, err := strconv.Atoi(first)
		high, err2 := strconv.Atoi(last)
		if err != nil || err2 != nil || low < 0 || high < low || high > maxCPU {
			return nil, fmt.Errorf("%q is no list of cores such as 0 or 0,2-3, up to %d", list, maxCPU)
		}
		for cpu := low; cpu <= high; cpu++ {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}

// allowedCPUs refuses cores that this process may not run on: the machine or its
// cgroup does not have them.
func allowedCPUs(cpus []int) error {
	allowed, err := host.AllowedCPUs()
	if err != nil {
		return nil // not seen on this system: the run will tell
	}
	for _, cpu := range cpus {
		if !slices.Contains(allowed, cpu) {
			return failed(fmt.Sprintf("the cores to be had here are %v", allowed), "--cpus: there is no core %d for this program", cpu)
		}
	}
	return nil
}
