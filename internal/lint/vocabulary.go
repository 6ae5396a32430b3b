package lint

import (
	"strings"

	"shakedown/internal/nginx"
)

// nowhere lists directives that stock nginx never had in http{} though texts about it use them.
var nowhere = map[string]string{
	"ssl_early_data_max_size":    "there is no size to set: nginx takes 16384 bytes (ssl_early_data turns it on)",
	"ssl_max_early_data":         "there is no size to set: nginx takes 16384 bytes (ssl_early_data turns it on)",
	"ssl_session_ticket_timeout": "tickets live ssl_session_timeout",
	"ssl_ticket_key":             "the name is ssl_session_ticket_key",
	"ssl_ocsp_stapling":          "the name is ssl_stapling",
	"ssl_ct":                     "it belongs to a third-party module",
	"ssl_ct_static_scts":         "it belongs to a third-party module",
	"ssl_dyn_rec_enable":         "it belongs to a patch of Cloudflare's, not to nginx",
	"ssl_dyn_rec_timeout":        "it belongs to a patch of Cloudflare's, not to nginx",
	"ssl_dyn_rec_size_lo":        "it belongs to a patch of Cloudflare's, not to nginx",
	"ssl_dyn_rec_size_hi":        "it belongs to a patch of Cloudflare's, not to nginx",
	"ssl_dyn_rec_threshold":      "it belongs to a patch of Cloudflare's, not to nginx",
}

// spoken are names other VOC rules tell of.
func spoken(name, context string) bool {
	return name == "ssl" || name == "http2" || name == "ssl_handshake_timeout" && strings.HasPrefix(context, "http")
}

func checkVocUnknown(c *checker) {
	commands := nginx.LoadCommands()
	extended := len(c.All("load_module")) > 0
	for _, top := range c.Config.Main {
		top.Walk(func(d *nginx.Directive) bool {
			context := c.Context(d)
			if context == "" {
				return false
			}
			c.checkName(commands, d, context, extended)
			return d.HasBlock && d.Lua == ""
		})
	}
}

func (c *checker) checkName(commands nginx.Commands, d *nginx.Directive, context string, extended bool) {
	cmd, known := commands[d.Name]
	switch {
	case spoken(d.Name, context):
	case nowhere[d.Name] != "":
		f := c.report(d, "nginx has no directive %s and does not start: %s", d.Name, nowhere[d.Name])
		if name, ok := strings.CutPrefix(nowhere[d.Name], "the name is "); ok {
			f.fix(setName(d, name))
		}
	case !known:
		near := commands.Nearest(d.Name)
		switch {
		case near != "" && !extended:
			c.report(d, "nginx has no directive %s and does not start; the nearest is %s", d.Name, near).fix(setName(d, near))
		case near != "":
			c.report(d, "nginx has no directive %s; unless a module loaded brings it, %s is meant", d.Name, near).as(Warning)
		case strings.HasPrefix(d.Name, "ssl_") && !strings.Contains(d.Name, "_by_lua"):
			c.report(d, "stock nginx has no directive %s", d.Name).as(Warning)
		}
	case cmd.Origin != "": // commercial or third-party: whether it is there cannot be told from the text
	case !cmd.Since.IsZero() && c.before(cmd.Since.Major, cmd.Since.Minor, cmd.Since.Patch):
		c.report(d, "%s came with nginx %s; %s does not start", d.Name, cmd.Since, c.opt.Nginx)
	case !cmd.Removed.IsZero() && !c.before(cmd.Removed.Major, cmd.Removed.Minor, cmd.Removed.Patch):
		c.report(d, "%s went with nginx %s; %s does not start", d.Name, cmd.Removed, c.opt.Nginx)
	case !cmd.Allows(context, c.opt.Nginx) && !c.Fragment:
		c.report(d, "%s is not allowed in %s (it goes in %s): nginx does not start", d.Name, place(context), strings.Join(cmd.Contexts, ", "))
	}
}

// place names a context as it is written.
func place(context string) string {
	if context == "main" {
		return "the main level"
	}
	return context
}

// The parameter belongs to the socket and the directive to the server, so several listen lines become one directive.
func checkVocHTTP2(c *checker) {
	for _, d := range c.All("listen") {
		context := c.Context(d)
		if context != "http/server" {
			continue
		}
		for i, a := range d.Args {
			switch {
			case a.Text == "http2" && !c.before(1, 25, 1):
				f := c.report(d, "the parameter http2 is deprecated since nginx 1.25.1, which warns; the directive \"http2 on\" takes its place")
				if len(c.Named(d.Parent, "http2")) > 0 || c.Named(d.Parent, "listen")[0] != d {
					f.fix(dropArg(d, i))
				} else {
					f.fix(insertBefore(d, "http2 on;"), dropArg(d, i))
				}
			case a.Text == "spdy" && !c.before(1, 9, 5):
				c.report(d, "the parameter spdy went with nginx 1.9.5: nginx does not start").as(Error).fix(dropArg(d, i))
			case a.Text == "http3":
				c.report(d, "there is no parameter http3; \"listen ... quic\" (1.25.0) opens the socket").as(Error)
			case a.Text == "quic" && c.before(1, 25, 0):
				c.report(d, "the parameter quic came with nginx 1.25.0: %s does not start", c.opt.Nginx).as(Error)
			}
		}
	}
	for _, d := range c.All("http2") {
		if c.before(1, 25, 1) && strings.HasPrefix(c.Context(d), "http") {
			c.report(d, "the directive http2 came with nginx 1.25.1; %s does not start. Before, \"listen ... http2\" says it", c.opt.Nginx).as(Error)
		}
	}
}

// stream{} never had it.
func checkVocSSLOn(c *checker) {
	for _, d := range c.All("ssl") {
		context := c.Context(d)
		if strings.HasPrefix(context, "stream") || context == "" {
			continue
		}
		switch {
		case !c.before(1, 25, 1):
			c.report(d, "the directive ssl went with nginx 1.25.1, which does not start; \"listen ... ssl\" takes its place").as(Error)
		case !c.before(1, 15, 0):
			c.report(d, "the directive ssl is deprecated since nginx 1.15.0 and gone in 1.25.1; \"listen ... ssl\" takes its place")
		}
	}
}

func checkVocHandshakeTimeout(c *checker) {
	for _, d := range c.All("ssl_handshake_timeout") {
		if strings.HasPrefix(c.Context(d), "http") {
			c.report(d, "http{} has no ssl_handshake_timeout: client_header_timeout of the default server bounds the handshake").
				fix(setName(d, "client_header_timeout"))
		}
	}
}
