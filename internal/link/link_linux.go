package link

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// Link is a network between a namespace of its own and the servers of this
// machine. Its methods may be called from several goroutines.
type Link struct {
	namespace    int // descriptor; -1: none
	inner, outer *device
	forwarder    *forwarder
}

// Open makes a link to servers on this machine, which it checks. It needs root
// and /dev/net/tun. The caller closes it.
func Open(c Config, servers []netip.AddrPort) (*Link, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	if len(servers) == 0 {
		return nil, errors.New("link: no server to lead to")
	}
	used, err := interfacePrefixes()
	if err != nil {
		return nil, fmt.Errorf("link: addresses of this machine: %w", err)
	}
	for _, s := range servers {
		if err := reachable(s.Addr().Unmap(), used); err != nil {
			return nil, err
		}
	}
	near, far, err := chooseAddresses(used)
	if err != nil {
		return nil, err
	}
	l := &Link{namespace: -1}
	if l.outer, err = openTUN(near, far); err != nil {
		return nil, err
	}
	run(func() {
		if l.namespace, err = newNamespace(); err != nil {
			return
		}
		if l.inner, err = openTUN(far, netip.Addr{}); err != nil {
			return
		}
		err = widenPorts()
	})
	if err == nil {
		l.forwarder, err = newForwarder(c, l.inner, l.outer, l.Go)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Go runs f in a goroutine of its own inside the namespace: sockets that f makes,
// itself and not through other goroutines, are there. It returns once f begins,
// or with the reason why it cannot.
func (l *Link) Go(f func()) error {
	began := make(chan error)
	onThread(func() {
		err := unix.Setns(l.namespace, unix.CLONE_NEWNET)
		if err != nil {
			err = fmt.Errorf("link: entering the namespace: %w", err)
		}
		began <- err
		if err == nil {
			f()
		}
	})
	return <-began
}

// Stats returns what has been carried so far, until Close.
func (l *Link) Stats() (Stats, error) { return l.forwarder.stats() }

// Close takes the link down, but lets what is under way to the servers arrive and
// be answered, which takes up to two RTTs. Connections that are open then hang.
func (l *Link) Close() error {
	var errs []error
	if l.forwarder != nil {
		errs = append(errs, l.forwarder.stop())
	}
	for _, d := range []*device{l.inner, l.outer} {
		if d != nil {
			errs = append(errs, d.close())
		}
	}
	if l.namespace >= 0 {
		errs = append(errs, unix.Close(l.namespace))
	}
	return errors.Join(errs...)
}

// interfacePrefixes returns the addresses of this machine with their networks.
func interfacePrefixes() ([]netip.Prefix, error) {
	list, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	var prefixes []netip.Prefix
	for _, a := range list {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			prefixes = append(prefixes, p)
		}
	}
	return prefixes, nil
}

// reachable says why a link cannot lead to a server.
func reachable(server netip.Addr, local []netip.Prefix) error {
	switch {
	case server == netip.IPv6Loopback():
		return fmt.Errorf("link: %s: the kernel takes packets to the IPv6 loopback address from the loopback device alone: "+
			"have the server listen on 127.0.0.1", server)
	case server.Is6():
		return fmt.Errorf("link: %s: IPv6 is not supported over a link: use an IPv4 address of the server", server)
	case server.IsLoopback():
		return nil
	}
	if !slices.ContainsFunc(local, func(p netip.Prefix) bool { return p.Addr() == server }) {
		return fmt.Errorf("link: %s is not an address of this machine: a link leads to servers here", server)
	}
	return nil
}

// benchmarks is the network for measurements (RFC 2544, appendix C.2.2).
var benchmarks = netip.MustParsePrefix("198.18.0.0/15")

// chooseAddresses picks two neighbours at random that no network of this machine
// contains.
func chooseAddresses(used []netip.Prefix) (near, far netip.Addr, err error) {
	base := benchmarks.Addr().As4()
	for range 100 {
		n := rand.IntN(1 << 15) // the /30 networks in a /15
		near = netip.AddrFrom4([4]byte{base[0], base[1] + byte(n>>14), byte(n >> 6), byte(n<<2) + 1})
		far = near.Next()
		network := netip.PrefixFrom(near, 30)
		if !slices.ContainsFunc(used, func(p netip.Prefix) bool { return p.Overlaps(network) }) {
			return near, far, nil
		}
	}
	return near, far, fmt.Errorf("link: this machine uses %s already, of which a link needs four addresses", benchmarks)
}

// newNamespace makes a network namespace, moves the calling thread there and
// returns its descriptor.
func newNamespace() (int, error) {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return -1, privileged("making a network namespace", err)
	}
	fd, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("link: the new network namespace: %w", err)
	}
	return fd, nil
}

// privileged says what an action needs that the kernel refused.
func privileged(action string, err error) error {
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		return fmt.Errorf("link: %s: %w: run it as root (CAP_SYS_ADMIN and CAP_NET_ADMIN)", action, err)
	}
	return fmt.Errorf("link: %s: %w", action, err)
}

// widenPorts gives the calling thread's namespace, which no one else uses, nearly
// all ports for connections.
func widenPorts() error { return setting("net/ipv4/ip_local_port_range", "1024 65535") }

// setting sets a kernel parameter of the calling thread's network namespace.
func setting(name, value string) error {
	if err := os.WriteFile("/proc/sys/"+name, []byte(value), 0); err != nil {
		return privileged("kernel setting", err)
	}
	return nil
}
