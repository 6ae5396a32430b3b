package server

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"shakedown"
)

// orphanArgument makes the test program start a server, say its address, and
// wait to be killed.
const orphanArgument = "start-and-wait-for-test"

// startAndWait is the program of orphanArgument; driver and directory follow.
func startAndWait(driver, dir string) error {
	d := drivers()[driver]
	s, err := d.Start(context.Background(), Spec{Certificates: []KeyKind{P256}}, dir)
	if err != nil {
		return err
	}
	fmt.Println(s.Addr, s.PID)
	select {}
}

// TestParentKilled kills a program that has started a server with SIGKILL: the
// server must be gone with it, its workers too.
func TestParentKilled(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ends a child with its parent")
	}
	eachDriver(t, func(t *testing.T, d Driver) {
		if d.Name() == "embedded" && len(d.(Embedded).Command) == 0 {
			t.Skip("the embedded server is the program itself")
		}
		name := d.Name()
		if name == "embedded" {
			name = "embedded process"
		}
		parent := exec.Command(os.Args[0], orphanArgument, name, t.TempDir())
		out, err := parent.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := parent.Start(); err != nil {
			t.Fatal(err)
		}
		var addr string
		var pid int
		_, err = fmt.Fscan(bufio.NewReader(out), &addr, &pid)
		if killErr := parent.Process.Kill(); err == nil {
			err = killErr
		}
		parent.Wait() //nolint:errcheck // it was killed
		if err != nil {
			t.Fatal(err)
		}
		until := time.Now().Add(10 * time.Second)
		for len(processesIn(t, pid)) > 0 {
			if time.Now().After(until) {
				syscall.Kill(-pid, syscall.SIGKILL)
				t.Fatalf("processes outlive their parent: %v", processesIn(t, pid))
			}
			time.Sleep(5 * time.Millisecond)
		}
		nobodyListens(t, addr)
	})
}

// TestServersOwnWords has servers refuse their configuration: the error holds
// what they say, and nothing is left.
func TestServersOwnWords(t *testing.T) {
	pki := t.TempDir()
	for _, test := range []struct {
		driver Driver
		spec   Spec
		want   string
	}{
		{Nginx{}, Spec{Tickets: TicketsKeyFile, TicketKeys: []string{os.Args[0]}}, "must be 48 or 80 bytes"},
		{HAProxy{}, Spec{Groups: []shakedown.Group{shakedown.SecP384r1MLKEM1024}}, "curves"},
		{Apache{}, Spec{Tickets: TicketsKeyFile, TicketKeys: []string{os.Args[0]}}, "mod_ssl's keys have 48 bytes"},
		{Apache{}, Spec{Groups: []shakedown.Group{shakedown.SecP384r1MLKEM1024}}, "Groups"},
		{OpenSSL{}, Spec{Groups: []shakedown.Group{shakedown.SecP384r1MLKEM1024}}, "SecP384r1MLKEM1024"},
		{Embedded{}, Spec{Tickets: TicketsKeyFile, TicketKeys: []string{os.Args[0]}}, "not 48 or 80"},
		{drivers()["embedded process"], Spec{Tickets: TicketsKeyFile, TicketKeys: []string{os.Args[0]}}, "not 48 or 80"},
		{Embedded{Command: []string{"/bin/false"}}, Spec{}, "ended at once (exit status 1)"},
	} {
		t.Run(test.driver.Name()+" "+test.want, func(t *testing.T) {
			if err := test.driver.Available(); err != nil {
				t.Skip(err)
			}
			test.spec.PKI, test.spec.Certificates = pki, []KeyKind{P256}
			dir := t.TempDir()
			s, err := test.driver.Start(context.Background(), test.spec, dir)
			if err == nil {
				s.Stop() //nolint:errcheck // it should not run at all
				if test.spec.Groups != nil {
					t.Skipf("the installed %s knows the group", test.driver.Name())
				}
				t.Fatal("it started")
			}
			var failed *StartError
			if !errors.As(err, &failed) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want a StartError with %q", err, test.want)
			}
			if left := childrenIn(t, dir); len(left) > 0 {
				t.Errorf("processes are left: %v", left)
			}
		})
	}
}

// TestPortRetry has the first ports taken: another is tried, a few times.
func TestPortRetry(t *testing.T) {
	for _, taken := range []int{0, startAttempts - 1, startAttempts} {
		attempts := 0
		_, err := start(context.Background(), Embedded{}, Spec{Certificates: []KeyKind{P256}}, t.TempDir(),
			func(context.Context, *material, netip.AddrPort) (instance, error) {
				if attempts++; attempts <= taken {
					return nil, &StartError{Driver: "test", Err: errPortTaken}
				}
				return &embeddedServer{}, nil
			})
		if (err == nil) != (taken < startAttempts) || attempts != min(taken+1, startAttempts) {
			t.Errorf("%d ports taken: %d attempts, error %v", taken, attempts, err)
		}
	}
}

// TestCPUs confines servers and asks the kernel where they may run.
func TestCPUs(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.NumCPU() < 2 {
		t.Skip("needs Linux and two cores")
	}
	eachDriver(t, func(t *testing.T, d Driver) {
		spec := Spec{Certificates: []KeyKind{P256}, CPUs: "1"}
		if d.Can(Spec{Workers: 2}) == nil {
			spec.Workers, spec.CPUs = 2, "0-1"
		}
		s := mustStart(t, d, spec, t.TempDir())
		// Workers confine themselves a moment after they are born.
		var allowed map[string]int
		for until := time.Now().Add(5 * time.Second); time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
			allowed = allowedCPUs(t, s.PID)
			if spec.Workers == 2 && (d.Name() == "nginx" || d.Name() == "haproxy") {
				if allowed["0"] > 0 && allowed["1"] > 0 {
					return
				}
			} else if spec.Workers == 2 || len(allowed) == 1 && allowed["1"] > 0 {
				return
			}
		}
		t.Errorf("asked for %s, allowed %v", spec.CPUs, allowed)
	})
}

// allowedCPUs returns how many threads of a process and of its children may run
// on which cores.
func allowedCPUs(t *testing.T, pid int) map[string]int {
	t.Helper()
	allowed := map[string]int{}
	for pids := []string{strconv.Itoa(pid)}; len(pids) > 0; pids = pids[1:] {
		files, err := filepath.Glob("/proc/" + pids[0] + "/task/*/*")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			name := filepath.Base(file)
			if name != "status" && name != "children" {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				continue // a thread that ended meanwhile
			}
			if name == "children" {
				pids = append(pids, strings.Fields(string(text))...)
			} else if _, rest, ok := strings.Cut(string(text), "Cpus_allowed_list:"); ok {
				allowed[strings.Fields(rest)[0]]++
			}
		}
	}
	return allowed
}

// TestOurAffinityStays checks that confining a server does not confine us.
func TestOurAffinityStays(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.NumCPU() < 2 {
		t.Skip("needs Linux and two cores")
	}
	before := runtime.NumCPU()
	p, err := startProcess(program{path: "/bin/cat", dir: t.TempDir(), output: filepath.Join(t.TempDir(), "log"), cpus: []int{1}, orphan: syscall.SIGKILL})
	if err != nil {
		t.Fatal(err)
	}
	defer p.kill()
	statuses, err := filepath.Glob("/proc/self/task/*/status")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range statuses {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // a thread that ended meanwhile
		}
		_, rest, _ := strings.Cut(string(text), "Cpus_allowed_list:")
		if got := strings.Fields(rest)[0]; got == "1" {
			t.Errorf("a thread of ours is confined to core %s of %d", got, before)
		}
	}
}

// TestSilentHandshakes makes handshakes without a request. Servers that tell
// count them; nginx cannot say whether they resumed.
func TestSilentHandshakes(t *testing.T) {
	pki := t.TempDir()
	eachDriver(t, func(t *testing.T, d Driver) {
		if d.Name() == "nss" {
			t.Skip("selfserv prints nothing of a handshake without a request")
		}
		s := mustStart(t, d, Spec{PKI: pki, Certificates: []KeyKind{P256}}, t.TempDir())
		const silent = 4
		for i := range silent {
			conn, err := tls.Dial("tcp", s.Addr.String(), &tls.Config{RootCAs: s.Roots, ServerName: s.Name, MaxVersion: tls.VersionTLS12 + uint16(i%2)})
			if err != nil {
				t.Fatal(err)
			}
			conn.Close()
		}
		if _, _, err := visit(s, &tls.Config{}); err != nil {
			t.Fatal(err)
		}
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
		c, err := s.Connections(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if c.Handshakes != silent+1 || c.Full+c.Untold != silent+1 || c.Resumed != 0 || c.Failed > 0 {
			t.Errorf("%d silent handshakes and one with a request; the server says: %v", silent, c)
		}
	})
}

// TestWithOpenSSLClient asks for what Go's client cannot do.
func TestWithOpenSSLClient(t *testing.T) {
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("needs the openssl command: apt install openssl")
	}
	pki := t.TempDir()
	client := func(t *testing.T, s *Server, args ...string) string {
		t.Helper()
		cmd := exec.Command(openssl, append([]string{"s_client", "-connect", s.Addr.String(), "-servername", s.Name, "-CAfile", s.RootsFile, "-verify_return_error"}, args...)...)
		cmd.Stdin = strings.NewReader("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%.2000s", args, err, out)
		}
		return string(out)
	}
	eachDriver(t, func(t *testing.T, d Driver) {
		for _, bits := range []int{1024, 2048, 3072} {
			t.Run("DHE "+strconv.Itoa(bits), func(t *testing.T) {
				s := mustStart(t, d, Spec{PKI: pki, Certificates: []KeyKind{RSA2048}, Versions: []shakedown.Version{shakedown.TLS12}, DHBits: bits,
					Suites: []shakedown.CipherSuite{shakedown.TLS_DHE_RSA_WITH_AES_128_GCM_SHA256}}, t.TempDir())
				out := client(t, s, "-cipher", "DHE-RSA-AES128-GCM-SHA256:@SECLEVEL=0")
				if want := fmt.Sprintf("Server Temp Key: DH, %d bits", bits); !strings.Contains(out, want) {
					t.Errorf("want %q, got %q", want, lineWith(out, "Server Temp Key"))
				}
			})
		}
		for _, kind := range []KeyKind{RSAPSS2048, Ed448} {
			t.Run(string(kind), func(t *testing.T) {
				s := mustStart(t, d, Spec{PKI: pki, Certificates: []KeyKind{kind}}, t.TempDir())
				out := client(t, s)
				want := map[KeyKind]string{RSAPSS2048: "Peer signature type: RSA-PSS", Ed448: "Peer signature type: ed448"}[kind]
				if !strings.Contains(out, want) || !strings.Contains(out, "Verify return code: 0") {
					t.Errorf("want %q and a verified chain, got %q and %q", want, lineWith(out, "Peer signature type"), lineWith(out, "Verify return code"))
				}
			})
		}
		t.Run("early data", func(t *testing.T) {
			if d.Name() == "nss" {
				t.Skip("selfserv refuses early data in its first ten seconds")
			}
			s := mustStart(t, d, Spec{PKI: pki, Certificates: []KeyKind{RSA2048}, Versions: []shakedown.Version{shakedown.TLS13}, EarlyData: true}, t.TempDir())
			session := filepath.Join(t.TempDir(), "session")
			early := filepath.Join(t.TempDir(), "early")
			if err := os.WriteFile(early, []byte("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			saveSession(t, openssl, s, session)
			out := client(t, s, "-sess_in", session, "-early_data", early)
			if !strings.Contains(out, "Early data was accepted") {
				t.Errorf("early data was not accepted: %q\n%s", lineWith(out, "arly data"), lastLines(s.Log))
			}
			if err := s.Stop(); err != nil {
				t.Error(err)
			}
			c, err := s.Connections(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if c.Handshakes != 2 || c.Resumed != 1 || c.EarlyData != 1 && c.EarlyData != NotTold {
				t.Errorf("one full handshake and one with early data; the server says: %v", c)
			}
		})
	})
}

// lineWith returns the first line of text that holds part.
func lineWith(text, part string) string {
	for line := range strings.Lines(text) {
		if strings.Contains(line, part) {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

// saveSession has s_client shake hands and write its session to file. The
// ticket comes some time after the handshake, so its input stays open till then.
func saveSession(t *testing.T, openssl string, s *Server, file string) {
	t.Helper()
	cmd := exec.Command(openssl, "s_client", "-connect", s.Addr.String(), "-servername", s.Name, "-CAfile", s.RootsFile, "-sess_out", file)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(stdin, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	for until := time.Now().Add(5 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if info, err := os.Stat(file); err == nil && info.Size() > 0 {
			break
		}
		if time.Now().After(until) {
			t.Error("no session came")
			break
		}
	}
	stdin.Close()
	cmd.Wait() //nolint:errcheck // the session counts
}
