package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"shakedown/internal/server"
)

// The embedded server of a demo runs in a process of its own, so that its CPU
// time is measured as that of any other server. The process is this program
// with the hidden verb internal-serve; the two talk in lines of JSON over its
// stdin and stdout, and it ends with its stdin, so that it never outlives the
// program that started it.
//
//	demo ── serveOrder ──▶ internal-serve
//	     ◀─ serveState ──  (it listens)
//	     ── "counts" ───▶
//	     ◀─ serveState ──  (with its account)

const serveVerb = "internal-serve"

// serveOrder is what to serve.
type serveOrder struct {
	Spec server.Spec `json:"spec"`
	Dir  string      `json:"dir"`
}

// serveState is what became of it.
type serveState struct {
	Error  string         `json:"error,omitempty"`
	Addr   netip.AddrPort `json:"addr"`
	Name   string         `json:"name"`
	Counts *server.Counts `json:"counts,omitempty"`
}

func (a *app) serveCommand() *cobra.Command {
	return &cobra.Command{
		Use: serveVerb, Hidden: true, Args: cobra.NoArgs,
		Short: "Serve what the order on stdin says, until stdin ends",
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.serve(cmd.Context()) },
	}
}

// serve obeys an order on stdin.
func (a *app) serve(ctx context.Context) error {
	// A ^C at the terminal reaches this process too; it ends when told, after
	// its last account.
	signal.Ignore(os.Interrupt)
	lines := bufio.NewScanner(a.stdin)
	answers := json.NewEncoder(a.stdout)
	var order serveOrder
	if !lines.Scan() {
		return failed("it is started by other verbs", "%s: no order on stdin", serveVerb)
	}
	if err := json.Unmarshal(lines.Bytes(), &order); err != nil {
		return failed("it is started by other verbs", "%s: %w", serveVerb, err)
	}
	s, err := server.Embedded{}.Start(ctx, order.Spec, order.Dir)
	if err != nil {
		return answers.Encode(serveState{Error: err.Error()})
	}
	defer s.Stop() //nolint:errcheck // the embedded server always stops
	if err := answers.Encode(serveState{Addr: s.Addr, Name: s.Name}); err != nil {
		return err
	}
	for lines.Scan() {
		state := serveState{Addr: s.Addr, Name: s.Name}
		counts, err := s.Connections(ctx)
		if err != nil {
			state.Error = err.Error()
		}
		state.Counts = &counts
		if err := answers.Encode(state); err != nil {
			return err
		}
	}
	return nil
}

// served is a server in a process of its own, whatever its kind.
type served struct {
	Addr   netip.AddrPort
	Name   string
	PID    int
	counts func(context.Context) (server.Counts, error)
	stop   func() error
}

// startServed starts a server of the kind that d is, in processes of its own.
func startServed(ctx context.Context, d server.Driver, spec server.Spec, dir string) (*served, error) {
	if _, ok := d.(server.Embedded); ok {
		return startEmbedded(ctx, os.Args[0], spec, dir)
	}
	s, err := d.Start(ctx, spec, dir)
	if err != nil {
		return nil, err
	}
	return &served{Addr: s.Addr, Name: s.Name, PID: s.PID, counts: s.Connections, stop: s.Stop}, nil
}

// startEmbedded starts this program again, under a name, to serve. The process
// ends with ctx, with stop, or with this process.
func startEmbedded(ctx context.Context, name string, spec server.Spec, dir string) (*served, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program, serveVerb)
	cmd.Args[0] = name
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	var words strings.Builder // complete once the process has been waited for
	cmd.Stderr = &words
	cmd.Cancel = stdin.Close
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1") // it is bound to one core
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop := sync.OnceValue(func() error {
		stdin.Close()
		io.Copy(io.Discard, stdout) //nolint:errcheck // Wait tells more
		if err := cmd.Wait(); err != nil && ctx.Err() == nil {
			return fmt.Errorf("the embedded server: %w", err)
		}
		return nil
	})
	answers := bufio.NewScanner(stdout)
	ask := func(question any) (serveState, error) {
		var state serveState
		if err := json.NewEncoder(stdin).Encode(question); err != nil {
			return state, fmt.Errorf("the embedded server has ended: %w", err)
		}
		if !answers.Scan() {
			return state, errors.New("the embedded server has ended without an answer")
		}
		if err := json.Unmarshal(answers.Bytes(), &state); err != nil {
			return state, fmt.Errorf("the embedded server: %w", err)
		}
		if state.Error != "" {
			return state, errors.New(state.Error)
		}
		return state, nil
	}
	state, err := ask(serveOrder{spec, dir})
	if err != nil {
		stop() //nolint:errcheck // the first error says why, with the server's own words
		if said := strings.TrimSpace(words.String()); said != "" {
			err = fmt.Errorf("%w: %s", err, said)
		}
		return nil, err
	}
	counts := func(context.Context) (server.Counts, error) {
		state, err := ask("counts")
		if err != nil {
			return server.Counts{}, err
		}
		return *state.Counts, nil
	}
	return &served{Addr: state.Addr, Name: state.Name, PID: cmd.Process.Pid, counts: counts, stop: stop}, nil
}
