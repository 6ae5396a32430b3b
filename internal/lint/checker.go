package lint

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"shakedown/internal/nginx"
)

// Options say what the file is for. What is zero is not known.
type Options struct {
	// Nginx reads the file. Required.
	Nginx nginx.Version
	// OpenSSL is what that nginx is linked with; rules that need it are silent without it, and a note says so.
	OpenSSL nginx.Version
	// Hosts is the number of machines that answer for the same names; 0 is taken for one.
	Hosts int
	// SessionsPerSecond is the rate of full handshakes expected, for the size of the session cache.
	SessionsPerSecond float64
	// Now is the instant ages are counted from.
	Now time.Time
}

// Finding is a rule that speaks of one place.
type Finding struct {
	Rule     *Rule
	Severity Severity
	Pos      nginx.Pos
	EndCol   int    // column after the directive (of its head, when it has a block) if that is on the line of Pos, else 0
	Source   string // the line
	Message  string
	Edits    []Edit // what --fix does; none when a person has to decide
	end      int    // last line of the directive, for ignore comments
	within   []*nginx.Directive
}

// checker is what a rule's function sees.
type checker struct {
	*nginx.Model
	opt   Options
	certs *certificates
	rule  *Rule
	found []*Finding
	told  map[told]*Finding
	// expanded holds the cipher strings met so far.
	expanded map[string][]suite
	notes    map[string]bool
}

// told is a place a rule has spoken of.
type told struct {
	rule *Rule
	pos  nginx.Pos
}

type server = *nginx.Server

// report adds a finding at d with the rule's usual severity. A rule speaks once of one place.
func (c *checker) report(d *nginx.Directive, format string, args ...any) *Finding {
	f := &Finding{Rule: c.rule, Severity: c.rule.Severity, Pos: d.Pos, Source: d.File.Line(d.Pos.Line),
		Message: fmt.Sprintf(format, args...), end: d.EndLine}
	if source := d.Source(); !strings.Contains(source, "\n") {
		f.EndCol = d.Pos.Col + len(source)
	}
	for p := d; p != nil; p = p.Parent {
		f.within = append(f.within, p)
	}
	if other := c.told[told{f.Rule, f.Pos}]; other != nil {
		return other
	}
	c.told[told{f.Rule, f.Pos}] = f
	c.found = append(c.found, f)
	return f
}

// as gives a finding another severity than the usual one.
func (f *Finding) as(s Severity) *Finding {
	f.Severity = s
	return f
}

// note records that something could not be judged.
func (c *checker) note(format string, args ...any) { c.notes[fmt.Sprintf(format, args...)] = true }

// before reports whether the nginx that reads the file is older than the release.
func (c *checker) before(major, minor, patch int) bool {
	return c.opt.Nginx.Before(major, minor, patch)
}

// openssl reports whether OpenSSL is known and at least the release.
func (c *checker) openssl(major, minor, patch int) bool {
	if c.opt.OpenSSL.IsZero() {
		c.note("the OpenSSL release is not known (--openssl-version): rules about it say nothing")
		return false
	}
	return !c.opt.OpenSSL.Before(major, minor, patch)
}

// defaults calls f for each TLS socket with the server whose session state its handshakes use.
func (c *checker) defaults(f func(k *nginx.Socket, d server)) {
	for _, k := range c.TLSSockets() {
		f(k, k.Default)
	}
}

// others calls f for each TLS socket and each server on it that is not the default and completes handshakes.
func (c *checker) others(f func(k *nginx.Socket, d, s server)) {
	for _, k := range c.TLSSockets() {
		for _, s := range k.Servers {
			if s != k.Default && !rejects(s) {
				f(k, k.Default, s)
			}
		}
	}
}

// handshakes calls f for each TLS socket and each server on it that completes handshakes.
func (c *checker) handshakes(f func(k *nginx.Socket, s server)) {
	for _, k := range c.TLSSockets() {
		for _, s := range k.Servers {
			if !rejects(s) {
				f(k, s)
			}
		}
	}
}

// at returns the directive that gives s its value of name: the last one in force, or the server block when none is.
func at(s server, name string) *nginx.Directive {
	if v := s.Get(name); v.Set() {
		return v.Directives[len(v.Directives)-1]
	}
	return s.Block
}

// unsure reports whether one of the names is not set for s in a file without the http{} around it, which may set it.
func (c *checker) unsure(s server, names ...string) bool {
	return c.Fragment && slices.ContainsFunc(names, func(name string) bool { return !s.Get(name).Set() })
}

// origin tells where a value comes from, for messages.
func (c *checker) origin(v nginx.Setting) string {
	switch {
	case !v.Set() && c.Fragment:
		return "nginx's default, unless http{} sets it"
	case !v.Set():
		return "nginx's default"
	}
	return fmt.Sprintf("line %d", v.Directives[len(v.Directives)-1].Pos.Line)
}

// list joins the values of every directive of name in force.
func list(s server, name string) string {
	var words []string
	for _, d := range s.Get(name).Directives {
		words = append(words, d.Words())
	}
	return strings.Join(words, ", ")
}

func rejects(s server) bool { return s.Is("ssl_reject_handshake", "on") }
func tickets(s server) bool { return !s.Is("ssl_session_tickets", "off") }
func early(s server) bool   { return s.Is("ssl_early_data", "on") }
func keys(s server) []*nginx.Directive {
	return s.Get("ssl_session_ticket_key").Directives
}

func timeout(s server) time.Duration {
	d, _ := nginx.ParseTime(s.Get("ssl_session_timeout").Words)
	return d
}

// lists reports whether ssl_protocols in force in s names the protocol.
func lists(s server, protocol string) bool {
	return slices.Contains(strings.Fields(s.Get("ssl_protocols").Words), protocol)
}

// speaks reports whether handshakes for s on k may use the protocol. Until 1.29.2 the default server's ssl_protocols count.
func (c *checker) speaks(k *nginx.Socket, s server, protocol string) bool {
	if c.before(1, 29, 2) {
		s = k.Default
	}
	return lists(s, protocol)
}

// command returns the value of an ssl_conf_command in force in s, and its directive.
func command(s server, names ...string) (string, *nginx.Directive) {
	for _, d := range slices.Backward(s.Get("ssl_conf_command").Directives) {
		if slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, d.Arg(0)) }) {
			return d.Arg(1), d
		}
	}
	return "", nil
}

// hosts is the number of machines, at least one.
func (c *checker) hosts() int { return max(1, c.opt.Hosts) }
