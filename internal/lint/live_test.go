package lint

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"shakedown/internal/nginx"
)

// live is an nginx that runs on a configuration, on the loopback interface.
type live struct {
	t    *testing.T
	dir  string
	port int
	cmd  *exec.Cmd
	log  string
}

// start runs nginx on the inside of http{}; port 8443 becomes a free one on 127.0.0.1 and ::1.
func start(t *testing.T, binary, dir, http string) *live {
	t.Helper()
	l := &live{t: t, dir: dir, port: freePort(t), log: filepath.Join(dir, "error.log")}
	for from, to := range map[string]string{"[::]:8443": "[::1]:%d", " 8443": " 127.0.0.1:%d"} {
		http = strings.ReplaceAll(http, from, fmt.Sprintf(to, l.port))
	}
	text := "daemon off; pid nginx.pid; error_log error.log info;\nevents {}\n" + http
	if !strings.Contains("\n"+http, "\nhttp {") {
		text = fmt.Sprintf("worker_processes 2; daemon off; pid nginx.pid; error_log error.log info;\nevents {}\nhttp { access_log off;\n%s\n}\n", http)
	}
	path := filepath.Join(dir, "live.conf")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	l.run(binary, "-p", dir, "-c", path)
	return l
}

// run starts the server and waits until it answers.
func (l *live) run(binary string, args ...string) {
	l.t.Helper()
	var out bytes.Buffer
	l.cmd = exec.Command(binary, args...)
	l.cmd.Stdout, l.cmd.Stderr = &out, &out
	l.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := l.cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(l.stop)
	l.wait(func() bool {
		conn, err := net.Dial("tcp", l.address())
		if err != nil {
			return false
		}
		return conn.Close() == nil
	}, &out)
}

func (l *live) stop() {
	if l.cmd == nil {
		return
	}
	if err := l.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		l.t.Error(err)
	}
	timer := time.AfterFunc(5*time.Second, func() { _ = syscall.Kill(-l.cmd.Process.Pid, syscall.SIGKILL) })
	defer timer.Stop()
	_ = l.cmd.Wait() // ended by our signal
	l.cmd = nil
}

func (l *live) wait(ready func() bool, why fmt.Stringer) {
	l.t.Helper()
	for range 500 {
		if ready() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	log, _ := os.ReadFile(l.log)
	l.t.Fatalf("the server is not ready: %s\n%s", why, log)
}

// reload sends HUP and waits until the new workers answer and the old ones are gone.
func (l *live) reload() {
	l.t.Helper()
	exits := func() int {
		log, err := os.ReadFile(l.log)
		if err != nil {
			l.t.Fatal(err)
		}
		return strings.Count(string(log), "exited with code 0")
	}
	before := exits()
	if err := l.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		l.t.Fatal(err)
	}
	l.wait(func() bool { return exits() >= before+2 }, bytes.NewBufferString("after HUP"))
}

func (l *live) address() string { return fmt.Sprintf("127.0.0.1:%d", l.port) }

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// wallet is a client session cache that keeps all it is given and offers the latest under any name.
type wallet struct {
	mu       sync.Mutex
	sessions []*tls.ClientSessionState
}

func (w *wallet) Get(string) (*tls.ClientSessionState, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.sessions) == 0 {
		return nil, false
	}
	return w.sessions[len(w.sessions)-1], true
}

func (w *wallet) Put(_ string, s *tls.ClientSessionState) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s != nil {
		w.sessions = append(w.sessions, s)
	}
}

// ticket is the latest one.
func (w *wallet) ticket(t *testing.T) []byte {
	t.Helper()
	s, ok := w.Get("")
	if !ok {
		t.Fatal("no ticket came")
	}
	ticket, _, err := s.ResumptionState()
	if err != nil {
		t.Fatal(err)
	}
	return ticket
}

// dial takes a handshake for a name and reads an answer, so that tickets arrive. The configuration is changed by how.
func (l *live) dial(name string, how func(*tls.Config)) (tls.ConnectionState, error) {
	return l.dialAt(l.address(), name, how)
}

func (l *live) dialAt(address, name string, how func(*tls.Config)) (tls.ConnectionState, error) {
	l.t.Helper()
	config := &tls.Config{ServerName: name, InsecureSkipVerify: true, MinVersion: tls.VersionTLS12} // the server is ours
	if how != nil {
		how(config)
	}
	ctx, cancel := context.WithTimeout(l.t.Context(), 10*time.Second)
	defer cancel()
	dialer := tls.Dialer{Config: config}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return tls.ConnectionState{}, err
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET / HTTP/1.0\r\n\r\n"); err != nil {
		return tls.ConnectionState{}, err
	}
	if _, err := io.ReadAll(conn); err != nil {
		return tls.ConnectionState{}, err
	}
	return conn.(*tls.Conn).ConnectionState(), nil
}

// resumes tells how the second of two handshakes went that share sessions; between runs in the middle.
func (l *live) resumes(name string, between func(), how func(*tls.Config)) string {
	l.t.Helper()
	w := &wallet{}
	with := func(c *tls.Config) {
		c.ClientSessionCache = w
		if how != nil {
			how(c)
		}
	}
	if _, err := l.dial(name, with); err != nil {
		l.t.Fatal(err)
	}
	if between != nil {
		between()
	}
	state, err := l.dial(name, with)
	return verdict(state, err)
}

func verdict(state tls.ConnectionState, err error) string {
	switch {
	case err != nil:
		return "fails"
	case state.DidResume:
		return "resumes"
	}
	return "full"
}

// openssl runs s_client, which can do what crypto/tls cannot (session IDs, early data, DHE), and returns what it prints.
func (l *live) openssl(name string, args ...string) string {
	l.t.Helper()
	cmd := exec.Command("openssl", append([]string{"s_client", "-connect", l.address(), "-servername", name}, args...)...)
	cmd.Stdin = strings.NewReader("GET / HTTP/1.0\r\n\r\n")
	cmd.Dir = l.dir
	stdin, err := cmd.Output()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		l.t.Fatal(err)
	}
	return string(stdin)
}

// resumesByID tells whether a TLS 1.2 client without tickets resumes.
func (l *live) resumesByID(name string, between func()) string {
	l.t.Helper()
	args := []string{"-tls1_2", "-no_ticket", "-ign_eof"}
	l.openssl(name, append(args, "-sess_out", "id.session")...)
	if between != nil {
		between()
	}
	out := l.openssl(name, append(args, "-sess_in", "id.session")...)
	switch {
	case strings.Contains(out, "Reused, TLSv1.2"):
		return "resumes"
	case strings.Contains(out, "New, TLSv1.2"):
		return "full"
	}
	return "fails"
}

func tls12(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }

func certificateKind(state tls.ConnectionState, err error) string {
	if err != nil {
		return "fails"
	}
	if _, ok := state.PeerCertificates[0].PublicKey.(*ecdsa.PublicKey); ok {
		return "ECDSA"
	}
	return "RSA"
}

// needNginx returns the nginx these tests are written for.
func needNginx(t *testing.T) nginx.Binary {
	t.Helper()
	b, err := nginx.Installed(t.Context())
	if err != nil || b.Version != (nginx.Version{Major: 1, Minor: 22, Patch: 1}) || b.OpenSSL.Before(3, 0, 0) || !b.OpenSSL.Before(3, 1, 0) {
		t.Skipf("needs nginx 1.22.1 with OpenSSL 3.0 (Debian 12: apt install nginx), found %s with %s %v", b.Version, b.OpenSSL, err)
	}
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skipf("needs the openssl command (apt install openssl): %v", err)
	}
	return b
}
