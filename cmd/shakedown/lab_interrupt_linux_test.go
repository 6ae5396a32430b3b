package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"shakedown/internal/lab"
	"shakedown/internal/server"
)

// TestLabInterrupt ends an experiment after its first round: the round is kept
// and reported, and no server is left.
func TestLabInterrupt(t *testing.T) {
	for _, driver := range []server.Driver{server.Embedded{}, server.Nginx{}} {
		for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
			t.Run(driver.Name()+"/"+signal.String(), func(t *testing.T) {
				if err := driver.Available(); err != nil {
					t.Skip(err)
				}
				labInterrupt(t, driver.Name(), signal)
			})
		}
	}
}

func labInterrupt(t *testing.T, driver string, signal syscall.Signal) {
	dir := filepath.Join(t.TempDir(), "run")
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// It starts itself again to serve, and knows itself by its file's name.
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	program = filepath.Join(t.TempDir(), "shakedown")
	if err := os.WriteFile(program, text, 0o700); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(program)
	cmd.Args = []string{"shakedown", "lab", "run", "same", "--server", driver, "--rounds", "1000", "--turn", "400ms", "--quick", "--dir", dir}
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
	await(t, "the first round and the next server", func() bool {
		ours = descendants(t, cmd.Process.Pid)
		_, err := os.Stat(filepath.Join(dir, "rounds", "01"))
		return err == nil && len(ours) > 0 || cmd.ProcessState != nil
	})
	if err := cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	cmd.Wait() //nolint:errcheck // the exit code is looked at below
	if signal != syscall.SIGKILL {
		if code := cmd.ProcessState.ExitCode(); code != exitFailed {
			t.Errorf("exit code %d, want %d\n%s", code, exitFailed, &stderr)
		}
		if want := "hint: shakedown lab run --resume " + dir; !strings.Contains(stderr.String(), "it was interrupted") || !strings.Contains(stderr.String(), want) {
			t.Errorf("stderr is %q, want a line %q", &stderr, want)
		}
		if !strings.Contains(stdout.String(), "same: Twice the same") {
			t.Errorf("there is no report: %q", &stdout)
		}
	}
	await(t, "the end of its servers", func() bool {
		for _, pid := range ours {
			if alive(pid) {
				return false
			}
		}
		return true
	})
	record, err := lab.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(record.Rounds) < 1 {
		t.Error("the finished round is lost")
	}
}
