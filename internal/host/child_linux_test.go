package host

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The test binary run with this variable set is a child that obeys commands.
const childVariable = "SHAKEDOWN_HOST_TEST_CHILD"

// A child keeps its first thread to itself: that one never ends, even if a
// goroutine locked to it does.
func init() {
	if os.Getenv(childVariable) != "" {
		runtime.LockOSThread()
	}
}

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		if err := obey(os.Stdin, os.Stdout); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// A child is a process that carries out one command a line and answers each
// with a line.
type child struct {
	t       *testing.T
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	answers *bufio.Scanner
}

// startChild starts this test binary, or the copy of it given, as a child. It
// is killed when the test ends.
func startChild(t *testing.T, change ...func(*exec.Cmd)) *child {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary)
	cmd.Env = append(os.Environ(), childVariable+"=1")
	cmd.Stderr = os.Stderr
	for _, f := range change {
		f(cmd)
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{t, cmd, stdin, bufio.NewScanner(stdout)}
	t.Cleanup(c.end)
	c.do("hello")
	return c
}

// end closes the child's input, upon which it and its children end, and kills
// it if it does not.
func (c *child) end() {
	c.stdin.Close()
	timer := time.AfterFunc(10*time.Second, func() { _ = c.cmd.Process.Kill() })
	defer timer.Stop()
	_ = c.cmd.Wait() // a second Wait, or a killed child, is no news
}

// do gives a command and returns the answer without its "ok".
func (c *child) do(command string) string {
	c.t.Helper()
	if _, err := fmt.Fprintln(c.stdin, command); err != nil {
		c.t.Fatalf("child: %s: %v", command, err)
	}
	if !c.answers.Scan() {
		c.t.Fatalf("child ended at %q: %v", command, c.answers.Err())
	}
	answer, ok := strings.CutPrefix(c.answers.Text(), "ok")
	if !ok {
		c.t.Fatalf("child: %s: %s", command, c.answers.Text())
	}
	return strings.TrimSpace(answer)
}

func (c *child) pid() int { return c.cmd.Process.Pid }

func (c *child) number(command string) int {
	c.t.Helper()
	n, err := strconv.Atoi(c.do(command))
	if err != nil {
		c.t.Fatal(err)
	}
	return n
}

// obey is the child's side. Children of its own are children too; "sub COMMAND"
// passes a command on to the last of them.
func obey(in io.Reader, out io.Writer) error {
	signal.Ignore(syscall.SIGPIPE)
	type sub struct {
		cmd *exec.Cmd
		in  io.WriteCloser
		out *bufio.Scanner
	}
	var subs []sub
	last := func() sub { return subs[len(subs)-1] }
	endLast := func() {
		last().in.Close()
		_ = last().cmd.Wait() // it may have been killed
		subs = subs[:len(subs)-1]
	}
	defer func() {
		for len(subs) > 0 {
			endLast()
		}
	}()
	var listener *os.File
	var threads sync.WaitGroup
	keep := make(chan struct{})
	commands := bufio.NewScanner(in)
	for commands.Scan() {
		verb, argument, _ := strings.Cut(commands.Text(), " ")
		answer := ""
		switch verb {
		case "hello":
		case "burn": // burn CPU for a time; answers with what getrusage says it took
			d, err := time.ParseDuration(argument)
			if err != nil {
				return err
			}
			before, _ := Self()
			burn(d)
			after, _ := Self()
			answer = strconv.FormatInt(int64(after.Since(before).CPU()), 10)
		case "thread": // burn CPU in a thread that ends then
			d, err := time.ParseDuration(argument)
			if err != nil {
				return err
			}
			before, _ := Self()
			threads.Go(func() {
				runtime.LockOSThread() // and never unlock: the thread ends with the goroutine
				burn(d)
			})
			threads.Wait()
			after, _ := Self()
			answer = strconv.FormatInt(int64(after.Since(before).CPU()), 10)
		case "threads": // keep some more threads, each after 100 waits
			n, err := strconv.Atoi(argument)
			if err != nil {
				return err
			}
			ready := make(chan struct{})
			for range n {
				threads.Go(func() {
					runtime.LockOSThread()
					for range 100 {
						_ = syscall.Nanosleep(&syscall.Timespec{Nsec: 1000}, nil)
					}
					ready <- struct{}{}
					<-keep
				})
			}
			for range n {
				<-ready
			}
		case "release": // end those threads
			close(keep)
			threads.Wait()
			keep = make(chan struct{})
		case "listen":
			l, err := net.Listen("tcp", argument)
			if err != nil {
				return err
			}
			listener, err = l.(*net.TCPListener).File()
			if err != nil {
				return err
			}
			answer = l.Addr().String()
			l.Close() // the file keeps the socket
		case "close":
			listener.Close()
		case "listeners":
			found, err := findListeners(argument)
			answer = fmt.Sprint(found, err)
		case "start": // start a child, of a given program, with the socket if there is one
			cmd := exec.Command(cmp.Or(argument, os.Args[0]))
			if listener != nil {
				cmd.ExtraFiles = []*os.File{listener}
			}
			input, err := cmd.StdinPipe()
			if err != nil {
				return err
			}
			output, err := cmd.StdoutPipe()
			if err != nil {
				return err
			}
			if err := cmd.Start(); err != nil {
				return err
			}
			subs = append(subs, sub{cmd, input, bufio.NewScanner(output)})
			answer = strconv.Itoa(cmd.Process.Pid)
		case "sub":
			fmt.Fprintln(last().in, argument)
			if !last().out.Scan() {
				return fmt.Errorf("sub ended: %w", last().out.Err())
			}
			answer = strings.TrimPrefix(last().out.Text(), "ok")
		case "end": // end and wait for the last child
			endLast()
		case "kill": // end it and do not wait: a zombie
			_ = last().cmd.Process.Kill()
		default:
			return fmt.Errorf("unknown command %q", verb)
		}
		fmt.Fprintln(out, "ok", answer)
	}
	return nil
}

// burn keeps the calling goroutine's thread on a CPU until it has used d of it.
func burn(d time.Duration) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := Thread()
	for err == nil {
		for range 100_000 { // much work for each look at the clock
		}
		var now SelfUsage
		if now, err = Thread(); now.Since(before).CPU() >= d {
			return
		}
	}
}

// copyBinary returns a copy of the test binary, which is another program to
// Listeners.
func copyBinary(t *testing.T) string {
	t.Helper()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(own)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "server")
	if err := os.WriteFile(path, data, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}
