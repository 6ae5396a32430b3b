package starttls

import (
	"context"
	"errors"
	"net"
	"os"
	"time"

	"shakedown"
)

// Upgrade speaks the plain-text part of one of [Protocols] on conn, which is
// connected, up to where the ClientHello is to follow. serverName is the domain to
// ask for, which only xmpp needs. The error is a *shakedown.Failure; conn is
// of no more use then. ctx ends it early; deadlines set on conn are lost.
func Upgrade(ctx context.Context, conn net.Conn, protocol, serverName string) error {
	d, err := New(protocol, serverName)
	if err != nil {
		return err
	}
	return d.Run(ctx, conn)
}

// Run drives the Dialogue over conn. See [Upgrade].
func (d *Dialogue) Run(ctx context.Context, conn net.Conn) error {
	deadline, _ := ctx.Deadline() // zero for none
	conn.SetDeadline(deadline)    //nolint:errcheck // of a closed connection, which fails below
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		conn.SetDeadline(time.Unix(1, 0)) //nolint:errcheck // likewise
		close(interrupted)
	})
	defer func() {
		if !stop() {
			<-interrupted
		}
		conn.SetDeadline(time.Time{}) //nolint:errcheck // likewise
	}()
	fail := func(err error) error {
		if errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() != nil {
			err = ctx.Err()
		}
		return d.Close(err)
	}
	// One byte more than an answer may have, so that a longer one is seen as such.
	buffer := make([]byte, maxAnswer+1)
	send, ready := d.Start(), false
	for {
		if len(send) > 0 {
			if _, err := conn.Write(send); err != nil {
				return fail(err)
			}
		}
		if ready {
			return nil
		}
		n, err := conn.Read(buffer)
		if n == 0 && err != nil {
			return fail(err)
		}
		var failure *shakedown.Failure
		if send, ready, failure = d.Feed(buffer[:n]); failure != nil {
			return failure
		}
	}
}
