package nginx

import (
	"net/netip"
	"testing"
)

// TestNamed holds the choice of servers by name against the rules of nginx's manual (server_names.html).
func TestNamed(t *testing.T) {
	f, err := Parse("t.conf", `http {
	server { listen 443 ssl; server_name _; }
	server { listen 443 ssl; server_name exact.example .dot.example; }
	server { listen 443 ssl; server_name *.example *.long.example; }
	server { listen 443 ssl; server_name mail.*; }
	server { listen 443 ssl; server_name ~^re\d+\.; }
	server { listen 443 ssl; server_name ~^late\.; }
	server { listen 443 ssl; server_name ~^late\.test$; }
	server { listen 444 ssl; server_name a.example; }
	server { listen 444 ssl; server_name ~^(?!b)x; }
}`)
	if err != nil {
		t.Fatal(err)
	}
	m := Interpret(&Config{Main: f.Directives, Files: []*File{f}}, Version{1, 22, 1})
	for _, test := range []struct {
		name string
		want int // index of the server; -1: not known
	}{
		{"", 0}, {"exact.example", 1}, {"EXACT.example.", 1}, {"dot.example", 1}, {"a.dot.example", 1}, {"other.example", 2},
		{"x.long.example", 2}, {"example", 0}, {"mail.test", 3}, {"mail.example", 2}, {"re7.test", 4}, {"late.test", 5}, {"nobody.test", 0},
	} {
		if got := m.Sockets[0].Named(test.name); got != m.Servers[test.want] {
			t.Errorf("%q is answered by %s, want %s", test.name, got.Block.Pos, m.Servers[test.want].Block.Pos)
		}
	}
	if got := m.Sockets[1].Named("a.example"); got != m.Servers[7] {
		t.Error("an exact name does not hang on an expression")
	}
	if got := m.Sockets[1].Named("y.example"); got != nil {
		t.Errorf("an expression that is not read decides for %s", got.Block.Pos)
	}
}

func TestAccepts(t *testing.T) {
	f, err := Parse("t.conf", `http {
	server { listen 443 ssl; listen [::]:443 ssl; listen 127.0.0.2:443 ssl; }
	server { listen [::]:444 ssl ipv6only=off; listen 80; }
	server { listen 10.0.0.1:445 ssl; listen 443 quic; }
	server { listen 10.0.0.1:446 ssl; listen 10.0.0.2:446 ssl; }
}`)
	if err != nil {
		t.Fatal(err)
	}
	m := Interpret(&Config{Main: f.Directives, Files: []*File{f}}, Version{1, 26, 0})
	for address, want := range map[string]string{
		"127.0.0.1:443": "0.0.0.0:443", "[::1]:443": "[::]:443", "127.0.0.2:443": "127.0.0.2:443", "[::ffff:127.0.0.2]:443": "127.0.0.2:443",
		"127.0.0.1:444": "[::]:444", "[::1]:444": "[::]:444", "192.0.2.1:445": "10.0.0.1:445", "10.0.0.2:446": "10.0.0.2:446",
		"192.0.2.1:446": "", "127.0.0.1:80": "", "127.0.0.1:447": "",
	} {
		got := ""
		if k := m.Accepts(netip.MustParseAddrPort(address)); k != nil {
			got = k.Key
		}
		if got != want {
			t.Errorf("%s is taken by %q, want %q", address, got, want)
		}
	}
}
