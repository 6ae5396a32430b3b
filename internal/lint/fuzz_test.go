package lint

import (
	"os"
	"path/filepath"
	"testing"

	"shakedown/internal/nginx"
)

// FuzzRun gives any text to all rules: nothing panics, and what the fixes make of a file that parses parses too.
func FuzzRun(f *testing.F) {
	paths, err := filepath.Glob("rules/*/*.conf")
	if err != nil {
		f.Fatal(err)
	}
	more, err := filepath.Glob("testdata/*.conf")
	if err != nil {
		f.Fatal(err)
	}
	for i, path := range append(paths, more...) {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text), i%2 == 0)
	}
	for _, name := range []string{"ssl_protocols", "ssl_ciphers", "ssl_session_tickets", "ssl_session_cache", "ssl_session_timeout", "ssl_ecdh_curve", "ssl_certificate",
		"ssl_conf_command", "ssl_stapling", "proxy_pass", "log_format", "access_log", "keepalive_timeout", "listen", "server_name", "root", "ssl_trusted_certificate"} {
		f.Add("http { server { listen 443 ssl; ssl_stapling on; "+name+"; } }", true) // a directive without its arguments
		f.Add(name+"; "+name+" '';", false)
	}
	f.Add("http { ssl on; server { } server { } }", false) // no listen
	rules := Rules()
	f.Fuzz(func(t *testing.T, text string, newer bool) {
		path := filepath.Join(t.TempDir(), "nginx.conf")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		opt := Options{Nginx: nginx.Version{Major: 1, Minor: 22, Patch: 1}, OpenSSL: nginx.Version{Major: 3}, Hosts: 2, SessionsPerSecond: 1e6}
		if newer {
			opt.Nginx, opt.OpenSSL = nginx.Version{Major: 1, Minor: 29, Patch: 3}, nginx.Version{Major: 3, Minor: 5}
		}
		report, err := Run(path, rules, opt)
		if err != nil {
			return
		}
		changes, err := Fix([]*Report{report})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range changes {
			if _, err := nginx.Parse(c.Path, c.New); err != nil {
				t.Fatalf("the repaired file does not parse: %v\n%s", err, c.Diff())
			}
		}
	})
}
