package lint

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shakedown/internal/nginx"

	"github.com/google/go-cmp/cmp"
)

// TestFixes applies the fixes to every before.conf and fire-*.conf, and wants the rule that had one silent afterwards and
// nginx content with what it accepted before.
func TestFixes(t *testing.T) {
	binary, err := nginx.Installed(t.Context())
	if err != nil {
		t.Logf("nginx -t is left out (apt install nginx): %v", err)
	}
	dir := files(t)
	paths, err := filepath.Glob("rules/*/*.conf")
	if err != nil {
		t.Fatal(err)
	}
	fixes, accepted := 0, 0
	for _, path := range paths {
		e := readExample(t, path)
		if !e.fires {
			continue
		}
		id := filepath.Base(filepath.Dir(path))
		rule, err := FindRule(id)
		if err != nil {
			t.Fatal(err)
		}
		at := e.write(t, dir)
		report, err := Run(at, []*Rule{rule}, e.opt)
		if err != nil {
			t.Fatal(err)
		}
		changes, err := Fix([]*Report{report})
		if err != nil {
			t.Fatal(err)
		}
		if len(changes) == 0 {
			continue
		}
		fixes++
		for _, c := range changes {
			if err := os.WriteFile(c.Path, []byte(c.New), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		again, err := Run(at, []*Rule{rule}, e.opt)
		if err != nil {
			t.Fatalf("%s: %v\n%s", path, err, changes[0].New)
		}
		for _, f := range again.Findings {
			if len(f.Edits) > 0 {
				t.Errorf("%s: still there: %s\n%s", path, f.Message, changes[0].Diff())
			}
		}
		if e.opt.Nginx == binary.Version && e.opt.OpenSSL == (nginx.Version{Major: 3, Minor: 0, Patch: 22}) && !strings.Contains(e.refused, "dlopen") {
			if out, ok := nginxTest(t, binary.Path, at); !ok {
				t.Errorf("%s: nginx refuses the fixed file:\n%s\n%s", path, out, changes[0].Diff())
			}
			accepted++
		}
	}
	t.Logf("%d fixed, %d of them given to nginx", fixes, accepted)
	if fixes < 25 {
		t.Errorf("only %d fixes", fixes)
	}
}

func TestFixKeepsTheRest(t *testing.T) {
	dir := files(t)
	path := filepath.Join(dir, "site.conf")
	text := `# the shop
ssl_protocols  TLSv1   TLSv1.2; # old
ssl_ecdh_curve secp384r1;

server {
	listen 8443 ssl; # v4
	ssl_certificate "ecdsa.crt";
	ssl_certificate_key 'ecdsa.key';
	ssl_session_timeout 1h; } # end
`
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	report, err := Run(path, Rules(), Options{Nginx: nginx.Version{Major: 1, Minor: 22, Patch: 1}, OpenSSL: nginx.Version{Major: 3}})
	if err != nil {
		t.Fatal(err)
	}
	changes, err := Fix([]*Report{report})
	if err != nil {
		t.Fatal(err)
	}
	want := `# the shop
ssl_protocols  TLSv1.2 TLSv1.3; # old
ssl_ecdh_curve X25519:prime256v1:secp384r1;

server {
	listen 8443 ssl; # v4
	ssl_certificate "ecdsa.crt";
	ssl_certificate_key 'ecdsa.key';
	ssl_session_timeout 1h; } # end
`
	if diff := cmp.Diff(want, changes[0].New); diff != "" {
		t.Error(diff)
	}
	wantDiff := "--- " + path + "\n+++ " + path + "\n@@ -2,2 +2,2 @@\n-ssl_protocols  TLSv1   TLSv1.2; # old\n-ssl_ecdh_curve secp384r1;\n+ssl_protocols  TLSv1.2 TLSv1.3; # old\n+ssl_ecdh_curve X25519:prime256v1:secp384r1;\n"
	if diff := cmp.Diff(wantDiff, changes[0].Diff()); diff != "" {
		t.Error(diff)
	}

	// A link stays a link, the mode stays, the old text is kept.
	link := filepath.Join(dir, "enabled.conf")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	changes[0].Path = link
	if err := Write(t.Context(), changes, nil); err != nil {
		t.Fatal(err)
	}
	got, _ := os.ReadFile(path)
	info, _ := os.Lstat(link)
	mode, _ := os.Stat(path)
	backup, _ := os.ReadFile(link + ".shakedown-backup")
	if string(got) != want || info.Mode()&os.ModeSymlink == 0 || mode.Mode().Perm() != 0o640 || string(backup) != text {
		t.Errorf("written %q, link %s, mode %s, backup %q", got, info.Mode(), mode.Mode(), backup)
	}
	if err := Write(t.Context(), changes, nil); err == nil || !strings.Contains(err.Error(), "has changed since") {
		t.Errorf("a file changed meanwhile: %v", err)
	}
	changes[0].Old, changes[0].New = want, text
	if err := Write(t.Context(), changes, nil); err == nil || !strings.Contains(err.Error(), "exists: look at it") {
		t.Errorf("a backup there: %v", err)
	}
}

func TestEditsAtOnePlace(t *testing.T) {
	got, err := apply("abc", []Edit{{"", 1, 2, ""}, {"", 1, 1, "1"}, {"", 2, 3, ""}, {"", 1, 1, "2"}})
	if err != nil || got != "a12" {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := apply("abc", []Edit{{"", 2, 4, ""}}); err == nil {
		t.Error("an edit beyond the end was made")
	}
}

func TestFixIsUndoneWhenNginxRefuses(t *testing.T) {
	binary, err := nginx.Installed(t.Context())
	if err != nil {
		t.Skipf("needs nginx (apt install nginx): %v", err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "nginx.conf")
	good := "events {}\n"
	if err := os.WriteFile(path, []byte(good), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"-p", dir, "-g", "pid " + filepath.Join(dir, "pid") + ";"}
	test := &Test{binary.Path, path, args}
	if err := test.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	err = Write(t.Context(), []Change{{Path: path, Old: good, New: "nonsense;\n"}}, test)
	if err == nil || !strings.HasPrefix(err.Error(), "the files are as they were: nginx -t refuses it: ") || !strings.Contains(err.Error(), `unknown directive "nonsense"`) {
		t.Errorf("got %v", err)
	}
	if got, _ := os.ReadFile(path); string(got) != good {
		t.Errorf("not put back: %q", got)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*shakedown*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
