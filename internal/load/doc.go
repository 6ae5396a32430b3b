// Package load makes handshakes by the thousand and says what came of them.
//
// A [Plan] says what to do: which handshakes, when they begin, how many at once
// and for how long. [Run] does it and returns a [Summary]. A Summary holds every
// handshake of the measured time: failures stay in, nothing is sampled away, and
// latency counts from the instant at which a handshake was planned to begin.
//
// On Linux a thread is one event loop over one epoll: it owns its connections,
// Machines, buffers and recorders, so that nothing is shared or locked while the
// clock runs (loop_linux.go). Elsewhere a connection is a goroutine over package
// net, with the same results (loop_portable.go).
package load
