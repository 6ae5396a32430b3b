package starttls_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"shakedown"
)

// place is where a real server of a test lives: a directory with its certificate,
// and a port of 127.0.0.1.
type place struct {
	dir   string
	port  int
	chain string
	key   string
	uid   int // whom the directory belongs to; that of the test unless changed by own
	gid   int
}

func (p *place) file(name string) string { return filepath.Join(p.dir, name) }

// write writes a configuration, in which {dir}, {port}, {chain} and {key} are
// those of the place, and returns the file's name.
func (p *place) write(t *testing.T, name, text string) string {
	t.Helper()
	if err := os.WriteFile(p.file(name), []byte(p.fill(text)), 0o644); err != nil {
		t.Fatal(err)
	}
	return p.file(name)
}

func (p *place) fill(text string) string {
	return strings.NewReplacer("{dir}", p.dir, "{port}", strconv.Itoa(p.port), "{chain}", p.chain, "{key}", p.key).Replace(text)
}

// own gives the directory to the user of this name, which a server becomes, or if
// there is none, to nobody. Without root there is nothing to give.
func (p *place) own(t *testing.T, name string) {
	t.Helper()
	if os.Getuid() != 0 {
		return
	}
	p.uid, p.gid = 65534, 65534
	if u, err := user.Lookup(name); err == nil {
		p.uid, _ = strconv.Atoi(u.Uid) //nolint:errcheck // a number on this system
		p.gid, _ = strconv.Atoi(u.Gid) //nolint:errcheck // likewise
	}
	files, err := filepath.Glob(p.file("*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range append(files, p.dir) {
		if err := os.Chown(f, p.uid, p.gid); err != nil {
			t.Fatal(err)
		}
	}
}

// command makes a command that runs as the owner of the place, in a group of its
// own and no longer than the test program.
func (p *place) command(program string, args ...string) *exec.Cmd {
	for i := range args {
		args[i] = p.fill(args[i])
	}
	cmd := exec.Command(program, args...)
	cmd.Dir = p.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if p.uid != os.Getuid() {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(p.uid), Gid: uint32(p.gid)}
	}
	return cmd
}

// program returns the path of the first of these programs there is, or skips.
func program(t *testing.T, install string, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skipf("there is no %s: install %s", names[0], install)
	return ""
}

// start starts a server and waits until its port is open. It ends with the test.
func (p *place) start(t *testing.T, program string, args ...string) {
	t.Helper()
	cmd := p.command(program, args...)
	var words bytes.Buffer
	cmd.Stdout, cmd.Stderr = &words, &words
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		syscall.Kill(cmd.Process.Pid, syscall.SIGTERM) //nolint:errcheck // it may have ended
		select {
		case <-ended:
		case <-time.After(5 * time.Second):
			t.Errorf("%s did not end when told to", program)
		}
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) //nolint:errcheck // usually nobody is left
		if t.Failed() {
			t.Logf("%s said:\n%s", program, words.String())
		}
	})
	address := fmt.Sprintf("127.0.0.1:%d", p.port)
	for limit := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
			return
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("%s has ended: %v", program, err)
		default:
		}
		if time.Now().After(limit) {
			t.Fatalf("%s does not listen on %s", program, address)
		}
	}
}

// TestServers upgrades connections to real servers and completes TLS over them.
func TestServers(t *testing.T) {
	c, roots := certificate(t)
	for _, s := range []struct {
		name      string
		protocols []string
		start     func(t *testing.T, p *place)
	}{
		{"exim", []string{"smtp"}, startExim},
		{"dovecot", []string{"imap"}, startDovecot("imap")},
		{"dovecot", []string{"pop3"}, startDovecot("pop3")},
		{"vsftpd", []string{"ftp"}, startVsftpd},
		{"postgres", []string{"postgres"}, startPostgres},
		{"mariadb", []string{"mysql"}, startMariaDB},
		{"slapd", []string{"ldap"}, startSlapd},
		{"prosody", []string{"xmpp"}, startProsody},
	} {
		t.Run(s.name+"/"+s.protocols[0], func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			listener.Close()
			p := &place{dir: t.TempDir(), port: listener.Addr().(*net.TCPAddr).Port, uid: os.Getuid(), gid: os.Getgid()}
			files, err := c.Write(p.dir, "server")
			// Servers become other users before they read their key.
			if err := errors.Join(err, os.Chmod(filepath.Dir(p.dir), 0o755), os.Chmod(p.dir, 0o755), os.Chmod(files.Chain, 0o644), os.Chmod(files.Key, 0o644)); err != nil {
				t.Fatal(err)
			}
			p.chain, p.key = files.Chain, files.Key
			s.start(t, p)
			for _, version := range []shakedown.Version{shakedown.TLS13, shakedown.TLS12} {
				shake(t, dial(t, fmt.Sprintf("127.0.0.1:%d", p.port)), s.protocols[0], roots, version)
			}
		})
	}
}

func startExim(t *testing.T, p *place) {
	exim := program(t, "exim4-daemon-light", "exim4", "exim")
	config := p.write(t, "exim.conf", `
primary_hostname = shakedown.test
spool_directory = {dir}/spool
log_file_path = {dir}/spool/%slog
pid_file_path = {dir}/spool/pid
keep_environment =
host_lookup =
rfc1413_query_timeout = 0s
tls_advertise_hosts = *
tls_certificate = {chain}
tls_privatekey = {key}
`)
	spool := *p
	spool.dir = p.file("spool")
	if err := os.Mkdir(spool.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	spool.own(t, "Debian-exim") // which exim writes its log as
	p.start(t, exim, "-C", config, "-bdf", "-oX", "127.0.0.1.{port}", "-oP", "{dir}/spool/pid")
}

func startDovecot(protocol string) func(*testing.T, *place) {
	return func(t *testing.T, p *place) {
		dovecot := program(t, "dovecot-imapd and dovecot-pop3d", "dovecot", "/usr/sbin/dovecot")
		if os.Getuid() != 0 {
			t.Skip("dovecot becomes users of its own: run the test as root")
		}
		config := p.write(t, "dovecot.conf", strings.ReplaceAll(`
protocols = PROTOCOL
listen = 127.0.0.1
base_dir = {dir}/run
state_dir = {dir}/state
log_path = /dev/stderr
ssl = yes
ssl_cert = <{chain}
ssl_key = <{key}
service PROTOCOL-login {
  inet_listener PROTOCOL {
    port = {port}
  }
  inet_listener PROTOCOLs {
    port = 0
  }
  chroot =
}
service anvil {
  chroot =
}
passdb {
  driver = static
  args = nopassword=y
}
userdb {
  driver = static
  args = uid=65534 gid=65534 home=/nonexistent
}
`, "PROTOCOL", protocol))
		p.start(t, dovecot, "-F", "-c", config)
	}
}

func startVsftpd(t *testing.T, p *place) {
	vsftpd := program(t, "vsftpd", "vsftpd", "/usr/sbin/vsftpd")
	if os.Getuid() != 0 {
		t.Skip("vsftpd changes its root directory: run the test as root")
	}
	// An anonymous login is asked for to have no need of users; it ends here.
	config := p.write(t, "vsftpd.conf", `listen=YES
listen_address=127.0.0.1
listen_port={port}
background=NO
anonymous_enable=YES
ssl_enable=YES
allow_anon_ssl=YES
ssl_ciphers=HIGH
rsa_cert_file={chain}
rsa_private_key_file={key}
seccomp_sandbox=NO
isolate=NO
isolate_network=NO
secure_chroot_dir={dir}
`)
	p.start(t, vsftpd, config)
}

func startPostgres(t *testing.T, p *place) {
	postgres := program(t, "postgresql", "postgres", newest("/usr/lib/postgresql/*/bin/postgres"))
	initdb := program(t, "postgresql", filepath.Join(filepath.Dir(postgres), "initdb"))
	p.own(t, "postgres")                           // it refuses to run as root
	if err := os.Chmod(p.key, 0o600); err != nil { // and a key that others can read
		t.Fatal(err)
	}
	if out, err := p.command(initdb, "-D", "{dir}/data", "-A", "trust", "-N").CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	p.start(t, postgres, "-D", "{dir}/data", "-p", "{port}", "-h", "127.0.0.1", "-k", "", "-F",
		"-c", "ssl=on", "-c", "ssl_cert_file={chain}", "-c", "ssl_key_file={key}")
}

func newest(pattern string) string {
	found, _ := filepath.Glob(pattern) //nolint:errcheck // the pattern is good
	if len(found) == 0 {
		return "postgres"
	}
	return found[len(found)-1]
}

func startMariaDB(t *testing.T, p *place) {
	mariadbd := program(t, "mariadb-server", "mariadbd", "/usr/sbin/mariadbd")
	install := program(t, "mariadb-server", "mariadb-install-db")
	p.own(t, "mysql") // it does not like to run as root
	if out, err := p.command(install, "--no-defaults", "--datadir={dir}/data", "--skip-test-db", "--auth-root-authentication-method=normal").CombinedOutput(); err != nil {
		t.Fatalf("mariadb-install-db: %v\n%s", err, out)
	}
	// A path of a socket has at most 107 bytes, and a test's directory may be longer.
	p.start(t, mariadbd, "--no-defaults", "--datadir={dir}/data", "--bind-address=127.0.0.1", "--port={port}", "--socket=s",
		"--pid-file={dir}/pid", "--ssl-cert={chain}", "--ssl-key={key}")
}

func startSlapd(t *testing.T, p *place) {
	slapd := program(t, "slapd", "slapd", "/usr/sbin/slapd")
	config := p.write(t, "slapd.conf", "pidfile {dir}/pid\nTLSCertificateFile {chain}\nTLSCertificateKeyFile {key}\n")
	p.start(t, slapd, "-d", "0", "-f", config, "-h", "ldap://127.0.0.1:{port}")
}

func startProsody(t *testing.T, p *place) {
	prosody := program(t, "prosody", "prosody")
	if err := os.MkdirAll(p.file("certs"), 0o755); err != nil {
		t.Fatal(err)
	}
	config := p.write(t, "prosody.cfg.lua", `
daemonize = false
run_as_root = true
pidfile = "{dir}/pid"
data_path = "{dir}"
interfaces = { "127.0.0.1" }
c2s_ports = { {port} }
modules_enabled = { "saslauth", "tls" }
modules_disabled = { "s2s", "admin_shell" }
ssl = { certificate = "{chain}", key = "{key}" }
log = { warn = "*console" }
VirtualHost "shakedown.test"
`)
	p.start(t, prosody, "-F", "--config", config)
}
