package lint

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"shakedown/internal/nginx"
)

// decidedByDefault reports whether the default server of the socket decides over a directive for every name on it: always
// for what belongs to sessions and for groups, before 1.29.2 for what is settled before the name is looked at.
func decidedByDefault(name string, v nginx.Version) bool {
	switch name {
	case "ssl_session_cache", "ssl_session_timeout", "ssl_session_ticket_key", "ssl_early_data", "ssl_ecdh_curve":
		return true
	case "ssl_protocols":
		return v.Before(1, 29, 2)
	}
	return false
}

// WriteEffective writes what is in force for every TLS server: its sockets, each setting with where it comes from, and
// where the default server's counts instead.
func WriteEffective(w io.Writer, m *nginx.Model) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i, s := range m.TLSServers() {
		if i > 0 {
			fmt.Fprintln(t)
		}
		fmt.Fprintf(t, "%s: %s\n", s.Block.Pos, s.Name())
		for _, k := range s.Sockets(true) {
			fmt.Fprintf(t, "  %s\t%s\n", k.Key, owner(k, s))
		}
		for _, v := range s.Effective() {
			if v.Words == "" {
				continue
			}
			fmt.Fprintf(t, "  %s\t%s\t%s%s\n", v.Name, value(v), source(v), overruled(m, s, v))
		}
	}
	return t.Flush()
}

// owner says who decides over session state on a socket.
func owner(k *nginx.Socket, s server) string {
	switch {
	case k.Default != s:
		return "default server: " + k.Default.Name()
	case k.Explicit:
		return "is the default server"
	case len(k.Servers) > 1:
		return "is the default server, being read first"
	}
	return "alone"
}

func value(v nginx.Setting) string {
	if !v.Set() {
		return v.Words
	}
	var words []string
	for _, d := range v.Directives {
		words = append(words, d.Words())
	}
	return strings.Join(words, ", ")
}

func source(v nginx.Setting) string {
	if !v.Set() {
		return "nginx's default"
	}
	pos := v.Directives[0].Pos
	return fmt.Sprintf("%s, %s:%d", v.Level, pos.File, pos.Line)
}

// overruled says where the default server has another value that counts.
func overruled(m *nginx.Model, s server, v nginx.Setting) string {
	if !decidedByDefault(v.Name, m.Version) {
		return ""
	}
	var out string
	for _, k := range s.Sockets(true) {
		if theirs := k.Default.Get(v.Name); value(theirs) != value(v) {
			out += fmt.Sprintf("; on %s %s counts", k.Key, value(theirs))
		}
	}
	return out
}
