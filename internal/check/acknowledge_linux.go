package check

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// canAcknowledge: this system lets a client say when it acknowledges.
const canAcknowledge = true

// prompt is a connection that acknowledges at once what it gets. The kernel goes
// back to delayed acknowledgements whenever something is sent (tcp(7)), so it is
// told before each read.
type prompt struct {
	net.Conn
	raw syscall.RawConn
}

// acknowledging returns a connection that acknowledges at once; ok is false if it
// is not one of TCP.
func acknowledging(c net.Conn) (conn net.Conn, ok bool) {
	if d, far := c.(*distant); far {
		d.Conn, ok = acknowledging(d.Conn)
		return c, ok
	}
	s, ok := c.(syscall.Conn)
	if !ok {
		return c, false
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return c, false
	}
	return &prompt{c, raw}, true
}

func (p *prompt) Read(b []byte) (int, error) {
	// Where it fails, the read fails too.
	p.raw.Control(func(fd uintptr) { unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_QUICKACK, 1) }) //nolint:errcheck // see above
	return p.Conn.Read(b)
}
