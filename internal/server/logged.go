package server

import (
	"context"
	"syscall"
)

// loggedServer is a running server whose whole account is what it writes.
type loggedServer struct {
	driver string
	proc   *process
	output string
	read   func(file string) (Counts, error)
	polite []syscall.Signal
}

// counts implements instance.
func (l *loggedServer) counts(context.Context) (Counts, error) { return l.read(l.output) }

// reload implements instance.
func (l *loggedServer) reload(context.Context) error { return unsupported(l.driver) }

// stop implements instance.
func (l *loggedServer) stop() error { return l.proc.stop(l.polite...) }

// process implements external.
func (l *loggedServer) process() (*process, string) { return l.proc, l.output }
