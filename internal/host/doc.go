// Package host looks at the machine: what it is, what its processes consume,
// and how fast its cryptography is.
//
//   - [Describe] gives the [Environment] that is printed beside every result.
//   - [Listeners] finds the processes that serve a local address, and a [Watch]
//     measures what they and their descendants consume.
//   - [Self], [Thread], [ReadCPUTimes] and [ReadListenDrops] tell whether the client
//     or the machine was the limit.
//   - [Pin] and [PinProcess] bind threads to CPUs.
//   - [Primitives] measures signatures, key exchanges and ciphers.
//
// All counters are totals since some start that does not matter: read twice
// and subtract. What cannot be seen is an error that says why, never a zero.
package host

import "errors"

// Why something was not seen. Errors of this package wrap these, and
// fs.ErrPermission where another user's process may not be looked into.
var (
	// ErrSystem: this operating system does not show it (only Linux does).
	ErrSystem = errors.New("not seen on this system")
	// ErrRemote: the address is not one of this machine's.
	ErrRemote = errors.New("not an address of this machine")
	// ErrNoListener: nothing on this machine listens there.
	ErrNoListener = errors.New("no process listens there")
	// ErrSelf: this very process listens there, so that the server's CPU time
	// cannot be told from the client's.
	ErrSelf = errors.New("the listener is this process itself")
	// ErrEnded: no watched process is left.
	ErrEnded = errors.New("all watched processes have ended")
)
