package server

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"shakedown"
)

// serveArgument makes the test program the process of an embedded server.
const serveArgument = "serve-embedded-for-test"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == serveArgument {
		if err := ServeEmbedded(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) == 4 && os.Args[1] == orphanArgument {
		fmt.Fprintln(os.Stderr, startAndWait(os.Args[2], os.Args[3]))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// drivers are all drivers, and the embedded one as a process.
func drivers() map[string]Driver {
	all := map[string]Driver{"embedded process": Embedded{Command: []string{os.Args[0], serveArgument}}}
	for _, d := range Drivers() {
		all[d.Name()] = d
	}
	return all
}

// eachDriver runs test for every driver that is installed.
func eachDriver(t *testing.T, test func(t *testing.T, d Driver)) {
	for name, d := range drivers() {
		t.Run(name, func(t *testing.T) {
			if err := d.Available(); err != nil {
				t.Skip(err)
			}
			test(t, d)
		})
	}
}

// mustStart starts a server that the test stops; specs that the driver refuses
// skip the test with the driver's reason.
func mustStart(t *testing.T, d Driver, spec Spec, dir string) *Server {
	t.Helper()
	if err := d.Can(spec); err != nil {
		t.Skipf("%s: %v", d.Name(), err)
	}
	s, err := d.Start(context.Background(), spec, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Stop() }) //nolint:errcheck // tests of Stop look at it
	return s
}

// visit makes one connection, asks for a page and reads the whole answer.
func visit(s *Server, config *tls.Config) (tls.ConnectionState, []byte, error) {
	config = config.Clone()
	config.RootCAs, config.ServerName = s.Roots, s.Name
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	conn, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", s.Addr.String())
	if err != nil {
		return tls.ConnectionState{}, nil, err
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	conn.SetDeadline(deadline)
	state := conn.(*tls.Conn).ConnectionState()
	if _, err := fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", s.Name); err != nil {
		return state, nil, err
	}
	body, err := io.ReadAll(conn)
	return state, body, err
}

// TestContractHandshakes makes full handshakes in both versions with both kinds
// of certificate and compares the server's count with ours.
func TestContractHandshakes(t *testing.T) {
	pki := t.TempDir()
	eachDriver(t, func(t *testing.T, d Driver) {
		for _, key := range []KeyKind{RSA2048, P256} {
			for _, version := range []shakedown.Version{shakedown.TLS12, shakedown.TLS13} {
				t.Run(fmt.Sprintf("%s %s", key, version), func(t *testing.T) {
					s := mustStart(t, d, Spec{PKI: pki, Certificates: []KeyKind{key}, Versions: []shakedown.Version{version}}, t.TempDir())
					const visits = 3
					for range visits {
						state, body, err := visit(s, &tls.Config{})
						if err != nil {
							t.Fatalf("%v\n%s", err, lastLines(s.Log))
						}
						if got := shakedown.Version(state.Version); got != version {
							t.Errorf("asked for %s, observed %s", version, got)
						}
						if !strings.Contains(string(body), "200") {
							t.Errorf("answer %.80q", body)
						}
						if !state.PeerCertificates[0].Equal(s.Certificates[0].Leaf) || len(state.PeerCertificates) != 2 {
							t.Errorf("%d certificates, the first %s", len(state.PeerCertificates), state.PeerCertificates[0].Subject)
						}
					}
					checkCounts(t, s, visits, 0)
				})
			}
		}
	})
}

// checkCounts compares the server's account before and after Stop with what was
// done.
func checkCounts(t *testing.T, s *Server, full, resumed int64) {
	t.Helper()
	check := func(when string) {
		t.Helper()
		c, err := s.Connections(context.Background())
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		if c.Handshakes != full+resumed || c.Full != full || c.Resumed != resumed || c.Untold != 0 {
			t.Errorf("%s: %d full and %d resumed were made; the server says: %v", when, full, resumed, c)
		}
		if c.Accepted != NotTold && c.Accepted != full+resumed {
			t.Errorf("%s: %d connections were made; the server says: %v", when, full+resumed, c)
		}
	}
	check("while it runs")
	if err := s.Stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
	check("after it stopped")
}

// TestContractResumption resumes once in each version.
func TestContractResumption(t *testing.T) {
	pki := t.TempDir()
	eachDriver(t, func(t *testing.T, d Driver) {
		for _, version := range []shakedown.Version{shakedown.TLS12, shakedown.TLS13} {
			t.Run(version.String(), func(t *testing.T) {
				s := mustStart(t, d, Spec{PKI: pki, Certificates: []KeyKind{P256}, Versions: []shakedown.Version{version}}, t.TempDir())
				config := &tls.Config{ClientSessionCache: tls.NewLRUClientSessionCache(1)}
				for i, want := range []bool{false, true} {
					state, _, err := visit(s, config)
					if err != nil {
						t.Fatal(err)
					}
					if state.DidResume != want {
						t.Errorf("visit %d: resumed %t, want %t", i, state.DidResume, want)
					}
				}
				checkCounts(t, s, 1, 1)
			})
		}
	})
}

// TestContractStop checks that nothing is left: no process, no port, no
// goroutine (TestMain), whichever way the server ends.
func TestContractStop(t *testing.T) {
	pki := t.TempDir()
	eachDriver(t, func(t *testing.T, d Driver) {
		for name, end := range map[string]func(*Server, context.CancelFunc) error{
			"stop":   func(s *Server, _ context.CancelFunc) error { return s.Stop() },
			"cancel": func(s *Server, cancel context.CancelFunc) error { cancel(); return s.Stop() },
			"stop twice": func(s *Server, _ context.CancelFunc) error {
				return errors.Join(s.Stop(), s.Stop())
			},
		} {
			t.Run(name, func(t *testing.T) {
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				spec := Spec{PKI: pki, Certificates: []KeyKind{P256}}
				if d.Can(Spec{Workers: 2}) == nil {
					spec.Workers = 2
				}
				s, err := d.Start(ctx, spec, t.TempDir())
				if err != nil {
					t.Fatal(err)
				}
				// A connection that is open and idle must not hold the end up.
				conn, err := net.Dial("tcp", s.Addr.String())
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				group := s.PID
				if err := end(s, cancel); err != nil {
					t.Errorf("%v", err)
				}
				if left := processesIn(t, group); s.PID != os.Getpid() && len(left) > 0 {
					t.Errorf("processes are left: %v", left)
				}
				nobodyListens(t, s.Addr.String())
			})
		}
	})
}

// nobodyListens checks that connections to addr are refused. (Listening there to
// see whether it is free fails at times: it may be a stranger's port by now.)
func nobodyListens(t *testing.T, addr string) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err == nil {
		conn.Close()
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("%s: error %v, want %v", addr, err, syscall.ECONNREFUSED)
	}
}

// processesIn lists the processes of a group, from /proc.
func processesIn(t *testing.T, group int) []string {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(stats) == 0 {
		t.Logf("no /proc: processes left over are not looked for")
		return nil
	}
	var found []string
	for _, file := range stats {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it ended meanwhile
		}
		// pid (name) state ppid pgrp ...; the name may hold spaces
		_, rest, _ := strings.Cut(string(text), ") ")
		if fields := strings.Fields(rest); len(fields) > 2 && fields[2] == strconv.Itoa(group) {
			found = append(found, string(text[:min(len(text), 60)]))
		}
	}
	return found
}

// TestContractBadStart has the port taken: the error says so in the server's
// words or ours, and nothing is left running.
func TestContractBadStart(t *testing.T) {
	pki := t.TempDir()
	eachDriver(t, func(t *testing.T, d Driver) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		dir := t.TempDir()
		port := uint16(l.Addr().(*net.TCPAddr).Port)
		before := childrenIn(t, dir)
		_, err = d.Start(context.Background(), Spec{Port: port, PKI: pki, Certificates: []KeyKind{P256}}, dir)
		var startErr *StartError
		if !errors.As(err, &startErr) || !errors.Is(err, errPortTaken) {
			t.Errorf("error %v, want a StartError about the port", err)
		}
		if after := childrenIn(t, dir); len(after) > len(before) {
			t.Errorf("processes are left: %v", after)
		}
	})
}

// childrenIn lists the processes whose working directory is dir.
func childrenIn(t *testing.T, dir string) []string {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, link := range links {
		if cwd, err := os.Readlink(link); err == nil && cwd == dir {
			found = append(found, link)
		}
	}
	return found
}

// TestContractCancelledStart starts with a context that has ended.
func TestContractCancelledStart(t *testing.T) {
	pki := t.TempDir()
	eachDriver(t, func(t *testing.T, d Driver) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		dir := t.TempDir()
		s, err := d.Start(ctx, Spec{PKI: pki, Certificates: []KeyKind{P256}}, dir)
		if err == nil {
			s.Stop() //nolint:errcheck // it may have been stopped already
		} else if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want %v", err, context.Canceled)
		}
		if left := childrenIn(t, dir); len(left) > 0 {
			t.Errorf("processes are left: %v", left)
		}
	})
}

// TestContractRestart starts again in the same directory: same leaf, same root.
func TestContractRestart(t *testing.T) {
	eachDriver(t, func(t *testing.T, d Driver) {
		dir := t.TempDir()
		spec := Spec{Certificates: []KeyKind{P256}}
		first := mustStart(t, d, spec, dir)
		if err := first.Stop(); err != nil {
			t.Fatal(err)
		}
		second := mustStart(t, d, spec, dir)
		if !first.Certificates[0].Leaf.Equal(second.Certificates[0].Leaf) {
			t.Error("the leaf changed with the restart")
		}
		if _, _, err := visit(second, &tls.Config{}); err != nil {
			t.Error(err)
		}
		checkCounts(t, second, 1, 0)
	})
}

// TestContractFailedHandshake sends what is no TLS; the server lives on, and
// counts it as a failure if it counts failures.
func TestContractFailedHandshake(t *testing.T) {
	pki := t.TempDir()
	eachDriver(t, func(t *testing.T, d Driver) {
		s := mustStart(t, d, Spec{PKI: pki, Certificates: []KeyKind{P256}}, t.TempDir())
		for _, nonsense := range []string{"\x16\x03\x01\x00\x05nosuch", "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"} {
			conn, err := net.Dial("tcp", s.Addr.String())
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(conn, nonsense)
			conn.SetDeadline(time.Now().Add(time.Second))
			io.Copy(io.Discard, conn) //nolint:errcheck // a reset is as good as an end
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
		if c.Handshakes != 1 || c.Failed != 2 && c.Failed != NotTold {
			t.Errorf("one handshake succeeded and two failed; the server says: %v", c)
		}
	})
}

// TestContractClientAuth requires a client certificate.
func TestContractClientAuth(t *testing.T) {
	pki := t.TempDir()
	eachDriver(t, func(t *testing.T, d Driver) {
		s := mustStart(t, d, Spec{PKI: pki, Certificates: []KeyKind{P256}, ClientAuth: ClientAuthRequire}, t.TempDir())
		pair, err := s.Client.TLS()
		if err != nil {
			t.Fatal(err)
		}
		if _, body, err := visit(s, &tls.Config{Certificates: []tls.Certificate{pair}}); err != nil || !strings.Contains(string(body), " 200 ") {
			t.Errorf("with a certificate: %v, answer %.60q", err, body)
		}
		if _, body, err := visit(s, &tls.Config{}); err == nil && strings.Contains(string(body), " 200 ") {
			t.Error("the server served a client without a certificate")
		}
	})
}

// TestContractStaplingResponder has the server fetch the staple by itself. Some
// fetch it when first asked, so several connections may go without.
func TestContractStaplingResponder(t *testing.T) {
	eachDriver(t, func(t *testing.T, d Driver) {
		s := mustStart(t, d, Spec{Certificates: []KeyKind{P256}, Stapling: StaplingResponder}, t.TempDir())
		for range 50 {
			state, _, err := visit(s, &tls.Config{})
			if err != nil {
				t.Fatal(err)
			}
			if len(state.OCSPResponse) > 0 {
				if s.Responder.Requests() == 0 {
					t.Error("a staple came, but the responder was never asked")
				}
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
		t.Errorf("no staple in 50 connections; the responder was asked %d times\n%s", s.Responder.Requests(), lastLines(s.Log))
	})
}

// TestContractReload reloads under an unchanged configuration and then with the
// ticket key replaced, which must end resumption.
func TestContractReload(t *testing.T) {
	pki := t.TempDir()
	eachDriver(t, func(t *testing.T, d Driver) {
		dir := t.TempDir()
		keys := []string{filepath.Join(dir, "first.key"), filepath.Join(dir, "second.key")}
		for _, file := range keys {
			key := make([]byte, 48) // the form that all know
			rand.Read(key)          //nolint:errcheck // never fails
			if err := writePrivate(file, key); err != nil {
				t.Fatal(err)
			}
		}
		spec := Spec{PKI: pki, Certificates: []KeyKind{P256}, Tickets: TicketsKeyFile, TicketKeys: keys[:1]}
		s := mustStart(t, d, spec, dir)
		config := &tls.Config{ClientSessionCache: tls.NewLRUClientSessionCache(1)}
		step := func(what string, want bool) {
			t.Helper()
			state, _, err := visit(s, config)
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if state.DidResume != want {
				t.Errorf("%s: resumed %t, want %t", what, state.DidResume, want)
			}
		}
		step("first visit", false)
		step("second visit", true)
		err := s.Reload(context.Background())
		if errors.Is(err, errors.ErrUnsupported) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		step("after a reload with the same key", true)
		if err := os.Rename(keys[1], keys[0]); err != nil {
			t.Fatal(err)
		}
		if err := s.Reload(context.Background()); err != nil {
			t.Fatal(err)
		}
		step("after a reload with another key", false)
		checkCounts(t, s, 2, 2)
	})
}

// TestContractKeepAlive makes several requests on one connection.
func TestContractKeepAlive(t *testing.T) {
	pki := t.TempDir()
	eachDriver(t, func(t *testing.T, d Driver) {
		if !slices.Contains([]string{"embedded", "nginx", "haproxy", "stunnel", "apache"}, d.Name()) {
			t.Skipf("%s ends the connection after each answer", d.Name())
		}
		s := mustStart(t, d, Spec{PKI: pki, Certificates: []KeyKind{P256}}, t.TempDir())
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.Roots, ServerName: s.Name}}
		defer transport.CloseIdleConnections()
		for range 5 {
			resp, err := (&http.Client{Transport: transport}).Get("https://" + s.Addr.String() + "/")
			if err != nil {
				t.Fatal(err)
			}
			io.Copy(io.Discard, resp.Body) //nolint:errcheck // the count below tells
			resp.Body.Close()
		}
		transport.CloseIdleConnections()
		checkCounts(t, s, 1, 0)
		if c, err := s.Connections(context.Background()); err != nil || c.Requests != 5 && c.Requests != NotTold {
			t.Errorf("5 requests were made; the server says: %v, %v", c, err)
		}
	})
}
