package load

import (
	"time"

	"shakedown/internal/host"
)

// pinThread binds the calling thread to its core, when the plan says so.
func pinThread(plan *Plan, id int) error {
	if len(plan.CPUs) == 0 {
		return nil
	}
	return host.Pin(plan.CPUs[id%len(plan.CPUs)])
}

// runQueueWait returns how long the calling thread has waited for a core so
// far; 0 where the kernel does not say.
func runQueueWait() time.Duration {
	wait, err := host.ThreadRunQueueWait()
	if err != nil {
		return 0
	}
	return wait
}
