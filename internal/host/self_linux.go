package host

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Self returns what this whole process has consumed, to the microsecond.
func Self() (SelfUsage, error) { return usage(unix.RUSAGE_SELF) }

// Thread returns what the calling thread has consumed. The caller must have
// locked its goroutine to the thread for that to mean anything.
func Thread() (SelfUsage, error) { return usage(unix.RUSAGE_THREAD) }

func usage(who int) (SelfUsage, error) {
	var r unix.Rusage
	if err := unix.Getrusage(who, &r); err != nil {
		return SelfUsage{}, fmt.Errorf("host: own usage: %w", err)
	}
	return SelfUsage{
		User:                time.Duration(r.Utime.Nano()),
		System:              time.Duration(r.Stime.Nano()),
		VoluntarySwitches:   int64(r.Nvcsw),
		InvoluntarySwitches: int64(r.Nivcsw),
	}, nil
}

// ThreadRunQueueWait returns how long the calling thread was ready to run and
// had no CPU, since it began. The same caution as for Thread applies.
func ThreadRunQueueWait() (time.Duration, error) {
	data, err := os.ReadFile("/proc/thread-self/schedstat")
	if err != nil {
		return 0, fmt.Errorf("host: run queue wait: %w", err)
	}
	_, wait, err := parseSchedstat(data)
	return wait, err
}
