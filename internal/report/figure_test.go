package report

import (
	"math"
	"testing"
	"time"
)

func TestFigures(t *testing.T) {
	check := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for n, want := range map[int]string{0: "0", 7: "7", 999: "999", 1000: "1,000", 1234567: "1,234,567", -12345: "-12,345"} {
		check(number(n), want)
	}
	for v, want := range map[float64]string{
		0: "0", 0.05: "0.05", 0.43: "0.430", 0.9996: "1.00", 1.234: "1.23", 9.996: "10.0", 99.96: "100", 1234.5: "1,235", -2.5: "-2.50",
		math.Inf(1): "?", math.NaN(): "?",
	} {
		check(significant(v), want)
	}
	for d, want := range map[time.Duration]string{
		0: "0 s", 1: "1.00 ns", 999_600: "1.00 ms", 812 * time.Microsecond: "812 µs", 12_345 * time.Microsecond: "12.3 ms", 90 * time.Second: "90.0 s", -time.Millisecond: "-1.00 ms",
	} {
		check(Duration(d), want)
	}
	for f, want := range map[float64]string{0: "0%", 1: "100%", 0.5: "50%", 0.12345: "12.3%", 0.0012345: "0.12%", 0.00001: "<0.01%", 0.99999: ">99.99%", 0.9987: "99.87%"} {
		check(percent(f), want)
	}
	check(count(1, "query"), "1 query")
	check(count(2, "query"), "2 queries")
	check(count(2, "address"), "2 addresses")
	check(count(0, "handshake"), "0 handshakes")
	check(share(1, 3), "33.3%")
	check(share(0, 0), "?")
	check(wrap("a: ", "b c"), "a: b c\n")
}
