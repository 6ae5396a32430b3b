package nginx

import (
	"path/filepath"
	"slices"
	"strings"
)

// Model is what one nginx of a given version makes of a configuration.
type Model struct {
	Config  *Config
	Version Version
	// Fragment is true when the file has no http, stream or mail block of its own and reads like the inside of http{}:
	// what surrounds it is not known then.
	Fragment bool
	// Snippet is true when a fragment has no server either but TLS settings, to be included in one: Servers then holds a
	// single server on port 443 with those settings, as if the text stood in it.
	Snippet bool
	Servers []*Server // in the order nginx reads them
	Sockets []*Socket // in the order their first listen is read

	index  map[*Directive]map[string][]*Directive // by block (nil: main), then by name
	byName map[string][]*Directive
	server map[*Directive]*Server // by its block
	tls    []*Server
}

// Server is one server block.
type Server struct {
	Module  string // "http", "stream" or "mail"
	Block   *Directive
	Names   []string
	Listens []*Listen
	sockets []*Socket
	model   *Model
}

// Socket is one address and port, TCP or UDP.
type Socket struct {
	Module   string
	Key      string // such as "0.0.0.0:443", "[::]:443" or "0.0.0.0:443/udp"
	Family   Family
	Port     int
	Servers  []*Server
	Listens  []*Listen
	Default  *Server
	Explicit bool // the default was chosen by default_server
	// TLS is true when connections begin with a handshake: ssl or quic on any line, or "ssl on" in the default server.
	TLS, HTTP2, QUIC bool
}

// Interpret works out the servers and sockets of c as nginx of version v does.
func Interpret(c *Config, v Version) *Model {
	m := &Model{Config: c, Version: v, index: map[*Directive]map[string][]*Directive{}, byName: map[string][]*Directive{}, server: map[*Directive]*Server{}}
	m.add(nil, c.Main)
	for _, d := range c.Main {
		d.Walk(func(d *Directive) bool {
			m.byName[d.Name] = append(m.byName[d.Name], d)
			return true
		})
	}
	modules := 0
	for _, d := range c.Main {
		switch d.Name {
		case "http", "stream", "mail":
			modules++
			m.servers(d.Name, d.Block)
		}
	}
	if modules == 0 && !m.hasMainDirectives() {
		m.Fragment = len(c.Main) > 0
		m.servers("http", c.Main)
		m.snippet()
	}
	m.sockets()
	return m
}

// hasMainDirectives tells a main file without http{} from a fragment of one.
func (m *Model) hasMainDirectives() bool {
	main := m.index[nil]
	for _, name := range []string{"events", "worker_processes", "load_module", "pid"} {
		if len(main[name]) > 0 {
			return true
		}
	}
	return false
}

// snippet puts a server around TLS settings that have none.
func (m *Model) snippet() {
	main := m.Config.Main
	settings := slices.ContainsFunc(main, func(d *Directive) bool { return strings.HasPrefix(d.Name, "ssl_") })
	if len(m.Servers) > 0 || !settings || len(m.index[nil]["upstream"]) > 0 {
		return
	}
	first := main[0]
	server := &Directive{Name: "server", Pos: first.Pos, NameEnd: first.NameEnd, End: first.End, EndLine: first.EndLine, HasBlock: true, Block: main, File: first.File}
	for _, d := range main {
		d.Parent = server
	}
	m.Snippet = true
	m.index[server], m.index[nil] = m.index[nil], nil
	m.Servers = []*Server{{Module: "http", Block: server, model: m, Listens: []*Listen{{Address: "0.0.0.0", Port: 443, Family: IPv4, SSL: true}}}}
}

func (m *Model) add(block *Directive, list []*Directive) {
	names := map[string][]*Directive{}
	for _, d := range list {
		names[d.Name] = append(names[d.Name], d)
		if d.HasBlock {
			m.add(d, d.Block)
		}
	}
	m.index[block] = names
}

func (m *Model) servers(module string, list []*Directive) {
	for _, d := range list {
		if d.Name != "server" || !d.HasBlock {
			continue
		}
		s := &Server{Module: module, Block: d, model: m}
		for _, n := range m.index[d]["server_name"] {
			for _, a := range n.Args {
				s.Names = append(s.Names, a.Text)
			}
		}
		listens := m.index[d]["listen"]
		for _, l := range listens {
			s.Listens = append(s.Listens, parseListen(l)...)
		}
		if len(listens) == 0 && module == "http" {
			s.Listens = []*Listen{{Address: "0.0.0.0", Port: 80, Family: IPv4}}
		}
		m.Servers = append(m.Servers, s)
	}
}

func (m *Model) sockets() {
	byKey := map[string]*Socket{}
	for _, s := range m.Servers {
		for _, l := range s.Listens {
			key := s.Module + " " + l.Key()
			k := byKey[key]
			if k == nil {
				k = &Socket{Module: s.Module, Key: l.Key(), Family: l.Family, Port: l.Port, Default: s}
				byKey[key] = k
				m.Sockets = append(m.Sockets, k)
			}
			if l.Default && !k.Explicit {
				k.Default, k.Explicit = s, true
			}
			if n := len(k.Servers); n == 0 || k.Servers[n-1] != s {
				k.Servers = append(k.Servers, s)
				s.sockets = append(s.sockets, k)
			}
			k.Listens = append(k.Listens, l)
			k.TLS = k.TLS || l.SSL || l.QUIC
			k.HTTP2 = k.HTTP2 || l.HTTP2
			k.QUIC = k.QUIC || l.QUIC
		}
	}
	for _, k := range m.Sockets {
		k.TLS = k.TLS || k.Default.Is("ssl", "on")
	}
	for _, s := range m.Servers {
		m.server[s.Block] = s
		if len(s.Sockets(true)) > 0 {
			m.tls = append(m.tls, s)
		}
	}
}

// TLSServers returns the servers reached through a TLS socket.
func (m *Model) TLSServers() []*Server { return m.tls }

// TLSSockets returns the sockets on which handshakes happen.
func (m *Model) TLSSockets() []*Socket {
	var list []*Socket
	for _, k := range m.Sockets {
		if k.TLS {
			list = append(list, k)
		}
	}
	return list
}

// Sockets returns the sockets s listens on, only those with TLS when tls is true.
func (s *Server) Sockets(tls bool) []*Socket {
	var list []*Socket
	for _, k := range s.sockets {
		if k.TLS || !tls {
			list = append(list, k)
		}
	}
	return list
}

// Name is the first server name, or where the block stands when it has none.
func (s *Server) Name() string {
	if s.model.Snippet {
		return "the server that includes " + filepath.Base(s.Block.Pos.File)
	}
	for _, n := range s.Names {
		if n != "" && n != "_" {
			return n
		}
	}
	return "server at " + shortPos(s.Block.Pos)
}

func shortPos(p Pos) string {
	text := p.String()
	if i := strings.LastIndexByte(text, '/'); i >= 0 {
		text = text[i+1:]
	}
	return strings.TrimSuffix(text, text[strings.LastIndexByte(text, ':'):])
}

// Named returns the directives called name directly in block (nil: the main level).
func (m *Model) Named(block *Directive, name string) []*Directive { return m.index[block][name] }

// All returns every directive called name, in the order of reading.
func (m *Model) All(name string) []*Directive { return m.byName[name] }

// Server returns the server block d stands in, or nil.
func (m *Model) Server(d *Directive) *Server {
	for ; d != nil; d = d.Parent {
		if s := m.server[d]; s != nil {
			return s
		}
	}
	return nil
}
