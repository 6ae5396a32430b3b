package server

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// processAttributes puts the child in a group of its own and has the kernel end
// it when this program dies, even of SIGKILL.
func processAttributes(onDeath syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: onDeath}
}

// waitForGroup waits for the child and ends whatever children it left. They are
// ended while the child is dead but not yet reaped, when its process group
// cannot have become another's.
func waitForGroup(cmd *exec.Cmd) {
	pid := cmd.Process.Pid
	for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	syscall.Kill(-pid, syscall.SIGKILL) //nolint:errcheck // usually nobody is left
	cmd.Wait()                          //nolint:errcheck // told by process.state
}

// startOnCPUs starts cmd confined to the cores. A child inherits the cores of
// the thread that starts it, so the calling thread, which must be locked, takes
// them for that moment.
func startOnCPUs(cmd *exec.Cmd, cpus []int) error {
	if len(cpus) == 0 {
		return cmd.Start()
	}
	var before, during unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return err
	}
	for _, cpu := range cpus {
		during.Set(cpu)
	}
	if err := unix.SchedSetaffinity(0, &during); err != nil {
		return err
	}
	defer unix.SchedSetaffinity(0, &before) //nolint:errcheck // what was valid stays valid
	return cmd.Start()
}
