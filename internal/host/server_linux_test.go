package host

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
)

// These tests see the master and worker processes that real servers have.

const nginxConfig = `daemon off;
worker_processes 2;
pid %[1]s/nginx.pid;
error_log %[1]s/error.log;
events { worker_connections 64; }
http {
	access_log off;
	client_body_temp_path %[1]s/body;
	proxy_temp_path %[1]s/proxy;
	fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi;
	scgi_temp_path %[1]s/scgi;
	server { listen %[2]s; return 200 "ok"; }
}
`

const haproxyConfig = `global
	nbthread 2
defaults
	mode http
	timeout client 10s
	timeout server 10s
	timeout connect 10s
frontend test
	bind %[2]s
	http-request return status 200
`

// startServer starts a server from a configuration with a folder and an address
// in it, and returns its process and address. It is ended with the test.
func startServer(t *testing.T, name, config string, arguments ...string) (*os.Process, string) {
	t.Helper()
	path, err := look(name)
	if err != nil {
		t.Skipf("needs %s: install the package %[1]s", name)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	directory := t.TempDir()
	file := filepath.Join(directory, name+".conf")
	if err := os.WriteFile(file, fmt.Appendf(nil, config, directory, address), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, append(arguments, file)...)
	output, err := os.Create(filepath.Join(directory, "output"))
	if err != nil {
		t.Fatal(err)
	}
	defer output.Close()
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		timer := time.AfterFunc(10*time.Second, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
		defer timer.Stop()
		_ = cmd.Wait() // ended by a signal, which is as it should be
		if t.Failed() {
			said, _ := os.ReadFile(output.Name())
			t.Logf("%s said: %s", name, said)
		}
	})
	eventually(t, name+" answers", func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	return cmd.Process, address
}

// load makes n requests, each on a new connection.
func load(t *testing.T, address string, n int) {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: 10 * time.Second}
	for range n {
		response, err := client.Get("http://" + address + "/")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
	}
}

func TestWatchNginxThroughAReload(t *testing.T) {
	master, address := startServer(t, "nginx", nginxConfig, "-c")
	eventually(t, "both workers run", func() bool { return len(listeningPIDs(t, address)) == 3 })
	found, err := findListeners(address)
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, p := range found {
		if p.Name != "nginx" {
			t.Errorf("found %v; want nginx alone", p)
		}
		pids = append(pids, p.PID)
	}
	if !slices.Contains(pids, master.Pid) {
		t.Errorf("found %v without the master %d", pids, master.Pid)
	}

	// Begin from the master alone: its workers are its descendants.
	w := watch(t, master.Pid)
	load(t, address, 300)
	u1 := sample(t, w)
	if u1.Processes != 3 || u1.CPU <= 0 || u1.VoluntarySwitches <= 0 || u1.RSS <= 0 {
		t.Errorf("after 300 requests: %+v; want 3 processes that worked", u1)
	}
	if m, err := w.Memory(); err != nil || m.PSS <= 0 || m.PSS >= m.RSS {
		t.Errorf("memory %+v, %v; want a PSS less than the RSS of processes that share", m, err)
	}

	if err := master.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	var u2 Usage
	eventually(t, "two new workers replaced the old", func() bool {
		u2 = sample(t, w)
		now := w.PIDs()
		old := 0
		for _, pid := range now {
			if slices.Contains(pids, pid) {
				old++
			}
		}
		return len(now) == 3 && old == 1
	})
	if u2.CPU < u1.CPU || u2.VoluntarySwitches < u1.VoluntarySwitches {
		t.Errorf("the old workers took their figures with them: %+v, then %+v", u1, u2)
	}
	load(t, address, 300)
	if u3 := sample(t, w); u3.CPU <= u2.CPU || u3.Processes != 3 {
		t.Errorf("after 300 more requests: %+v; want more than %v of CPU by 3 processes", u3, u2.CPU)
	}
}

func TestListenersOfHAProxyMaster(t *testing.T) {
	master, address := startServer(t, "haproxy", haproxyConfig, "-W", "-db", "-f")
	pids := listeningPIDs(t, address)
	if len(pids) != 2 || !slices.Contains(pids, master.Pid) {
		t.Errorf("found %v; want the master %d and its worker", pids, master.Pid)
	}
	w := watch(t, pids...)
	load(t, address, 100)
	if u := sample(t, w); u.Processes != 2 || u.CPU <= 0 || u.Threads < 3 {
		t.Errorf("after 100 requests: %+v; want a master, a worker of 2 threads, and work", u)
	}
}
