package host

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Listeners returns the processes that serve a local TCP address: those that
// hold the listening socket a connection to it would reach, the parents of
// these that run the same program (a master and its workers), and all
// descendants of both. The network namespace is that of the calling thread.
//
// A process that handed its socket down to a child still holds it; this
// process is left out for that reason, unless it is the only holder (ErrSelf).
// Without root, a socket of another user's process is found but its holder is
// not (fs.ErrPermission).
func Listeners(address netip.AddrPort) ([]Process, error) {
	address = netip.AddrPortFrom(address.Addr().Unmap().WithZone(""), address.Port())
	fail := func(err error) ([]Process, error) {
		return nil, fmt.Errorf("host: processes that listen on %v: %w", address, err)
	}
	if local, err := isLocal(address.Addr()); err != nil {
		return fail(err)
	} else if !local {
		return fail(ErrRemote)
	}
	sockets, err := listeningSockets()
	if err != nil {
		return fail(err)
	}
	inodes := reachable(sockets, address)
	if len(inodes) == 0 {
		return fail(ErrNoListener)
	}
	table, err := processes()
	if err != nil {
		return fail(err)
	}
	holders, err := socketHolders(table, inodes)
	if err != nil {
		return fail(err)
	}
	self := os.Getpid()
	others := slices.DeleteFunc(holders, func(pid int) bool { return pid == self })
	if len(others) == 0 {
		return fail(ErrSelf)
	}
	return relatives(table, others), nil
}

// isLocal reports whether this machine answers for an address.
func isLocal(address netip.Addr) (bool, error) {
	if address.IsLoopback() || address.IsUnspecified() {
		return true, nil
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return false, err
	}
	for _, a := range own {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil && prefix.Addr().WithZone("") == address {
			return true, nil
		}
	}
	return false, nil
}

// A socket is a TCP socket that listens.
type socket struct {
	address netip.AddrPort
	inode   string
}

// listeningSockets returns all listening sockets of this thread's network
// namespace.
func listeningSockets() ([]socket, error) {
	var sockets []socket
	for _, name := range []string{"tcp", "tcp6"} {
		data, err := os.ReadFile("/proc/thread-self/net/" + name)
		if errors.Is(err, fs.ErrNotExist) && name == "tcp6" {
			continue // a kernel without IPv6
		}
		if err != nil {
			return nil, err
		}
		parsed, err := parseListening(data)
		if err != nil {
			return nil, err
		}
		sockets = append(sockets, parsed...)
	}
	return sockets, nil
}

// reachable returns the inodes of the sockets that a connection to address can
// reach. Of those that fit, the kernel takes the ones with the very address
// before those with all addresses of its family, and these before IPv6 ones
// that take IPv4 too.
func reachable(sockets []socket, address netip.AddrPort) map[string]bool {
	choices := []netip.Addr{address.Addr(), netip.IPv4Unspecified(), netip.IPv6Unspecified()}
	if address.Addr().Is6() {
		choices = []netip.Addr{address.Addr(), netip.IPv6Unspecified()}
	}
	inodes := map[string]bool{}
	for _, choice := range choices {
		for _, s := range sockets {
			if s.address == netip.AddrPortFrom(choice, address.Port()) {
				inodes[s.inode] = true
			}
		}
		if len(inodes) > 0 {
			break
		}
	}
	return inodes
}

// parseListening reads /proc/net/tcp or tcp6 (proc_net_tcp(5)): after a heading
// one socket a line, where field 1 is the local address, 3 the state and 9 the
// inode.
func parseListening(data []byte) ([]socket, error) {
	const listening = "0A"
	var sockets []socket
	heading := true
	for line := range strings.Lines(string(data)) {
		if heading {
			heading = false
			continue
		}
		fields := strings.Fields(line)
		if len(fields) < 10 || !strings.HasSuffix(line, "\n") {
			return nil, fmt.Errorf("/proc/net/tcp holds the line %.160q", line)
		}
		if fields[3] != listening {
			continue
		}
		address, err := parseHexAddress(fields[1])
		if err != nil {
			return nil, err
		}
		sockets = append(sockets, socket{address, fields[9]})
	}
	return sockets, nil
}

// parseHexAddress reads ADDRESS:PORT in hex. The address is in words of 32
// bits, each in the byte order of this machine.
func parseHexAddress(s string) (netip.AddrPort, error) {
	fail := func() (netip.AddrPort, error) {
		return netip.AddrPort{}, fmt.Errorf("/proc/net/tcp holds the address %.80q", s)
	}
	host, port, ok := strings.Cut(s, ":")
	raw, err := hex.DecodeString(host)
	if !ok || err != nil || (len(raw) != 4 && len(raw) != 16) {
		return fail()
	}
	number, err := strconv.ParseUint(port, 16, 16)
	if err != nil || len(port) != 4 {
		return fail()
	}
	for word := range slices.Chunk(raw, 4) {
		binary.BigEndian.PutUint32(word, binary.NativeEndian.Uint32(word))
	}
	address, _ := netip.AddrFromSlice(raw)
	return netip.AddrPortFrom(address.Unmap(), uint16(number)), nil
}

// socketHolders returns the processes that have one of the sockets open. It
// fails if there is a socket whose holders it may not see.
func socketHolders(table map[int]stat, inodes map[string]bool) ([]int, error) {
	holders := map[int]bool{}
	unseen := maps.Clone(inodes)
	denied := false
	for pid := range table {
		directory := "/proc/" + strconv.Itoa(pid) + "/fd/"
		entries, err := os.ReadDir(directory)
		denied = denied || errors.Is(err, fs.ErrPermission)
		for _, entry := range entries {
			// Files close while we look, so errors here mean nothing.
			link, _ := os.Readlink(directory + entry.Name())
			inode, ok := strings.CutPrefix(link, "socket:[")
			inode = strings.TrimSuffix(inode, "]")
			if ok && inodes[inode] {
				holders[pid] = true
				delete(unseen, inode)
			}
		}
	}
	switch {
	case len(unseen) > 0 && denied:
		return nil, fmt.Errorf("the server runs as another user; run as that user or as root: %w", fs.ErrPermission)
	case len(holders) == 0:
		return nil, fmt.Errorf("%w that can be seen: there is a socket, but its process is in another PID namespace", ErrNoListener)
	}
	return slices.Collect(maps.Keys(holders)), nil
}

// relatives returns holders, same-program parents and all descendants, in order
// of PID. It never climbs to an ancestor of this process (a shell, a test) nor
// to another process of this program (a client that started its server).
func relatives(table map[int]stat, holders []int) []Process {
	ancestors := map[int]bool{}
	for pid := os.Getpid(); pid > 0 && !ancestors[pid]; pid = table[pid].parent {
		ancestors[pid] = true
	}
	own := program(os.Getpid())
	roots := slices.Clone(holders)
	for _, pid := range holders {
		image := program(pid)
		if image == "" || image == own {
			continue
		}
		for parent := table[pid].parent; !ancestors[parent] && program(parent) == image; parent = table[parent].parent {
			roots = append(roots, parent)
		}
	}
	members := family(table, roots)
	found := make([]Process, 0, len(members))
	for _, pid := range slices.Sorted(maps.Keys(members)) {
		found = append(found, Process{PID: pid, Name: members[pid].name})
	}
	return found
}

// program returns what a process runs, or "" if that cannot be seen. A program
// replaced on disk since it was started stays the same program.
func program(pid int) string {
	image, _ := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe")
	return strings.TrimSuffix(image, " (deleted)")
}
