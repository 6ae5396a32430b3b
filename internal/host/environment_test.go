package host

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDescribe(t *testing.T) {
	e := Describe(t.Context())
	if e.OS != runtime.GOOS || e.Arch != runtime.GOARCH || e.GoVersion != runtime.Version() || e.CPUs != runtime.NumCPU() {
		t.Errorf("%s %s %s with %d CPUs", e.OS, e.Arch, e.GoVersion, e.CPUs)
	}
	if runtime.GOOS == "linux" {
		if !strings.HasPrefix(e.Kernel, "Linux ") || e.Memory <= 0 || len(e.AllowedCPU) == 0 || e.Limits == nil {
			t.Errorf("kernel %q, memory %d, CPUs %v, limits %v", e.Kernel, e.Memory, e.AllowedCPU, e.Limits)
		}
	}
	// Whatever is empty must say why.
	if (e.CPU == "" || e.Kernel == "" || e.Memory == 0 || e.Limits == nil) && len(e.NotSeen) == 0 {
		t.Errorf("something is missing without a reason: %+v", e)
	}
}

// On Linux the kernel lists the features under its own names.
func TestFeaturesAgainstCPUInfo(t *testing.T) {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil || runtime.GOARCH != "amd64" {
		t.Skip("needs /proc/cpuinfo of an x86 machine running Linux")
	}
	var flags []string
	for line := range strings.Lines(string(info)) {
		if rest, ok := strings.CutPrefix(line, "flags"); ok {
			flags = strings.Fields(rest)
			break
		}
	}
	got := features()
	for name, flag := range map[string]string{"AES-NI": "aes", "SHA-NI": "sha_ni", "AVX2": "avx2", "ADX": "adx", "VAES": "vaes", "AVX-512F": "avx512f"} {
		if slices.Contains(got, name) != slices.Contains(flags, flag) {
			t.Errorf("%s is seen here: %v; %s by the kernel: %v", name, slices.Contains(got, name), flag, slices.Contains(flags, flag))
		}
	}
	if !slices.IsSorted(got) {
		t.Errorf("features %v are not in order", got)
	}
}

// The keys are a contract with whoever reads a result.
func TestEnvironmentJSON(t *testing.T) {
	steal := 1.5
	e := Environment{
		OS: "linux", Arch: "amd64", Kernel: "Linux 6.1", CPU: "A CPU", CPUs: 4, Cores: 2, AllowedCPU: []int{0, 1}, GOMAXPROCS: 4,
		Hypervisor: "KVM", Features: []string{"AES-NI"}, Governor: "performance", Frequency: 2_000_000_000, FrequencyMax: 3_400_000_000, ClockSource: "tsc", Memory: 1 << 30, GoVersion: "go1.26", Steal: &steal,
		Limits:   &Limits{OpenFiles: 1024, OpenFilesMax: 4096, PortLow: 32768, PortHigh: 60999, AcceptQueueMax: 4096, SYNBacklogMax: 2048},
		Software: []Software{{Name: "nginx", Version: "1.22.1", Library: "OpenSSL 3.0.22", Path: "/usr/sbin/nginx"}},
		NotSeen:  []string{},
	}
	got, err := json.MarshalIndent(e, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/environment.json")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)+"\n"); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
	empty, err := json.Marshal(Environment{})
	if err != nil {
		t.Fatal(err)
	}
	for _, null := range []string{`"steal_percent":null`, `"limits":null`} {
		if !strings.Contains(string(empty), null) {
			t.Errorf("what is unknown is not null: %s has no %s", empty, null)
		}
	}
}

func TestSoftwareVersions(t *testing.T) {
	tests := []struct {
		program, says string
		want          Software
	}{
		{"openssl", "OpenSSL 3.0.22 25 Aug 2026 (Library: OpenSSL 3.0.22 25 Aug 2026)\n", Software{Version: "3.0.22"}},
		{"openssl", "LibreSSL 3.3.6\n", Software{Version: "3.3.6"}},
		{"nginx", "nginx version: nginx/1.22.1\nbuilt with OpenSSL 3.0.22 25 Aug 2026\nTLS SNI support enabled\n",
			Software{Version: "1.22.1", Library: "OpenSSL 3.0.22"}},
		{"nginx", "nginx version: nginx/1.25.3 (Ubuntu)\nbuilt by gcc 13.2.0 (Ubuntu 13.2.0-23ubuntu3)\nbuilt with OpenSSL 3.0.10 1 Aug 2023 (running with OpenSSL 3.0.13 30 Jan 2024)\n",
			Software{Version: "1.25.3", Library: "OpenSSL 3.0.13"}},
		{"nginx", "nginx version: openresty/1.25.3.1\nbuilt with OpenSSL 1.1.1w  11 Sep 2023\n", Software{Version: "1.25.3.1", Library: "OpenSSL 1.1.1w"}},
		{"nginx", "nginx version: nginx/1.27.0\nbuilt with BoringSSL\n", Software{Version: "1.27.0"}},
		{"haproxy", "HAProxy version 2.6.12-1+deb12u4 2026/10/17 - https://haproxy.org/\nBuilt with OpenSSL version : OpenSSL 3.0.1 25 Aug 2026\nRunning on OpenSSL version : OpenSSL 3.0.22 25 Aug 2026\n",
			Software{Version: "2.6.12-1+deb12u4", Library: "OpenSSL 3.0.22"}},
		{"haproxy", "HA-Proxy version 1.8.30 2021/04/12\n", Software{Version: "1.8.30"}},
	}
	for _, test := range tests {
		i := slices.IndexFunc(programs, func(s software) bool { return s.name == test.program })
		got, err := programs[i].parse("/bin/"+test.program, []byte(test.says))
		if err != nil {
			t.Errorf("%q: %v", test.says, err)
			continue
		}
		test.want.Name, test.want.Path = test.program, "/bin/"+test.program
		if got != test.want {
			t.Errorf("%q is taken for %+v; want %+v", test.says, got, test.want)
		}
	}
	for _, p := range programs {
		if got, err := p.parse("/bin/x", []byte("usage: x [options]\nmore")); err == nil || err.Error() != `/bin/x says "usage: x [options]"` {
			t.Errorf("%s: a usage text gives %+v, %v", p.name, got, err)
		}
	}
}

func TestInstalled(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs programs that are shell scripts")
	}
	directory := t.TempDir()
	t.Setenv("PATH", directory)
	for name, script := range map[string]string{
		"openssl": "#!/bin/sh\necho OpenSSL 9.9.9\n",
		"nginx":   "#!/bin/sh\necho nginx version: nginx/8.8.8 >&2\n", // nginx speaks on stderr
		"haproxy": "#!/bin/sh\nexit 3\n",
	} {
		if err := os.WriteFile(filepath.Join(directory, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	found, failures := installed(t.Context())
	want := []Software{
		{Name: "openssl", Version: "9.9.9", Path: filepath.Join(directory, "openssl")},
		{Name: "nginx", Version: "8.8.8", Path: filepath.Join(directory, "nginx")},
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("installed (-want +got):\n%s", diff)
	}
	if len(failures) != 1 || failures[0].Error() != "host: version of haproxy: exit status 3" {
		t.Errorf("failures: %v", failures)
	}

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if found, failures := installed(ended); len(found) != 0 || len(failures) != 3 {
		t.Errorf("after the end of the context: %v, %v", found, failures)
	}
}
