package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"
)

// startAttempts is how often another free port is tried after one was taken
// between being chosen and being used.
const startAttempts = 5

// start does what is common to all drivers: it checks the spec, prepares the
// material, tries free ports with up, and ties the server to its context. What
// up started before it failed, up has ended.
func start(ctx context.Context, d Driver, spec Spec, dir string, up func(context.Context, *material, netip.AddrPort) (instance, error)) (*Server, error) {
	if err := spec.Validate(); err != nil {
		return nil, fmt.Errorf("bad server spec: %w", err)
	}
	if err := d.Can(spec); err != nil {
		return nil, fmt.Errorf("%s cannot be such a server: %w", d.Name(), err)
	}
	if err := d.Available(); err != nil {
		return nil, err
	}
	m, err := prepare(spec, dir)
	if err != nil {
		return nil, err
	}
	var (
		in   instance
		addr netip.AddrPort
	)
	for attempt := 1; ; attempt++ {
		if addr, err = chooseAddr(spec.Port); err != nil {
			break
		}
		in, err = up(ctx, m, addr)
		if spec.Port != 0 || attempt == startAttempts || !errors.Is(err, errPortTaken) {
			break
		}
	}
	if err != nil {
		m.close()
		return nil, err
	}
	s := m.server(d.Name())
	s.Addr, s.instance, s.PID = addr, in, os.Getpid()
	if e, ok := in.(external); ok {
		var proc *process
		proc, s.Log = e.process()
		s.PID = proc.pid()
	}
	once := sync.OnceValue(func() error {
		err := in.stop()
		m.close()
		return err
	})
	untie := context.AfterFunc(ctx, func() { once() }) //nolint:errcheck // Stop returns it again
	s.stop = func() error {
		untie()
		return once()
	}
	return s, nil
}

// external is an instance that is another program.
type external interface {
	// process returns the program's first process and the file of its log.
	process() (*process, string)
}

// chooseAddr returns 127.0.0.1 with the port asked for, or with one that is
// free at this moment.
func chooseAddr(port uint16) (netip.AddrPort, error) {
	if port != 0 {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port), nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return netip.AddrPort{}, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).AddrPort(), nil
}

// startDeadline is how long a server may take to come up.
const startDeadline = 20 * time.Second

// startProgram starts an external server and waits until ready reports that it
// accepts connections. On failure nothing is left running and the error is a
// *StartError with the last lines of the log files.
func startProgram(ctx context.Context, driver string, p program, ready func(*process) bool, logs ...string) (*process, error) {
	fail := func(err error) error {
		output := lastLines(append(logs, p.output)...)
		for _, words := range []string{"address already in use", "address is in use", errPortTaken.Error()} {
			if strings.Contains(strings.ToLower(output), words) {
				err = errPortTaken
			}
		}
		return &StartError{Driver: driver, Err: err, Output: output}
	}
	proc, err := startProcess(p)
	if err != nil {
		return nil, &StartError{Driver: driver, Err: err}
	}
	deadline := time.NewTimer(startDeadline)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ready(proc) {
		select {
		case <-tick.C:
			continue
		case <-proc.exited:
			return nil, fail(fmt.Errorf("it ended at once (%v)", proc.state()))
		case <-ctx.Done():
			err = ctx.Err()
		case <-deadline.C:
			err = fmt.Errorf("it did not accept connections within %v", startDeadline)
		}
		proc.kill()
		return nil, fail(err)
	}
	return proc, nil
}

// lastLines returns the ends of the files, at most twenty lines of each, as far as
// they exist.
func lastLines(files ...string) string {
	var parts []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		part := strings.TrimSpace(strings.Join(lines[max(0, len(lines)-20):], "\n"))
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "\n")
}
