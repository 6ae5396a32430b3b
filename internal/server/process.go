package server

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// program is an external server to be run.
type program struct {
	path   string
	args   []string
	dir    string // working directory
	output string // file for what it writes to stdout and stderr
	cpus   []int  // cores it may run on; empty: all
	env    []string
	stdin  []byte // first of its standard input, which then stays open

	// orphan is the signal sent when this program dies: one on which the server
	// ends its own children.
	orphan syscall.Signal
}

// process is a program that runs. It leads a process group of its own, so that
// a ^C at the terminal does not reach it and its children can be ended with it.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser // kept open: some servers end with their standard input
	exited chan struct{}
}

// startProcess starts p. Exactly one goroutine belongs to the process; it ends
// with it.
func startProcess(p program) (*process, error) {
	output, err := os.OpenFile(p.output, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer output.Close()
	cmd := exec.Command(p.path, p.args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.dir, output, output
	// Our own ticket keys and options only: nothing from the user's environment
	// may change what the server is.
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.dir, "LANG=C", "LC_ALL=C", "TZ=UTC"}
	cmd.Env = append(cmd.Env, p.env...)
	cmd.SysProcAttr = processAttributes(p.orphan)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	proc := &process{cmd: cmd, stdin: stdin, exited: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		// The parent-death signal comes when the *thread* that started the child
		// ends (prctl(2)), so this thread stays until the child is gone. It also
		// lends the child its cores.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := startOnCPUs(cmd, p.cpus)
		started <- err
		if err != nil {
			return
		}
		waitForGroup(cmd)
		close(proc.exited)
	}()
	if err := <-started; err != nil {
		stdin.Close()
		return nil, err
	}
	if len(p.stdin) > 0 {
		stdin.Write(p.stdin) //nolint:errcheck // it fails if the program ended at once, which has a better reason
	}
	return proc, nil
}

// pid is the process's number.
func (p *process) pid() int { return p.cmd.Process.Pid }

// state says how the process ended.
func (p *process) state() string {
	<-p.exited
	return p.cmd.ProcessState.String()
}

// signal sends a signal to the process alone, not to its children.
func (p *process) signal(s os.Signal) error { return p.cmd.Process.Signal(s) }

// kill ends the process and its children at once, and waits for that.
func (p *process) kill() {
	p.cmd.Process.Kill() //nolint:errcheck // it may have ended by itself
	<-p.exited
	p.stdin.Close()
}

// politeness is how long a server has to end by itself.
const politeness = 5 * time.Second

// stop ends the process, politely if it answers one of the signals in time: a
// second for each, politeness for the last. The error says that it was gone
// already or had to be killed.
func (p *process) stop(polite ...syscall.Signal) error {
	select {
	case <-p.exited:
		p.stdin.Close()
		return errors.New("the server had ended by itself: " + p.state())
	default:
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for i, s := range polite {
		p.signal(s) //nolint:errcheck // it may end this very moment
		timer.Reset(time.Second)
		if i == len(polite)-1 {
			timer.Reset(politeness)
		}
		select {
		case <-p.exited:
			p.stdin.Close()
			return nil
		case <-timer.C:
		}
	}
	p.kill()
	return errors.New("the server did not end when asked and was killed")
}
