package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"shakedown/internal/host"
)

// findServer finds the processes that serve the targets, or says why they cannot
// be. Those of some of several addresses alone would make handshakes look cheap.
// Processes that were given have to be there.
func (b *bencher) findServer(a *app) (why string, err error) {
	for _, pid := range b.plan.ServerPIDs {
		if _, err := host.Start(pid); errors.Is(err, os.ErrProcessDone) {
			return "", failed("leave it out to have the server found by its listening socket", "--server-pid: there is no process %d", pid)
		}
	}
	found, why := b.listeners()
	if len(b.plan.ServerPIDs) == 0 {
		b.plan.ServerPIDs = found
		return why, nil
	}
	for _, pid := range b.plan.ServerPIDs {
		if why == "" && !slices.Contains(found, pid) {
			fmt.Fprintf(a.stderr, "process %d of --server-pid does not listen on %v, as %v do: CPU time per handshake is that of the process given\n",
				pid, b.plan.Targets[0], found)
		}
	}
	return "", nil
}

// listeners returns the processes that listen on the targets, or why they cannot
// be found.
func (b *bencher) listeners() (pids []int, why string) {
	for _, t := range b.plan.Targets {
		found, err := host.Listeners(t)
		switch {
		case errors.Is(err, host.ErrRemote):
			return nil, "the server is not on this machine"
		case err != nil:
			return nil, strings.TrimPrefix(err.Error(), "host: ")
		}
		for _, p := range found {
			if !slices.Contains(pids, p.PID) {
				pids = append(pids, p.PID)
			}
		}
	}
	return pids, ""
}
