package nginx

import (
	"net/netip"
	"regexp"
	"strings"
)

// Named returns the server of the socket that answers for a name in SNI ("": none sent), as nginx chooses it: the exact
// name, the longest wildcard in front, the longest one behind, the first regular expression, the default server. It is nil
// when that hangs on an expression that only PCRE can read.
func (k *Socket) Named(name string) *Server {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if name == "" {
		return k.Default
	}
	const exact, front, behind, expression = 4, 3, 2, 1
	best, rank, length, unread := k.Default, 0, 0, false
	for _, s := range k.Servers {
		for _, pattern := range s.Names {
			at := 0
			if text, ok := strings.CutPrefix(pattern, "~"); ok {
				// Names come in lower case.
				switch re, err := regexp.Compile("(?i)" + text); {
				case err != nil:
					unread = true
				case re.MatchString(name):
					at = expression
				}
			} else {
				pattern = strings.ToLower(pattern)
				suffix, wild := strings.CutPrefix(pattern, "*")
				if strings.HasPrefix(pattern, ".") {
					suffix, wild = pattern, true
				}
				prefix, tail := strings.CutSuffix(pattern, "*")
				switch {
				case pattern == name, strings.HasPrefix(pattern, ".") && pattern[1:] == name:
					at = exact
				case wild && strings.HasPrefix(suffix, ".") && strings.HasSuffix(name, suffix):
					at = front
				case tail && strings.HasSuffix(prefix, ".") && strings.HasPrefix(name, prefix):
					at = behind
				}
			}
			// Among equals the longest wildcard wins, else the first.
			if at > rank || at == rank && (at == front || at == behind) && len(pattern) > length {
				best, rank, length = s, at, len(pattern)
			}
		}
	}
	if unread && rank < behind {
		return nil
	}
	return best
}

// Accepts returns the TLS socket that takes a TCP connection to an address: the one of that very address, else the one of
// all. The last resort is the only socket with that port: before it may stand a machine that translates addresses.
func (m *Model) Accepts(a netip.AddrPort) *Socket {
	a = netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
	var all, both *Socket
	var others []*Socket
	for _, k := range m.TLSSockets() {
		if k.Family == Unix || k.Port != int(a.Port()) || strings.HasSuffix(k.Key, "/udp") || k.Module == "mail" {
			continue
		}
		host := strings.Trim(strings.TrimSuffix(k.Key[:strings.LastIndexByte(k.Key, ':')], ":"), "[]")
		ip, err := netip.ParseAddr(host)
		switch {
		case err == nil && ip == a.Addr():
			return k
		case err == nil && ip.IsUnspecified() && ip.Is4() == a.Addr().Is4():
			all = k
		case err == nil && ip.IsUnspecified() && a.Addr().Is4() && k.has("ipv6only=off"):
			both = k
		default:
			others = append(others, k)
		}
	}
	switch {
	case all != nil:
		return all
	case both != nil:
		return both
	case len(others) == 1:
		return others[0]
	}
	return nil
}

func (k *Socket) has(param string) bool {
	for _, l := range k.Listens {
		if l.has(param) {
			return true
		}
	}
	return false
}
