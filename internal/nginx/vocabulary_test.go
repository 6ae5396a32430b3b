package nginx

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestVocabularyAsNginx puts every directive of open source nginx into each context and wants "unknown directive" and "not
// allowed here" from nginx exactly where the table says so.
func TestVocabularyAsNginx(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nginx.conf")
	v := Version{1, 22, 1}
	if b, err := Installed(t.Context()); err == nil && b.Version != v {
		t.Skipf("needs nginx %s, found %s", v, b.Version)
	}
	around := map[string]string{
		"main":          "@",
		"http/server":   "events {} http { server { @ } }",
		"http/location": "events {} http { server { location / { @ } } }",
	}
	asked := 0
	for name, c := range LoadCommands() {
		if c.Origin != "" || name == "include" || name == "if" || len(name)%3 != 0 { // a third of them keeps this near two seconds
			continue
		}
		for context, text := range around {
			d := name + " ;"
			if c.Block {
				d = name + " {}"
			}
			if err := os.WriteFile(path, []byte(strings.Replace(text, "@", d, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			out, _ := nginxTest(t, path)
			asked++
			if strings.Contains(out, "unknown directive") {
				// Modules not compiled into this binary: their names are in the table all the same.
				if c.Since.IsZero() && c.Removed.IsZero() && !strings.Contains(strings.Join(c.Contexts, ","), "stream") && !strings.Contains(strings.Join(c.Contexts, ","), "mail") && !dynamic(name) {
					t.Errorf("%s: nginx does not know it", name)
				}
				continue
			}
			if !c.Since.IsZero() {
				t.Errorf("%s: since %s in the table, known to %s", name, c.Since, v)
			}
			if refused := strings.Contains(out, "not allowed here"); refused == c.Allows(context, v) {
				t.Errorf("%s in %s: table allows %t, nginx: %s", name, context, c.Allows(context, v), out)
			}
		}
	}
	if asked < 300 {
		t.Errorf("only %d questions asked", asked)
	}
}

// dynamic names belong to modules Debian ships apart.
func dynamic(name string) bool {
	for _, p := range []string{"geoip", "image_filter", "perl", "xslt", "xml", "ndk"} {
		if strings.HasPrefix(name, p) || name == "stream" || name == "mail" {
			return true
		}
	}
	return false
}

func TestNearest(t *testing.T) {
	all := LoadCommands()
	for in, want := range map[string]string{
		"ssl_session_ticket": "ssl_session_tickets", "ssl_protocol": "ssl_protocols", "ssl_chiphers": "ssl_ciphers", "ssl_certifcate": "ssl_certificate",
		"keepalive_timout": "keepalive_timeout", "lisen": "listen", "zzzzzzzz": "", "gizp": "gzip",
	} {
		if got := all.Nearest(in); got != want {
			t.Errorf("%s: got %q, want %q", in, got, want)
		}
	}
}

func TestContext(t *testing.T) {
	m := model(t, "1.22.1", `pid x; http { map a b { default x; } upstream u { server y; } server { if ($a) { return 1; } location / { location /b { limit_except GET { deny all; } } } } } stream { server { ssl_alpn h2; } }`, nil)
	for name, want := range map[string]string{"pid": "main", "default": "", "deny": "http/limit_except", "return": "http/server/if", "ssl_alpn": "stream/server"} {
		if got := m.Context(m.All(name)[0]); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
