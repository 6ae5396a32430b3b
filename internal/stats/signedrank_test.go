package stats

import (
	"math"
	"testing"
)

// Just beyond where the exact distribution is given up, the approximation must
// still agree with it.
func TestSignedRankApproximation(t *testing.T) {
	const n = exactSignedRank + 1
	ranks := make([]int, n)
	for i := range ranks {
		ranks[i] = 2 * (i + 1)
	}
	exact := distribution(ranks)
	cumulative := 0.0
	critical := 0
	next := 0
	for s, p := range exact {
		cumulative += p
		if 2*cumulative < 0.05 {
			critical = s / 2
		}
		// Compare at some sums, from the far tail to the middle.
		if s%2 == 0 && 2*cumulative > 1e-4 && 2*cumulative < 0.9 && s >= next {
			next = s + 100
			got := signedRank(withNegativeSum(n, s/2))
			if math.Abs(got-2*cumulative) > 0.01*2*cumulative+0.0005 {
				t.Errorf("sum %d: p %.5f; exactly %.5f", s/2, got, 2*cumulative)
			}
		}
	}
	if got := criticalSum(n, 0.05); got != critical && got != critical-1 {
		t.Errorf("critical sum %d; exactly %d, or one less to be safe", got, critical)
	}
}

// withNegativeSum returns differences of the sizes 1 to n whose negative ones
// have the given sum of ranks.
func withNegativeSum(n, sum int) []float64 {
	d := make([]float64, n)
	for rank := n; rank >= 1; rank-- {
		d[rank-1] = float64(rank)
		if rank <= sum {
			d[rank-1] = -d[rank-1]
			sum -= rank
		}
	}
	return d
}

// Critical values of the two-sided test as printed in tables (Wilcoxon 1947).
func TestCriticalSum(t *testing.T) {
	for _, test := range []struct {
		n     int
		alpha float64
		want  int
	}{
		{6, 0.05, 0}, {7, 0.05, 2}, {8, 0.05, 3}, {9, 0.05, 5}, {10, 0.05, 8}, {20, 0.05, 52}, {25, 0.05, 89},
		{8, 0.01, 0}, {10, 0.01, 3}, {20, 0.01, 37}, {25, 0.01, 68},
	} {
		if got := criticalSum(test.n, test.alpha); got != test.want {
			t.Errorf("n=%d alpha=%v: %d; want %d", test.n, test.alpha, got, test.want)
		}
	}
}
