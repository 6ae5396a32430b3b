package host

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func findListeners(address string) ([]Process, error) {
	parsed, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, err
	}
	return Listeners(parsed)
}

// listeningPIDs returns the PIDs Listeners finds.
func listeningPIDs(t *testing.T, address string) []int {
	t.Helper()
	found, err := findListeners(address)
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, p := range found {
		if p.Name == "" {
			t.Errorf("process %d has no name", p.PID)
		}
		pids = append(pids, p.PID)
	}
	return pids
}

func TestListenersByAddress(t *testing.T) {
	tests := []struct{ listen, ask string }{
		{"127.0.0.1:0", "127.0.0.1:"},
		{"127.0.0.1:0", "[::ffff:127.0.0.1]:"},
		{"0.0.0.0:0", "127.0.0.1:"},
		{"[::1]:0", "[::1]:"},
		{"[::]:0", "[::1]:"},
		{"[::]:0", "127.0.0.1:"},
	}
	for _, test := range tests {
		t.Run(test.listen+" asked for "+test.ask, func(t *testing.T) {
			if strings.HasPrefix(test.listen, "[") {
				if l, err := net.Listen("tcp", "[::1]:0"); err != nil {
					t.Skipf("needs IPv6 on loopback: %v", err)
				} else {
					l.Close()
				}
			}
			c := startChild(t)
			port := netip.MustParseAddrPort(c.do("listen " + test.listen)).Port()
			ask := netip.MustParseAddrPort(test.ask + "1")
			got := listeningPIDs(t, netip.AddrPortFrom(ask.Addr(), port).String())
			if want := []int{c.pid()}; !slices.Equal(got, want) {
				t.Errorf("found %v; want %v", got, want)
			}
		})
	}
}

// The child hands its socket to a child of its own, closes it, and that one has
// a child in turn.
func TestListenersFamily(t *testing.T) {
	for _, test := range []struct {
		name       string
		own, climb bool
	}{
		{"master of another program", false, true},
		// Masters that run what we run may be clients with their servers.
		{"master of this program", true, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := startChild(t, func(cmd *exec.Cmd) {
				if !test.own {
					cmd.Path = copyBinary(t)
					cmd.Args[0] = cmd.Path
				}
			})
			address := c.do("listen 127.0.0.1:0")
			worker := c.number("start")
			helper := c.number("sub start")
			both := listeningPIDs(t, address)
			if want := sorted(c.pid(), worker, helper); !slices.Equal(both, want) {
				t.Errorf("master and worker hold the socket: found %v; want %v", both, want)
			}
			c.do("close")
			got := listeningPIDs(t, address)
			want := sorted(worker, helper)
			if test.climb {
				want = sorted(c.pid(), worker, helper)
			}
			if !slices.Equal(got, want) {
				t.Errorf("worker alone holds the socket: found %v; want %v", got, want)
			}
		})
	}
}

// A harness that runs the same program as the server it started, as a script's
// interpreter does, and that started us too, is not the server's master.
func TestListenersStopAtOwnAncestors(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	harness := startChild(t, func(cmd *exec.Cmd) {
		cmd.Path = copyBinary(t)
		cmd.Args[0] = cmd.Path
	})
	server := harness.number("start")
	address := harness.do("sub listen 127.0.0.1:0")
	if got, want := listeningPIDs(t, address), sorted(harness.pid(), server); !slices.Equal(got, want) {
		t.Errorf("seen from outside: %v; want %v", got, want)
	}
	harness.do("start " + own)
	if got, want := harness.do("sub listeners "+address), fmt.Sprintf("[{%d server}] <nil>", server); got != want {
		t.Errorf("seen by another child of the harness: %s; want %s", got, want)
	}
}

func sorted(pids ...int) []int {
	slices.Sort(pids)
	return pids
}

func TestListenersRefuses(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if _, err := findListeners(address); !errors.Is(err, ErrSelf) {
		t.Errorf("own socket: %v; want ErrSelf", err)
	}
	l.Close()
	if _, err := findListeners(address); !errors.Is(err, ErrNoListener) {
		t.Errorf("closed socket: %v; want ErrNoListener", err)
	}
	// Addresses for documentation (RFC 5737, RFC 3849) are nobody's; nothing is
	// sent to them.
	for _, address := range []string{"192.0.2.1:443", "[2001:db8::1]:443"} {
		if _, err := findListeners(address); !errors.Is(err, ErrRemote) {
			t.Errorf("%s: %v; want ErrRemote", address, err)
		}
	}
}

// A socket given to a child is the child's, though we hold it too.
func TestListenersLeavesOutThisProcess(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	file, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	c := startChild(t, func(cmd *exec.Cmd) { cmd.ExtraFiles = []*os.File{file} })
	if got, want := listeningPIDs(t, l.Addr().String()), []int{c.pid()}; !slices.Equal(got, want) {
		t.Errorf("found %v; want %v", got, want)
	}
}

func TestListenersOfAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to run a child as another user")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	const nobody = 65534
	binary := copyBinary(t)
	c := startChild(t, func(cmd *exec.Cmd) {
		// The temporary folder may be closed to others, so the child gets its
		// program as an open file.
		file, err := os.Open(binary)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { file.Close() })
		cmd.ExtraFiles = []*os.File{file}
		cmd.Path = "/proc/self/fd/3"
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	})
	answer := c.do("listeners " + l.Addr().String())
	if !strings.Contains(answer, "the server runs as another user; run as that user or as root") || !strings.Contains(answer, fs.ErrPermission.Error()) {
		t.Errorf("as another user: %s", answer)
	}
}

func TestReachable(t *testing.T) {
	socketAt := func(address, inode string) socket { return socket{netip.MustParseAddrPort(address), inode} }
	sockets := []socket{
		socketAt("127.0.0.1:443", "exact"),
		socketAt("127.0.0.1:443", "exact, with reuseport"),
		socketAt("0.0.0.0:443", "all IPv4"),
		socketAt("[::]:443", "all"),
		socketAt("[::1]:443", "exact IPv6"),
		socketAt("127.0.0.1:80", "another port"),
		socketAt("[::]:8443", "all, alone"),
		socketAt("0.0.0.0:8080", "all IPv4, alone"),
	}
	tests := []struct {
		address string
		want    []string
	}{
		{"127.0.0.1:443", []string{"exact", "exact, with reuseport"}},
		{"127.0.0.2:443", []string{"all IPv4"}},
		{"[::1]:443", []string{"exact IPv6"}},
		{"[::2]:443", []string{"all"}},
		{"127.0.0.1:8443", []string{"all, alone"}},
		{"[::1]:8080", nil},
		{"127.0.0.1:1", nil},
	}
	for _, test := range tests {
		want := map[string]bool{}
		for _, inode := range test.want {
			want[inode] = true
		}
		if diff := cmp.Diff(want, reachable(sockets, netip.MustParseAddrPort(test.address))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.address, diff)
		}
	}
}
