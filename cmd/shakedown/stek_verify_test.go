package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"shakedown/internal/server"
)

// TestVerifyHosts has two nginx with the keys of a set, one of which is not reloaded after a rotation, and one with a key
// of its own: verify tells which uses which, of the set and of its files one by one.
func TestVerifyHosts(t *testing.T) {
	driver := server.Nginx{}
	if err := driver.Available(); err != nil {
		t.Skipf("needs nginx: %v", err)
	}
	dir := t.TempDir()
	keys := filepath.Join(dir, "keys")
	run := func(want int, args ...string) string {
		t.Helper()
		var out, words bytes.Buffer
		if got := Run(t.Context(), args, nil, &out, &words); got != want {
			t.Fatalf("%v: exit code %d, want %d\n%s%s", args, got, want, &out, &words)
		}
		return out.String()
	}
	run(exitDone, "stek", "new", keys)
	host := func(spec server.Spec) *server.Server {
		t.Helper()
		spec.Certificates, spec.PKI, spec.Tickets = []server.KeyKind{server.P256}, filepath.Join(dir, "pki"), server.TicketsKeyFile
		s, err := driver.Start(t.Context(), spec, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Stop(); err != nil {
				t.Error(err)
			}
		})
		return s
	}
	var files []string
	for _, role := range []string{"current", "next", "previous"} {
		files = append(files, filepath.Join(keys, role+".key"))
	}
	shared := server.Spec{TicketKeys: files}
	first, second, other := host(shared), host(shared), host(server.Spec{})
	verify := func(want int, keys string) map[string]string {
		t.Helper()
		out := run(want, "stek", "verify", "--keys", keys, "--sni", first.Name, first.Addr.String(), second.Addr.String(), other.Addr.String())
		told := map[string]string{}
		for line := range strings.Lines(out) {
			address, rest, _ := strings.Cut(line, "  ")
			_, rest, _ = strings.Cut(strings.TrimSpace(rest), "  ")
			told[address] = strings.TrimSpace(rest)
		}
		return told
	}
	expect := func(told map[string]string, s *server.Server, prefix string) {
		t.Helper()
		if got := told[s.Addr.String()]; !strings.HasPrefix(got, prefix) || !strings.HasSuffix(got, "(4 of the tickets)") {
			t.Errorf("%s: %q, want %q...", s.Addr, got, prefix)
		}
	}
	told := verify(exitUnmet, keys)
	expect(told, first, "current ")
	expect(told, second, "current ")
	expect(told, other, "another key ")

	run(exitDone, "stek", "rotate", keys)
	if err := first.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	told = verify(exitUnmet, keys)
	expect(told, first, "current ")
	expect(told, second, "previous ")
	told = verify(exitUnmet, strings.Join(files, ","))
	expect(told, first, files[0]+" ")
	expect(told, second, files[2]+" ")

	if err := second.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	run(exitDone, "stek", "verify", "--keys", keys, "--sni", first.Name, first.Addr.String(), second.Addr.String())
}
