package load

import "net/netip"

func isLoopback(a netip.AddrPort) bool { return a.Addr().Unmap().IsLoopback() }
