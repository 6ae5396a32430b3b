package main

import (
	"fmt"
	"strconv"
	"strings"
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
