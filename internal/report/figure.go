package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"shakedown/internal/stats"
)

// number prints a whole number with commas between groups of three digits.
func number[T ~int | ~int64 | ~uint32 | ~uint64](n T) string {
	digits := strconv.FormatInt(int64(n), 10)
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// significant prints v with three significant digits, whole from 100 on, and
// "?" when it is not known.
func significant(v float64) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "?"
	case a >= 99.95:
		return number(int64(math.Round(v)))
	case a >= 9.995:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a >= 0.9995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case a >= 0.0995:
		return strconv.FormatFloat(v, 'f', 3, 64)
	case a == 0:
		return "0"
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// units of time from the largest to the smallest.
var units = []struct {
	name string
	size time.Duration
}{{"s", time.Second}, {"ms", time.Millisecond}, {"µs", time.Microsecond}, {"ns", 1}}

// Duration prints d with three significant digits in the unit that suits it.
func Duration(d time.Duration) string {
	for _, u := range units {
		// 999.6 µs is 1.00 ms, not 1,000 µs.
		if math.Abs(float64(d)) >= 0.9995*float64(u.size) {
			return significant(float64(d)/float64(u.size)) + " " + u.name
		}
	}
	return "0 s"
}

// milliseconds prints d with three decimals, for columns.
func milliseconds(d time.Duration) string {
	return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', 3, 64)
}

// count prints n of something, in the singular if it is one.
func count[T ~int | ~int64](n T, what string) string {
	if n == 1 {
		return "1 " + what
	}
	switch {
	case strings.HasSuffix(what, "y"):
		what = strings.TrimSuffix(what, "y") + "ies"
	case strings.HasSuffix(what, "s"):
		what += "es"
	default:
		what += "s"
	}
	return number(n) + " " + what
}

// share prints k of n as a percentage.
func share(k, n int64) string {
	if n == 0 {
		return "?"
	}
	return percent(float64(k) / float64(n))
}

// percent prints a fraction, the finer the closer it is to nothing or all, and
// never as one of these unless it is.
func percent(f float64) string {
	switch p := 100 * f; {
	case p > 0 && p < 0.01:
		return "<0.01%"
	case p > 99.99 && p < 100:
		return ">99.99%"
	case p == math.Trunc(p):
		return strconv.FormatFloat(p, 'f', 0, 64) + "%"
	case p >= 100:
		return number(int64(math.Round(p))) + "%"
	case p > 10 && p < 99:
		return strconv.FormatFloat(p, 'f', 1, 64) + "%"
	default:
		return strconv.FormatFloat(p, 'f', 2, 64) + "%"
	}
}

// interval prints the bounds of an estimate, each by format, and the number of
// values behind it.
func interval(e stats.Estimate, what string, format func(float64) string) string {
	n := count(e.N, what)
	if e.N == 0 {
		return "no whole " + what + " to tell from"
	}
	if math.IsInf(e.Low, 0) || math.IsInf(e.High, 0) || math.IsNaN(e.Median) {
		return fmt.Sprintf("median of %s, too few for an interval", n)
	}
	return fmt.Sprintf("95%% interval %s to %s, median of %s", format(e.Low), format(e.High), n)
}

func nanoseconds(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "?"
	}
	return Duration(time.Duration(math.Round(v)))
}
