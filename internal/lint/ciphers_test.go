package lint

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCiphersAsOpenSSL compares the expansion of cipher strings seen in public configurations with openssl's own.
func TestCiphersAsOpenSSL(t *testing.T) {
	version, err := exec.Command("openssl", "version").Output()
	if err != nil || !strings.HasPrefix(string(version), "OpenSSL 3.0.") {
		t.Skipf("needs openssl 3.0 as the oracle (apt install openssl), found %q %v", version, err)
	}
	known := map[string]bool{}
	numbers, err := exec.Command("openssl", "ciphers", "-V", "ALL:COMPLEMENTOFALL:@SECLEVEL=0").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range allSuites() {
		known[s.name] = true
		if want := fmt.Sprintf("0x%02X,0x%02X - %s ", byte(s.number>>8), byte(s.number), s.name); !strings.Contains(string(numbers), want) {
			t.Errorf("openssl does not tell %q", want)
		}
	}
	for _, text := range []string{
		"HIGH:!aNULL:!MD5", "DEFAULT", "ALL", "HIGH", "EECDH+AESGCM:EDH+AESGCM", "ECDHE+AESGCM:ECDHE+CHACHA20:DHE+AESGCM:!aNULL",
		"EECDH+CHACHA20:EECDH+AES128:RSA+AES128:EECDH+AES256:RSA+AES256:EECDH+3DES:RSA+3DES:!MD5", "HIGH:!aNULL:!MD5:!SHA1:!kRSA",
		"ECDHE-RSA-AES128-GCM-SHA256:DHE-RSA-AES256-SHA:DES-CBC3-SHA:!DSS", "HIGH:-AES256:AES256:+aRSA", "ALL:!aNULL:@STRENGTH",
		"AES256+EECDH:AES256+EDH:!aNULL", "kEECDH+ECDSA kEECDH kEDH HIGH +SHA !aNULL !eNULL !LOW !3DES !MD5 !EXP !DSS !PSK !SRP !kECDH !CAMELLIA !RC4 !SEED",
		"TLSv1.2:!aNULL", "AES128-SHA", "SSLv3:-SHA1", "AESCCM:ARIA:CAMELLIA128", "ECDH+AES:DH+AES:!ADH:!AECDH", "TLSv1.0",
		"ECDHE-ECDSA-AES128-GCM-SHA256,ECDHE-RSA-CHACHA20-POLY1305", "HIGH:+ECDH:-SHA384:SHA384:!DH",
	} {
		out, err := exec.Command("openssl", "ciphers", text).Output()
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		var want, got []string
		for name := range strings.SplitSeq(strings.TrimSpace(string(out)), ":") {
			if known[name] {
				want = append(want, name)
			}
		}
		for _, s := range expandCiphers(text) {
			got = append(got, s.name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", text, diff)
		}
	}
}
