package nginx

import (
	"strconv"
	"strings"
	"time"
)

// Setting is the value of one directive in force in a block.
type Setting struct {
	Name string
	// Directives are the statements in force, in order; none when the default is. A directive that may be repeated is
	// inherited only by a block that has none of its own: a list replaces the outer list, it never adds to it.
	Directives []*Directive
	// Level is the block the statements stand in ("server", "http", "main", ...) or "default".
	Level string
	// Words is the value: the arguments of the last statement, or the default of the version.
	Words string
}

// Set reports whether the value was written rather than left to its default.
func (s Setting) Set() bool { return len(s.Directives) > 0 }

// In returns the value of name in force in block (nil: the main level): that of the nearest enclosing block that has one.
func (m *Model) In(block *Directive, name string) Setting {
	for {
		if list := m.index[block][name]; len(list) > 0 {
			level := "main"
			if block != nil {
				level = block.Name
			} else if m.Fragment {
				level = "http"
			}
			return Setting{name, list, level, list[len(list)-1].Words()}
		}
		if block == nil {
			return Setting{Name: name, Level: "default", Words: m.Default(name)}
		}
		block = block.Parent
	}
}

// Get returns the value of name in force in the server.
func (s *Server) Get(name string) Setting { return s.model.In(s.Block, name) }

// Is reports whether the value in force is exactly words.
func (s *Server) Is(name, words string) bool { return s.Get(name).Words == words }

// Has reports whether the server block itself sets name.
func (s *Server) Has(name string) bool { return len(s.model.index[s.Block][name]) > 0 }

// Default returns nginx's own value of name in the model's version, "" when there is none or it is not known here.
// Source: the CHANGES file and ngx_http_ssl_module.c of the releases named.
func (m *Model) Default(name string) string {
	v := m.Version
	switch name {
	case "ssl_protocols":
		switch {
		case v.Before(1, 23, 4):
			return "TLSv1 TLSv1.1 TLSv1.2"
		case v.Before(1, 27, 3):
			return "TLSv1 TLSv1.1 TLSv1.2 TLSv1.3"
		}
		return "TLSv1.2 TLSv1.3"
	case "keepalive_requests":
		if v.Before(1, 19, 10) {
			return "100"
		}
		return "1000"
	case "proxy_http_version":
		if v.Before(1, 29, 7) {
			return "1.0"
		}
		return "1.1"
	}
	return defaults[name]
}

var defaults = map[string]string{
	"client_header_timeout":     "60s",
	"http2":                     "off",
	"keepalive_timeout":         "75s",
	"quic_retry":                "off",
	"ssl":                       "off",
	"ssl_buffer_size":           "16k",
	"ssl_ciphers":               "HIGH:!aNULL:!MD5",
	"ssl_early_data":            "off",
	"ssl_ecdh_curve":            "auto",
	"ssl_prefer_server_ciphers": "off",
	"ssl_reject_handshake":      "off",
	"ssl_session_cache":         "none",
	"ssl_session_tickets":       "on",
	"ssl_session_timeout":       "5m",
	"ssl_stapling":              "off",
	"ssl_stapling_verify":       "off",
	"ssl_verify_client":         "off",
	"ssl_verify_depth":          "1",
	"worker_processes":          "1",
}

// TLSDirectives lists the directives that shape a handshake and are looked up for a server.
var TLSDirectives = []string{
	"ssl_buffer_size", "ssl_certificate", "ssl_certificate_cache", "ssl_certificate_compression", "ssl_certificate_key",
	"ssl_ciphers", "ssl_client_certificate", "ssl_conf_command", "ssl_crl", "ssl_dhparam", "ssl_early_data", "ssl_ecdh_curve",
	"ssl_ocsp", "ssl_prefer_server_ciphers", "ssl_protocols", "ssl_reject_handshake", "ssl_session_cache",
	"ssl_session_ticket_key", "ssl_session_tickets", "ssl_session_timeout", "ssl_stapling", "ssl_stapling_file",
	"ssl_stapling_responder", "ssl_stapling_verify", "ssl_trusted_certificate", "ssl_verify_client", "ssl_verify_depth",
}

// Effective returns every TLS setting in force in the server, in the order of TLSDirectives.
func (s *Server) Effective() []Setting {
	list := make([]Setting, len(TLSDirectives))
	for i, name := range TLSDirectives {
		list[i] = s.Get(name)
	}
	return list
}

// SessionCache is the session cache in force. Unlike other settings its two halves are inherited apart: a server with
// "builtin" below an http{} with "shared" has both (merge_srv_conf of ngx_http_ssl_module.c).
type SessionCache struct {
	Mode    string // "off", "none" or "on"
	Builtin bool   // a cache in each worker
	Zone    string // name of the shared zone, "" without one
	Bytes   int64  // size of the zone, 0 when unreadable
	// Directives are the statements that gave the value, innermost first.
	Directives []*Directive
}

// Shared reports whether sessions go to a zone all workers share.
func (c SessionCache) Shared() bool { return c.Mode == "on" && c.Zone != "" }

// Cache returns the session cache in force in the server.
func (s *Server) Cache() SessionCache {
	var c SessionCache
	for block := s.Block; ; block = block.Parent {
		for _, d := range s.model.index[block]["ssl_session_cache"] {
			level := parseCache(d)
			if c.Mode == "" {
				c.Mode, c.Builtin = level.Mode, level.Builtin
			}
			if c.Zone == "" {
				c.Zone, c.Bytes = level.Zone, level.Bytes
			}
			c.Directives = append(c.Directives, d)
		}
		if block == nil {
			break
		}
	}
	if c.Mode == "" {
		c.Mode = "none"
	}
	return c
}

func parseCache(d *Directive) SessionCache {
	var c SessionCache
	for _, a := range d.Args {
		kind, rest, _ := strings.Cut(a.Text, ":")
		switch kind {
		case "off", "none":
			c.Mode, c.Builtin = kind, false
		case "builtin":
			c.Mode, c.Builtin = "on", true
		case "shared":
			name, size, _ := strings.Cut(rest, ":")
			c.Zone = name
			c.Bytes, _ = ParseSize(size)
		}
	}
	if c.Zone != "" && c.Mode == "" {
		c.Mode = "on"
	}
	return c
}

// ParseSize reads an nginx size (10m, 512k, 1g, 4096) in bytes.
func ParseSize(s string) (int64, bool) {
	shift := 0
	if s != "" {
		if i := strings.IndexByte("kmg", s[len(s)-1]|0x20); i >= 0 {
			shift, s = 10*(i+1), s[:len(s)-1]
		}
	}
	n, err := strconv.ParseUint(s, 10, 32)
	return int64(n) << shift, err == nil
}

// ParseTime reads an nginx time (1d, 1h30m, 90, 500ms; a bare number is seconds), spaces between parts allowed.
func ParseTime(s string) (time.Duration, bool) {
	units := []struct {
		name string
		unit time.Duration
	}{
		{"ms", time.Millisecond}, {"y", 365 * 24 * time.Hour}, {"M", 30 * 24 * time.Hour}, {"w", 7 * 24 * time.Hour},
		{"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}, {"", time.Second},
	}
	var total time.Duration
	s = strings.TrimSpace(s)
	if s == "" {
		return 0, false
	}
	for s != "" {
		digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
		n, err := strconv.ParseInt(s[:digits], 10, 32)
		if err != nil {
			return 0, false
		}
		s = s[digits:]
		for _, u := range units {
			if rest, ok := strings.CutPrefix(s, u.name); ok {
				total += time.Duration(n) * u.unit
				if total < 0 {
					return 0, false
				}
				s = strings.TrimLeft(rest, " ")
				break
			}
		}
	}
	return total, true
}
