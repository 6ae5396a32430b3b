package handshake

import (
	"net"
	"net/netip"
)

// addrPort returns the address and port of a, or none for a transport without.
func addrPort(a net.Addr) netip.AddrPort {
	if a == nil {
		return netip.AddrPort{}
	}
	ap, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return netip.AddrPort{}
	}
	return ap
}
