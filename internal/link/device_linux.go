package link

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// queueLength is how many packets the kernel keeps for the forwarder before it
// drops them.
const queueLength = 10_000

// device is a TUN device. It is gone when its descriptor is closed.
type device struct {
	fd   int
	name string
}

// openTUN makes a TUN device in the calling thread's network namespace, with an
// address and, if peer is valid, a route to it; otherwise all routes lead over it.
// It offers no offloads, so the kernel hands out packets of the MTU at the most,
// with their checksums.
func openTUN(address, peer netip.Addr) (*device, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("link: this machine has no /dev/net/tun: load the kernel's module tun, or give the container that device")
	} else if err != nil {
		return nil, privileged("/dev/net/tun", err)
	}
	d := &device{fd: fd}
	if err := d.configure(address, peer); err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

func (d *device) close() error { return unix.Close(d.fd) }

// drops returns how many packets the kernel dropped because the device's queue
// was full, from a file net/dev of its namespace in /proc.
func (d *device) drops(file string) (int64, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return 0, fmt.Errorf("link: counts of %s: %w", d.name, err)
	}
	for line := range strings.Lines(string(data)) {
		name, counts, _ := strings.Cut(line, ":")
		if strings.TrimSpace(name) != d.name {
			continue
		}
		// Eight counts of packets received come before those of packets sent,
		// of which the fourth is drops.
		if fields := strings.Fields(counts); len(fields) >= 12 {
			return strconv.ParseInt(fields[11], 10, 64)
		}
	}
	return 0, fmt.Errorf("link: %s has no counts of %s", file, d.name)
}

func (d *device) configure(address, peer netip.Addr) error {
	request, err := unix.NewIfreq("shakedown%d") // the kernel puts a number there
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(d.fd, unix.TUNSETIFF, request); err != nil {
		return privileged("making a TUN device", err)
	}
	d.name = request.Name()
	// The link speaks IPv4 alone; without this the kernel looks for IPv6 routers.
	// It has no such setting if it knows no IPv6.
	if err := setting("net/ipv6/conf/"+d.name+"/disable_ipv6", "1"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := setting("net/ipv4/conf/"+d.name+"/route_localnet", "1"); err != nil {
		return err
	}
	control, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("link: %w", err)
	}
	defer unix.Close(control)
	change := func(what string, code uint, set func(*unix.Ifreq)) {
		if err != nil {
			return
		}
		if request, err = unix.NewIfreq(d.name); err != nil {
			return
		}
		set(request)
		if e := unix.IoctlIfreq(control, code, request); e != nil {
			err = privileged(what+" of "+d.name, e)
		}
	}
	change("address", unix.SIOCSIFADDR, func(r *unix.Ifreq) { r.SetInet4Addr(address.AsSlice()) })
	if peer.IsValid() {
		change("peer", unix.SIOCSIFDSTADDR, func(r *unix.Ifreq) { r.SetInet4Addr(peer.AsSlice()) })
	}
	change("MTU", unix.SIOCSIFMTU, func(r *unix.Ifreq) { r.SetUint32(mtu) })
	change("queue length", unix.SIOCSIFTXQLEN, func(r *unix.Ifreq) { r.SetUint32(queueLength) })
	change("state", unix.SIOCSIFFLAGS, func(r *unix.Ifreq) { r.SetUint16(unix.IFF_UP | unix.IFF_POINTOPOINT | unix.IFF_NOARP) })
	change("index", unix.SIOCGIFINDEX, func(*unix.Ifreq) {})
	if err == nil && !peer.IsValid() {
		err = addDefaultRoute(request.Uint32())
	}
	return err
}

// addDefaultRoute has all packets of the calling thread's namespace leave by the
// device of that index (rtnetlink(7)): a message of a header, a struct rtmsg and
// one attribute.
func addDefaultRoute(index uint32) error {
	const length = unix.SizeofNlMsghdr + unix.SizeofRtMsg + unix.SizeofRtAttr + 4
	order := binary.NativeEndian
	m := order.AppendUint32(nil, length)
	m = order.AppendUint16(m, unix.RTM_NEWROUTE)
	m = order.AppendUint16(m, unix.NLM_F_REQUEST|unix.NLM_F_ACK|unix.NLM_F_CREATE)
	m = append(m, make([]byte, 8)...) // sequence number, port
	m = append(m, unix.AF_INET, 0, 0, 0, unix.RT_TABLE_MAIN, unix.RTPROT_BOOT, unix.RT_SCOPE_LINK, unix.RTN_UNICAST)
	m = order.AppendUint32(m, 0) // flags
	m = order.AppendUint16(m, unix.SizeofRtAttr+4)
	m = order.AppendUint16(m, unix.RTA_OIF)
	m = order.AppendUint32(m, index)

	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("link: default route: %w", err)
	}
	defer unix.Close(fd)
	if err := unix.Sendto(fd, m, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return fmt.Errorf("link: default route: %w", err)
	}
	var answer [256]byte
	n, _, err := unix.Recvfrom(fd, answer[:], 0)
	if err != nil {
		return fmt.Errorf("link: default route: %w", err)
	}
	// struct nlmsgerr: a negative errno follows the header, 0 for success.
	if n < unix.SizeofNlMsghdr+4 || order.Uint16(answer[4:]) != unix.NLMSG_ERROR {
		return errors.New("link: default route: the kernel's answer is not one")
	}
	if errno := -int32(order.Uint32(answer[unix.SizeofNlMsghdr:])); errno != 0 {
		return privileged("default route", unix.Errno(errno))
	}
	return nil
}
