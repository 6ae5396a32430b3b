//go:build linux && !portable

package load

import (
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// epollWait waits for events for at most d, to the nanosecond where the kernel
// can (Linux 5.11), so that an open loop keeps its instants.
//
// It does not tell the Go scheduler that it blocks. If it did, the scheduler's
// monitor would wake every 20 us to take the processor away from a thread that
// is about to run again, which cost more than half of the client's CPU time.
// [reserve] gives every loop a processor of its own to hold on to instead, and
// the signal by which the runtime stops a thread ends the wait.
func epollWait(epoll int, events []unix.EpollEvent, d time.Duration) (int, error) {
	ts := unix.NsecToTimespec(d.Nanoseconds())
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT2, uintptr(epoll), uintptr(unsafe.Pointer(&events[0])),
		uintptr(len(events)), uintptr(unsafe.Pointer(&ts)), 0, 0)
	if errno == unix.ENOSYS {
		return unix.EpollWait(epoll, events, int((d+time.Millisecond-1)/time.Millisecond))
	}
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// reserve gives the Go scheduler a processor for each loop beside those it has,
// and returns how to take them back.
func reserve(loops int) (release func()) {
	before := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(before + loops)
	return func() { runtime.GOMAXPROCS(before) }
}
