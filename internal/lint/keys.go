package lint

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"shakedown/internal/nginx"
	"shakedown/internal/stek"
)

// Only where the key is used at all.
func checkResKeySingle(c *checker) {
	c.defaults(func(k *nginx.Socket, d server) {
		if list := keys(d); len(list) == 1 && tickets(d) {
			c.report(list[0], "the only ticket key of %s: when it is exchanged every ticket handed out is lost", k.Key)
		}
	})
}

func checkResKeyAutoOverride(c *checker) {
	c.defaults(func(k *nginx.Socket, d server) {
		if list := keys(d); len(list) > 0 && tickets(d) && d.Cache().Shared() && !c.before(1, 23, 2) && c.hosts() == 1 && !c.hasCVE97629() {
			c.report(list[0], "a key file turns off the automatic rotation that zone %s would give: rotating is up to you", d.Cache().Zone)
		}
	})
}

// keyFiles calls f for each key file in force on a TLS socket that can be looked at; a note tells of the others.
func (c *checker) keyFiles(f func(d *nginx.Directive, path string, info os.FileInfo, s server)) {
	c.defaults(func(k *nginx.Socket, s server) {
		for _, d := range keys(s) {
			path := c.Config.Resolve(d.Arg(0))
			info, err := os.Stat(path)
			if err != nil {
				c.note("ticket key %s is not looked at (%s): rules about key files say nothing", d.Arg(0), plain(err))
				continue
			}
			f(d, path, info, s)
		}
	})
}

func checkResKeySize(c *checker) {
	c.keyFiles(func(d *nginx.Directive, path string, info os.FileInfo, s server) {
		_, err := stek.ReadKey(path)
		var form *stek.FormError
		switch {
		case errors.As(err, &form):
			c.report(d, "%s has %v; nginx does not start", d.Arg(0), form)
		case err != nil:
			c.note("ticket key %s is not read (%s): its form is not judged", d.Arg(0), plain(err))
		case info.Size() == stek.SizeAES256 && c.before(1, 11, 8):
			c.report(d, "%s has 80 bytes; nginx %s takes 48 only and does not start", d.Arg(0), c.opt.Nginx)
		}
	})
}

// A key kept to decrypt may be as old as its tickets.
func checkResKeyStale(c *checker) {
	c.keyFiles(func(d *nginx.Directive, path string, info os.FileInfo, s server) {
		limit := max(24*time.Hour, 2*timeout(s))
		// Older keys behind the first are kept on purpose; the first one encrypts.
		if age := c.opt.Now.Sub(info.ModTime()); d == keys(s)[0] && age > limit {
			c.report(d, "this key encrypts and is %.0f days old (more than %s): whoever gets it reads every session of that time", age.Hours()/24, limit)
		}
	})
}

// A root of "/" holds everything and says nothing.
func checkResKeyPerm(c *checker) {
	c.keyFiles(func(d *nginx.Directive, path string, info os.FileInfo, s server) {
		if info.Mode().Perm()&0o004 != 0 {
			c.report(d, "%s may be read by everyone (mode %04o)", d.Arg(0), info.Mode().Perm())
			return
		}
		for _, name := range []string{"root", "alias"} {
			for _, r := range c.All(name) {
				if root := c.Config.Resolve(r.Arg(0)); root != "/" && strings.HasPrefix(path, strings.TrimSuffix(root, "/")+string(filepath.Separator)) {
					c.report(d, "%s lies in the web root of line %d", d.Arg(0), r.Pos.Line)
				}
			}
		}
	})
}

// From 1.29.2 on a named server may have tickets on and use the default server's key.
func checkResKeyUnused(c *checker) {
	c.defaults(func(k *nginx.Socket, d server) {
		if list := keys(d); len(list) > 0 && !tickets(d) && c.before(1, 29, 2) {
			c.report(list[0], "tickets are off on %s, so this key is never used", k.Key).fix(remove(list[0]))
		}
	})
}

func checkResKey13Renew(c *checker) {
	c.defaults(func(k *nginx.Socket, d server) {
		if list := keys(d); len(list) > 0 && tickets(d) && lists(d, "TLSv1.3") && c.before(1, 21, 6) {
			c.report(list[0], "before nginx 1.21.6 a connection resumed with a key file gets no new ticket: a browser resumes twice, then starts over")
		}
	})
}
