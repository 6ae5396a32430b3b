package lint

import (
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"shakedown/internal/nginx"
)

// underTLS reports whether d acts on connections of a TLS server: it stands in one, or around one.
func (c *checker) underTLS(d *nginx.Directive) bool {
	servers := c.TLSServers()
	if s := c.Server(d); s != nil {
		return slices.Contains(servers, s)
	}
	return len(servers) > 0
}

// upstream{} has directives of the same names for the other side.
func checkConnKeepalive(c *checker) {
	for _, d := range c.All("keepalive_timeout") {
		if t, ok := nginx.ParseTime(d.Arg(0)); ok && t == 0 && strings.HasPrefix(c.Context(d), "http") && !strings.HasSuffix(c.Context(d), "upstream") && c.underTLS(d) {
			c.report(d, "keep-alive is off: every request makes a connection and a handshake of its own").fix(setArgs(d, "75s"))
		}
	}
	for _, d := range c.All("keepalive_requests") {
		n, err := strconv.Atoi(d.Arg(0))
		if err == nil && n <= 100 && strings.HasPrefix(c.Context(d), "http") && !strings.HasSuffix(c.Context(d), "upstream") && c.underTLS(d) {
			c.report(d, "a connection ends after %d requests, then a new handshake is due; nginx's default is 1000 since 1.19.10", n).fix(setArgs(d, "1000"))
		}
	}
}

// The main level of a fragment is elsewhere.
func checkConnWorkers(c *checker) {
	workers := c.In(nil, "worker_processes")
	sockets := c.TLSSockets()
	if c.Fragment || workers.Words != "1" || len(sockets) == 0 {
		return
	}
	if !workers.Set() {
		c.report(c.Config.Main[0], "worker_processes is not set: one worker, so handshakes use one core").fix(insertBefore(c.Config.Main[0], "worker_processes auto;"))
		return
	}
	c.report(workers.Directives[0], "one worker: handshakes use one core").fix(setArgs(workers.Directives[0], "auto"))
}

func checkConnHSTimeout(c *checker) {
	c.defaults(func(k *nginx.Socket, d server) {
		v := d.Get("client_header_timeout")
		t, ok := nginx.ParseTime(v.Words)
		if k.Module != "http" || !ok || t >= 3*time.Second && t <= 60*time.Second {
			return
		}
		what := "slow clients are cut off while they handshake"
		if t > 60*time.Second {
			what = "idle clients hold a half-made handshake that long"
		}
		c.report(at(d, "client_header_timeout"), "%s is also how long a handshake on %s may take: %s", v.Words, k.Key, what)
	})
}

// Both are needed: HTTP/1.0 ends a connection whatever keepalive says.
func checkConnUpstream(c *checker) {
	if !c.before(1, 29, 7) || c.Fragment {
		return
	}
	for _, d := range c.All("proxy_pass") {
		host, ok := strings.CutPrefix(d.Arg(0), "https://")
		if !ok || !strings.HasPrefix(c.Context(d), "http") {
			continue
		}
		host, _, _ = strings.Cut(host, "/")
		var missing []string
		if !c.pooled(host) {
			missing = append(missing, "no upstream block with keepalive")
		}
		if c.In(d.Parent, "proxy_http_version").Words != "1.1" {
			missing = append(missing, "no proxy_http_version 1.1")
		}
		if len(missing) > 0 {
			c.report(d, "a TLS handshake with %s for every request: %s", host, strings.Join(missing, ", "))
		}
	}
}

// pooled reports whether host names an upstream block that keeps connections.
func (c *checker) pooled(host string) bool {
	for _, u := range c.All("upstream") {
		if u.Arg(0) == host && len(c.Named(u, "keepalive")) > 0 {
			return true
		}
	}
	return false
}

func checkConnQUICRetry(c *checker) {
	for _, k := range c.TLSSockets() {
		if d := k.Default; k.QUIC && d.Is("quic_retry", "on") && !d.Get("quic_host_key").Set() && !c.Fragment {
			c.report(at(d, "quic_retry"), "clients without a token pay a round trip, and without quic_host_key a reload makes every token worthless")
		}
	}
}

func checkEarlyNoPolicy(c *checker) {
	for _, d := range c.All("proxy_pass") {
		s := c.Server(d)
		if s == nil || s.Module != "http" || !slices.ContainsFunc(s.Sockets(true), func(k *nginx.Socket) bool { return early(k.Default) }) {
			continue
		}
		headers := c.In(d.Parent, "proxy_set_header")
		guarded := c.Fragment && !headers.Set()
		for _, h := range headers.Directives {
			guarded = guarded || strings.EqualFold(h.Arg(0), "Early-Data")
		}
		for block := d.Parent; block != nil; block = block.Parent {
			for _, i := range c.Named(block, "if") {
				guarded = guarded || mentionsEarlyData(i)
			}
		}
		// A map or set over the variable is a policy too; what it does with it is not followed.
		for _, name := range []string{"map", "set"} {
			for _, m := range c.All(name) {
				guarded = guarded || mentionsEarlyData(m)
			}
		}
		if !guarded {
			c.report(d, "requests that came as early data go on to %s unmarked: who records them can send them again (tried: accepted 3 times of 3)", hostOf(d.Arg(0)))
		}
	}
}

func mentionsEarlyData(d *nginx.Directive) bool {
	return strings.Contains(d.Words(), "$ssl_early_data")
}

func hostOf(target string) string {
	if u, err := url.Parse(target); err == nil && u.Host != "" {
		if host, _, err := net.SplitHostPort(u.Host); err == nil {
			return host
		}
		return u.Host
	}
	return target
}

// RES-NONE is the error; this says what else it costs.
func checkEarlyNoResume(c *checker) {
	c.defaults(func(k *nginx.Socket, d server) {
		if early(d) && !tickets(d) && !d.Cache().Shared() && !c.unsure(d, "ssl_session_cache") {
			c.report(at(d, "ssl_early_data"), "early data needs a session to resume, and %s keeps none", k.Key)
		}
	})
}

// Formats that log client certificates alone are not about handshakes.
func checkLogReuse(c *checker) {
	for _, format := range c.All("log_format") {
		text := format.Words()
		handshake := slices.ContainsFunc([]string{"protocol", "cipher", "curve", "session_reused", "early_data"}, func(v string) bool { return strings.Contains(text, "$ssl_"+v) })
		if !handshake || len(c.TLSServers()) == 0 {
			continue
		}
		if !strings.Contains(text, "$ssl_session_reused") || !strings.Contains(text, "$ssl_protocol") {
			c.report(format, "format %s tells of TLS but not both $ssl_session_reused and $ssl_protocol: resumption cannot be seen in it", format.Arg(0))
			continue
		}
		for _, log := range c.All("access_log") {
			limited := strings.Contains(log.Words(), "if=") || strings.Contains(text, "$connection_requests")
			if log.Arg(1) == format.Arg(0) && !limited {
				c.report(log, "one line for each request, so a kept connection counts its handshake again and again: log if $connection_requests is 1")
			}
		}
	}
}
