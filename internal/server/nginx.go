package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Nginx starts nginx with a configuration, prefix, logs and temporary files of
// its own; the system's are not touched.
type Nginx struct {
	Path string // of the program; empty: found in PATH or where Debian puts it
}

// Name implements [Driver].
func (Nginx) Name() string { return "nginx" }

// Available implements [Driver].
func (n Nginx) Available() error {
	_, err := findProgram(n.Path, "nginx", "nginx-light")
	return err
}

// Can implements [Driver].
func (Nginx) Can(s Spec) error {
	s = s.withDefaults()
	if err := s.noNumTickets("nginx"); err != nil {
		return err
	}
	if err := canOpenSSL(s); err != nil {
		return err
	}
	switch {
	case s.Tickets == TicketsPerWorker:
		return errors.New("nginx's workers always share their ticket keys: OpenSSL makes them before the workers are born")
	case s.Stapling == StaplingFile && len(s.Certificates) > 1:
		return errors.New("nginx staples the one ssl_stapling_file to every certificate, which is wrong for all but one")
	case s.MaxEarlyData != 0 && s.MaxEarlyData != 16384:
		return fmt.Errorf("nginx accepts 16384 bytes of early data, which cannot be changed to %d", s.MaxEarlyData)
	case len(s.ALPN) > 0 && !slices.Equal(s.ALPN, []string{"http/1.1"}) && !slices.Equal(s.ALPN, []string{"h2", "http/1.1"}):
		return fmt.Errorf("nginx negotiates http/1.1, or h2 before http/1.1, but not %v", s.ALPN)
	}
	return nil
}

// Start implements [Driver].
func (n Nginx) Start(ctx context.Context, spec Spec, dir string) (*Server, error) {
	return start(ctx, n, spec, dir, n.up)
}

// nginxServer is a running nginx.
type nginxServer struct {
	proc      *process
	workers   int
	accessLog string
	errorLog  string
	statusURL string

	mu      sync.Mutex
	queries int64   // connections that we made to the status page: nginx counts them too
	final   *Counts // after stop
	stopped bool
}

// up starts nginx on addr.
func (n Nginx) up(ctx context.Context, m *material, addr netip.AddrPort) (instance, error) {
	path, err := findProgram(n.Path, "nginx", "nginx-light")
	if err != nil {
		return nil, err
	}
	status, err := chooseAddr(0)
	if err != nil {
		return nil, err
	}
	conf, err := nginxConfig(m, addr, status)
	if err != nil {
		return nil, err
	}
	file := func(name string) string { return filepath.Join(m.dir, name) }
	in := &nginxServer{
		workers: m.spec.Workers, accessLog: file("access.log"), errorLog: file("error.log"),
		statusURL: "http://" + status.String() + "/",
	}
	// A count begins at the start, and a stale pid file would pass for readiness.
	for _, old := range []string{in.accessLog, in.errorLog, file("nginx.pid")} {
		if err := os.Remove(old); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	for _, d := range []string{file("temporary"), file("html")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, err
		}
	}
	if err := writePrivate(file("html/body"), []byte(strings.Repeat("x", m.spec.Body))); err != nil {
		return nil, err
	}
	if err := writePrivate(file("nginx.conf"), []byte(conf)); err != nil {
		return nil, err
	}
	cpus, err := parseCPUs(m.spec.CPUs)
	if err != nil {
		return nil, err
	}
	p := program{
		path: path, args: []string{"-p", m.dir, "-c", file("nginx.conf"), "-e", in.errorLog},
		dir: m.dir, output: file("output.log"), cpus: cpus,
		// On TERM the master ends its workers at once; on KILL they would live on.
		orphan: syscall.SIGTERM,
	}
	// The pid file is written after the ports were opened: from then on the
	// kernel accepts connections, and no other program can have the port. The
	// workers are waited for too, so that whoever watches them finds them all.
	ready := func(*process) bool {
		if text, err := os.ReadFile(file("nginx.pid")); err != nil || len(text) == 0 {
			return false
		}
		text, err := os.ReadFile(in.errorLog)
		return err == nil && strings.Count(string(text), "start worker process ") >= in.workers
	}
	if in.proc, err = startProgram(ctx, n.Name(), p, ready, in.errorLog); err != nil {
		return nil, err
	}
	return in, nil
}

// counts implements instance. While the server runs, lines still in nginx's
// buffers are waited for.
func (n *nginxServer) counts(ctx context.Context) (Counts, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stopped {
		if n.final == nil {
			return Counts{}, errors.New("nginx ended before it could be asked for its count")
		}
		return *n.final, nil
	}
	accepted, err := n.accepted(ctx)
	if err != nil {
		return Counts{}, fmt.Errorf("nginx's own count: %w", err)
	}
	if !sleep(ctx, 2*nginxLogFlush) {
		return Counts{}, ctx.Err()
	}
	return n.account(accepted)
}

// account joins the number of connections with what the logs say.
func (n *nginxServer) account(accepted int64) (Counts, error) {
	c, err := readNginxLogs(n.accessLog, n.errorLog)
	c.Accepted = accepted
	return c, err
}

// accepted asks the status page for the number of connections, less those made
// to ask.
func (n *nginxServer) accepted(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, politeness)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, n.statusURL, nil)
	if err != nil {
		return 0, err
	}
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	n.queries++
	text, err := io.ReadAll(io.LimitReader(resp.Body, 4096))
	if err != nil {
		return 0, err
	}
	accepts, err := parseStubStatus(string(text))
	return accepts - n.queries, err
}

// parseStubStatus returns the first of the three numbers below "server accepts
// handled requests": the connections accepted by all workers since the start.
func parseStubStatus(text string) (int64, error) {
	_, numbers, found := strings.Cut(text, "server accepts handled requests\n")
	var accepts, handled, requests int64
	if _, err := fmt.Sscan(numbers, &accepts, &handled, &requests); !found || err != nil {
		return 0, fmt.Errorf("not a status page of nginx: %q", text)
	}
	return accepts, nil
}

// reload implements instance: it sends HUP and waits until new workers have
// started and the old ones no longer accept.
func (n *nginxServer) reload(ctx context.Context) error {
	before, err := os.ReadFile(n.errorLog)
	if err != nil {
		return err
	}
	if err := n.proc.signal(syscall.SIGHUP); err != nil {
		return err
	}
	for sleep(ctx, 5*time.Millisecond) {
		after, err := os.ReadFile(n.errorLog)
		if err != nil {
			return err
		}
		news := string(after[min(len(before), len(after)):])
		if strings.Contains(news, "[emerg]") {
			// nginx goes on with its old configuration.
			return fmt.Errorf("nginx kept its old configuration: %s", lastLines(n.errorLog))
		}
		if strings.Count(news, "gracefully shutting down") >= n.workers {
			return nil
		}
		select {
		case <-n.proc.exited:
			return fmt.Errorf("nginx ended when asked to reload: %s", n.proc.state())
		default:
		}
	}
	return ctx.Err()
}

// stop implements instance. The last count is taken before the end, and the
// logs are read after it, when all is written.
func (n *nginxServer) stop() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	accepted, countErr := n.accepted(context.Background())
	// QUIT lets requests under way be answered and closes idle connections.
	err := n.proc.stop(syscall.SIGQUIT, syscall.SIGTERM)
	n.stopped = true
	if countErr == nil {
		if c, logErr := n.account(accepted); logErr == nil {
			n.final = &c
		}
	}
	return err
}

// process implements external.
func (n *nginxServer) process() (*process, string) { return n.proc, n.errorLog }
