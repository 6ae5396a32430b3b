package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Stunnel starts stunnel, which decrypts for a plain web server inside this
// program; a thread serves each connection.
type Stunnel struct {
	Path string // of the program; empty: found in PATH
}

// Name implements [Driver].
func (Stunnel) Name() string { return "stunnel" }

// Available implements [Driver].
func (s Stunnel) Available() error {
	_, err := findProgram(s.Path, "stunnel", "stunnel4")
	return err
}

// Can implements [Driver].
func (Stunnel) Can(s Spec) error {
	s = s.withDefaults()
	if err := s.noNumTickets("stunnel"); err != nil {
		return err
	}
	if err := canOpenSSL(s); err != nil {
		return err
	}
	if low, high := versionRange(s); len(s.Versions) > 0 && len(s.Versions) != int(high-low)+1 {
		return fmt.Errorf("stunnel speaks a range of versions, not %v", s.Versions)
	}
	switch {
	case s.Workers > 1 || s.Reuseport:
		return errors.New("stunnel has a thread for each connection, not workers")
	case len(s.Certificates) > 1:
		return errors.New("stunnel has one certificate for a service")
	case s.Tickets == TicketsPerWorker || s.Tickets == TicketsKeyFile:
		return errors.New("stunnel makes its ticket key itself")
	case s.Cache == CacheNone || s.Cache == CacheShared:
		return fmt.Errorf("stunnel has a builtin session cache or none, but not %s", s.Cache)
	case s.Stapling != StaplingOff:
		return errors.New("stunnel does not staple")
	case s.EarlyData:
		return errors.New("stunnel has no early data")
	case len(s.ALPN) > 0:
		return errors.New("stunnel negotiates no application protocol")
	case s.BufferSize != 0:
		return errors.New("stunnel sizes its records itself")
	}
	return nil
}

// Start implements [Driver].
func (s Stunnel) Start(ctx context.Context, spec Spec, dir string) (*Server, error) {
	return start(ctx, s, spec, dir, s.up)
}

// stunnelServer is a running stunnel with its web server.
type stunnelServer struct {
	loggedServer
	web *http.Server
}

// up starts the web server and stunnel on addr.
func (s Stunnel) up(ctx context.Context, m *material, addr netip.AddrPort) (instance, error) {
	path, err := findProgram(s.Path, "stunnel", "stunnel4")
	if err != nil {
		return nil, err
	}
	cpus, err := parseCPUs(m.spec.CPUs)
	if err != nil {
		return nil, err
	}
	body := "ok\n"
	if m.spec.Body > 0 {
		body = strings.Repeat("x", m.spec.Body)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	web := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		fmt.Fprint(w, body) //nolint:errcheck // the client may have gone
	})}
	go web.Serve(listener) //nolint:errcheck // ends with ErrServerClosed

	proc, output, err := s.run(ctx, m, path, cpus, addr, listener.Addr())
	if err != nil {
		web.Close()
		return nil, err
	}
	in := &stunnelServer{web: web}
	in.loggedServer = loggedServer{driver: s.Name(), proc: proc, output: output, read: readStunnelLog, polite: []syscall.Signal{syscall.SIGTERM}}
	return in, nil
}

// run starts stunnel alone.
func (s Stunnel) run(ctx context.Context, m *material, path string, cpus []int, addr netip.AddrPort, web net.Addr) (*process, string, error) {
	conf, err := stunnelConfig(m, addr, web)
	if err != nil {
		return nil, "", err
	}
	file, output := filepath.Join(m.dir, "stunnel.conf"), filepath.Join(m.dir, "output.log")
	if err := writePrivate(file, []byte(conf)); err != nil {
		return nil, "", err
	}
	p := program{path: path, args: []string{file}, dir: m.dir, output: output, cpus: cpus, orphan: syscall.SIGKILL}
	// It says so after it opened the port, and ends if it could not.
	ready := func(*process) bool {
		text, err := os.ReadFile(output)
		return err == nil && strings.Contains(string(text), "Accepting new connections")
	}
	proc, err := startProgram(ctx, s.Name(), p, ready)
	return proc, output, err
}

// stop implements instance.
func (s *stunnelServer) stop() error {
	err := s.loggedServer.stop()
	s.web.Close()
	return err
}

// stunnelConfig returns the configuration for the spec.
func stunnelConfig(m *material, addr netip.AddrPort, web net.Addr) (string, error) {
	s := m.spec
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("foreground = yes")
	line("debug = info")
	line("syslog = no")
	line("pid =")
	line("[tls]")
	line("accept = %s", addr)
	line("connect = %s", web)
	line("TIMEOUTclose = 0")
	chain := m.files[0].Chain
	if s.DHBits > 0 {
		// It reads DH parameters from the certificate's file.
		dh, err := m.dhFile()
		if err != nil {
			return "", err
		}
		if chain, err = joinFiles(filepath.Join(m.dir, "certificate.pem"), chain, dh); err != nil {
			return "", err
		}
	}
	line("cert = %s", chain)
	line("key = %s", m.files[0].Key)
	low, high := versionRange(s)
	line("sslVersionMin = %s", strings.TrimSuffix(opensslVersion(low), ".0"))
	line("sslVersionMax = %s", strings.TrimSuffix(opensslVersion(high), ".0"))
	ciphers, err := opensslCiphers(s)
	if err != nil {
		return "", err
	}
	if ciphers != "" {
		line("ciphers = %s", ciphers)
		line("securityLevel = 0") // it sets the level itself, after the ciphers
	}
	suites, err := opensslSuites(s, true)
	if err != nil {
		return "", err
	}
	if suites != "" {
		line("ciphersuites = %s", suites)
	}
	groups, err := opensslGroups(s.Groups)
	if err != nil {
		return "", err
	}
	if groups != "" {
		line("curves = %s", groups)
	}
	if s.PreferServer {
		line("options = CIPHER_SERVER_PREFERENCE")
	}
	if s.Tickets == TicketsOff {
		line("options = NO_TICKET")
	}
	if s.Cache == CacheOff {
		line("sessionResume = no")
	}
	if s.CacheSize > 0 {
		line("sessionCacheSize = %d", s.CacheSize)
	}
	if s.SessionTimeoutSeconds > 0 {
		line("sessionCacheTimeout = %d", s.SessionTimeoutSeconds)
	}
	if s.ClientAuth != ClientAuthNone {
		line("verifyChain = yes")
		line("CAfile = %s", m.clientCAs)
		if s.ClientAuth == ClientAuthRequest {
			line("requireCert = no")
		}
	}
	return b.String(), nil
}

// The lines of stunnel's log that count. Before them stand date, time, level
// and the connection's number.
var (
	stunnelAccepted = regexp.MustCompile(` LOG5\[\d+\]: Service \[tls\] accepted connection from `)
	stunnelSession  = regexp.MustCompile(` LOG6\[\d+\]: TLS accepted: (new session negotiated|previous session reused)$`)
	stunnelSuite    = regexp.MustCompile(` LOG6\[\d+\]: TLSv(1\.\d|1) ciphersuite: (\S+) `)
)

// readStunnelLog counts what stunnel writes of each connection.
func readStunnelLog(file string) (Counts, error) {
	c := Counts{
		Requests: NotTold, EarlyData: NotTold, Versions: map[string]int64{}, Suites: map[string]int64{},
		Basis: "stunnel's log of connections and handshakes; those under way count as failed",
	}
	err := eachLine(file, func(text string) error {
		if stunnelAccepted.MatchString(text) {
			c.Accepted++
		}
		if found := stunnelSession.FindStringSubmatch(text); found != nil {
			c.Handshakes++
			if strings.HasPrefix(found[1], "new") {
				c.Full++
			} else {
				c.Resumed++
			}
		}
		if found := stunnelSuite.FindStringSubmatch(text); found != nil {
			c.Versions["TLS "+found[1]]++
			c.Suites[suiteName(found[2])]++
		}
		return nil
	})
	c.Failed = c.Accepted - c.Handshakes
	return c, err
}
