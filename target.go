package shakedown

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// Transport is what carries the handshake.
type Transport string

const (
	TCP  Transport = "tcp"
	QUIC Transport = "quic"
)

// DefaultPort is the port of a target that names none, unless it speaks another
// protocol before TLS.
const DefaultPort = 443

// Target is whom to ask.
type Target struct {
	Host string `json:"host"` // a name, or an address without brackets
	Port uint16 `json:"port"`
	// Addresses to connect to. Empty means those the host resolves to.
	Addresses []netip.Addr `json:"addresses,omitempty"`
	// ServerName is sent as SNI. Empty means no SNI: it is never an address and
	// never has a port (RFC 6066, section 3).
	ServerName string    `json:"server_name,omitempty"`
	Transport  Transport `json:"transport"`
	// StartTLS names the plain-text protocol that is upgraded, such as "smtp".
	StartTLS string `json:"starttls,omitempty"`
	// Path is what a request asks for, "/" when the target gives none.
	Path string `json:"path"`
}

// ParseTarget reads "host", "host:port", "[IPv6]", "[IPv6]:port", a bare IPv6
// address, or an https URL. Errors name the offending part of the text.
func ParseTarget(text string) (Target, error) { return ParseTargetPort(text, DefaultPort) }

// ParseTargetPort is [ParseTarget] with another port for a target that names none.
func ParseTargetPort(text string, port uint16) (Target, error) {
	t := Target{Port: port, Transport: TCP, Path: "/"}
	hostport := strings.TrimSpace(text)
	if hostport == "" {
		return Target{}, errors.New("the target is empty: want host, host:port or an https URL")
	}
	if strings.Contains(hostport, "://") {
		u, err := url.Parse(hostport)
		if err != nil {
			return Target{}, fmt.Errorf("target %q is not a URL: %w", text, errors.Unwrap(err))
		}
		switch {
		case u.Scheme != "https":
			return Target{}, fmt.Errorf("target %q has scheme %q: only https URLs are understood", text, u.Scheme)
		case u.User != nil:
			return Target{}, fmt.Errorf("target %q holds a user name: credentials are never sent", u.Redacted())
		}
		hostport, t.Path = u.Host, u.RequestURI()
	} else if i := strings.IndexByte(hostport, '/'); i >= 0 {
		return Target{}, fmt.Errorf("target %q has a path but no https:// before it", text)
	}
	if err := t.splitHostPort(hostport); err != nil {
		return Target{}, fmt.Errorf("target %q: %w", text, err)
	}
	return t, nil
}

// splitHostPort sets host, port, addresses and server name.
func (t *Target) splitHostPort(s string) error {
	host, port := s, ""
	_, bareErr := netip.ParseAddr(s)
	switch {
	case bareErr == nil: // an address, IPv6 without brackets included
	case strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]"):
		host = s[1 : len(s)-1]
		if a, err := netip.ParseAddr(host); err != nil || !a.Is6() {
			return fmt.Errorf("%q is not an IPv6 address", host)
		}
	case strings.Contains(s, ":"):
		var err error
		if host, port, err = net.SplitHostPort(s); err != nil {
			return errors.New("too many colons: an IPv6 address with a port is written [address]:port")
		}
		if port == "" {
			return errors.New("no port after the colon")
		}
	}
	if port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return fmt.Errorf("port %q is not a number from 1 to 65535", port)
		}
		t.Port = uint16(n)
	}
	host = strings.TrimSuffix(host, ".")
	if addr, err := netip.ParseAddr(host); err == nil {
		t.Host, t.Addresses = host, []netip.Addr{addr}
		return nil
	}
	if err := checkName(host); err != nil {
		return err
	}
	t.Host, t.ServerName = host, strings.ToLower(host)
	return nil
}

// checkName refuses what cannot be a host name, so that a typing error is not
// reported as a failed lookup.
func checkName(host string) error {
	if host == "" {
		return errors.New("no host")
	}
	if len(host) > 253 {
		return fmt.Errorf("host name of %d bytes: the limit is 253", len(host))
	}
	last := ""
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > 63 {
			return fmt.Errorf("%q is not a host name: a label has 1 to 63 bytes", host)
		}
		if label[0] == '-' {
			return fmt.Errorf("%q is not a host name: the label %q begins with a hyphen", host, label)
		}
		for _, r := range label {
			if r > 127 {
				// RFC 6066, section 3, and the DNS have A-labels alone.
				return fmt.Errorf("%q is not ASCII: give its A-labels (RFC 5890), such as xn--bcher-kva for bücher", host)
			}
			if !(r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
				return fmt.Errorf("%q is not a host name: it holds %q", host, r)
			}
		}
		last = label
	}
	if isNumber(last) {
		return fmt.Errorf("%q is not a host name: it ends in a number, and an address is written in full, such as 127.0.0.1", host)
	}
	return nil
}

// isNumber reports whether a last label makes resolvers and browsers take the
// whole for an IPv4 address of an old form: 127.1, 0x7f000001 (WHATWG URL, section
// 3.5, "ends in a number").
func isNumber(label string) bool {
	if strings.Trim(label, "0123456789") == "" {
		return true
	}
	digits, isHex := strings.CutPrefix(strings.ToLower(label), "0x")
	return isHex && strings.Trim(digits, "0123456789abcdef") == ""
}

// SetServerName sets the name for SNI to name; the empty string switches SNI
// off. It refuses addresses and ports, which RFC 6066 section 3 forbids.
func (t *Target) SetServerName(name string) error {
	name = strings.TrimSuffix(name, ".")
	if name != "" {
		if _, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
			return fmt.Errorf("server name %q is an address: SNI carries names only (RFC 6066, section 3)", name)
		}
		if err := checkName(name); err != nil {
			return fmt.Errorf("server name: %w", err)
		}
	}
	t.ServerName = strings.ToLower(name)
	return nil
}

// String returns host:port, the host in brackets when it is an IPv6 address.
func (t Target) String() string {
	return net.JoinHostPort(t.Host, strconv.Itoa(int(t.Port)))
}

// Local reports whether every address of the target is loopback or private, so
// that load on it disturbs nobody else. A target without addresses is not local.
func (t Target) Local() bool {
	for _, a := range t.Addresses {
		if a = a.Unmap(); !a.IsLoopback() && !a.IsPrivate() && !a.IsLinkLocalUnicast() {
			return false
		}
	}
	return len(t.Addresses) > 0
}
