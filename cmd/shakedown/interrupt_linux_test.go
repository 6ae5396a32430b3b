package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"shakedown/internal/server"
)

// TestInterrupt ends a demo in its midst, and looks for anything left behind.
func TestInterrupt(t *testing.T) {
	for _, driver := range []server.Driver{server.Embedded{}, server.Nginx{}} {
		for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
			t.Run(driver.Name()+"/"+signal.String(), func(t *testing.T) {
				if err := driver.Available(); err != nil {
					t.Skip(err)
				}
				interrupt(t, driver.Name(), signal)
			})
		}
	}
}

func interrupt(t *testing.T, driver string, signal syscall.Signal) {
	dir := t.TempDir()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(program)
	cmd.Args = []string{"shakedown", "demo", "--server", driver, "--rounds", "1000"}
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var ours []int
	t.Cleanup(func() {
		cmd.Process.Kill() //nolint:errcheck // it has ended unless the test failed
		for _, pid := range ours {
			syscall.Kill(pid, syscall.SIGKILL) //nolint:errcheck // as above
		}
	})
	// Both servers are up once there are two descendants; let the load begin.
	await(t, "its servers", func() bool { ours = descendants(t, cmd.Process.Pid); return len(ours) >= 2 })
	time.Sleep(1500 * time.Millisecond)
	ours = descendants(t, cmd.Process.Pid)
	if err := cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	cmd.Wait() //nolint:errcheck // the exit code is looked at below
	if signal != syscall.SIGKILL {
		if code := cmd.ProcessState.ExitCode(); code != exitFailed {
			t.Errorf("exit code %d, want %d\n%s", code, exitFailed, &stderr)
		}
		if !strings.Contains(stderr.String(), "interrupted after ") {
			t.Errorf("stderr does not say that it was interrupted: %q", &stderr)
		}
		if !strings.Contains(stdout.String(), "RSA-2048") {
			t.Errorf("there is no report: %q", &stdout)
		}
		left, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	}
	// A program that is killed cannot clean up files; its servers die with it.
	await(t, "the end of its servers", func() bool {
		for _, pid := range ours {
			if alive(pid) {
				return false
			}
		}
		return true
	})
}

// await waits until so.
func await(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !so(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// descendants returns the children of a process, theirs, and so on.
func descendants(t *testing.T, pid int) []int {
	t.Helper()
	parents := map[int]int{}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range stats {
		if child, parent, ok := parentOf(file); ok {
			parents[child] = parent
		}
	}
	var found []int
	for child := range parents {
		for p := parents[child]; p > 0; p = parents[p] {
			if p == pid {
				found = append(found, child)
				break
			}
		}
	}
	return found
}

// parentOf reads a process and its parent from its /proc/PID/stat.
func parentOf(file string) (pid, parent int, ok bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, 0, false // it has ended
	}
	// The name in parentheses may hold anything.
	end := bytes.LastIndexByte(text, ')')
	fields := strings.Fields(string(text[end+1:]))
	pid, err = strconv.Atoi(filepath.Base(filepath.Dir(file)))
	if err != nil || len(fields) < 2 {
		return 0, 0, false
	}
	parent, err = strconv.Atoi(fields[1])
	return pid, parent, err == nil
}

// alive reports whether a process runs; one that ended and is not yet reaped
// does not.
func alive(pid int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	return !strings.HasPrefix(rest, "Z")
}
