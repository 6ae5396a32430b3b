package server

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// HAProxy starts haproxy, which answers requests itself. Its workers are
// threads of one process.
type HAProxy struct {
	Path string // of the program; empty: found in PATH or where Debian puts it
}

// Name implements [Driver].
func (HAProxy) Name() string { return "haproxy" }

// Available implements [Driver].
func (h HAProxy) Available() error {
	_, err := findProgram(h.Path, "haproxy", "haproxy")
	return err
}

// haproxyBody is the longest answer that fits haproxy's buffers beside its
// headers, in bytes.
const haproxyBody = 15000

// Can implements [Driver].
func (HAProxy) Can(s Spec) error {
	s = s.withDefaults()
	if err := s.noNumTickets("haproxy"); err != nil {
		return err
	}
	if err := canOpenSSL(s); err != nil {
		return err
	}
	if low, high := versionRange(s); len(s.Versions) > 0 && len(s.Versions) != int(high-low)+1 {
		return fmt.Errorf("haproxy speaks a range of versions, not %v", s.Versions)
	}
	switch {
	case s.Tickets == TicketsPerWorker:
		return errors.New("haproxy's threads always share their ticket keys")
	case s.Cache == CacheNone || s.Cache == CacheBuiltin:
		return fmt.Errorf("haproxy has a session cache shared by all threads or none, but not %s", s.Cache)
	case s.Stapling == StaplingResponder:
		return errors.New("haproxy reads staples from files and does not fetch them")
	case s.DHBits == 1024:
		return errors.New("haproxy refuses a DH group of 1024 bits at OpenSSL's security level")
	case s.MaxEarlyData != 0:
		return errors.New("haproxy derives the limit of early data from its buffers")
	case s.Body > haproxyBody:
		return fmt.Errorf("haproxy itself answers with %d bytes at most, not %d", haproxyBody, s.Body)
	}
	for _, p := range s.ALPN {
		if !slices.Contains([]string{"h2", "http/1.1", "http/1.0"}, p) {
			return fmt.Errorf("haproxy speaks h2, http/1.1 and http/1.0, but not %s", p)
		}
	}
	return nil
}

// Start implements [Driver].
func (h HAProxy) Start(ctx context.Context, spec Spec, dir string) (*Server, error) {
	return start(ctx, h, spec, dir, h.up)
}

// haproxyServer is a running haproxy.
type haproxyServer struct {
	proc   *process
	output string
	stats  string // address of its statistics

	mu      sync.Mutex
	queries int64 // connections that we made to ask: haproxy counts them too
	stopped bool
	final   Counts // after stop
	err     error  // why there is no final count
}

// up starts haproxy on addr.
func (h HAProxy) up(ctx context.Context, m *material, addr netip.AddrPort) (instance, error) {
	path, err := findProgram(h.Path, "haproxy", "haproxy")
	if err != nil {
		return nil, err
	}
	stats, err := chooseAddr(0)
	if err != nil {
		return nil, err
	}
	conf, err := haproxyConfig(m, addr, stats)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(m.dir, "haproxy.cfg")
	if err := writePrivate(file, []byte(conf)); err != nil {
		return nil, err
	}
	cpus, err := parseCPUs(m.spec.CPUs)
	if err != nil {
		return nil, err
	}
	in := &haproxyServer{output: filepath.Join(m.dir, "output.log"), stats: stats.String()}
	p := program{path: path, args: []string{"-db", "-f", file}, dir: m.dir, output: in.output, cpus: cpus, orphan: syscall.SIGKILL}
	// It opens all its ports before it answers on any.
	ready := func(proc *process) bool {
		info, err := in.info(ctx, time.Second)
		return err == nil && info["Pid"] == strconv.Itoa(proc.pid())
	}
	if in.proc, err = startProgram(ctx, h.Name(), p, ready); err != nil {
		return nil, err
	}
	return in, nil
}

// haproxyConfig returns the configuration for the spec.
func haproxyConfig(m *material, addr, stats netip.AddrPort) (string, error) {
	s := m.spec
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("global")
	line("    log stdout format raw local0 info")
	line("    nbthread %d", s.Workers)
	line("    stats socket ipv4@%s level user", stats)
	line("    tune.http.logurilen 64")
	cpus, err := parseCPUs(s.CPUs)
	if err != nil {
		return "", err
	}
	if len(cpus) > 0 {
		sets := ""
		for worker := range s.Workers {
			sets += fmt.Sprintf(" %d", cpus[worker%len(cpus)])
		}
		line("    cpu-map auto:1/1-%d%s", s.Workers, sets)
	}
	if s.SessionTimeoutSeconds > 0 {
		line("    tune.ssl.lifetime %d", s.SessionTimeoutSeconds)
	}
	if s.BufferSize > 0 {
		line("    tune.ssl.maxrecord %d", s.BufferSize)
	}
	switch {
	case s.Cache == CacheOff:
		line("    tune.ssl.cachesize 0")
	case s.CacheSize > 0:
		// It is counted in blocks of about 200 bytes.
		line("    tune.ssl.cachesize %d", max(1, s.CacheSize/200))
	}
	if s.DHBits > 0 {
		file, err := m.dhFile()
		if err != nil {
			return "", err
		}
		line("    ssl-dh-param-file %s", file)
	}
	line("defaults")
	line("    mode http")
	line("    log global")
	for _, name := range []string{"client", "http-keep-alive", "http-request"} {
		line("    timeout %s 60s", name)
	}
	line("frontend shakedown")
	bind, err := haproxyBind(m, addr)
	if err != nil {
		return "", err
	}
	line("    %s", bind)
	// Both kinds of line begin with a word; see readHAProxyLog.
	line(`    log-format "REQUEST %%[var(txn.first)] %%[ssl_fc_is_resumed] %%sslv %%sslc - %%[ssl_fc_sni]"`)
	line(`    error-log-format "SILENT %%[var(sess.seen)] %%[ssl_fc_is_resumed] %%sslv %%sslc %%[fc_err] %%[ssl_fc_sni]"`)
	line("    http-request set-var(txn.first) bool(true) if !{ var(sess.seen) -m found }")
	line("    http-request set-var(sess.seen) bool(true)")
	body := "ok\n"
	if s.Body > 0 {
		body = strings.Repeat("x", s.Body)
	}
	file := filepath.Join(m.dir, "body")
	if err := writePrivate(file, []byte(body)); err != nil {
		return "", err
	}
	line("    http-request return status 200 content-type text/plain file %s", file)
	return b.String(), nil
}

// haproxyBind returns the line of the listening socket, with all that belongs
// to TLS.
func haproxyBind(m *material, addr netip.AddrPort) (string, error) {
	s := m.spec
	bind := []string{"bind", addr.String(), "backlog 4096", "ssl"}
	add := func(format string, args ...any) { bind = append(bind, fmt.Sprintf(format, args...)) }
	for i, f := range m.files {
		// It wants the staple beside the certificate, which must not turn up for a
		// server that shares the PKI and is not to staple.
		own := filepath.Join(m.dir, "certificate-"+string(s.Certificates[i])+".pem")
		text, err := os.ReadFile(f.Both)
		if err != nil {
			return "", err
		}
		if err := writePrivate(own, text); err != nil {
			return "", err
		}
		if err := os.Remove(own + ".ocsp"); err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
		if len(m.staples) > 0 {
			der, err := os.ReadFile(m.staples[i])
			if err != nil {
				return "", err
			}
			if err := writePrivate(own+".ocsp", der); err != nil {
				return "", err
			}
		}
		add("crt %s", own)
	}
	low, high := versionRange(s)
	add("ssl-min-ver %s", opensslVersion(low))
	add("ssl-max-ver %s", opensslVersion(high))
	ciphers, err := opensslCiphers(s)
	if err != nil {
		return "", err
	}
	if ciphers != "" {
		add("ciphers %s", ciphers)
	}
	suites, err := opensslSuites(s, true)
	if err != nil {
		return "", err
	}
	if suites != "" {
		add("ciphersuites %s", suites)
	}
	groups, err := opensslGroups(s.Groups)
	if err != nil {
		return "", err
	}
	if groups != "" {
		add("curves %s", groups)
	}
	if !s.PreferServer {
		add("prefer-client-ciphers")
	}
	if s.Reuseport {
		add("shards by-thread")
	}
	switch s.Tickets {
	case TicketsOff:
		add("no-tls-tickets")
	case TicketsKeyFile:
		file, err := m.haproxyTicketKeys()
		if err != nil {
			return "", err
		}
		add("tls-ticket-keys %s", file)
	}
	if s.EarlyData {
		add("allow-0rtt")
	}
	if len(s.ALPN) > 0 {
		add("alpn %s", strings.Join(s.ALPN, ","))
	}
	if s.ClientAuth != ClientAuthNone {
		verify := map[ClientAuth]string{ClientAuthRequest: "optional", ClientAuthRequire: "required"}[s.ClientAuth]
		add("ca-file %s verify %s", m.clientCAs, verify)
	}
	return strings.Join(bind, " "), nil
}

// haproxyTicketKeys writes the keys in haproxy's form: base64, one a line, at
// least three, the last but one encrypting.
func (m *material) haproxyTicketKeys() (string, error) {
	var lines []string
	for _, file := range m.ticketKeys {
		key, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		lines = append(lines, base64.StdEncoding.EncodeToString(key))
	}
	first := lines[0]
	slices.Reverse(lines)
	lines = append(lines, first)
	if len(lines) < 3 {
		lines = append(lines, first)
	}
	file := filepath.Join(m.dir, "haproxy-ticket.keys")
	return file, writePrivate(file, []byte(strings.Join(lines, "\n")+"\n"))
}

// info asks for "show info" and returns its lines.
func (h *haproxyServer) info(ctx context.Context, wait time.Duration) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", h.stats)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	h.queries++
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if _, err := io.WriteString(conn, "show info\n"); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(conn)
	if err != nil {
		return nil, err
	}
	lines := map[string]string{}
	for one := range strings.SplitSeq(string(text), "\n") {
		if name, value, ok := strings.Cut(one, ": "); ok {
			lines[name] = strings.TrimSpace(value)
		}
	}
	return lines, nil
}

// counts implements instance.
func (h *haproxyServer) counts(ctx context.Context) (Counts, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopped {
		c, err := readHAProxyLog(h.output)
		c.Accepted = h.final.Accepted
		return c, errors.Join(err, h.err)
	}
	return h.account(ctx)
}

// account joins haproxy's number of connections with what its log says.
func (h *haproxyServer) account(ctx context.Context) (Counts, error) {
	info, err := h.info(ctx, politeness)
	if err != nil {
		return Counts{}, fmt.Errorf("haproxy does not answer when asked for its count: %w", err)
	}
	all, err := strconv.ParseInt(info["CumConns"], 10, 64)
	if err != nil {
		return Counts{}, fmt.Errorf("haproxy's count of connections: %w", err)
	}
	c, err := readHAProxyLog(h.output)
	c.Accepted = all - h.queries
	return c, err
}

// readHAProxyLog counts haproxy's lines: one for each request, and one for each
// connection that ended without any.
func readHAProxyLog(file string) (Counts, error) {
	c := Counts{
		Versions: map[string]int64{}, Suites: map[string]int64{}, Names: map[string]int64{},
		EarlyData: NotTold, // ssl_fc_has_early is over by the time a rule or the log asks
		Basis:     "haproxy's statistics for connections, its log for handshakes; connections still open without a request are not among the handshakes",
	}
	err := eachLine(file, func(text string) error {
		fields := strings.SplitN(text, " ", 7)
		if len(fields) != 7 || fields[0] != "REQUEST" && fields[0] != "SILENT" {
			return nil // a line about itself
		}
		first := fields[1] == "1"
		if fields[0] == "REQUEST" {
			c.Requests++
		} else {
			if fields[5] != "0" {
				c.Failed++
				return nil
			}
			first = fields[1] != "1" // not behind requests on the same connection
		}
		if !first {
			return nil
		}
		c.Handshakes++
		if fields[2] == "1" {
			c.Resumed++
		} else {
			c.Full++
		}
		c.Versions[strings.Replace(fields[3], "TLSv", "TLS ", 1)]++
		c.Suites[suiteName(fields[4])]++
		c.Names[strings.TrimPrefix(fields[6], "-")]++
		return nil
	})
	return c, err
}

// reload implements instance.
func (*haproxyServer) reload(context.Context) error { return unsupported("haproxy without a master") }

// stop implements instance.
func (h *haproxyServer) stop() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.final, h.err = h.account(context.Background())
	h.stopped = true
	// USR1 lets requests under way be answered; TERM ends at once.
	return h.proc.stop(syscall.SIGUSR1, syscall.SIGTERM)
}

// process implements external.
func (h *haproxyServer) process() (*process, string) { return h.proc, h.output }
