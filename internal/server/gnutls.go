package server

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"shakedown"
)

// GnuTLS starts gnutls-serv, one process that serves all connections in turn. It
// cannot be told to listen on 127.0.0.1 alone.
type GnuTLS struct {
	Path string // of the program; empty: found in PATH
}

// Name implements [Driver].
func (GnuTLS) Name() string { return "gnutls" }

// Available implements [Driver].
func (g GnuTLS) Available() error {
	_, err := findProgram(g.Path, "gnutls-serv", "gnutls-bin")
	return err
}

// Can implements [Driver].
func (GnuTLS) Can(s Spec) error {
	s = s.withDefaults()
	if err := s.noNumTickets("gnutls-serv"); err != nil {
		return err
	}
	if _, err := gnutlsPriority(s); err != nil {
		return err
	}
	switch {
	case s.DHBits == 1024:
		return errors.New("GnuTLS serves clients that name groups of RFC 7919 no other group")
	case s.Workers > 1 || s.Reuseport:
		return errors.New("gnutls-serv is one process without workers")
	case s.Tickets == TicketsKeyFile || s.Tickets == TicketsPerWorker:
		return errors.New("gnutls-serv makes its ticket key itself")
	case s.Cache == CacheNone || s.Cache == CacheShared:
		return fmt.Errorf("gnutls-serv has a builtin session cache or none, but not %s", s.Cache)
	case s.CacheSize != 0 || s.SessionTimeoutSeconds != 0 || s.BufferSize != 0:
		return errors.New("gnutls-serv has no setting for cache size, session timeout or buffer size")
	case s.Stapling == StaplingResponder:
		return errors.New("gnutls-serv reads staples from files and does not fetch them")
	}
	return nil
}

// Start implements [Driver].
func (g GnuTLS) Start(ctx context.Context, spec Spec, dir string) (*Server, error) {
	return start(ctx, g, spec, dir, g.up)
}

// up starts gnutls-serv on addr's port.
func (g GnuTLS) up(ctx context.Context, m *material, addr netip.AddrPort) (instance, error) {
	path, err := findProgram(g.Path, "gnutls-serv", "gnutls-bin")
	if err != nil {
		return nil, err
	}
	args, err := gnutlsArgs(m, addr)
	if err != nil {
		return nil, err
	}
	cpus, err := parseCPUs(m.spec.CPUs)
	if err != nil {
		return nil, err
	}
	output := filepath.Join(m.dir, "output.log")
	p := program{path: path, args: args, dir: m.dir, output: output, cpus: cpus, orphan: syscall.SIGKILL}
	// Without a port it goes on running, deaf.
	ready := func(proc *process) bool {
		text, err := os.ReadFile(output)
		if err == nil && strings.Contains(string(text), "bind() failed") {
			proc.kill()
		}
		return err == nil && strings.Contains(string(text), fmt.Sprintf("IPv4 0.0.0.0 port %d...done", addr.Port()))
	}
	proc, err := startProgram(ctx, g.Name(), p, ready)
	if err != nil {
		return nil, err
	}
	return &loggedServer{driver: "gnutls-serv", proc: proc, output: output, read: readGnuTLSLog, polite: []syscall.Signal{syscall.SIGTERM}}, nil
}

// gnutlsArgs returns the command line.
func gnutlsArgs(m *material, addr netip.AddrPort) ([]string, error) {
	s := m.spec
	priority, err := gnutlsPriority(s)
	if err != nil {
		return nil, err
	}
	args := []string{"--http", "--port=" + strconv.Itoa(int(addr.Port())), "--priority=" + priority}
	add := func(more ...string) { args = append(args, more...) }
	for _, f := range m.files {
		add("--x509certfile="+f.Chain, "--x509keyfile="+f.Key)
	}
	for _, staple := range m.staples {
		add("--ocsp-response=" + staple)
	}
	if s.DHBits > 0 {
		file, err := m.dhFile()
		if err != nil {
			return nil, err
		}
		add("--dhparams=" + file)
	}
	if s.Tickets == TicketsOff {
		add("--noticket")
	}
	if s.Cache == CacheOff {
		add("--nodb")
	}
	if s.EarlyData {
		add("--earlydata")
		if s.MaxEarlyData > 0 {
			add("--maxearlydata=" + strconv.FormatUint(uint64(s.MaxEarlyData), 10))
		}
	}
	for _, p := range s.ALPN {
		add("--alpn=" + p)
	}
	if s.Body > 0 {
		file := filepath.Join(m.dir, "body")
		if err := writePrivate(file, []byte(strings.Repeat("x", s.Body))); err != nil {
			return nil, err
		}
		add("--httpdata=" + file)
	}
	switch s.ClientAuth {
	case ClientAuthNone:
		add("--disable-client-cert") // it asks for one otherwise
	case ClientAuthRequest:
		add("--verify-client-cert", "--x509cafile="+m.clientCAs)
	case ClientAuthRequire:
		add("--require-client-cert", "--verify-client-cert", "--x509cafile="+m.clientCAs)
	}
	return args, nil
}

// gnutlsPriority returns the priority string.
func gnutlsPriority(s Spec) (string, error) {
	priority := "NORMAL"
	if len(s.Versions) > 0 {
		priority += ":-VERS-ALL"
		for _, v := range s.Versions {
			priority += ":+VERS-" + strings.Replace(v.String(), "TLS ", "TLS", 1)
		}
	}
	if len(s.Groups) > 0 {
		priority += ":-GROUP-ALL"
		for _, g := range s.Groups {
			if g > shakedown.FFDHE8192 {
				return "", fmt.Errorf("GnuTLS 3.7 has no group %s", g)
			}
			priority += ":+GROUP-" + strings.ToUpper(g.String())
		}
	}
	if s.DHBits > 0 {
		// Clients of RFC 7919 would otherwise be served a named group of another size.
		for _, size := range []int{2048, 3072, 4096, 6144, 8192} {
			if size != s.DHBits {
				priority += fmt.Sprintf(":-GROUP-FFDHE%d", size)
			}
		}
	}
	if s.PreferServer {
		priority += ":%SERVER_PRECEDENCE"
	}
	if len(s.Suites) > 1 {
		return "", errors.New("GnuTLS chooses cipher and key exchange apart: it can be confined to one suite, not to a list")
	}
	if len(s.Suites) == 0 {
		return priority, nil
	}
	suite, err := gnutlsSuite(s.Suites[0])
	return priority + suite, err
}

// gnutlsSuite returns the part of the priority string that leaves one suite.
func gnutlsSuite(c shakedown.CipherSuite) (string, error) {
	name, ok := strings.CutPrefix(c.String(), "TLS_")
	if !ok {
		return "", fmt.Errorf("GnuTLS has no cipher suite %s", c)
	}
	exchange, cipher, isOld := strings.Cut(name, "_WITH_")
	if !isOld {
		cipher = name
	}
	mac := ""
	for _, known := range []struct{ suffix, mac string }{
		{"_GCM_SHA256", "AEAD"}, {"_GCM_SHA384", "AEAD"}, {"_POLY1305_SHA256", "AEAD"},
		{"_CCM", "AEAD"}, {"_CCM_8", "AEAD"}, {"_CCM_SHA256", "AEAD"}, {"_CCM_8_SHA256", "AEAD"},
		{"_SHA256", "SHA256"}, {"_SHA384", "SHA384"}, {"_SHA", "SHA1"},
	} {
		if strings.HasSuffix(cipher, known.suffix) {
			mac = known.mac
			break
		}
	}
	if mac == "" {
		return "", fmt.Errorf("GnuTLS has no cipher suite %s", c)
	}
	for _, hash := range []string{"_SHA256", "_SHA384", "_SHA"} {
		cipher = strings.TrimSuffix(cipher, hash)
	}
	cipher = strings.NewReplacer("3DES_EDE_CBC", "3DES-CBC", "_", "-").Replace(cipher)
	text := ":-CIPHER-ALL:+" + cipher + ":-MAC-ALL:+" + mac
	if isOld {
		text += ":-KX-ALL:+" + strings.ReplaceAll(exchange, "_", "-")
	}
	return text, nil
}

// readGnuTLSLog counts what gnutls-serv prints of each handshake.
func readGnuTLSLog(file string) (Counts, error) {
	c := untoldCounts("what gnutls-serv prints after each handshake")
	c.Handshakes, c.Resumed, c.Untold, c.Versions = 0, 0, 0, map[string]int64{}
	err := eachLine(file, func(text string) error {
		if version, ok := strings.CutPrefix(text, "- Version: TLS"); ok {
			c.Handshakes++
			c.Versions["TLS "+version]++
		}
		if strings.HasPrefix(text, "*** This is a resumed session") {
			c.Resumed++
		}
		return nil
	})
	c.Full = c.Handshakes - c.Resumed
	return c, err
}
