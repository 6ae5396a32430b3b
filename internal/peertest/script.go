package peertest

import (
	"context"
	"fmt"
	"io"
	"net"
)

// Script is a peer that plays prepared steps in order.
type Script []Step

// Step first reads, if it expects anything, and then sends.
type Step struct {
	// Expect is the content type of a record to read first; records of other
	// types are read over. 0 reads nothing.
	Expect byte
	// Send is written as it is, in one write.
	Send []byte
	// Answer, if set, makes what is sent from the record read (nil without
	// Expect); it is sent behind Send.
	Answer func(record []byte) []byte
	// End ends the connection after this step.
	End End
}

// End is a way to end a connection.
type End string

// The ways to end. Without any, a script waits at its end until the client
// closes.
const (
	EndNone  End = ""
	EndClose End = "close"
	EndReset End = "reset"
)

// Behaviour plays the script; it stops when the client does not go along.
func (s Script) Behaviour() Behaviour {
	return func(_ context.Context, conn net.Conn) {
		if err := s.Play(conn); err == nil {
			io.Copy(io.Discard, conn) //nolint:errcheck // it ends when the client does
		}
	}
}

// Play plays the script on conn. The error tells which step failed; io.EOF, not
// wrapped, says that the script itself ended the connection.
func (s Script) Play(conn net.Conn) error {
	for i, step := range s {
		var record []byte
		for step.Expect != 0 && (record == nil || record[0] != step.Expect) {
			var err error
			if record, err = ReadRecord(conn); err != nil {
				return fmt.Errorf("step %d: waiting for a record of type %d: %w", i, step.Expect, err)
			}
		}
		out := step.Send
		if step.Answer != nil {
			out = append(append([]byte(nil), out...), step.Answer(record)...)
		}
		if len(out) > 0 {
			if _, err := conn.Write(out); err != nil {
				return fmt.Errorf("step %d: sending: %w", i, err)
			}
		}
		switch step.End {
		case EndClose:
			conn.Close()
			return io.EOF
		case EndReset:
			reset(conn)
			return io.EOF
		}
	}
	return nil
}
