// Package linktest runs tests in a network namespace of their own, so that a link
// and what it leads to touch nothing of the machine.
package linktest

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// inside is set in the environment of a process that runs a test in its own
// network namespace.
const inside = "SHAKEDOWN_TEST_NETWORK_NAMESPACE"

// Isolated returns true in a process that has a network namespace of its own,
// with nothing in it but a loopback device. Elsewhere it runs the calling test
// again in such a process, passes on how it went, and returns false. The test is
// skipped where that is not possible.
func Isolated(t *testing.T) bool {
	t.Helper()
	if os.Getenv(inside) != "" {
		if err := loopbackUp(); err != nil {
			t.Fatal(err)
		}
		return true
	}
	var pattern []string
	for part := range strings.SplitSeq(t.Name(), "/") {
		pattern = append(pattern, "^"+regexp.QuoteMeta(part)+"$")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run="+strings.Join(pattern, "/"), "-test.v", "-test.count=1")
	cmd.Env = append(os.Environ(), inside+"=1")
	if why := separate(cmd); why != "" {
		t.Skipf("a link is tested in a network namespace of its own, but %s", why)
	}
	out, err := cmd.CombinedOutput()
	t.Logf("in a network namespace of its own:\n%s", out)
	switch {
	case err != nil:
		t.Errorf("in a network namespace of its own: %v", err)
	case strings.Contains(string(out), "--- SKIP: "+t.Name()+" "):
		t.Skip("skipped there: see above")
	case !strings.Contains(string(out), "--- PASS: "+t.Name()+" "):
		t.Error("it did not run there")
	}
	return false
}
