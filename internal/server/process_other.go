//go:build unix && !linux

package server

import (
	"errors"
	"os/exec"
	"syscall"
)

// processAttributes puts the child in a group of its own. No other kernel ends
// a child with its parent.
func processAttributes(syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

// waitForGroup waits for the child and ends whatever children it left.
func waitForGroup(cmd *exec.Cmd) {
	cmd.Wait()                                      //nolint:errcheck // told by process.state
	syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) //nolint:errcheck // usually nobody is left
}

// startOnCPUs starts cmd; only Linux can confine it.
func startOnCPUs(cmd *exec.Cmd, cpus []int) error {
	if len(cpus) > 0 {
		return errors.New("servers can be confined to cores on Linux only")
	}
	return cmd.Start()
}
