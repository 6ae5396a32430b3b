package handshake

import (
	"context"
	"errors"
	"net"
	"time"

	"shakedown"
)

// fetchWait is how long Fetch waits for a ticket once the handshake is complete,
// and for the server to close.
const fetchWait = time.Second

// ErrNoSession: the handshake succeeded, but the server gave nothing to resume.
var ErrNoSession = errors.New("the server gave no session that can be resumed in this mode")

// Fetch takes a full handshake over conn and returns a session to resume in
// client's mode. It waits for a ticket where the mode needs one, and says goodbye:
// OpenSSL drops the session of a connection that ends without close_notify from
// its cache. What is left to do with conn is to close it. The error is a
// *shakedown.Failure, ErrNoSession, or says that the handshake could not begin.
func Fetch(ctx context.Context, conn net.Conn, client *Client) (*Session, error) {
	var session *Session
	c := NewConn(conn, client, client.config.Time(), Recorder{Session: func(s *Session) { session = s }})
	if err := c.Handshake(ctx, nil); err != nil {
		return nil, err
	}
	if f := c.Result.Failure; f != nil {
		return nil, f
	}
	if c.Result.Observed.Version != shakedown.TLS13 {
		session = c.Machine.Session()
	} else if session == nil {
		wait, cancel := context.WithTimeout(ctx, fetchWait)
		defer cancel()
		c.Collect(wait, func() bool { return session != nil })
	}
	c.Shutdown(ctx, fetchWait)
	if session == nil {
		return nil, ErrNoSession
	}
	return session, nil
}
