package nginx

import (
	"net"
	"strconv"
	"strings"
)

// Family is the address family of a socket.
type Family string

// The families nginx listens on.
const (
	IPv4 Family = "IPv4"
	IPv6 Family = "IPv6"
	Unix Family = "unix"
)

// Listen is one listen directive as it applies to one port.
type Listen struct {
	Directive *Directive // nil for the implied listen of a server without one
	// Address is "0.0.0.0", "[::]", another address, a host name as written, or "unix:/path".
	Address string
	Port    int // 0 for unix sockets
	Family  Family
	Default bool
	// SSL, HTTP2, QUIC are the parameters of this line; nginx merges SSL and HTTP2 over all lines of a socket.
	SSL, HTTP2, QUIC bool
	Reuseport        bool
	Params           []string
}

// Key names the socket the listen belongs to; quic (UDP) is apart from TCP.
func (l *Listen) Key() string {
	key := l.Address
	if l.Family != Unix {
		key += ":" + strconv.Itoa(l.Port)
	}
	if l.QUIC || l.has("udp") {
		key += "/udp"
	}
	return key
}

func (l *Listen) has(param string) bool {
	for _, p := range l.Params {
		if p == param {
			return true
		}
	}
	return false
}

// parseListen reads a listen directive: one result for each port of a range, none when the address is beyond reading
// (a placeholder, say).
func parseListen(d *Directive) []*Listen {
	if len(d.Args) == 0 {
		return nil
	}
	base := Listen{Directive: d}
	for _, a := range d.Args[1:] {
		base.Params = append(base.Params, a.Text)
		switch a.Text {
		case "default_server", "default":
			base.Default = true
		case "ssl":
			base.SSL = true
		case "http2":
			base.HTTP2 = true
		case "quic", "http3":
			base.QUIC = true
		case "reuseport":
			base.Reuseport = true
		}
	}
	text := d.Arg(0)
	if strings.HasPrefix(text, "unix:") {
		base.Address, base.Family = text, Unix
		return []*Listen{&base}
	}
	host, ports := "*", text
	switch i := strings.LastIndexByte(text, ':'); {
	case strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]"):
		host, ports = text, "80"
	case i >= 0:
		host, ports = text[:i], text[i+1:]
	case strings.Trim(text, "0123456789-") != "":
		host, ports = text, "80"
	}
	base.Family = IPv4
	switch {
	case host == "*" || host == "":
		base.Address = "0.0.0.0"
	case strings.HasPrefix(host, "["):
		ip := net.ParseIP(strings.Trim(host, "[]"))
		if ip == nil {
			return nil
		}
		base.Address, base.Family = "["+ip.String()+"]", IPv6
	default:
		base.Address = host
	}
	from, to, ranged := strings.Cut(ports, "-")
	first, err := strconv.Atoi(from)
	if err != nil || first < 1 || first > 65535 {
		return nil
	}
	last := first
	if ranged {
		if last, err = strconv.Atoi(to); err != nil || last < first || last > 65535 {
			return nil
		}
	}
	var list []*Listen
	for port := first; port <= last; port++ {
		l := base
		l.Port = port
		list = append(list, &l)
	}
	return list
}
