package main

import (
	"context"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"shakedown"
)

// parsed returns a connection with flags set, and what it makes of a target.
func parsed(t *testing.T, flags ...string) *connection {
	t.Helper()
	c := &connection{}
	for _, s := range c.flags(shakedown.WorkFull) {
		s.flags.ParseErrorsAllowlist.UnknownFlags = true
		if err := s.flags.Parse(flags); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// TestConfig: what was typed, and what it means.
func TestConfig(t *testing.T) {
	c := parsed(t, "--version=1.2,1.3", "--version=0x0301", "--suite=TLS_AES_128_GCM_SHA256", "--group=P-256", "--key-share=none", "--sig=ed25519",
		"--alpn=http/1.1", "--mode=psk", "--work=minimal", "--complete=ticket", "--staple", "--sct", "--compress-cert=zlib,brotli", "--max-fragment=1024",
		"--no-tickets", "--psk-only", "--no-ems", "--no-etm", "--no-compat", "--grease", "--pad=600")
	cfg, err := c.config(shakedown.Target{ServerName: "a.test"})
	if err != nil {
		t.Fatal(err)
	}
	want := cfg
	want.Versions = []shakedown.Version{shakedown.TLS12, shakedown.TLS13, shakedown.TLS10}
	want.CipherSuites = []shakedown.CipherSuite{shakedown.TLS_AES_128_GCM_SHA256}
	want.Groups = []shakedown.Group{shakedown.Secp256r1}
	want.KeyShares = []shakedown.Group{}
	want.SignatureSchemes = []shakedown.SignatureScheme{shakedown.Ed25519}
	want.ALPN, want.ServerName = []string{"http/1.1"}, "a.test"
	want.Mode, want.Work, want.Complete = shakedown.ModePSK, shakedown.WorkMinimal, shakedown.CompleteTicket
	want.StatusRequest, want.SCTs, want.CompressCertificate, want.MaxFragmentLength = true, true, []uint16{1, 2}, 2
	want.NoTickets, want.PSKOnly, want.NoExtendedMasterSecret, want.NoEncryptThenMAC, want.NoCompatibility = true, true, true, true, true
	want.GREASE, want.PadTo = true, 600
	if diff := cmp.Diff(want, cfg, cmpopts.IgnoreFields(cfg, "Roots")); diff != "" {
		t.Error(diff)
	}
	if cfg, err = parsed(t).config(shakedown.Target{}); err != nil || cfg.KeyShares != nil {
		t.Errorf("without flags: key shares %v, want nil for the default; error %v", cfg.KeyShares, err)
	}
}

func TestRequest(t *testing.T) {
	target := func(text string) shakedown.Target {
		parsed, err := shakedown.ParseTarget(text)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	for _, c := range []struct{ request, target, want string }{
		{"", "a.test", "GET / HTTP/1.1\r\nHost: a.test\r\n"},
		{"", "https://a.test:8443/x?y=1", "GET /x?y=1 HTTP/1.1\r\nHost: a.test:8443\r\n"},
		{"", "[::1]:8443", "GET / HTTP/1.1\r\nHost: [::1]:8443\r\n"},
		{"", "[::1]", "GET / HTTP/1.1\r\nHost: [::1]\r\n"},
		{`GET /\r\n\r\n`, "a.test", "GET /\r\n\r\n"},
		{"GET /\r\n\r\n", "a.test", "GET /\r\n\r\n"},
		{`say "\x00"`, "a.test", "say \"\x00\""},
	} {
		got, err := (&connection{request: c.request}).requestText(target(c.target))
		if err != nil || !strings.HasPrefix(string(got), c.want) {
			t.Errorf("%q to %s: %q, %v, want %q", c.request, c.target, got, err, c.want)
		}
	}
	if _, err := (&connection{request: `\q`}).requestText(target("a.test")); err == nil {
		t.Error("a bad escape was taken")
	}
	c := &connection{}
	c.offered.ALPN = []string{"h2"}
	if _, err := c.requestText(target("a.test")); err == nil {
		t.Error("an HTTP/1.1 request would be sent where h2 is offered")
	}
}

func TestTarget(t *testing.T) {
	c := &connection{address: "[::ffff:127.0.0.1]", serverName: "B.test."}
	got, err := c.target(context.Background(), "a.test:8443")
	want := shakedown.Target{Host: "a.test", Port: 8443, Addresses: []netip.Addr{netip.MustParseAddr("127.0.0.1")}, ServerName: "b.test", Transport: shakedown.TCP, Path: "/"}
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Addr{})); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if got, err := (&connection{noName: true}).target(context.Background(), "127.0.0.1"); err != nil || got.ServerName != "" {
		t.Errorf("server name %q, %v", got.ServerName, err)
	}
	for text, c := range map[string]*connection{
		"":            {},
		"127.0.0.1":   {only6: true},
		"127.0.0.2":   {serverName: "127.0.0.1"},
		"127.0.0.3:1": {address: "127.0.0.1:1"},
	} {
		if _, err := c.target(context.Background(), text); err == nil {
			t.Errorf("target %q with %+v was taken", text, c)
		}
	}
}

func TestAddresses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "",
		"127.0.0.2":                          "127.0.0.2",
		"127.0.0.2-127.0.0.4":                "127.0.0.2 127.0.0.3 127.0.0.4",
		"127.0.0.255 - 127.0.1.0, ::1":       "127.0.0.255 127.0.1.0 ::1",
		"10.1.0.5/30":                        "10.1.0.4 10.1.0.5 10.1.0.6 10.1.0.7",
		"fd00::/127":                         "fd00:: fd00::1",
		"255.255.255.255":                    "255.255.255.255",
		"127.0.0.2-127.0.0.1":                "error",
		"127.0.0.2-::1":                      "error",
		"127.0.0.2-":                         "error",
		"10.0.0.0/33":                        "error",
		"10.0.0.0/8":                         "error",
		"localhost":                          "error",
		"255.255.255.250-255.255.255.255,::": "255.255.255.250 255.255.255.251 255.255.255.252 255.255.255.253 255.255.255.254 255.255.255.255 ::",
	} {
		got, err := parseAddresses(text)
		var words []string
		for _, a := range got {
			words = append(words, a.String())
		}
		if text := strings.Join(words, " "); err != nil && want != "error" || err == nil && text != want {
			t.Errorf("%q: %s, %v, want %s", text, words, err, want)
		}
	}
}

func TestCPUs(t *testing.T) {
	for text, want := range map[string][]int{"": nil, "0": {0}, "0,2-3": {0, 2, 3}, " 1 , 1023": {1, 1023}} {
		if got, err := parseCPUs(text); err != nil || !cmp.Equal(got, want) {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{",", "a", "-1", "3-1", "1024", "0-1024", "1-", "-"} {
		if got, err := parseCPUs(text); err == nil {
			t.Errorf("%q: %v, want an error", text, got)
		}
	}
}
