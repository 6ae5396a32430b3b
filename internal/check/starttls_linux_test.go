package check

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"shakedown"
	"shakedown/internal/server"
)

// mail serves SMTP with STARTTLS, and answers 250 to NOOP alone. It returns what is
// to be asked.
func mail(t *testing.T, s *server.Server, cfg *tls.Config) Target {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close()
				if smtp(c) != nil {
					return
				}
				conn := tls.Server(c, cfg)
				for lines := bufio.NewScanner(conn); lines.Scan(); {
					answer := "500 what?\r\n"
					if lines.Text() == "NOOP" {
						answer = "250 OK\r\n"
					}
					io.WriteString(conn, answer) //nolint:errcheck // the client finds out
				}
			})
		}
	})
	t.Cleanup(func() { l.Close(); all.Wait() })
	where := l.Addr().(*net.TCPAddr).AddrPort()
	target := at(s, where.Port(), where.Addr())
	target.StartTLS, target.Request = "smtp", nil
	return target
}

// TestStartTLSTickets: behind STARTTLS a command is answered, so that a server
// without tickets is known to have none.
func TestStartTLSTickets(t *testing.T) {
	t.Parallel()
	s := startServer(t, server.Embedded{}, server.Spec{Certificates: []server.KeyKind{server.P256}})
	pair, err := s.Certificates[0].TLS()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		none bool
		want State
	}{{"tickets", false, StateAccepted}, {"no tickets", true, StateNoneSent}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			target := mail(t, s, &tls.Config{Certificates: []tls.Certificate{pair}, SessionTicketsDisabled: test.none})
			r := run(t, Plan{Targets: []Target{target}, Roots: s.Roots})
			o := &r.Targets[0].Observation
			for _, m := range []string{MechanismPSK, MechanismTicket} {
				expectState(t, o, m, test.want)
			}
			for _, k := range o.Timing {
				if k.Response.N != rounds {
					t.Errorf("%s %s: a first byte came in %d of %d", k.Version, k.Mode, k.Response.N, rounds)
				}
			}
			if test.none {
				expectFindings(t, r.Targets[0].Findings, []string{"no-resumption"}, nil)
			}
		})
	}
}

// TestExim: a real mail server, which by default resumes nothing.
func TestExim(t *testing.T) {
	t.Parallel()
	s := startServer(t, server.Embedded{}, server.Spec{Certificates: []server.KeyKind{server.P256}})
	where, place := freePort(t), t.TempDir()
	files, err := s.Certificates[0].Write(place, "exim")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(place, "spool")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if u, err := user.Lookup("Debian-exim"); err == nil && os.Getuid() == 0 {
		// Exim becomes this user, who has to reach and to read all of it.
		uid, _ := strconv.Atoi(u.Uid) //nolint:errcheck // a number on this system
		gid, _ := strconv.Atoi(u.Gid) //nolint:errcheck // likewise
		if err := os.Chmod(filepath.Dir(place), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{place, dir, files.Chain, files.Key} {
			if err := os.Chown(name, uid, gid); err != nil {
				t.Fatal(err)
			}
		}
	}
	conf := write(t, "exim.conf", "primary_hostname = %s\nspool_directory = %s\nlog_file_path = %s/%%slog\npid_file_path = %s/pid\nkeep_environment =\nhost_lookup =\nrfc1413_query_timeout = 0s\nsmtp_accept_max = 0\ntls_advertise_hosts = *\ntls_certificate = %s\ntls_privatekey = %s\n",
		s.Name, dir, dir, dir, files.Chain, files.Key)
	program(t, where, "exim4-daemon-light", "exim4", "-C", conf, "-bdf", "-oX", "127.0.0.1."+strconv.Itoa(int(where.Port())), "-oP", filepath.Join(dir, "pid"))
	target := at(s, where.Port(), where.Addr())
	target.StartTLS, target.Request = "smtp", nil
	r := run(t, Plan{Targets: []Target{target}, Roots: s.Roots})
	o := &r.Targets[0].Observation
	expect(t, o, map[string]shakedown.Verdict{"reach": shakedown.Yes, "tls13": shakedown.Yes, "tls12": shakedown.Yes, "resume-psk": shakedown.No})
	expectState(t, o, MechanismPSK, StateNoneSent)
}
