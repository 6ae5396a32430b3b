//go:build linux && !portable

package load

import (
	"golang.org/x/sys/unix"

	"shakedown/internal/starttls"
)

// upgrade begins the plain text before TLS. The Machine is that of the last
// handshake until greet starts it anew.
func (l *loop) upgrade(i int32, c *socket) {
	if c.dialogue == nil {
		c.dialogue, _ = starttls.New(l.job.plan.StartTLS, l.job.plan.Config.ServerName) //nolint:errcheck // prepare has tried it
	}
	c.stage = stageUpgrading
	send := c.dialogue.Start()
	switch {
	case len(send) > 0:
		l.say(i, c, send)
	case l.job.plan.RTT > 0:
		// The greeting may have come while the connection was held: no event
		// will tell.
		l.hold(i, c)
	}
}

// heard takes plain text that was received, answers it, and begins TLS when that is
// due. It returns false when the connection is over.
func (l *loop) heard(i int32, c *socket, b []byte) bool {
	send, ready, failure := c.dialogue.Feed(b)
	if failure != nil {
		l.fail(i, c, failure)
		return false
	}
	if len(send) > 0 && !l.say(i, c, send) {
		return false
	}
	if ready {
		c.times.connected = l.job.clock()
		l.greet(i, c)
	}
	return c.fd >= 0
}

// say is send for plain text, whose failures are the dialogue's.
func (l *loop) say(i int32, c *socket, b []byte) bool {
	n, err := unix.Write(c.fd, b)
	if err != nil && err != unix.EAGAIN {
		l.broken(i, c, err)
		return false
	}
	c.unsent = append(c.unsent, b[max(n, 0):]...)
	return true
}
