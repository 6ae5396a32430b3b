package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"shakedown"
)

// OpenSSL starts openssl s_server, one process that serves one connection at a
// time. It answers requests with its status page, which is also its account of
// connections; with early data, which rules that page out, it does not answer.
type OpenSSL struct {
	Path string // of the program; empty: found in PATH
}

// Name implements [Driver].
func (OpenSSL) Name() string { return "openssl" }

// Available implements [Driver].
func (o OpenSSL) Available() error {
	_, err := findProgram(o.Path, "openssl", "openssl")
	return err
}

// Can implements [Driver].
func (OpenSSL) Can(s Spec) error {
	s = s.withDefaults()
	if err := canOpenSSL(s); err != nil {
		return err
	}
	switch {
	case s.Workers > 1 || s.Reuseport:
		return errors.New("s_server is one process that serves one connection at a time")
	case len(s.Certificates) > 2:
		return errors.New("s_server takes two certificates at most")
	case s.Tickets == TicketsKeyFile || s.Tickets == TicketsPerWorker:
		return errors.New("s_server makes its ticket key itself")
	case s.Cache == CacheNone || s.Cache == CacheShared:
		return fmt.Errorf("s_server has a builtin session cache or none, but not %s", s.Cache)
	case s.CacheSize != 0 || s.SessionTimeoutSeconds != 0 || s.BufferSize != 0 || s.Body != 0:
		return errors.New("s_server has no setting for cache size, session timeout, buffer size or body")
	case s.Stapling == StaplingFile && len(s.Certificates) > 1:
		return errors.New("s_server staples the one file to every certificate, which is wrong for all but one")
	}
	return nil
}

// Start implements [Driver].
func (o OpenSSL) Start(ctx context.Context, spec Spec, dir string) (*Server, error) {
	return start(ctx, o, spec, dir, o.up)
}

// opensslServer is a running s_server.
type opensslServer struct {
	proc   *process
	addr   string
	output string
	client *tls.Config // to ask for the status page; nil with early data

	mu      sync.Mutex
	queries int64 // handshakes that we made to ask: s_server counts them too
	stopped bool
	final   Counts // after stop
	err     error  // why there is no final count
}

// up starts s_server on addr.
func (o OpenSSL) up(ctx context.Context, m *material, addr netip.AddrPort) (instance, error) {
	path, err := findProgram(o.Path, "openssl", "openssl")
	if err != nil {
		return nil, err
	}
	args, err := opensslArgs(m, addr)
	if err != nil {
		return nil, err
	}
	cpus, err := parseCPUs(m.spec.CPUs)
	if err != nil {
		return nil, err
	}
	in := &opensslServer{addr: addr.String(), output: filepath.Join(m.dir, "output.log")}
	if !m.spec.EarlyData {
		in.client = &tls.Config{RootCAs: m.roots, ServerName: m.spec.Names[0], MinVersion: tls.VersionTLS10, CipherSuites: everySuite()}
		if m.client != nil {
			pair, err := m.client.TLS()
			if err != nil {
				return nil, err
			}
			in.client.Certificates = []tls.Certificate{pair}
		}
	}
	p := program{path: path, args: args, dir: m.dir, output: in.output, cpus: cpus, orphan: syscall.SIGKILL}
	// It says ACCEPT once it listens, and ends if it cannot.
	ready := func(*process) bool {
		text, err := os.ReadFile(in.output)
		return err == nil && strings.Contains(string(text), "\nACCEPT\n")
	}
	if in.proc, err = startProgram(ctx, o.Name(), p, ready); err != nil {
		return nil, err
	}
	return in, nil
}

// opensslArgs returns the command line.
func opensslArgs(m *material, addr netip.AddrPort) ([]string, error) {
	s := m.spec
	args := []string{"s_server", "-accept", addr.String()}
	add := func(more ...string) { args = append(args, more...) }
	if s.EarlyData {
		add("-early_data", "-no_anti_replay")
		if s.MaxEarlyData > 0 {
			add("-max_early_data", strconv.FormatUint(uint64(s.MaxEarlyData), 10))
		}
	} else {
		add("-www")
	}
	for i, f := range m.files {
		prefix := []string{"-", "-d"}[i]
		add(prefix+"cert", f.Leaf, prefix+"key", f.Key, prefix+"cert_chain", f.CA)
	}
	for option, v := range map[string]shakedown.Version{"-no_tls1": shakedown.TLS10, "-no_tls1_1": shakedown.TLS11, "-no_tls1_2": shakedown.TLS12, "-no_tls1_3": shakedown.TLS13} {
		if len(s.Versions) > 0 && !slices.Contains(s.Versions, v) {
			add(option)
		}
	}
	ciphers, err := opensslCiphers(s)
	if err != nil {
		return nil, err
	}
	if ciphers != "" {
		add("-cipher", ciphers)
	}
	suites, err := opensslSuites(s, true)
	if err != nil {
		return nil, err
	}
	if suites != "" {
		add("-ciphersuites", suites)
	}
	groups, err := opensslGroups(s.Groups)
	if err != nil {
		return nil, err
	}
	if groups != "" {
		add("-groups", groups)
	}
	if s.PreferServer {
		add("-serverpref")
	}
	if s.DHBits > 0 {
		file, err := m.dhFile()
		if err != nil {
			return nil, err
		}
		add("-dhparam", file)
	}
	if s.Tickets == TicketsOff {
		add("-no_ticket")
	}
	if s.NumTickets != nil {
		add("-num_tickets", strconv.Itoa(*s.NumTickets))
	}
	if s.Cache == CacheOff {
		add("-no_cache")
	}
	switch s.Stapling {
	case StaplingFile:
		add("-status_file", m.staples[0])
	case StaplingResponder:
		// It needs the issuer at hand to ask, and looks for it among what it trusts.
		issuers := filepath.Join(m.dir, "issuers.pem")
		var all []*x509.Certificate
		for _, c := range m.certs {
			all = append(all, c.Chain[1], c.Root)
		}
		if err := writePrivate(issuers, certificatesPEM(all...)); err != nil {
			return nil, err
		}
		add("-status", "-CAfile", issuers)
	}
	if len(s.ALPN) > 0 {
		add("-alpn", strings.Join(s.ALPN, ","))
	}
	switch s.ClientAuth {
	case ClientAuthRequest:
		add("-verify", "3", "-verify_return_error", "-verifyCAfile", m.clientCAs)
	case ClientAuthRequire:
		add("-Verify", "3", "-verify_return_error", "-verifyCAfile", m.clientCAs)
	}
	return args, nil
}

// everySuite returns all of crypto/tls's suites, weak ones too: the question is
// put to whatever server was asked for.
func everySuite() []uint16 {
	var all []uint16
	for _, list := range [][]*tls.CipherSuite{tls.CipherSuites(), tls.InsecureCipherSuites()} {
		for _, c := range list {
			all = append(all, c.ID)
		}
	}
	return all
}

// counts implements instance.
func (o *opensslServer) counts(ctx context.Context) (Counts, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.client == nil {
		return readOpenSSLLog(o.output)
	}
	if o.stopped {
		return o.final, o.err
	}
	return o.ask(ctx, politeness)
}

// The lines of the status page.
var (
	opensslAccepts  = regexp.MustCompile(`(\d+) server accepts \(SSL_accept\(\)\)`)
	opensslFinished = regexp.MustCompile(`(\d+) server accepts that finished`)
	opensslHits     = regexp.MustCompile(`(\d+) session cache hits`)
)

// ask fetches the status page. s_server serves one connection at a time, so an
// open connection elsewhere keeps it from answering.
func (o *opensslServer) ask(ctx context.Context, wait time.Duration) (c Counts, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("s_server does not answer when asked for its count: %w", err)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	conn, err := (&tls.Dialer{Config: o.client}).DialContext(ctx, "tcp", o.addr)
	if err != nil {
		return Counts{}, err
	}
	defer conn.Close()
	o.queries++
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if _, err := io.WriteString(conn, "GET / HTTP/1.0\r\n\r\n"); err != nil {
		return Counts{}, err
	}
	page, err := io.ReadAll(conn)
	if err != nil && len(page) == 0 {
		return Counts{}, err
	}
	c = untoldCounts("s_server's status page, as its SSL_CTX counts; a resumed handshake is what OpenSSL calls a cache hit")
	var numbers [3]int64
	for i, line := range []*regexp.Regexp{opensslAccepts, opensslFinished, opensslHits} {
		found := line.FindSubmatch(page)
		if found == nil {
			return Counts{}, fmt.Errorf("its status page has no line %q", line)
		}
		if numbers[i], err = strconv.ParseInt(string(found[1]), 10, 64); err != nil {
			return Counts{}, err
		}
	}
	c.Handshakes, c.Resumed, c.Untold = numbers[1]-o.queries, numbers[2], 0
	c.Full, c.Failed = c.Handshakes-c.Resumed, numbers[0]-numbers[1]
	return c, nil
}

// readOpenSSLLog counts what s_server prints of each handshake when it serves no
// pages.
func readOpenSSLLog(file string) (Counts, error) {
	c := untoldCounts("what s_server prints after each handshake")
	c.Handshakes, c.Resumed, c.Untold, c.EarlyData, c.Suites = 0, 0, 0, 0, map[string]int64{}
	err := eachLine(file, func(text string) error {
		if suite, ok := strings.CutPrefix(text, "CIPHER is "); ok {
			c.Handshakes++
			c.Suites[suiteName(suite)]++
		}
		switch {
		case strings.HasPrefix(text, "Reused session-id"):
			c.Resumed++
		case strings.HasPrefix(text, "Early data received"):
			c.EarlyData++
		}
		return nil
	})
	c.Full = c.Handshakes - c.Resumed
	return c, err
}

// reload implements instance.
func (*opensslServer) reload(context.Context) error { return unsupported("openssl s_server") }

// stop implements instance.
func (o *opensslServer) stop() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.client != nil {
		o.final, o.err = o.ask(context.Background(), time.Second)
	}
	o.stopped = true
	return o.proc.stop(syscall.SIGTERM)
}

// process implements external.
func (o *opensslServer) process() (*process, string) { return o.proc, o.output }
