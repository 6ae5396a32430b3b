package link

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"shakedown/internal/link/linktest"
)

// open makes a link to servers that lasts as long as the test.
func open(t *testing.T, text string, servers ...netip.AddrPort) *Link {
	t.Helper()
	c, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	l, err := Open(c, servers)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// inside runs f within the link.
func inside(t *testing.T, l *Link, f func() error) {
	t.Helper()
	done := make(chan error, 1)
	if err := l.Go(func() { done <- f() }); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// serve answers each connection, after one byte of it, with as many bytes as
// that byte says hundreds.
func serve(t *testing.T, address string) netip.AddrPort {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				var ask [1]byte
				if _, err := io.ReadFull(conn, ask[:]); err != nil {
					return
				}
				conn.Write(make([]byte, 100*int(ask[0])))
				io.Copy(io.Discard, conn) // until the client is done
			}()
		}
	}()
	return netip.MustParseAddrPort(listener.Addr().String())
}

// fetch asks for n hundred bytes and returns how long the connection and the
// answer took.
func fetch(server netip.AddrPort, n byte) (connect, answer time.Duration, err error) {
	begin := time.Now()
	conn, err := net.DialTimeout("tcp", server.String(), 10*time.Second)
	if err != nil {
		return 0, 0, err
	}
	defer conn.Close()
	connect = time.Since(begin)
	begin = time.Now()
	if _, err := conn.Write([]byte{n}); err != nil {
		return 0, 0, err
	}
	conn.SetReadDeadline(begin.Add(20 * time.Second))
	_, err = io.ReadFull(conn, make([]byte, 100*int(n)))
	return connect, time.Since(begin), err
}

// TestInitialWindow shows that a flight of more than ten segments costs a round
// trip more than a shorter one, to a server on 127.0.0.1. Delays are never short,
// and that all of several tries are late by half an RTT is left to happen.
func TestInitialWindow(t *testing.T) {
	if !linktest.Isolated(t) {
		return
	}
	const rtt = 200 * time.Millisecond
	server := serve(t, "127.0.0.1:0")
	l := open(t, "rtt="+rtt.String(), server)
	var connect, short, long []time.Duration
	inside(t, l, func() error {
		for range 3 {
			c, s, err := fetch(server, 130) // 13,000 bytes: nine segments of 1,448
			if err != nil {
				return err
			}
			_, l, err := fetch(server, 200) // 20,000 bytes: fourteen
			if err != nil {
				return err
			}
			connect, short, long = append(connect, c), append(short, s), append(long, l)
		}
		return nil
	})
	t.Logf("connect %v\nnine segments %v\nfourteen %v", connect, short, long)
	for _, c := range []struct {
		what  string
		times []time.Duration
		trips time.Duration
	}{{"connecting", connect, 1}, {"nine segments", short, 1}, {"fourteen segments", long, 2}} {
		least := slices.Min(c.times)
		if least < c.trips*rtt || least > c.trips*rtt+rtt/2 {
			t.Errorf("%s took %s at the least, want %d round trips of %s", c.what, least, c.trips, rtt)
		}
	}
	s, err := l.Stats()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", s)
	// 3 connections of each kind with at least SYN, ACK, one byte and an ACK one
	// way, and SYN, the byte's ACK and 9 or 14 segments the other.
	if s.ToServer.Packets < 6*4 || s.ToClient.Packets < 3*(1+9)+3*(1+14) || s.ToClient.Bytes < 3*(13_000+20_000) {
		t.Errorf("%+v: too little was counted", s)
	}
	if s.ToClient.Bytes > mtu*s.ToClient.Packets {
		t.Errorf("%d packets had %d bytes: longer than the MTU", s.ToClient.Packets, s.ToClient.Bytes)
	}
	if dropped := s.ToServer.Lost + s.ToServer.QueueFull + s.ToClient.Lost + s.ToClient.QueueFull; dropped != 0 {
		t.Errorf("%d packets were dropped, of which nothing was said", dropped)
	}
	if s.Late.N != s.ToServer.Packets+s.ToClient.Packets || s.CPU <= 0 {
		t.Errorf("%+v: lateness is of %d packets", s, s.Late.N)
	}
}

// TestRate holds a transfer against the time that its bytes take.
func TestRate(t *testing.T) {
	if !linktest.Isolated(t) {
		return
	}
	server := serve(t, "127.0.0.1:0")
	l := open(t, "rtt=0s,rate=500kbit", server)
	inside(t, l, func() error {
		_, took, err := fetch(server, 250)
		// 25,000 bytes in 18 packets with 52 bytes of headers each.
		if least := (25_000 + 18*52) * 8 * time.Second / 500_000; err == nil && took < least {
			err = fmt.Errorf("25000 bytes at 500 kbit/s took %s, want %s and more", took, least)
		}
		return err
	})
}

// TestLoss has real TCP repair what is lost.
func TestLoss(t *testing.T) {
	if !linktest.Isolated(t) {
		return
	}
	server := serve(t, "127.0.0.2:0")
	l := open(t, "rtt=2ms,loss=5%,seed=3", server)
	const threads, transfers = 4, 5
	errs := make(chan error)
	for range threads {
		if err := l.Go(func() {
			for range transfers {
				_, _, err := fetch(server, 250)
				errs <- err
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
	for range threads * transfers {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	s, err := l.Stats()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", s)
	lost, all := s.ToClient.Lost+s.ToServer.Lost, s.Late.N+s.ToClient.Lost+s.ToServer.Lost
	// Binomial: of the 600 packets at least that 20 transfers need, 30 are lost
	// on average, with a deviation of 5.4; more packets only narrow the share.
	if share := float64(lost) / float64(all); all < 500 || share < 0.01 || share > 0.12 {
		t.Errorf("%d of %d packets were lost, want 5%%", lost, all)
	}
}

// TestSeveral has several links and threads at once, and a server on all
// addresses.
func TestSeveral(t *testing.T) {
	if !linktest.Isolated(t) {
		return
	}
	server := serve(t, "0.0.0.0:0")
	server = netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), server.Port())
	const links, threads = 2, 3
	errs := make(chan error)
	for range links {
		l := open(t, "rtt=20ms", server)
		for range threads {
			if err := l.Go(func() {
				connect, _, err := fetch(server, 1)
				if err == nil && connect < 20*time.Millisecond {
					err = fmt.Errorf("connected in %s, past the link", connect)
				}
				errs <- err
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range links * threads {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	// Outside nothing has changed.
	if connect, _, err := fetch(server, 1); err != nil {
		t.Errorf("outside: %v after %s", err, connect)
	}
}

// TestHalfOpen leaves connections behind whose SYN is under way. The server's
// kernel is not to keep them, which it would for half a minute at least.
func TestHalfOpen(t *testing.T) {
	if !linktest.Isolated(t) {
		return
	}
	server := serve(t, "127.0.0.1:0")
	l, err := Open(Config{RTT: 200 * time.Millisecond}, []netip.AddrPort{server})
	if err != nil {
		t.Fatal(err)
	}
	inside(t, l, func() error {
		for range 5 {
			fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
			if err != nil {
				return err
			}
			err = unix.Connect(fd, &unix.SockaddrInet4{Addr: server.Addr().As4(), Port: int(server.Port())})
			if !errors.Is(err, unix.EINPROGRESS) {
				return fmt.Errorf("connecting: %v, want it to be under way", err)
			}
			if err := unix.Close(fd); err != nil {
				return err
			}
		}
		return nil
	})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if arrived := l.forwarder.toServer.Packets; arrived != 2*5 {
		t.Errorf("%d packets arrived, want 5 SYN and 5 RST", arrived)
	}
	sockets, err := os.ReadFile("/proc/self/net/tcp")
	if err != nil {
		t.Fatal(err)
	}
	const received = " 03 " // SYN_RECV, in the kernel's include/net/tcp_states.h
	if n := strings.Count(string(sockets), received); n != 0 {
		t.Errorf("the server keeps %d half-open connections:\n%s", n, sockets)
	}
}

// TestNothingStays looks for what a closed link leaves behind.
func TestNothingStays(t *testing.T) {
	if !linktest.Isolated(t) {
		return
	}
	server := serve(t, "127.0.0.1:0")
	c := Config{RTT: time.Millisecond}
	descriptors := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	once := func() {
		l, err := Open(c, []netip.AddrPort{server})
		if err != nil {
			t.Fatal(err)
		}
		inside(t, l, func() error { _, _, err := fetch(server, 1); return err })
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	once() // the runtime opens some for good
	before := descriptors()
	for range 3 {
		once()
	}
	interfaces, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range interfaces {
		if i.Name != "lo" {
			t.Errorf("device %s stays", i.Name)
		}
	}
	// The thread of a locked goroutine, and the test server's connection, end a
	// little later.
	deadline := time.Now().Add(10 * time.Second)
	for {
		foreign, err := threadsElsewhere()
		if err != nil {
			t.Fatal(err)
		}
		now := descriptors()
		if foreign == 0 && now <= before {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after three more links %d threads stay in their namespaces, and %d descriptors of %d", foreign, now-before, now)
		}
		time.Sleep(time.Millisecond)
	}
}

// threadsElsewhere counts this process's threads in other network namespaces
// than its main thread's.
func threadsElsewhere() (n int, err error) {
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		return 0, err
	}
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return 0, err
	}
	for _, task := range tasks {
		namespace, err := os.Readlink("/proc/self/task/" + task.Name() + "/ns/net")
		switch {
		case errors.Is(err, os.ErrNotExist): // it just ended
		case err != nil:
			return 0, err
		case namespace != own:
			n++
		}
	}
	return n, nil
}

// TestRefusals asks for links that there cannot be.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		config  Config
		servers []string
		want    string
	}{
		{Config{}, nil, "link: no server to lead to"},
		{Config{Loss: 100}, []string{"127.0.0.1:1"}, "link: loss: 100% is not from 0% to below 100%"},
		{Config{}, []string{"127.0.0.1:1", "[::1]:1"}, "have the server listen on 127.0.0.1"},
		{Config{}, []string{"[2001:db8::1]:1"}, "IPv6 is not supported over a link"},
		{Config{}, []string{"203.0.113.9:1"}, "link: 203.0.113.9 is not an address of this machine: a link leads to servers here"},
	} {
		var servers []netip.AddrPort
		for _, s := range c.servers {
			servers = append(servers, netip.MustParseAddrPort(s))
		}
		l, err := Open(c.config, servers)
		if err == nil {
			l.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Open(%v, %v): %v, want %q", c.config, c.servers, err, c.want)
		}
	}
}

// TestChooseAddresses fills the network for measurements.
func TestChooseAddresses(t *testing.T) {
	used := []netip.Prefix{netip.MustParsePrefix("198.18.0.0/16"), netip.MustParsePrefix("198.19.0.1/17")}
	for range 50 {
		near, far, err := chooseAddresses(used)
		if errors.Is(err, nil) && (!netip.MustParsePrefix("198.19.128.0/17").Contains(near) || far != near.Next() || near.As4()[3]%4 != 1) {
			t.Errorf("chose %s and %s", near, far)
		}
	}
	if near, _, err := chooseAddresses([]netip.Prefix{benchmarks}); err == nil {
		t.Errorf("chose %s where all is used", near)
	}
}
