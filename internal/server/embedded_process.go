package server

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// order is what the process of an embedded server is told on its standard
// input, as one line of JSON: the material that was prepared for it.
type order struct {
	Spec       Spec
	Addr       netip.AddrPort
	Files      []CertificateFiles
	Staples    []string
	TicketKeys []string
	ClientCAs  string
}

// The requests that follow, a line each. The end of the input ends the server,
// so that it never outlives whoever started it.
const (
	requestCounts = "counts"
	requestReload = "reload"
)

// reply is what the process writes, a line of JSON each: first with number 0
// when the server is up or cannot be, then one for each request.
type reply struct {
	Number int
	Counts Counts
	Error  string `json:",omitempty"`
}

// ServeEmbedded is the process of an embedded server: it reads from in what to
// be, writes to out what it is asked, and returns when in ends or ctx does. A
// program offers it to [Embedded.Command] under some argument.
func ServeEmbedded(ctx context.Context, in io.Reader, out io.Writer) error {
	lines := bufio.NewReader(in)
	first, err := lines.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("reading what server to be: %w", err)
	}
	var o order
	if err := json.Unmarshal(first, &o); err != nil {
		return fmt.Errorf("reading what server to be: %w", err)
	}
	m := &material{spec: o.Spec, files: o.Files, staples: o.Staples, ticketKeys: o.TicketKeys, clientCAs: o.ClientCAs}
	for _, f := range o.Files {
		c, err := readCertificate(f, nil)
		if err != nil {
			return err
		}
		m.certs = append(m.certs, c)
	}
	encoder := json.NewEncoder(out)
	server, err := Embedded{}.up(ctx, m, o.Addr)
	if err != nil {
		var failed *StartError
		if errors.As(err, &failed) {
			return failed.Err // the parent makes a StartError of it
		}
		return err
	}
	defer server.stop() //nolint:errcheck // always nil
	if err := encoder.Encode(reply{}); err != nil {
		return err
	}
	for number := 1; ctx.Err() == nil; number++ {
		request, err := lines.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		r := reply{Number: number}
		switch strings.TrimSpace(request) {
		case requestCounts:
			r.Counts, err = server.counts(ctx)
		case requestReload:
			err = server.reload(ctx)
		default:
			err = fmt.Errorf("unknown request %q", request)
		}
		if err != nil {
			r.Error = err.Error()
		}
		if err := encoder.Encode(r); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// embeddedProcess is an embedded server in a process of its own.
type embeddedProcess struct {
	proc   *process
	output string

	mu       sync.Mutex
	requests int
	stopped  bool
	final    Counts // after stop
	err      error  // why there is no final count
}

// upProcess starts the process and gives it its order.
func (e Embedded) upProcess(ctx context.Context, m *material, addr netip.AddrPort) (instance, error) {
	text, err := json.Marshal(order{Spec: m.spec, Addr: addr, Files: m.files, Staples: m.staples, TicketKeys: m.ticketKeys, ClientCAs: m.clientCAs})
	if err != nil {
		return nil, err
	}
	cpus, err := parseCPUs(m.spec.CPUs)
	if err != nil {
		return nil, err
	}
	in := &embeddedProcess{output: filepath.Join(m.dir, "output.log")}
	p := program{
		path: e.Command[0], args: e.Command[1:], dir: m.dir, output: in.output, cpus: cpus, orphan: syscall.SIGKILL,
		env:   []string{fmt.Sprintf("GOMAXPROCS=%d", m.spec.Workers)},
		stdin: append(text, '\n'),
	}
	ready := func(*process) bool {
		_, ok := in.reply(0)
		return ok
	}
	if in.proc, err = startProgram(ctx, e.Name(), p, ready); err != nil {
		return nil, err
	}
	return in, nil
}

// reply returns the reply of that number once it is there whole.
func (e *embeddedProcess) reply(number int) (r reply, found bool) {
	text, err := os.ReadFile(e.output)
	if err != nil {
		return r, false
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasSuffix(line, "\n") && json.Unmarshal([]byte(line), &r) == nil && r.Number == number {
			return r, true
		}
	}
	return reply{}, false
}

// ask makes a request and waits for its reply.
func (e *embeddedProcess) ask(ctx context.Context, request string) (Counts, error) {
	ctx, cancel := context.WithTimeout(ctx, politeness)
	defer cancel()
	if _, err := io.WriteString(e.proc.stdin, request+"\n"); err != nil {
		return Counts{}, fmt.Errorf("the embedded server's process takes no requests: %w", err)
	}
	e.requests++
	for {
		if r, ok := e.reply(e.requests); ok {
			if r.Error != "" {
				return r.Counts, errors.New(r.Error)
			}
			return r.Counts, nil
		}
		select {
		case <-e.proc.exited:
			return Counts{}, fmt.Errorf("the embedded server's process ended: %s", e.proc.state())
		default:
		}
		if !sleep(ctx, 2*time.Millisecond) {
			return Counts{}, fmt.Errorf("the embedded server's process does not answer: %w", ctx.Err())
		}
	}
}

// counts implements instance.
func (e *embeddedProcess) counts(ctx context.Context) (Counts, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stopped {
		return e.final, e.err
	}
	return e.ask(ctx, requestCounts)
}

// reload implements instance.
func (e *embeddedProcess) reload(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, err := e.ask(ctx, requestReload)
	return err
}

// stop implements instance.
func (e *embeddedProcess) stop() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.final, e.err = e.ask(context.Background(), requestCounts)
	e.stopped = true
	return e.proc.stop(syscall.SIGTERM)
}

// process implements external.
func (e *embeddedProcess) process() (*process, string) { return e.proc, e.output }
