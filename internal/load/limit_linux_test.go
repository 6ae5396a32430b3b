package load_test

import (
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"shakedown"
	"shakedown/handshake"
	"shakedown/internal/load"
	"shakedown/internal/peertest"
)

// childTest names the environment variable that has a test run its part inside a
// process of its own.
const childTest = "SHAKEDOWN_LOAD_CHILD"

// inChild runs the named test again in a process of its own, under the command
// before it if there is one, since limits are a whole process's.
func inChild(t *testing.T, under ...string) {
	t.Helper()
	args := append(under, os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), childTest+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Fatalf("the child ran nothing:\n%s", out)
	}
}

func silentPlan(t *testing.T, connections int) load.Plan {
	return load.Plan{
		Targets: []netip.AddrPort{peertest.Serve(t, peertest.NeverAnswer)}, Connections: connections,
		Duration: 500 * time.Millisecond, Timeout: 300 * time.Millisecond, Threads: 1,
		Config: handshake.Config{Work: shakedown.WorkMinimal},
	}
}

// TestDescriptorLimit asks for more connections than descriptors: refused before
// the run, with the remedy.
func TestDescriptorLimit(t *testing.T) {
	if os.Getenv(childTest) == "" {
		inChild(t)
		return
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 128, Max: 128}); err != nil {
		t.Fatal(err)
	}
	_, err := load.Run(t.Context(), silentPlan(t, 200), nil)
	if err == nil || !strings.Contains(err.Error(), "ulimit -n") || !strings.Contains(err.Error(), "at most 64 connections") {
		t.Errorf("error %v", err)
	}
}

// TestDescriptorsUsedUp fills the table behind the load's back: the failures are
// this machine's, and the run ends.
func TestDescriptorsUsedUp(t *testing.T) {
	if os.Getenv(childTest) == "" {
		inChild(t)
		return
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 128, Max: 128}); err != nil {
		t.Fatal(err)
	}
	p := silentPlan(t, 50)
	var held []int
	for {
		fd, err := unix.Dup(2)
		if err != nil {
			break
		}
		held = append(held, fd)
	}
	for _, fd := range held[:min(12, len(held))] {
		unix.Close(fd)
	}
	sum, err := load.Run(t.Context(), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	local := int64(0)
	for _, f := range sum.Failed {
		if f.Class == shakedown.ClassLocal && strings.Contains(f.Text, "descriptors") {
			local += f.N
		}
	}
	if local == 0 || sum.Limit.By != "descriptors" {
		t.Errorf("%d failures for want of descriptors, limited by %s: %+v", local, sum.Limit.By, sum.Failed)
	}
}

// TestPortsUsedUp has fewer local ports than connections, in a network namespace
// of the test's own.
func TestPortsUsedUp(t *testing.T) {
	if os.Getenv(childTest) == "" {
		if os.Getuid() != 0 {
			t.Skip("needs root, for a network namespace with few ports")
		}
		if _, err := exec.LookPath("unshare"); err != nil {
			t.Skip("needs unshare, of util-linux")
		}
		inChild(t, "unshare", "-n")
		return
	}
	if err := exec.Command("ip", "link", "set", "lo", "up").Run(); err != nil {
		t.Skipf("needs ip, of iproute2: %v", err)
	}
	p := silentPlan(t, 40)
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_local_port_range", []byte("40000 40019"), 0o644); err != nil {
		t.Skipf("cannot narrow the port range: %v", err)
	}
	_, err := load.Run(t.Context(), p, nil)
	if err == nil || !strings.Contains(err.Error(), "--source") {
		t.Errorf("40 connections over 20 ports: error %v", err)
	}
	// With two addresses the ports suffice by the numbers, but other connections
	// hold some of them.
	p.Sources = []netip.Addr{netip.MustParseAddr("127.0.0.2"), netip.MustParseAddr("127.0.0.3")}
	if sum, err := load.Run(t.Context(), p, nil); err != nil || sum.Client.PeakInFlight != 40 {
		t.Errorf("40 connections over 2 x 20 ports: %+v, error %v", sum, err)
	}
	p.Sources, p.Connections = nil, 20
	fill := silentPlan(t, 10)
	fill.Targets = p.Targets
	fill.Duration, fill.Timeout = 5*time.Second, 5*time.Second
	done := make(chan struct{})
	go func() { defer close(done); load.Run(t.Context(), fill, nil) }()
	time.Sleep(200 * time.Millisecond)
	sum, err := load.Run(t.Context(), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	if sum.Limit.By != "ports" {
		t.Errorf("limited by %s: %+v", sum.Limit.By, sum.Failed)
	}
	<-done
}
