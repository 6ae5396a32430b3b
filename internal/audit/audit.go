package audit

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"shakedown"
	"shakedown/handshake"
	"shakedown/internal/check"
	"shakedown/internal/lint"
	"shakedown/internal/nginx"
)

// Plan says which running server to hold a file against.
type Plan struct {
	// Report is of the file; findings and comparisons are added to it.
	Report *lint.Report
	// Target has the addresses and the port. Its server name is not used.
	Target shakedown.Target
	// Names to ask for; none takes one name of each server of the file.
	Names []string
	// MaxConnections bounds the connections for each name at each address; 0 means DefaultMaxConnections.
	MaxConnections int
	// Rate is that of check.Plan; 0 means check.DefaultRate.
	Rate float64
	// Timeout is for one handshake; 0 means check.DefaultTimeout.
	Timeout time.Duration
	// Progress is told what is being asked; nil is told nothing.
	Progress func(address netip.AddrPort, name, question string)
}

// DefaultMaxConnections is more than check's: lists of suites are asked for last and have to be whole to be compared.
const DefaultMaxConnections = 200

// ErrUnreached is the error of [Run] when no address answered.
var ErrUnreached = errors.New("no address answered")

// Run asks the server and compares. Other errors say that the file has nothing to compare with the target.
func Run(ctx context.Context, p Plan) error {
	reached := false
	m := p.Report.Model
	for _, ip := range p.Target.Addresses {
		address := netip.AddrPortFrom(ip.Unmap(), p.Target.Port)
		socket := m.Accepts(address)
		if socket == nil {
			return fmt.Errorf("no TLS socket of the file takes connections to %s: %s", address, sockets(m))
		}
		names, err := p.names(socket)
		if err != nil {
			return err
		}
		for _, name := range names {
			server := socket.Named(name)
			if server == nil {
				return fmt.Errorf("which server answers for %s hangs on a regular expression that only nginx can read", name)
			}
			seen, err := p.ask(ctx, address, name, socket)
			if err != nil {
				return err
			}
			reached = reached || seen.Reached()
			v := &view{report: p.Report, model: m, openssl: p.Report.Options.OpenSSL, socket: socket, server: server, decider: socket.Default, seen: &seen.Observation}
			v.leaves = p.leaves(ctx, address, name, &seen.Observation)
			c := lint.Comparison{Address: address, Name: name, Socket: socket.Key, Server: server.Block.Pos.String(), Connections: seen.Connections + len(v.leaves)}
			if seen.Observation.HTTP != nil {
				c.Running = seen.Observation.HTTP.Server
			}
			v.compare(&c)
			p.Report.Compared = append(p.Report.Compared, c)
		}
	}
	if !reached {
		return ErrUnreached
	}
	return nil
}

// sockets lists those with TLS.
func sockets(m *nginx.Model) string {
	var keys []string
	for _, k := range m.TLSSockets() {
		keys = append(keys, k.Key)
	}
	if len(keys) == 0 {
		return "it has none"
	}
	return "it has " + strings.Join(keys, ", ")
}

// names returns what to ask for on a socket: one name of each server that completes handshakes.
func (p *Plan) names(k *nginx.Socket) ([]string, error) {
	if len(p.Names) > 0 {
		return p.Names, nil
	}
	var names []string
	for _, s := range k.Servers {
		if s.Is("ssl_reject_handshake", "on") {
			continue
		}
		i := slices.IndexFunc(s.Names, func(n string) bool { return plainName(n) != "" && k.Named(plainName(n)) == s })
		switch {
		case i >= 0:
			names = append(names, plainName(s.Names[i]))
		case s == k.Default:
			names = append(names, "") // whoever sends no name gets it
		default:
			p.Report.Notes = append(p.Report.Notes, fmt.Sprintf("%s: %s has no name that could be asked for: it is not compared (--sni)", s.Block.Pos, s.Name()))
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no server on %s has a name that could be asked for: give one (--sni)", k.Key)
	}
	return names, nil
}

// plainName makes a name that matches a server_name; "" if it takes more than a letter.
func plainName(pattern string) string {
	if rest, ok := strings.CutPrefix(pattern, "*"); ok {
		pattern = "a" + rest
	}
	pattern = strings.TrimPrefix(pattern, ".")
	if pattern == "_" || strings.ContainsAny(pattern, "*~$ ") {
		return ""
	}
	var t shakedown.Target
	if t.SetServerName(pattern) != nil {
		return ""
	}
	return t.ServerName
}

// ask puts the questions of check to one address for one name.
func (p *Plan) ask(ctx context.Context, address netip.AddrPort, name string, k *nginx.Socket) (*check.TargetReport, error) {
	t := check.Target{Target: p.Target, Config: handshake.Config{ServerName: name}}
	t.Addresses, t.ServerName = []netip.Addr{address.Addr()}, name
	if k.Module == "http" {
		host := name
		if host == "" {
			host = address.String()
		}
		t.Request = fmt.Appendf(nil, "GET / HTTP/1.1\r\nHost: %s\r\nUser-Agent: shakedown\r\n\r\n", host)
	}
	plan := check.Plan{Targets: []check.Target{t}, MaxConnections: p.MaxConnections, Rate: p.Rate, Timeout: p.Timeout}
	if plan.MaxConnections == 0 {
		plan.MaxConnections = DefaultMaxConnections
	}
	if p.Progress != nil {
		plan.Progress = func(a netip.AddrPort, question string) { p.Progress(a, name, question) }
	}
	r, err := check.Run(ctx, plan)
	if err != nil {
		return nil, err
	}
	return &r.Targets[0], nil
}
