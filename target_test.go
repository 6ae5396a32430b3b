package shakedown

import (
	"strings"
	"testing"
)

func TestParseTarget(t *testing.T) {
	for _, c := range []struct {
		text, want, sni, path string
	}{
		{"example.com", "example.com:443", "example.com", "/"},
		{"Example.COM.", "Example.COM:443", "example.com", "/"},
		{"example.com:8443", "example.com:8443", "example.com", "/"},
		{"localhost", "localhost:443", "localhost", "/"},
		{"127.0.0.1", "127.0.0.1:443", "", "/"},
		{"127.0.0.1:8443", "127.0.0.1:8443", "", "/"},
		{"::1", "[::1]:443", "", "/"},
		{"[::1]", "[::1]:443", "", "/"},
		{"[::1]:8443", "[::1]:8443", "", "/"},
		{"[fe80::1%eth0]:8443", "[fe80::1%eth0]:8443", "", "/"},
		{"https://example.com", "example.com:443", "example.com", "/"},
		{"https://example.com:8443/a/b?c=d", "example.com:8443", "example.com", "/a/b?c=d"},
		{"https://[2001:db8::1]/", "[2001:db8::1]:443", "", "/"},
		{"xn--bcher-kva.example", "xn--bcher-kva.example:443", "xn--bcher-kva.example", "/"},
		{"web1.7x", "web1.7x:443", "web1.7x", "/"},
	} {
		got, err := ParseTarget(c.text)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		if got.String() != c.want || got.ServerName != c.sni || got.Path != c.path {
			t.Errorf("%q: %s, SNI %q, path %q; want %s, %q, %q", c.text, got, got.ServerName, got.Path, c.want, c.sni, c.path)
		}
		if (got.ServerName == "") != (len(got.Addresses) == 1) {
			t.Errorf("%q: SNI %q beside addresses %v", c.text, got.ServerName, got.Addresses)
		}
	}
}

func TestParseTargetPort(t *testing.T) {
	for text, want := range map[string]string{"example.com": "example.com:25", "::1": "[::1]:25", "example.com:443": "example.com:443"} {
		if got, err := ParseTargetPort(text, 25); err != nil || got.String() != want {
			t.Errorf("%q: %s (%v), want %s", text, got, err, want)
		}
	}
}

func TestParseTargetErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "target is empty",
		"example.com:":                        "no port",
		"example.com:0":                       "not a number from 1 to 65535",
		"example.com:99999":                   "not a number from 1 to 65535",
		"example.com:https":                   "not a number from 1 to 65535",
		"2001:db8::1:8443:x":                  "too many colons",
		"[example.com]":                       "not an IPv6 address",
		"[127.0.0.1]":                         "not an IPv6 address",
		"http://example.com":                  `scheme "http"`,
		"https://user:pw@example.com":         "credentials are never sent",
		"example.com/path":                    "no https://",
		"exa mple.com":                        "not a host name",
		"a..b":                                "label",
		"https://":                            "no host",
		"bücher.example":                      "xn--bcher-kva",
		"127.1":                               "ends in a number",
		"0x7f000001:443":                      "ends in a number",
		"a.0X":                                "ends in a number",
		"-a.example":                          "begins with a hyphen",
		":443":                                "no host",
		strings.Repeat("a", 64) + ".example":  "label",
		strings.Repeat("a.", 130) + "example": "253",
	} {
		_, err := ParseTarget(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", text, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "pw@") {
			t.Errorf("%q: the error shows a password: %v", text, err)
		}
	}
}

func TestSetServerName(t *testing.T) {
	target, err := ParseTarget("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"192.0.2.1", "::1", "[::1]", "example.com:443", "a b", "127.1", "0x7f000001", "2130706433", "127.0.0.1.", "bücher.example", "-a.test", "a.-b"} {
		if err := target.SetServerName(bad); err == nil {
			t.Errorf("server name %q was taken", bad)
		}
	}
	if err := target.SetServerName("Example.com."); err != nil || target.ServerName != "example.com" {
		t.Errorf("server name %q, error %v", target.ServerName, err)
	}
}

func TestLocal(t *testing.T) {
	for text, want := range map[string]bool{
		"127.0.0.1": true, "[::1]": true, "10.0.0.1": true, "192.168.1.1:8443": true, "172.16.0.1": true,
		"192.0.2.1": false, "[2001:db8::1]": false, "example.com": false, "[::ffff:127.0.0.1]": true,
	} {
		target, err := ParseTarget(text)
		if err != nil {
			t.Fatal(err)
		}
		if target.Local() != want {
			t.Errorf("%s: local %v", text, target.Local())
		}
	}
}

func FuzzParseTarget(f *testing.F) {
	for _, s := range []string{"example.com:443", "[::1]:8443", "https://example.com/x", "::", "a:b:c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		target, err := ParseTarget(s)
		if err != nil {
			return
		}
		again, err := ParseTarget(target.String())
		if err != nil || again.String() != target.String() || again.ServerName != target.ServerName {
			t.Errorf("%q became %s, which reads as %s (%v)", s, target, again, err)
		}
		if strings.ContainsAny(target.ServerName, ":[]/ ") {
			t.Errorf("%q: server name %q", s, target.ServerName)
		}
	})
}
