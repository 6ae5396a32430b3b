package server

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Apache starts Apache's httpd with mod_ssl and the event MPM. Its workers are
// processes of 25 threads each, which is its own default. Its keys for tickets
// have 48 bytes. It reads its configuration and certificates as the user that
// started it and, where that is root, serves as nobody.
type Apache struct {
	Path string // of the program; empty: found in PATH or where Debian puts it
}

// Where Debian keeps the modules that the configuration loads.
const apacheModules = "/usr/lib/apache2/modules"

// apacheThreads is ThreadsPerChild, the limit of what a worker does at a time.
const apacheThreads = 25

// apacheBody is the longest answer that its configuration can hold, in bytes.
const apacheBody = 8000

// Name implements [Driver].
func (Apache) Name() string { return "apache" }

// Available implements [Driver].
func (a Apache) Available() error {
	if _, err := findProgram(a.Path, "apache2", "apache2-bin"); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(apacheModules, "mod_ssl.so")); err != nil {
		return fmt.Errorf("mod_ssl is not where Debian puts it (apt install apache2-bin): %w", err)
	}
	return nil
}

// Can implements [Driver].
func (Apache) Can(s Spec) error {
	s = s.withDefaults()
	if err := canOpenSSL(s); err != nil {
		return err
	}
	if low, high := versionRange(s); len(s.Versions) > 0 && len(s.Versions) != int(high-low)+1 {
		return fmt.Errorf("mod_ssl speaks a range of versions, not %v", s.Versions)
	}
	switch {
	case s.Reuseport:
		return errors.New("Apache divides its listening sockets by cores (ListenCoresBucketsRatio), not by workers")
	case s.Tickets == TicketsPerWorker:
		return errors.New("the workers of Apache always share their ticket keys: OpenSSL makes them before the workers are born")
	case len(s.TicketKeys) > 1:
		return errors.New("mod_ssl has one ticket key, and none that only decrypts")
	case s.Cache == CacheBuiltin:
		return errors.New("mod_ssl has a session cache shared by all workers or none, but not builtin")
	case s.Stapling == StaplingFile:
		return errors.New("mod_ssl fetches staples and does not read them from files")
	case s.EarlyData:
		return errors.New("mod_ssl has no early data")
	case s.BufferSize != 0:
		return errors.New("mod_ssl sizes its records itself")
	case s.Body > apacheBody:
		return fmt.Errorf("Apache itself answers with %d bytes at most, not %d", apacheBody, s.Body)
	case len(s.ALPN) > 0 && !slices.Contains(s.ALPN, "http/1.1"):
		return fmt.Errorf("Apache speaks http/1.1 whatever is negotiated: it cannot do with %v alone", s.ALPN)
	}
	for _, p := range s.ALPN {
		if p != "h2" && p != "http/1.1" {
			return fmt.Errorf("Apache speaks h2 and http/1.1, but not %s", p)
		}
	}
	return nil
}

// Start implements [Driver].
func (a Apache) Start(ctx context.Context, spec Spec, dir string) (*Server, error) {
	return start(ctx, a, spec, dir, a.up)
}

// apacheServer is a running Apache.
type apacheServer struct {
	proc      *process
	workers   int
	accessLog string
	errorLog  string
	ticketKey func() error // writes the ticket key anew

	mu      sync.Mutex
	stopped bool
}

// up starts Apache on addr.
func (a Apache) up(ctx context.Context, m *material, addr netip.AddrPort) (instance, error) {
	path, err := findProgram(a.Path, "apache2", "apache2-bin")
	if err != nil {
		return nil, err
	}
	cpus, err := parseCPUs(m.spec.CPUs)
	if err != nil {
		return nil, err
	}
	file := func(name string) string { return filepath.Join(m.dir, name) }
	in := &apacheServer{
		workers: m.spec.Workers, accessLog: file("access.log"), errorLog: file("error.log"),
		ticketKey: m.apacheTicketKey,
	}
	if err := in.ticketKey(); err != nil {
		return nil, &StartError{Driver: a.Name(), Err: err}
	}
	conf, err := apacheConfig(m, addr)
	if err != nil {
		return nil, err
	}
	if err := writePrivate(file("apache.conf"), []byte(conf)); err != nil {
		return nil, err
	}
	// A count begins at the start.
	for _, old := range []string{in.accessLog, in.errorLog} {
		if err := os.Remove(old); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	p := program{
		path: path, args: []string{"-d", m.dir, "-f", file("apache.conf"), "-D", "FOREGROUND"},
		dir: m.dir, output: file("output.log"), cpus: cpus,
		// On TERM the first process ends its workers; on KILL they would live on.
		orphan: syscall.SIGTERM,
	}
	// The workers begin after the port was opened.
	ready := func(*process) bool { return len(apacheWorkers(in.errorLog)) >= in.workers }
	if in.proc, err = startProgram(ctx, a.Name(), p, ready, in.errorLog); err != nil {
		return nil, err
	}
	return in, nil
}

// apacheTicketKey writes the spec's ticket key, if it has one, in mod_ssl's
// order: name, HMAC, AES. nginx's is name, AES, HMAC.
func (m *material) apacheTicketKey() error {
	if len(m.ticketKeys) == 0 {
		return nil
	}
	key, err := os.ReadFile(m.ticketKeys[0])
	if err != nil {
		return err
	}
	if len(m.spec.TicketKeys) == 0 && len(key) > 48 {
		key = key[:48] // nobody asked for this one: its bytes are as good as others
	}
	if len(key) != 48 {
		return fmt.Errorf("ticket_keys: mod_ssl's keys have 48 bytes, but %s has %d", m.ticketKeys[0], len(key))
	}
	return writePrivate(filepath.Join(m.dir, apacheTicketKeyFile), slices.Concat(key[:16], key[32:], key[16:32]))
}

const apacheTicketKeyFile = "apache-ticket.key"

// counts implements instance. While the server runs, lines are waited for: a
// request is written down after it was answered.
func (a *apacheServer) counts(ctx context.Context) (Counts, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.stopped && !sleep(ctx, 100*time.Millisecond) {
		return Counts{}, ctx.Err()
	}
	return readApacheLogs(a.accessLog, a.errorLog)
}

// reload implements instance: it sends USR1, which is a graceful restart, and
// waits until as many new workers have begun and the old ones have ended, which
// they do with their last request.
func (a *apacheServer) reload(ctx context.Context) error {
	if err := a.ticketKey(); err != nil {
		return err
	}
	before := apacheWorkers(a.errorLog)
	if err := a.proc.signal(syscall.SIGUSR1); err != nil {
		return err
	}
	for sleep(ctx, 5*time.Millisecond) {
		select {
		case <-a.proc.exited:
			return fmt.Errorf("Apache ended when asked to reload (%s): %s", a.proc.state(), lastLines(a.errorLog))
		default:
		}
		if len(apacheWorkers(a.errorLog)) >= len(before)+a.workers && !slices.ContainsFunc(before, alive) {
			return nil
		}
	}
	return ctx.Err()
}

// alive reports whether there is a process of that number.
func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

// stop implements instance.
func (a *apacheServer) stop() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stopped = true
	// WINCH lets requests under way be answered; TERM ends at once.
	return a.proc.stop(syscall.SIGWINCH, syscall.SIGTERM)
}

// process implements external.
func (a *apacheServer) process() (*process, string) { return a.proc, a.errorLog }

// apacheConfig returns the configuration for the spec. Relative names are of
// files in m.dir.
func apacheConfig(m *material, addr netip.AddrPort) (string, error) {
	s := m.spec
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	modules := []string{"mpm_event", "ssl", "socache_shmcb", "alias"}
	if slices.Contains(s.ALPN, "h2") {
		modules = append(modules, "http2")
	}
	for _, name := range modules {
		line("LoadModule %s_module %s/mod_%s.so", name, apacheModules, name)
	}
	if os.Geteuid() == 0 {
		line("User #65534") // it refuses to serve as root
		line("Group #65534")
	}
	line("ServerName %s", s.Names[0])
	line("Listen %s", addr)
	line("ListenBackLog 4096")
	line("PidFile apache.pid")
	line("DefaultRuntimeDir %q", m.dir)
	line("Mutex pthread") // files of ours could not be opened by nobody
	// As many workers as were asked for, from the beginning to the end.
	line("ServerLimit %d", s.Workers)
	line("StartServers %d", s.Workers)
	line("ThreadsPerChild %d", apacheThreads)
	line("MaxRequestWorkers %d", s.Workers*apacheThreads)
	line("MinSpareThreads 1")
	line("MaxSpareThreads %d", s.Workers*apacheThreads)
	line("MaxKeepAliveRequests 0")
	line("GracefulShutdownTimeout 1")
	line("ErrorLog error.log")
	line("ErrorLogFormat %q", apacheErrorFormat)
	// At these levels, connections, handshakes and workers leave lines.
	line("LogLevel notice ssl:debug mpm_event:debug")
	line("CustomLog access.log %q", apacheLogFormat)
	if len(s.ALPN) > 0 {
		line("Protocols %s", strings.Join(s.ALPN, " "))
	}
	// An answer without a file, which nobody might not be able to open.
	body := "ok"
	if s.Body > 0 {
		body = strings.Repeat("x", s.Body)
	}
	line("ErrorDocument 200 %q", body)
	line("Redirect 200 /")
	if err := apacheTLS(m, line); err != nil {
		return "", err
	}
	return b.String(), nil
}

// apacheTLS writes the directives of mod_ssl.
func apacheTLS(m *material, line func(string, ...any)) error {
	s := m.spec
	line("SSLEngine on")
	for i, f := range m.files {
		chain := f.Chain
		if i == 0 && s.DHBits > 0 {
			// It reads DH parameters from the first certificate's file.
			dh, err := m.dhFile()
			if err != nil {
				return err
			}
			if chain, err = joinFiles(filepath.Join(m.dir, "certificate.pem"), chain, dh); err != nil {
				return err
			}
		}
		line("SSLCertificateFile %q", chain)
		line("SSLCertificateKeyFile %q", f.Key)
	}
	versions := "-all"
	low, high := versionRange(s)
	for v := low; v <= high; v++ {
		versions += " +" + strings.TrimSuffix(opensslVersion(v), ".0")
	}
	line("SSLProtocol %s", versions)
	ciphers, err := opensslCiphers(s)
	if err != nil {
		return err
	}
	if ciphers != "" {
		line("SSLCipherSuite SSL %s", ciphers)
	}
	suites, err := opensslSuites(s, true)
	if err != nil {
		return err
	}
	if suites != "" {
		line("SSLCipherSuite TLSv1.3 %s", suites)
	}
	groups, err := opensslGroups(s.Groups)
	if err != nil {
		return err
	}
	if groups != "" {
		line("SSLOpenSSLConfCmd Groups %s", groups)
	}
	if s.PreferServer {
		line("SSLHonorCipherOrder on")
	}
	if s.Tickets == TicketsOff {
		line("SSLSessionTickets off")
	}
	if len(m.ticketKeys) > 0 {
		line("SSLSessionTicketKeyFile %s", apacheTicketKeyFile)
	}
	if s.NumTickets != nil {
		line("SSLOpenSSLConfCmd NumTickets %d", *s.NumTickets)
	}
	switch s.Cache {
	case CacheNone:
		line("SSLSessionCache nonenotnull")
	case CacheOff:
		line("SSLSessionCache none")
	case CacheShared:
		size := s.CacheSize
		if size == 0 {
			size = 1 << 20
		}
		line("SSLSessionCache shmcb:sessions(%d)", size)
	}
	if s.SessionTimeoutSeconds > 0 {
		line("SSLSessionCacheTimeout %d", s.SessionTimeoutSeconds)
	}
	if s.Stapling == StaplingResponder {
		line("SSLUseStapling on")
		line("SSLStaplingCache shmcb:staples(131072)")
	}
	if s.ClientAuth != ClientAuthNone {
		verify := map[ClientAuth]string{ClientAuthRequest: "optional", ClientAuthRequire: "require"}[s.ClientAuth]
		line("SSLVerifyClient %s", verify)
		line("SSLVerifyDepth 10")
		line("SSLCACertificateFile %q", m.clientCAs)
	}
	return nil
}
