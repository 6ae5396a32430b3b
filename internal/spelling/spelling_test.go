package spelling

import "testing"

func TestNearest(t *testing.T) {
	names := []string{"trace", "bench", "compare", "host", "timeout", "no-tickets"}
	for word, want := range map[string]string{
		"trce": "trace", "tracee": "trace", "bnech": "bench", "comp": "compare", "tiemout": "timeout",
		"notickets": "no-tickets", "xyzzy": "", "q": "", "hosts": "host",
	} {
		if got := Nearest(word, names); got != want {
			t.Errorf("nearest to %q: %q, want %q", word, got, want)
		}
	}
}
