//go:build unix

package server

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// setReuseport lets several sockets listen on one port; the kernel spreads
// connections over them.
func setReuseport(_, _ string, c syscall.RawConn) error {
	var err error
	if cerr := c.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
	}); cerr != nil {
		return cerr
	}
	return err
}

// isPortTaken reports whether listening failed because of another program.
func isPortTaken(err error) bool { return errors.Is(err, syscall.EADDRINUSE) }
