package lint

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"shakedown/internal/lint/config"
	"shakedown/internal/nginx"
	"shakedown/internal/stek"

	"github.com/google/go-cmp/cmp"
)

var (
	ecdsaPair = config.Certificate{Chain: "ecdsa.crt", Key: "ecdsa.key", Kind: config.ECDSA}
	rsaPair   = config.Certificate{Chain: "rsa.crt", Key: "rsa.key", Kind: config.RSA}
	ocspPair  = config.Certificate{Chain: "ocsp.crt", Key: "ocsp.key", Kind: config.ECDSA, Staples: true}
)

// answers are the ways a configuration is asked for.
func answers() map[string]config.Answers {
	site := func(pairs ...config.Certificate) []config.Site {
		return []config.Site{{Names: []string{"shop.example", "a.example"}, Certificates: pairs}}
	}
	return map[string]config.Answers{
		"dual":     {Sites: site(ecdsaPair, rsaPair)},
		"ecdsa":    {Sites: site(ecdsaPair), Backend: "127.0.0.1:9"},
		"rsa":      {Sites: site(rsaPair), RSAOnly: true},
		"fleet":    {Sites: site(ecdsaPair, rsaPair), Hosts: 4, SessionsPerSecond: 2},
		"mtls":     {Sites: site(ecdsaPair), ClientCA: "ca.crt"},
		"early":    {Sites: site(ecdsaPair), EarlyData: true, Backend: "127.0.0.1:9"},
		"stapling": {Sites: site(ocspPair)},
		"two": {Sites: []config.Site{{Names: []string{"a.example"}, Certificates: []config.Certificate{ecdsaPair}},
			{Names: []string{"b.example"}, Certificates: []config.Certificate{ecdsaPair, rsaPair}}}},
	}
}

// write puts what nginx is configured with into dir.
func writeGenerated(t *testing.T, dir string, f config.File) string {
	t.Helper()
	text := strings.Replace(f.String(), "/var/log/nginx/", "", 1)
	path := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return text
}

// TestGeneratedHasNoFinding lints what is written for each way and release; nginx 1.22 tries its own.
func TestGeneratedHasNoFinding(t *testing.T) {
	dir := files(t)
	set, err := stek.NewSet(stek.SizeAES256, Options{}.Now)
	if err != nil {
		t.Fatal(err)
	}
	if err := stek.Dir(filepath.Join(dir, "tickets")).Save(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	binary, err := nginx.Installed(t.Context())
	if err != nil {
		t.Logf("nginx -t is left out (apt install nginx): %v", err)
	}
	rules := Rules()
	for name, a := range answers() {
		for _, release := range []struct{ nginx, openssl string }{
			{"1.22.1", "3.0.22"}, {"1.26.3", "3.5.9"}, {"1.27.5", "3.0.22"}, {"1.29.2", "3.5.9"}, {"1.30.6", "3.5.9"}, {"1.31.4", "3.5.9"}, {"1.31.5", "3.5.9"},
		} {
			t.Run(name+" "+release.nginx, func(t *testing.T) {
				a.Nginx, _ = nginx.ParseVersion(release.nginx)
				a.OpenSSL, _ = nginx.ParseVersion(release.openssl)
				a.TicketDir, a.Port = "tickets", 8443
				f, err := config.Nginx(a)
				if err != nil {
					t.Fatal(err)
				}
				text := writeGenerated(t, dir, f)
				report, err := Run(filepath.Join(dir, "nginx.conf"), rules, Options{Nginx: a.Nginx, OpenSSL: a.OpenSSL, Hosts: a.Hosts, SessionsPerSecond: a.SessionsPerSecond})
				if err != nil {
					t.Fatalf("%v\n%s", err, text)
				}
				for _, finding := range report.Findings {
					t.Errorf("%s: %s", finding.Rule.ID, finding.Message)
				}
				if len(report.Notes) > 0 {
					t.Errorf("notes: %q", report.Notes)
				}
				if a.Nginx == binary.Version {
					if out, ok := nginxTest(t, binary.Path, filepath.Join(dir, "nginx.conf")); !ok || strings.Contains(out, "[warn]") {
						t.Errorf("nginx: %s\n%s", out, text)
					}
				}
				if t.Failed() {
					t.Log(text)
				}
			})
		}
	}
}

// TestGeneratedRuns starts nginx 1.22 on what is written for a fleet and goes through what it is for.
func TestGeneratedRuns(t *testing.T) {
	binary := needNginx(t)
	dir := files(t)
	keys := stek.Dir(filepath.Join(dir, "tickets"))
	set, err := stek.NewSet(stek.SizeAES256, Options{}.Now)
	if err != nil {
		t.Fatal(err)
	}
	if err := keys.Save(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	a := answers()["fleet"]
	a.Nginx, a.OpenSSL, a.TicketDir, a.Port = binary.Version, binary.OpenSSL, "tickets", 8443
	f, err := config.Nginx(a)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(writeGenerated(t, dir, f), "events {}\n", "", 1)
	l := start(t, binary.Path, dir, text)

	if got := l.resumes("shop.example", nil, nil); got != "resumes" {
		t.Errorf("TLS 1.3: %s", got)
	}
	if got := l.resumes("shop.example", nil, tls12); got != "resumes" {
		t.Errorf("TLS 1.2: %s", got)
	}
	if got := l.resumesByID("shop.example", nil); got != "resumes" {
		t.Errorf("session ID: %s", got)
	}
	if got := l.resumes("shop.example", l.reload, nil); got != "resumes" {
		t.Errorf("after a reload: %s", got)
	}
	if got := l.resumesAcrossFamilies(); got != "resumes" {
		t.Errorf("IPv4 to IPv6: %s", got)
	}
	if got := certificateKind(l.dial("shop.example", nil)); got != "ECDSA" {
		t.Errorf("certificate for a client with RSA-PSS first: %s", got)
	}
	if _, err := l.dial("stranger.example", nil); err == nil || !strings.Contains(err.Error(), "unrecognized name") {
		t.Errorf("a name not served: %v", err)
	}
	state, err := l.dial("shop.example", func(c *tls.Config) { c.CurvePreferences = []tls.CurveID{tls.X25519} })
	if err != nil || state.HelloRetryRequest || state.Version != tls.VersionTLS13 {
		t.Errorf("a client with X25519: %v, asked again %t", err, state.HelloRetryRequest)
	}
	rotated := func() {
		if set, err = set.Rotate(set.Rotated, 0, false); err != nil {
			t.Fatal(err)
		}
		if err := keys.Save(t.Context(), set); err != nil {
			t.Fatal(err)
		}
		l.reload()
	}
	if got := l.resumes("shop.example", rotated, nil); got != "resumes" {
		t.Errorf("after a rotation: %s", got)
	}
	log, err := os.ReadFile(filepath.Join(dir, "tls.log"))
	if err != nil || !strings.Contains(string(log), " r ") || !strings.Contains(string(log), "TLSv1.3 ") {
		t.Errorf("the log tells nothing of resumption: %v\n%s", err, log)
	}
}

func TestGeneratedForOthers(t *testing.T) {
	dir := files(t)
	a := answers()["dual"]
	backend := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(backend.Close)
	a.OpenSSL, a.Backend, a.Port = nginx.Version{Major: 3, Minor: 0, Patch: 22}, backend.Listener.Addr().String(), 8443
	t.Run("haproxy", func(t *testing.T) {
		for i, pair := range a.Sites[0].Certificates { // one file for chain and key
			chain, err := os.ReadFile(filepath.Join(dir, pair.Chain))
			if err != nil {
				t.Fatal(err)
			}
			key, err := os.ReadFile(filepath.Join(dir, pair.Key))
			if err != nil {
				t.Fatal(err)
			}
			a.Sites[0].Certificates[i].Chain = filepath.Join(dir, pair.Chain+".pem")
			if err := os.WriteFile(a.Sites[0].Certificates[i].Chain, append(chain, key...), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		set, err := stek.NewSet(stek.SizeAES256, Options{}.Now)
		if err != nil {
			t.Fatal(err)
		}
		if err := stek.HAProxy(filepath.Join(dir, "tickets.keys")).Save(t.Context(), set); err != nil {
			t.Fatal(err)
		}
		binary, err := exec.LookPath("haproxy")
		if err != nil {
			t.Skipf("needs haproxy to try it (apt install haproxy): %v", err)
		}
		for _, change := range []func(*config.Answers){
			func(a *config.Answers) {},
			func(a *config.Answers) { a.TicketDir, a.Hosts = dir, 3 },
			func(a *config.Answers) { a.EarlyData, a.ClientCA = true, filepath.Join(dir, "ca.crt") },
		} {
			b := a
			change(&b)
			f, err := config.HAProxy(b)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "haproxy.cfg")
			if err := os.WriteFile(path, []byte(f.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command(binary, "-c", "-f", path).CombinedOutput(); err != nil || strings.Contains(string(out), "WARNING") {
				t.Fatalf("%s\n%s", out, f)
			}
			if b.ClientCA != "" {
				continue // our client has no certificate of that authority
			}
			l := &live{t: t, dir: dir, port: freePort(t), log: path}
			text := strings.Replace(f.String(), ":::8443 v4v6", l.address(), 1)
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			l.run(binary, "-db", "-f", path)
			for name, how := range map[string]func(*tls.Config){"TLS 1.3": nil, "TLS 1.2": tls12} {
				if got := l.resumes("shop.example", nil, how); got != "resumes" {
					t.Errorf("%s: %s", name, got)
				}
			}
			if got := certificateKind(l.dial("shop.example", nil)); got != "ECDSA" {
				t.Errorf("certificate for a client with RSA-PSS first: %s", got)
			}
			l.stop()
		}
	})
	t.Run("apache", func(t *testing.T) {
		b := a
		for i, pair := range answers()["dual"].Sites[0].Certificates {
			b.Sites[0].Certificates[i] = config.Certificate{Chain: filepath.Join(dir, pair.Chain), Key: filepath.Join(dir, pair.Key), Kind: pair.Kind}
		}
		b.Backend, b.Root = "", dir
		f, err := config.Apache(b)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(f.String(), "SSLSessionTicketKeyFile") || !strings.Contains(f.String(), "SSLSessionCache shmcb") {
			t.Error(f)
		}
		const modules = "/usr/lib/apache2/modules" // of Debian
		binary, err := exec.LookPath("apache2")
		if err != nil {
			t.Skipf("needs Apache to try it (Debian: apt install apache2): %v", err)
		}
		text := fmt.Sprintf("ServerName localhost\nErrorLog %s/error.log\n", dir)
		for _, m := range []string{"mpm_event", "authz_core", "ssl", "socache_shmcb"} {
			text += fmt.Sprintf("LoadModule %s_module %s/mod_%s.so\n", m, modules, m)
		}
		path := filepath.Join(dir, "httpd.conf")
		if err := os.WriteFile(path, []byte(text+strings.Replace(f.String(), "/run/apache2/", dir+"/", 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(binary, "-t", "-f", path).CombinedOutput(); err != nil {
			t.Errorf("%s\n%s", out, f)
		}
	})
}

func TestGeneratedRefuses(t *testing.T) {
	good := answers()["dual"]
	good.Nginx, good.OpenSSL, good.TicketDir = nginx.Version{Major: 1, Minor: 22, Patch: 1}, nginx.Version{Major: 3}, "t"
	for _, test := range []struct {
		change func(*config.Answers)
		write  func(config.Answers) (config.File, error)
		want   string
	}{
		{func(a *config.Answers) { a.Nginx.Minor = 18 }, config.Nginx, "nginx 1.18.1 is older than what this was tried on (1.22.1)"},
		{func(a *config.Answers) { a.OpenSSL = nginx.Version{Major: 1} }, config.Nginx, "OpenSSL 1.0.0 has no TLS 1.3"},
		{func(a *config.Answers) { a.TicketDir = "" }, config.Nginx, "nginx 1.22.1 needs ticket key files here (hosts: 1): say in which directory they are"},
		{func(a *config.Answers) { a.Sites = nil }, config.Nginx, "no site is given"},
		{func(a *config.Answers) { a.Sites = []config.Site{{Names: []string{"x"}}} }, config.Nginx, "x has no certificate"},
		{func(a *config.Answers) { a.Backend = "x; y" }, config.Nginx, `"x; y" cannot stand in a configuration without quoting: give it another name`},
		{func(a *config.Answers) { a.Hosts = 2 }, config.Apache, "several hosts cannot share tickets: SSLSessionTicketKeyFile is unreliable with OpenSSL 3 (resumption failed after graceful restarts). End TLS in front of them"},
		{func(a *config.Answers) { a.EarlyData = true }, config.Apache, "httpd has no early data"},
		{func(a *config.Answers) {}, config.HAProxy, "haproxy serves no files: say where the backend is"},
	} {
		a := good
		test.change(&a)
		if _, err := test.write(a); fmt.Sprint(err) != test.want {
			t.Errorf("got %v, want %s", err, test.want)
		}
	}
}

// TestDetect takes the sites out of what was generated.
func TestDetect(t *testing.T) {
	dir := files(t)
	a := answers()["two"]
	a.Nginx, a.OpenSSL, a.TicketDir = nginx.Version{Major: 1, Minor: 22, Patch: 1}, nginx.Version{Major: 3}, "tickets"
	a.Sites = append(a.Sites, config.Site{Names: []string{"c.example"}, Certificates: []config.Certificate{ocspPair}})
	f, err := config.Nginx(a)
	if err != nil {
		t.Fatal(err)
	}
	writeGenerated(t, dir, f)
	c, err := nginx.Load(filepath.Join(dir, "nginx.conf"))
	if err != nil {
		t.Fatal(err)
	}
	sites, err := config.Detect(nginx.Interpret(c, a.Nginx))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(a.Sites, sites); diff != "" {
		t.Error(diff)
	}
	if err := os.Remove(filepath.Join(dir, "ocsp.crt")); err != nil {
		t.Fatal(err)
	}
	if _, err := config.Detect(nginx.Interpret(c, a.Nginx)); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("a certificate gone: %v", err)
	}
	if _, err := config.ReadCertificate("ecdsa.key", "", func(p string) string { return filepath.Join(dir, p) }); err == nil || err.Error() != "ecdsa.key holds no certificate" {
		t.Errorf("a key for a certificate: %v", err)
	}
}
