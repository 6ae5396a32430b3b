package linktest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// separate has cmd run in a network namespace of its own, or says why it cannot.
func separate(cmd *exec.Cmd) string {
	if os.Geteuid() != 0 {
		return "that takes root: run the tests as root"
	}
	probe := exec.Command("/proc/self/exe", "-test.run=^$")
	probe.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if err := probe.Run(); err != nil {
		return fmt.Sprintf("the system makes none (%v): run the tests with CAP_SYS_ADMIN", err)
	}
	tun, err := os.OpenFile("/dev/net/tun", os.O_RDWR, 0)
	if err != nil {
		return fmt.Sprintf("there are no TUN devices (%v): load the kernel's module tun", err)
	}
	tun.Close()
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	return ""
}

// loopbackUp switches the loopback device on, which it is not in a new namespace.
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_LOOPBACK)
	return errors.Join(unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request), unix.Close(fd))
}
