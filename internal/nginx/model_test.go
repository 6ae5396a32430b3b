package nginx

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// model interprets text as nginx.conf of a version, with the files given beside it.
func model(t *testing.T, version, text string, files map[string]string) *Model {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	v, err := ParseVersion(version)
	if err != nil {
		t.Fatal(err)
	}
	return Interpret(c, v)
}

func TestIncludesInOrder(t *testing.T) {
	m := model(t, "1.22.1", "http { include conf.d/*.conf; include one/[!x].conf; include gone.conf; server { server_name last; } }", map[string]string{
		"conf.d/b.conf": "server { server_name b; include snip; }", "conf.d/a.conf": "server { server_name a; }",
		"conf.d/B.conf": "server { server_name B; }", "conf.d/.hidden.conf": "server { server_name hidden; }",
		"one/x.conf": "server { server_name x; }", "one/y.conf": "server { server_name y; }",
		"snip": "ssl_protocols TLSv1.3;",
	})
	var names []string
	for _, s := range m.Servers {
		names = append(names, s.Name())
	}
	if diff := cmp.Diff([]string{"B", "a", "b", "y", "last"}, names); diff != "" {
		t.Error(diff)
	}
	got := m.Servers[2].Get("ssl_protocols")
	if got.Words != "TLSv1.3" || got.Level != "server" || filepath.Base(got.Directives[0].Pos.File) != "snip" {
		t.Errorf("included into the server: %+v", got)
	}
	if len(m.Config.Missing) != 1 || m.Config.Missing[0].Include.Arg(0) != "gone.conf" {
		t.Errorf("missing: %+v", m.Config.Missing)
	}
}

func TestIncludeCycle(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(path, []byte("a;\n include nginx.conf;"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), ":2:2: includes nest deeper than 32") {
		t.Errorf("got %v", err)
	}
}

func TestSockets(t *testing.T) {
	m := model(t, "1.22.1", `http {
		server { server_name a; listen 443; listen [::]:443 ssl; }
		server { server_name b; listen *:443 ssl http2 default_server; listen [::]:443; listen 10.0.0.1:443 ssl; }
		server { server_name c; }
		server { server_name d; listen 8000-8001; listen unix:/x.sock; listen localhost; }
		server { server_name e; listen 443 quic reuseport; ssl on; listen [0:0::1]; }
	}`, nil)
	var got []string
	for _, k := range m.Sockets {
		line := fmt.Sprintf("%s %s default=%s explicit=%t tls=%t http2=%t", k.Key, k.Family, k.Default.Name(), k.Explicit, k.TLS, k.HTTP2)
		for _, s := range k.Servers {
			line += " " + s.Name()
		}
		got = append(got, line)
	}
	want := []string{
		"0.0.0.0:443 IPv4 default=b explicit=true tls=true http2=true a b",
		"[::]:443 IPv6 default=a explicit=false tls=true http2=false a b",
		"10.0.0.1:443 IPv4 default=b explicit=false tls=true http2=false b",
		"0.0.0.0:80 IPv4 default=c explicit=false tls=false http2=false c",
		"0.0.0.0:8000 IPv4 default=d explicit=false tls=false http2=false d",
		"0.0.0.0:8001 IPv4 default=d explicit=false tls=false http2=false d",
		"unix:/x.sock unix default=d explicit=false tls=false http2=false d",
		"localhost:80 IPv4 default=d explicit=false tls=false http2=false d",
		"0.0.0.0:443/udp IPv4 default=e explicit=false tls=true http2=false e",
		"[::1]:80 IPv6 default=e explicit=false tls=true http2=false e",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestInheritance(t *testing.T) {
	m := model(t, "1.22.1", `
	worker_processes 4;
	http {
		ssl_session_cache shared:Z:10m; ssl_session_ticket_key a; ssl_session_ticket_key b;
		ssl_conf_command Options X; ssl_session_timeout 1h;
		server { server_name inherits; listen 443 ssl; }
		server { server_name replaces; listen 443 ssl; ssl_session_ticket_key c; ssl_conf_command Ciphersuites Y; }
		server { server_name halves; listen 443 ssl; ssl_session_cache builtin:1000; }
		server { server_name off; listen 443 ssl; ssl_session_cache off; location / { keepalive_timeout 5; } }
	}
	stream { server { listen 1 ssl; ssl_handshake_timeout 5s; } }`, nil)
	var got []string
	for _, s := range m.Servers {
		var keys []string
		for _, d := range s.Get("ssl_session_ticket_key").Directives {
			keys = append(keys, d.Arg(0))
		}
		c := s.Cache()
		got = append(got, fmt.Sprintf("%s %s keys=%v conf=%s timeout=%s@%s cache=%s builtin=%t zone=%s %d workers=%s", s.Module, s.Name(), keys,
			s.Get("ssl_conf_command").Words, s.Get("ssl_session_timeout").Words, s.Get("ssl_session_timeout").Level,
			c.Mode, c.Builtin, c.Zone, c.Bytes, s.Get("worker_processes").Words))
	}
	want := []string{
		"http inherits keys=[a b] conf=Options X timeout=1h@http cache=on builtin=false zone=Z 10485760 workers=4",
		"http replaces keys=[c] conf=Ciphersuites Y timeout=1h@http cache=on builtin=false zone=Z 10485760 workers=4",
		"http halves keys=[a b] conf=Options X timeout=1h@http cache=on builtin=true zone=Z 10485760 workers=4",
		"http off keys=[a b] conf=Options X timeout=1h@http cache=off builtin=false zone=Z 10485760 workers=4",
		"stream server at nginx.conf:11 keys=[] conf= timeout=5m@default cache=none builtin=false zone= 0 workers=4",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFragment(t *testing.T) {
	m := model(t, "1.27.3", "ssl_session_timeout 1d; server { listen 443 ssl; }", nil)
	if !m.Fragment || len(m.TLSServers()) != 1 {
		t.Fatalf("fragment %t, %d TLS servers", m.Fragment, len(m.TLSServers()))
	}
	if s := m.Servers[0].Get("ssl_session_timeout"); s.Words != "1d" || s.Level != "http" {
		t.Errorf("got %+v", s)
	}
	if m := model(t, "1.27.3", "worker_processes 1;", nil); m.Fragment {
		t.Error("a main file taken for a fragment")
	}
}

func TestSnippet(t *testing.T) {
	m := model(t, "1.27.3", "ssl_protocols TLSv1.3;\nssl_session_cache shared:Z:1m;", nil)
	if !m.Fragment || !m.Snippet || len(m.TLSServers()) != 1 {
		t.Fatalf("fragment %t, snippet %t, %d TLS servers", m.Fragment, m.Snippet, len(m.TLSServers()))
	}
	s := m.Servers[0]
	if v := s.Get("ssl_protocols"); v.Words != "TLSv1.3" || v.Level != "server" || s.Cache().Zone != "Z" || m.Context(v.Directives[0]) != "http/server" {
		t.Errorf("got %+v, cache %+v", v, s.Cache())
	}
	for _, text := range []string{"gzip on;", "upstream a { server b; } ssl_protocols TLSv1.3;", "server { } ssl_protocols TLSv1.3;", "location / { proxy_ssl_verify on; }"} {
		if model(t, "1.27.3", text, nil).Snippet {
			t.Errorf("%q is no snippet", text)
		}
	}
}

func TestDefaults(t *testing.T) {
	for _, test := range []struct{ version, name, want string }{
		{"1.22.1", "ssl_protocols", "TLSv1 TLSv1.1 TLSv1.2"},
		{"1.23.4", "ssl_protocols", "TLSv1 TLSv1.1 TLSv1.2 TLSv1.3"},
		{"1.27.3", "ssl_protocols", "TLSv1.2 TLSv1.3"},
		{"1.19.9", "keepalive_requests", "100"},
		{"1.19.10", "keepalive_requests", "1000"},
		{"1.29.7", "proxy_http_version", "1.1"},
		{"1.29.6", "proxy_http_version", "1.0"},
		{"1.22.1", "no_such", ""},
	} {
		v, err := ParseVersion(test.version)
		if err != nil {
			t.Fatal(err)
		}
		if got := (&Model{Version: v}).Default(test.name); got != test.want {
			t.Errorf("%s %s: got %q, want %q", test.version, test.name, got, test.want)
		}
	}
}

func TestVersions(t *testing.T) {
	for in, want := range map[string]string{"1.22.1": "1.22.1", "1.27": "1.27.0", "1.31.5-dev": "1.31.5", "1.1.1w": "1.1.1", "x": "", "1.21.4.1": "1.21.4", "1.2x.3": "1.2.0", "": ""} {
		v, err := ParseVersion(in)
		if (err != nil) != (want == "") || err == nil && v.String() != want {
			t.Errorf("%q: got %v, %v", in, v, err)
		}
	}
	b, err := parseBinary("nginx", "nginx version: openresty/1.21.4.1\nbuilt with OpenSSL 1.1.1w  11 Sep 2023\n")
	if err != nil || b.Version.String() != "1.21.4" || b.OpenSSL.String() != "1.1.1" {
		t.Errorf("got %+v, %v", b, err)
	}
	b, err = parseBinary("nginx", "nginx version: nginx/1.18.0 (Ubuntu)\nbuilt with OpenSSL 1.1.1 1 x (running with OpenSSL 3.0.2 15 Mar 2022)\n")
	if err != nil || b.Version.String() != "1.18.0" || b.OpenSSL.String() != "3.0.2" {
		t.Errorf("got %+v, %v", b, err)
	}
	if _, err := parseBinary("nginx", "hello"); err == nil {
		t.Error("no version, no error")
	}
}

func TestSizesAndTimes(t *testing.T) {
	for in, want := range map[string]int64{"10m": 10 << 20, "512k": 512 << 10, "1G": 1 << 30, "7": 7, "": -1, "m": -1, "1x": -1} {
		if n, ok := ParseSize(in); ok != (want >= 0) || ok && n != want {
			t.Errorf("size %q: got %d %t", in, n, ok)
		}
	}
	for in, want := range map[string]time.Duration{
		"1d": 24 * time.Hour, "1h 30m": 90 * time.Minute, "1h30m": 90 * time.Minute, "90": 90 * time.Second, "500ms": 500 * time.Millisecond,
		"1M": 720 * time.Hour, "": -1, "x": -1, "5x": -1, "h": -1, "999999999y": -1,
	} {
		if d, ok := ParseTime(in); ok != (want >= 0) || ok && d != want {
			t.Errorf("time %q: got %v %t", in, d, ok)
		}
	}
}
