package server

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"shakedown"
)

// NSS starts selfserv, the test server of Mozilla's NSS; its workers are
// threads. It cannot be told to listen on 127.0.0.1 alone. Tickets, which it
// hands out on demand, are demanded unless the spec says off; staples, which it
// cannot read from a file, it signs itself with the authority's key. It accepts
// early data from ten seconds after its start, when it can tell replays.
type NSS struct {
	Path string // of selfserv; empty: found in PATH
}

// Name implements [Driver].
func (NSS) Name() string { return "nss" }

// Available implements [Driver].
func (n NSS) Available() error {
	_, err := n.programs()
	return err
}

// programs returns the paths of selfserv and of the tools that fill its
// database.
func (n NSS) programs() (paths [4]string, err error) {
	for i, name := range []string{"selfserv", "certutil", "pk12util", "openssl"} {
		given, pkg := "", "libnss3-tools"
		if i == 0 {
			given = n.Path
		}
		if name == "openssl" {
			pkg = "openssl"
		}
		if paths[i], err = findProgram(given, name, pkg); err != nil {
			return paths, err
		}
	}
	return paths, nil
}

// nssGroups are the names of groups in selfserv's option -I.
var nssGroups = map[shakedown.Group]string{
	shakedown.Secp256r1: "P256", shakedown.Secp384r1: "P384", shakedown.Secp521r1: "P521", shakedown.X25519: "x25519",
	shakedown.FFDHE2048: "FF2048", shakedown.FFDHE3072: "FF3072", shakedown.FFDHE4096: "FF4096",
	shakedown.FFDHE6144: "FF6144", shakedown.FFDHE8192: "FF8192",
}

// Can implements [Driver].
func (NSS) Can(s Spec) error {
	s = s.withDefaults()
	if err := s.noNumTickets("selfserv"); err != nil {
		return err
	}
	for _, k := range s.Certificates {
		if k == Ed25519 || k == Ed448 || k == RSAPSS2048 {
			return fmt.Errorf("selfserv cannot use a key of kind %s", k)
		}
	}
	rsa := 0
	for _, k := range s.Certificates {
		if k.IsRSA() {
			rsa++
		}
	}
	if rsa > 1 || len(s.Certificates)-rsa > 1 {
		return errors.New("selfserv holds one RSA and one EC certificate")
	}
	for _, g := range s.Groups {
		if nssGroups[g] == "" {
			return fmt.Errorf("selfserv has no group %s", g)
		}
	}
	if low, high := versionRange(s); len(s.Versions) > 0 && len(s.Versions) != int(high-low)+1 {
		return fmt.Errorf("selfserv speaks a range of versions, not %v", s.Versions)
	}
	switch {
	case s.Reuseport:
		return errors.New("selfserv has one listening socket")
	case s.PreferServer:
		return errors.New("selfserv chooses suites by its own order whatever is preferred")
	case s.DHBits != 0:
		return errors.New("selfserv chooses its DH group itself")
	case s.Tickets == TicketsKeyFile || s.Tickets == TicketsPerWorker:
		return errors.New("selfserv makes its ticket key itself")
	case s.Cache == CacheNone || s.Cache == CacheShared:
		return fmt.Errorf("selfserv has a builtin session cache or none, but not %s", s.Cache)
	case s.SessionTimeoutSeconds != 0 || s.BufferSize != 0 || s.Body != 0 || s.MaxEarlyData != 0:
		return errors.New("selfserv has no setting for session timeout, buffer size, body or limit of early data")
	case s.Stapling == StaplingResponder:
		return errors.New("selfserv signs staples itself and does not fetch them")
	case s.Stapling == StaplingFile && !s.Certificates[0].IsRSA():
		return errors.New("selfserv staples to RSA certificates alone")
	case s.Stapling == StaplingFile && (len(s.Certificates) > 1 || !s.OCSP.ThisUpdate.IsZero() || !s.OCSP.NextUpdate.IsZero()):
		return errors.New("selfserv signs staples for one certificate and dates them itself")
	case s.EarlyData && s.Tickets == TicketsOff:
		return errors.New("early data needs tickets in NSS")
	case len(s.ALPN) > 1 || len(s.ALPN) == 1 && s.ALPN[0] != "http/1.1":
		return fmt.Errorf("selfserv negotiates http/1.1, not %v", s.ALPN)
	}
	return nil
}

// Start implements [Driver].
func (n NSS) Start(ctx context.Context, spec Spec, dir string) (*Server, error) {
	return start(ctx, n, spec, dir, n.up)
}

// up starts selfserv on addr's port.
func (n NSS) up(ctx context.Context, m *material, addr netip.AddrPort) (instance, error) {
	paths, err := n.programs()
	if err != nil {
		return nil, err
	}
	database := "sql:" + filepath.Join(m.dir, "nssdb")
	if err := fillNSSDatabase(m, paths, database); err != nil {
		return nil, &StartError{Driver: n.Name(), Err: err}
	}
	cpus, err := parseCPUs(m.spec.CPUs)
	if err != nil {
		return nil, err
	}
	output := filepath.Join(m.dir, "output.log")
	p := program{
		path: paths[0], args: append([]string{"-d", database}, nssArgs(m.spec, addr)...),
		dir: m.dir, output: output, cpus: cpus, orphan: syscall.SIGKILL,
	}
	ready := func(*process) bool {
		text, err := os.ReadFile(output)
		return err == nil && strings.Contains(string(text), "About to call accept")
	}
	proc, err := startProgram(ctx, n.Name(), p, ready)
	if err != nil {
		return nil, err
	}
	return &loggedServer{driver: "selfserv", proc: proc, output: output, read: readNSSLog, polite: []syscall.Signal{syscall.SIGINT, syscall.SIGTERM}}, nil
}

// fillNSSDatabase makes a database with the keys, chains and client roots, new
// each time.
func fillNSSDatabase(m *material, paths [4]string, database string) error {
	dir := strings.TrimPrefix(database, "sql:")
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	certutil, pk12util, openssl := paths[1], paths[2], paths[3]
	commands := [][]string{{certutil, "-N", "-d", database, "--empty-password"}}
	// The authority comes first: whatever brings a certificate in gives it its name.
	if m.spec.Stapling == StaplingFile {
		key, err := encodeKey(m.authorities[0].key)
		if err != nil {
			return err
		}
		private, bundle := filepath.Join(dir, "ca.key"), filepath.Join(dir, "ca.p12")
		if err := writePrivate(private, key); err != nil {
			return err
		}
		commands = append(commands,
			[]string{openssl, "pkcs12", "-export", "-in", m.files[0].CA, "-inkey", private, "-name", nssCA, "-passout", "pass:x", "-out", bundle},
			[]string{pk12util, "-i", bundle, "-d", database, "-W", "x", "-K", ""},
		)
	}
	for i, f := range m.files {
		bundle := filepath.Join(dir, "leaf.p12")
		commands = append(commands,
			[]string{openssl, "pkcs12", "-export", "-in", f.Leaf, "-inkey", f.Key, "-certfile", f.CA, "-name", string(m.spec.Certificates[i]), "-passout", "pass:x", "-out", bundle},
			[]string{pk12util, "-i", bundle, "-d", database, "-W", "x", "-K", ""},
		)
	}
	if m.clientCAs != "" {
		commands = append(commands, []string{certutil, "-A", "-d", database, "-n", "client roots", "-t", "CT,,", "-i", m.clientCAs})
	}
	for _, c := range commands {
		if err := run(c[0], c[1:]...); err != nil {
			return err
		}
	}
	return nil
}

// nssCA is the nickname of the authority that signs staples.
const nssCA = "ca"

// nssArgs returns the command line without the database.
func nssArgs(s Spec, addr netip.AddrPort) []string {
	args := []string{"-v", "-L", "86400", "-p", strconv.Itoa(int(addr.Port()))}
	add := func(more ...string) { args = append(args, more...) }
	for _, k := range s.Certificates {
		option := "-e"
		if k.IsRSA() {
			option = "-n"
		}
		add(option, string(k))
	}
	if s.Workers > 1 {
		add("-t", strconv.Itoa(s.Workers))
	}
	low, high := versionRange(s)
	name := func(v shakedown.Version) string { return strings.ToLower(strings.ReplaceAll(v.String(), " ", "")) }
	add("-V", name(low)+":"+name(high))
	if len(s.Suites) > 0 {
		list := ""
		for _, c := range s.Suites {
			list += fmt.Sprintf(":%04X", uint16(c))
		}
		add("-c", list)
	}
	if len(s.Groups) > 0 {
		var names []string
		for _, g := range s.Groups {
			names = append(names, nssGroups[g])
		}
		add("-I", strings.Join(names, ","))
	}
	if s.Tickets != TicketsOff {
		add("-u")
	}
	if s.Cache == CacheOff {
		add("-N")
	}
	if s.CacheSize > 0 {
		add("-C", strconv.Itoa(s.CacheSize))
	}
	if s.EarlyData {
		add("-Z")
	}
	if s.Stapling == StaplingFile {
		status := s.OCSP.Status
		if status == "" {
			status = "good"
		}
		add("-T", status, "-A", nssCA)
	}
	if len(s.ALPN) > 0 {
		add("-Q")
	}
	switch s.ClientAuth {
	case ClientAuthRequest:
		add("-r")
	case ClientAuthRequire:
		add("-r", "-r")
	}
	add("-G") // extended master secret, as everywhere else
	return args
}

// nssHits is the part of selfserv's running statistics that counts resumptions.
var nssHits = regexp.MustCompile(`(\d+) cache hits; (\d+) cache misses, (\d+) cache not reusable`)

// readNSSLog counts what selfserv prints of each handshake.
func readNSSLog(file string) (Counts, error) {
	c := untoldCounts("what selfserv prints of each handshake whose request it answers; resumed are its cache hits")
	c.Handshakes, c.Resumed, c.Untold, c.Versions = 0, 0, 0, map[string]int64{}
	err := eachLine(file, func(text string) error {
		if rest, ok := strings.CutPrefix(text, "selfserv: SSL version 3."); ok {
			c.Handshakes++
			digit, _, _ := strings.Cut(rest, " ")
			if minor, err := strconv.Atoi(digit); err == nil {
				c.Versions[(shakedown.TLS10-1+shakedown.Version(minor)).String()]++
			}
		}
		if found := nssHits.FindStringSubmatch(text); found != nil {
			hits, err := strconv.ParseInt(found[1], 10, 64)
			c.Resumed = max(c.Resumed, hits)
			return err
		}
		return nil
	})
	c.Full = c.Handshakes - c.Resumed
	return c, err
}
