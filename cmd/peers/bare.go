//go:build linux

package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"shakedown/internal/server"
)

// bare is what remains of a handshake without TLS: a client that connects, sends
// and receives as many bytes as a real handshake does in each flight, and
// resets. It is the least that any client on this machine can cost. Its server
// keeps each connection waiting for as long as nginx computes, one after the
// other, so that the client is woken as often as by nginx.
func bare(o *options, _ *server.Server, u setup, seconds string) []string {
	return []string{o.self, "bare", "-role", "client", "-address", o.bareAddress, "-flights", o.flights[u], "-spin", o.spin[u].String(), "-connections", strconv.Itoa(o.connections), "-seconds", seconds}
}

// bareMain is the program behind the tool, in its two roles.
func bareMain(args []string) int {
	f := flag.NewFlagSet("bare", flag.ExitOnError)
	role := f.String("role", "client", "client or server")
	address := f.String("address", "127.0.0.1:0", "to connect to or listen on")
	text := f.String("flights", "", "bytes of each flight, the client's first, with colons between")
	spin := f.Duration("spin", 0, "what the server computes for each connection")
	connections := f.Int("connections", 32, "at once")
	seconds := f.Float64("seconds", 1, "time")
	f.Parse(args)
	var err error
	if *role == "server" {
		err = bareServer(*address)
	} else {
		var flights []int
		if flights, err = parseFlights(*text); err == nil {
			err = bareClient(*address, flights, *spin, *connections, time.Duration(*seconds*float64(time.Second)))
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers bare:", err)
		return 2
	}
	return 0
}

func parseFlights(text string) (sizes []int, err error) {
	for part := range strings.SplitSeq(text, ":") {
		n, err := strconv.Atoi(part)
		if err != nil || n < bareHead {
			return nil, fmt.Errorf("flight of %q bytes", part)
		}
		sizes = append(sizes, n)
	}
	return sizes, nil
}

// bareHead is how many bytes of the first flight tell the server what to do: the
// sizes of four flights in bytes and the time to compute in microseconds, 16
// bits each, so that one server serves every setup.
const bareHead = 10

// computing is held by the connection that the server computes for: it has one
// core.
var computing sync.Mutex

func bareServer(address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go serveBare(c)
	}
}

func serveBare(c net.Conn) {
	defer c.Close()
	var b [1 << 16]byte
	if _, err := io.ReadFull(c, b[:bareHead]); err != nil {
		return
	}
	var sizes [4]int
	for i := range sizes {
		sizes[i] = int(binary.BigEndian.Uint16(b[2*i:]))
	}
	sizes[0] -= bareHead
	spin := time.Duration(binary.BigEndian.Uint16(b[8:])) * time.Microsecond
	for i, n := range sizes {
		if n <= 0 {
			continue
		}
		var err error
		if i%2 == 0 {
			_, err = io.ReadFull(c, b[:n])
		} else {
			if i == 1 {
				computing.Lock()
				for begin := time.Now(); time.Since(begin) < spin; {
				}
				computing.Unlock()
			}
			_, err = c.Write(b[:n])
		}
		if err != nil {
			return
		}
	}
	io.Copy(io.Discard, c) // until the client ends it
}

// bareConn is a connection of the client.
type bareConn struct {
	fd     int
	flight int
	left   int
}

type bareLoop struct {
	epoll   int
	remote  unix.Sockaddr
	flights []int
	out     []byte
	in      []byte
	conns   []bareConn
	done    int
	until   time.Time
	open    int
}

func bareClient(address string, flights []int, spin time.Duration, connections int, d time.Duration) error {
	runtime.LockOSThread()
	addr, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	l := &bareLoop{
		remote: &unix.SockaddrInet4{Port: int(addr.Port()), Addr: addr.Addr().As4()}, flights: flights,
		out: make([]byte, 1<<16), in: make([]byte, 1<<16), conns: make([]bareConn, connections), until: time.Now().Add(d),
	}
	for i, n := range flights {
		binary.BigEndian.PutUint16(l.out[2*i:], uint16(n))
	}
	binary.BigEndian.PutUint16(l.out[8:], uint16(spin.Microseconds()))
	if l.epoll, err = unix.EpollCreate1(0); err != nil {
		return err
	}
	for i := range l.conns {
		if err := l.start(i); err != nil {
			return err
		}
	}
	events := make([]unix.EpollEvent, 512)
	for l.open > 0 {
		n, err := unix.EpollWait(l.epoll, events, 1000)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
		if n <= 0 && time.Now().After(l.until) {
			break
		}
		for _, e := range events[:max(n, 0)] {
			if err := l.ready(int(e.Fd)); err != nil {
				return err
			}
		}
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]int{"connections": l.done})
}

func (l *bareLoop) start(i int) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	l.conns[i] = bareConn{fd: fd, flight: 1, left: l.flights[1]}
	l.open++
	if err := unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}); err != nil {
		return err
	}
	if err := unix.Connect(fd, l.remote); err != nil && err != unix.EINPROGRESS {
		return err
	}
	if _, err := unix.Write(fd, l.out[:l.flights[0]]); err != nil {
		return err
	}
	event := unix.EpollEvent{Events: unix.EPOLLIN | 1<<31, Fd: int32(i)}
	return unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, fd, &event)
}

// ready takes what came, and goes on to the next flight when one is whole.
func (l *bareLoop) ready(i int) error {
	c := &l.conns[i]
	n, err := unix.Read(c.fd, l.in)
	if err == unix.EAGAIN {
		return nil
	}
	if err != nil || n == 0 {
		return fmt.Errorf("the server ended the connection: %d, %v", n, err)
	}
	if c.left -= n; c.left > 0 {
		return nil
	}
	c.flight++
	if c.flight < len(l.flights) {
		if _, err := unix.Write(c.fd, l.out[:l.flights[c.flight]]); err != nil {
			return err
		}
		c.flight++
	}
	if c.flight < len(l.flights) {
		c.left = l.flights[c.flight]
		return nil
	}
	unix.Close(c.fd)
	l.open--
	l.done++
	if time.Now().After(l.until) {
		return nil
	}
	return l.start(i)
}
