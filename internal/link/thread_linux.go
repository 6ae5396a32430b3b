package link

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// onThread runs f on an OS thread of its own, which ends with f. It is never the
// process's main thread: that one does not end, and what /proc/self/net shows is
// the main thread's namespace, which has to stay the server's.
func onThread(f func()) {
	go func() {
		runtime.LockOSThread() // and never unlocked, so that the thread ends
		if unix.Gettid() != unix.Getpid() {
			f()
			return
		}
		// While this goroutine holds the main thread, the next one gets another.
		began := make(chan struct{})
		onThread(func() { close(began); f() })
		<-began
		runtime.UnlockOSThread()
	}()
}

// run is onThread that waits for f to end.
func run(f func()) {
	done := make(chan struct{})
	onThread(func() { defer close(done); f() })
	<-done
}
