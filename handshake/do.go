package handshake

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"time"

	"shakedown"
)

// Recorder is told what happens during [Do], as time since the planned start.
// Any field may be nil.
type Recorder struct {
	Message func(Message, time.Duration)
	Session func(*Session)
	Data    func([]byte)
}

// Do takes one handshake over conn, which is connected, and returns its Result.
// Times count from planned. A handshake that fails is in Result.Failure; an error
// means that cfg cannot be used. Do neither closes conn nor sends close_notify,
// and returns as soon as the handshake is complete in the sense of cfg.Complete.
// ctx ends it early.
func Do(ctx context.Context, conn net.Conn, cfg *Config, planned time.Time, rec Recorder) (shakedown.Result, error) {
	client, err := NewClient(cfg)
	if err != nil {
		return shakedown.Result{}, err
	}
	c := NewConn(conn, client, planned, rec)
	if err := c.Handshake(ctx, cfg.Session); err != nil {
		return shakedown.Result{}, err
	}
	return c.Result, nil
}

// Conn is a blocking driver of a Machine over a network connection.
type Conn struct {
	Result  shakedown.Result
	Machine *Machine

	conn    net.Conn
	client  *Client
	planned time.Time
	rec     Recorder
	buffer  []byte
	read    time.Duration // when the bytes last fed came
}

// NewConn makes a driver for one handshake of client over conn.
func NewConn(conn net.Conn, client *Client, planned time.Time, rec Recorder) *Conn {
	c := &Conn{conn: conn, client: client, planned: planned, rec: rec, Machine: NewMachine(nil), buffer: make([]byte, 1<<14)}
	c.Machine.LogMessages = rec.Message != nil
	c.Result.Address = addrPort(conn.RemoteAddr())
	c.Result.Local = addrPort(conn.LocalAddr())
	return c
}

// Handshake runs until the handshake is done or has failed, which
// Result.Failure tells. An error means that it could not be begun.
func (c *Conn) Handshake(ctx context.Context, session *Session) error {
	defer c.bound(ctx)()
	m := c.Machine
	c.read = c.since()
	if err := m.Start(c.client, session); err != nil {
		return err
	}
	c.run(ctx, EventDone)
	c.finish()
	return nil
}

// bound has the connection's reads and writes end with ctx, until release is
// called, which leaves the connection without a deadline.
func (c *Conn) bound(ctx context.Context) (release func()) {
	deadline, _ := ctx.Deadline() // zero for none
	c.conn.SetDeadline(deadline)
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		c.conn.SetDeadline(time.Unix(1, 0)) // makes a blocking read return at once
		close(interrupted)
	})
	return func() {
		if !stop() {
			<-interrupted
		}
		c.conn.SetDeadline(time.Time{})
	}
}

// Collect goes on reading after the handshake until the context ends, the server
// closes or until enough says so: for tickets and responses.
func (c *Conn) Collect(ctx context.Context, enough func() bool) {
	defer c.bound(ctx)()
	for c.Result.Failure == nil && ctx.Err() == nil && !enough() {
		if !c.run(ctx, EventWait) {
			break
		}
	}
	c.finish()
}

// Shutdown sends close_notify after a handshake that succeeded and reads until
// the server closes, for wait at most. It does not close the connection.
func (c *Conn) Shutdown(ctx context.Context, wait time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	c.Machine.SendCloseNotify()
	c.Collect(ctx, func() bool { return false })
}

// finish copies what the Machine knows into the Result.
func (c *Conn) finish() {
	c.Result.Asked = *c.Machine.Asked()
	c.Machine.Staple()
	c.Result.Observed = *c.Machine.Observed()
	if c.Result.Failure == nil {
		c.Result.Failure = c.Machine.Failure()
	}
}

// run handles events until one of kind until, or until the connection is over,
// which it reports by false. For EventWait it handles what is there, after one
// read if nothing is.
func (c *Conn) run(ctx context.Context, until EventKind) bool {
	m, handled := c.Machine, false
	for {
		e := m.Next()
		handled = handled || e.Kind != EventWait
		switch e.Kind {
		case EventWait:
			if until == EventWait && handled {
				return true
			}
			n, err := c.conn.Read(c.buffer)
			if n > 0 {
				c.read = c.since()
				m.Feed(c.buffer[:n])
				handled = true
				continue
			}
			if err != nil {
				c.closed(ctx, err)
				return false
			}
			continue
		case EventWrite:
			_, err := c.conn.Write(e.Bytes)
			c.read = c.since()
			if err != nil && m.Failure() == nil {
				// The server may have said why before it closed.
				if n, _ := c.conn.Read(c.buffer); n > 0 {
					c.read = c.since()
					m.Feed(c.buffer[:n])
					continue
				}
				c.closed(ctx, err)
				return false
			}
		case EventPhase:
			c.Result.Phases.Mark(e.Phase, c.read)
		case EventMessage:
			c.rec.Message(e.Message, c.read)
		case EventTicket:
			if c.rec.Session != nil {
				c.rec.Session(m.Session())
			}
		case EventData:
			if c.rec.Data != nil {
				c.rec.Data(e.Bytes)
			}
		case EventFailed, EventClosed:
			return false
		}
		if e.Kind == until {
			return true
		}
	}
}

// closed records the end of the connection, and whose end it was.
func (c *Conn) closed(ctx context.Context, err error) {
	if errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() != nil {
		err = ctx.Err()
	}
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	c.Machine.Close(err)
}

func (c *Conn) since() time.Duration { return time.Since(c.planned) }
