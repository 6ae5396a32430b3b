//go:build !linux

package load

import (
	"errors"
	"time"
)

func pinThread(plan *Plan, _ int) error {
	if len(plan.CPUs) > 0 {
		return errors.New("binding threads to cores is not supported on this system: leave out --cpus")
	}
	return nil
}

func runQueueWait() time.Duration { return 0 }
