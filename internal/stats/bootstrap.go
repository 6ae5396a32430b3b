package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// resamples is large enough for a bound at 2.5% to rest on 250 draws.
const resamples = 10_000

// bootstrap returns the percentile interval of a statistic at the given level,
// from many draws of it on resampled data.
func bootstrap(level float64, draw func() float64) (low, high float64) {
	draws := make([]float64, resamples)
	for i := range draws {
		draws[i] = draw()
	}
	slices.Sort(draws)
	tail := int(math.Floor((1 - level) / 2 * resamples))
	return draws[tail], draws[resamples-1-tail]
}

// resampleMedian draws len(sorted) of the sorted values with replacement and
// returns the median of the draw. Counting how often each was drawn spares
// sorting the draw.
func resampleMedian(sorted []float64, rng *rand.Rand) float64 {
	n := len(sorted)
	counts := make([]int, n)
	for range n {
		counts[rng.IntN(n)]++
	}
	lower, upper := (n-1)/2, n/2 // ranks of the middle value or values
	median, seen := 0.0, 0
	for i, count := range counts {
		if seen <= lower && lower < seen+count {
			median = sorted[i] / 2
		}
		if seen <= upper && upper < seen+count {
			return median + sorted[i]/2
		}
		seen += count
	}
	return math.NaN() // not reached: the counts add up to n
}
