package audit

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shakedown"
	"shakedown/internal/lint"
)

const (
	both  = "ssl_protocols TLSv1.2 TLSv1.3;\n"
	ecdsa = "ssl_certificate ecdsa.pem; ssl_certificate_key ecdsa.key;\n"
	dual  = ecdsa + "ssl_certificate rsa.pem; ssl_certificate_key rsa.key;\n"
)

// site is a server for one name with more settings.
func site(name, settings string) string {
	return "server { listen PORT ssl; server_name " + name + "; return 200 ok;\n" + settings + "}\n"
}

// states lists the settings of all comparisons that are as told, each once.
func states(r *lint.Report, agree shakedown.Verdict) []string {
	var list []string
	for _, c := range r.Compared {
		for _, row := range c.Rows {
			if row.Agree == agree && !slices.Contains(list, row.Setting) {
				list = append(list, row.Setting)
			}
		}
	}
	return list
}

func dump(r *lint.Report) string {
	var b strings.Builder
	for _, c := range r.Compared {
		for _, row := range c.Rows {
			b.WriteString(strings.Join([]string{c.Name, string(row.Agree), row.Setting, row.Expected, row.Observed}, " | ") + "\n")
		}
	}
	return b.String()
}

// TestAgrees holds what a file comes to against nginx that runs on it, in all the ways that settings are decided: nothing
// may differ, and only what is named may stay open.
func TestAgrees(t *testing.T) {
	for name, test := range map[string]struct {
		http  string
		names []string // asked for
		open  []string
	}{
		"defaults": {http: ecdsa + site("a.example", "")},
		"two certificates and a cache": {http: both + dual + "ssl_session_cache shared:TLS:1m; ssl_session_timeout 10d; ssl_prefer_server_ciphers on;\n" +
			"ssl_ciphers ECDHE+AESGCM:ECDHE+CHACHA20; ssl_ecdh_curve X25519:prime256v1;\n" + site("a.example", "")},
		"ciphers of every kind": {http: both + dual + "ssl_ciphers ALL:!ECDHE-RSA-AES128-GCM-SHA256; ssl_conf_command Ciphersuites TLS_AES_128_GCM_SHA256;\n" + site("a.example", "")},
		"retry":                 {http: both + ecdsa + "ssl_ecdh_curve secp384r1;\n" + site("a.example", "")},
		"key files":             {http: both + ecdsa + "ssl_session_ticket_key one.tkt; ssl_session_ticket_key two.tkt; ssl_session_timeout 1h;\n" + site("a.example", "")},
		"tickets off, shared":   {http: both + ecdsa + "ssl_session_tickets off; ssl_session_cache shared:TLS:1m;\n" + site("a.example", "")},
		"tickets off, builtin":  {http: both + ecdsa + "ssl_session_tickets off; ssl_session_cache builtin;\n" + site("a.example", "")},
		"nothing resumes":       {http: both + ecdsa + "ssl_session_tickets off;\n" + site("a.example", "")},
		"early data":            {http: both + ecdsa + "ssl_early_data on;\n" + site("a.example", "")},
		"AntiReplay":            {http: both + ecdsa + "ssl_early_data on; ssl_conf_command Options AntiReplay;\n" + site("a.example", "")},
		"no tickets at all":     {http: both + ecdsa + "ssl_conf_command NumTickets 0;\n" + site("a.example", ""), open: []string{"ssl_early_data"}},
		"client certificates": {http: both + ecdsa + "ssl_client_certificate ecdsa.pem; ssl_verify_client optional;\n" + site("a.example", ""),
			open: []string{"TLS 1.3 resumption", "session-ID resumption"}},
		"stapling without a responder": {http: both + ecdsa + "ssl_stapling on;\n" + site("a.example", ""), open: []string{"ssl_stapling"}},
		"one that refuses": {http: "server { listen PORT ssl default_server; ssl_reject_handshake on; }\n" + both + "ssl_session_cache shared:TLS:1m; ssl_session_timeout 1h;\n" +
			site("a.example", ecdsa), names: []string{"a.example"}},
		"the default server decides": {http: both + ecdsa + site("a.example", "ssl_session_timeout 1h; ssl_early_data on; ssl_session_cache shared:A:1m; ssl_ecdh_curve X25519:prime256v1;") +
			site("b.example", "ssl_session_timeout 2h; ssl_session_cache shared:B:1m; ssl_ciphers ECDHE+AESGCM; ssl_prefer_server_ciphers on; ssl_protocols TLSv1.2;"),
			names: []string{"a.example", "b.example"}, open: []string{"ssl_ecdh_curve"}},
		"tickets mixed, off by default": {http: both + ecdsa + "ssl_session_cache shared:TLS:1m;\n" + site("a.example", "ssl_session_tickets off;") + site("b.example", "")},
		"tickets mixed, on by default":  {http: both + ecdsa + "ssl_session_cache shared:TLS:1m;\n" + site("a.example", "") + site("b.example", "ssl_session_tickets off;")},
		"TLS 1.2 alone":                 {http: "ssl_protocols TLSv1.2;\n" + ecdsa + site("a.example", "")},
		"TLS 1.3 alone":                 {http: "ssl_protocols TLSv1.3;\n" + ecdsa + site("a.example", "")},
	} {
		t.Run(name, func(t *testing.T) {
			l := start(t, test.http)
			r := l.audit(test.names...)
			if differ := states(r, shakedown.No); len(differ) > 0 {
				t.Errorf("differ: %v", differ)
			}
			if diff := cmp.Diff(test.open, states(r, shakedown.Inconclusive)); diff != "" {
				t.Errorf("open: %s", diff)
			}
			if t.Failed() {
				t.Log(dump(r))
			}
		})
	}
}

// TestDiffers edits a file beneath a running nginx: exactly what was edited differs, with a finding for each at the line to
// look at, until nginx reloads.
func TestDiffers(t *testing.T) {
	base := both + ecdsa + site("a.example", "")
	for name, test := range map[string]struct {
		before, after string
		want          []string
	}{
		"versions":       {base, "ssl_protocols TLSv1.2;\n" + ecdsa + site("a.example", ""), []string{"ssl_protocols"}},
		"a version more": {"ssl_protocols TLSv1.3;\n" + ecdsa + site("a.example", ""), base, []string{"ssl_protocols"}},
		"suites":         {base, "ssl_ciphers ECDHE+AESGCM;\n" + base, []string{"ssl_ciphers"}},
		"TLS 1.3 suites": {base, "ssl_conf_command Ciphersuites TLS_CHACHA20_POLY1305_SHA256;\n" + base, []string{"TLS 1.3 suites"}},
		"order":          {base, "ssl_prefer_server_ciphers on;\n" + base, []string{"ssl_prefer_server_ciphers"}},
		"groups":         {"ssl_ecdh_curve secp384r1;\n" + base, "ssl_ecdh_curve X25519:secp384r1;\n" + base, []string{"ssl_ecdh_curve", "HelloRetryRequest"}},
		"certificate":    {base, strings.ReplaceAll(base, "ecdsa.", "other."), []string{"ssl_certificate"}},
		"one of two":     {both + dual + site("a.example", ""), base, []string{"ssl_certificate", "ssl_ciphers"}},
		"tickets":        {base, "ssl_session_tickets off;\n" + base, []string{"ssl_session_tickets", "TLS 1.3 resumption"}},
		"cache":          {base, "ssl_session_cache shared:TLS:1m;\n" + base, []string{"session-ID resumption"}},
		"per worker":     {"ssl_session_cache builtin;\n" + base, "ssl_session_cache shared:TLS:1m;\n" + base, []string{"session-ID resumption"}},
		"early data":     {base, "ssl_early_data on;\n" + base, []string{"ssl_early_data"}},
		"timeout":        {base, "ssl_session_timeout 1d;\n" + base, []string{"ssl_session_timeout"}},
		"rotated": {"ssl_session_ticket_key one.tkt; ssl_session_ticket_key two.tkt;\n" + base, "ssl_session_ticket_key two.tkt; ssl_session_ticket_key one.tkt;\n" + base,
			[]string{"ssl_session_ticket_key"}},
		"key files":           {base, "ssl_session_ticket_key one.tkt;\n" + base, []string{"ssl_session_ticket_key"}},
		"client certificates": {"ssl_client_certificate ecdsa.pem; ssl_verify_client optional;\n" + base, base, []string{"ssl_verify_client"}},
		"refusing":            {site("_", ecdsa) + base, "server { listen PORT ssl default_server; ssl_reject_handshake on; }\n" + base, []string{"ssl_reject_handshake"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := start(t, test.before)
			l.edit(test.after)
			r := l.audit("a.example")
			if diff := cmp.Diff(test.want, states(r, shakedown.No)); diff != "" {
				t.Errorf("%s\n%s", diff, dump(r))
			}
			found := 0
			for _, f := range r.Findings {
				if f.Rule.ID == "RUNNING-DIFFERS" {
					found++
					if f.Pos.Line == 0 || f.Source == "" || !strings.Contains(f.Message, l.address.String()) {
						t.Errorf("finding %+v", f)
					}
				}
			}
			if found < len(test.want) {
				t.Errorf("%d findings for %d settings", found, len(test.want))
			}
			l.reload()
			if r := l.audit("a.example"); len(states(r, shakedown.No)) > 0 {
				t.Errorf("after the reload\n%s", dump(r))
			}
		})
	}
}

// TestPart reads a server block alone: what http{} may set stays open, what it says itself is held against the server.
func TestPart(t *testing.T) {
	l := start(t, both+ecdsa+"ssl_session_timeout 1h;\n"+site("a.example", ""))
	part := strings.ReplaceAll(site("a.example", "ssl_ciphers ECDHE+AESGCM;"), "PORT", l.address.String())
	l.write("nginx.conf", []byte(part))
	r := l.audit()
	if diff := cmp.Diff([]string{"ssl_ciphers"}, states(r, shakedown.No)); diff != "" {
		t.Errorf("%s\n%s", diff, dump(r))
	}
	if open := states(r, shakedown.Inconclusive); !slices.Contains(open, "ssl_session_timeout") || !slices.Contains(open, "ssl_protocols") {
		t.Errorf("open: %v", open)
	}
}

// TestNothingThere tells a server that is not there and a file that is for another apart from differences.
func TestNothingThere(t *testing.T) {
	l := start(t, both+ecdsa+site("a.example", ""))
	r := l.lint(0)
	elsewhere := l.target()
	elsewhere.Port++
	if err := Run(t.Context(), Plan{Report: r, Target: elsewhere}); err == nil || !strings.Contains(err.Error(), "no TLS socket of the file takes connections to") {
		t.Errorf("another port: %v", err)
	}
	dead := freePort(t) // given back: nobody listens
	l.write("dead.conf", []byte("events {} http { server { listen "+dead.String()+" ssl; server_name a.example; } }"))
	l.file = filepath.Join(l.dir, "dead.conf")
	r = l.lint(0)
	target := l.target()
	target.Port = dead.Port()
	if err := Run(t.Context(), Plan{Report: r, Target: target}); !errors.Is(err, ErrUnreached) {
		t.Errorf("nobody there: %v", err)
	}
	if len(states(r, shakedown.No)) > 0 {
		t.Errorf("what did not answer differs:\n%s", dump(r))
	}
}

func TestNames(t *testing.T) {
	for pattern, want := range map[string]string{
		"a.example": "a.example", "*.example.com": "a.example.com", ".example.com": "example.com", "_": "", "~^x$": "", "mail.*": "", "": "", "$hostname": "",
	} {
		if got := plainName(pattern); got != want {
			t.Errorf("%q is asked for as %q, want %q", pattern, got, want)
		}
	}
}
