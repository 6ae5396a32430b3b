package host

import (
	"errors"
	"math"
	"os/exec"
	"testing"
)

func TestParseSpeed(t *testing.T) {
	for text, want := range map[string][]float64{
		"+F2:2:2048:2500.000000:53435.000000\n":                {2500, 53435},
		"+F4:3:256:40000.0:13514.0\n":                          {40000, 13514},
		"+F5:22:253:25000.000000:0.000040\n":                   {25000},
		"+F6:0:253:Ed25519:20000.0:9443.333333\n":              {20000, 9443.333333},
		"+F7:0:256:CurveSM2:3169.75:3070.5\n":                  {3169.75, 3070.5},
		"+F8:0:2048:3227.25:0.000310\n":                        {3227.25},
		"+H:16384\n+F:25:AES-128-GCM:4096000000.00\n":          {250000},
		"+F2:0:2048:0.000625:0.00002\n":                        {1600, 50000}, // OpenSSL 1.1.1
		"+DTP:2048:private:rsa:1\n+F2:2:2048:2500.0:53435.0\n": {2500, 53435},
	} {
		got, err := parseSpeed([]byte(text))
		if err != nil || len(got) != len(want) {
			t.Errorf("%q: got %g, %v, want %g", text, got, err, want)
			continue
		}
		for i := range got {
			if math.Abs(got[i]-want[i]) > 1e-6*want[i] {
				t.Errorf("%q: got %g, want %g", text, got, want)
			}
		}
	}
	whole := "+F2:2:2048:2500.000000:53435.000000"
	for n := range len("+F2:2:2048:2500.000000:") {
		if got, err := parseSpeed([]byte(whole[:n])); err == nil {
			t.Errorf("%q was read as %g", whole[:n], got)
		}
	}
	for _, bad := range []string{"+F2:2:2048:0:1", "+F2:2:2048:-3:1", "+F2:2:2048:NaN:1", "+F2:2:2048:+Inf:1", "+F6:0:253:Ed25519:", "+F:1:AES:x"} {
		if got, err := parseSpeed([]byte(bad)); err == nil {
			t.Errorf("%q was read as %g", bad, got)
		}
	}
}

func FuzzParseSpeed(f *testing.F) {
	for _, seed := range []string{"+F2:2:2048:2500.000000:53435.000000\n", "+F6:0:253:Ed25519:20000.0:9443.3\n", "+F:25:AES-128-GCM:4096000000.00\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		rates, err := parseSpeed(text)
		if err == nil && len(rates) == 0 {
			t.Errorf("%q: neither rates nor an error", text)
		}
		for _, r := range rates {
			if !(r > 0) || math.IsInf(r, 0) {
				t.Errorf("%q: a rate of %g", text, r)
			}
		}
	})
}

// Each algorithm asked for is one that an installed openssl knows.
func TestOpenSSLSpeed(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a second for each operation of openssl speed: run without -short")
	}
	rates, err := OpenSSLSpeed(t.Context(), "rsa2048")
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip("openssl is not installed: apt-get install openssl")
	}
	if err != nil {
		t.Fatal(err)
	}
	// To verify an RSA signature is many times less work than to make one.
	if len(rates) != 2 || rates[1] < 5*rates[0] {
		t.Errorf("rsa2048: %g signatures and verifications a second", rates)
	}
	if _, err := OpenSSLSpeed(t.Context(), "no-such-algorithm"); err == nil {
		t.Error("an algorithm that does not exist was measured")
	}
}
