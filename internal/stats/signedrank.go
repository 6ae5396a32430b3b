package stats

import (
	"cmp"
	"math"
	"slices"
)

// exactSignedRank is the largest number of differences for which the exact
// distribution is used. Beyond it the normal approximation is good to the third
// digit.
const exactSignedRank = 100

// signedRank returns the two-sided p-value of Wilcoxon's signed-rank test
// (1945) that the differences are spread evenly about zero. Zero differences
// are left out, as Wilcoxon did; equal ones share the mean of their ranks, and
// the distribution is that given those ties. With nothing but zeros p is 1.
func signedRank(differences []float64) float64 {
	d := slices.DeleteFunc(slices.Clone(differences), func(v float64) bool { return v == 0 })
	slices.SortFunc(d, func(a, b float64) int { return cmp.Compare(math.Abs(a), math.Abs(b)) })

	// Ranks are doubled so that the mean of tied ranks is whole too.
	ranks := make([]int, len(d))
	positive, total := 0, 0
	for i := 0; i < len(d); {
		j := i
		for j < len(d) && math.Abs(d[j]) == math.Abs(d[i]) {
			j++
		}
		for k := i; k < j; k++ {
			ranks[k] = i + 1 + j // twice the mean of ranks i+1 to j
			total += ranks[k]
			if d[k] > 0 {
				positive += ranks[k]
			}
		}
		i = j
	}
	// Both tails are alike, so look at the lesser sum of the two signs.
	lesser := min(positive, total-positive)
	if len(d) > exactSignedRank {
		// One is the continuity correction: half a step of undoubled ranks.
		distance := max(0, float64(total)/2-float64(lesser)-1)
		return math.Erfc(distance / math.Sqrt(2*variance(ranks)))
	}
	tail := 0.0
	for _, p := range distribution(ranks)[:lesser+1] {
		tail += p
	}
	return min(1, 2*tail)
}

// criticalSum returns the largest lesser sum of ranks 1 to n (not doubled) at
// which the test still gives p < alpha. There is one only if
// leastSignedRankP(n) < alpha.
func criticalSum(n int, alpha float64) int {
	ranks := make([]int, n)
	for i := range ranks {
		ranks[i] = 2 * (i + 1)
	}
	if n > exactSignedRank {
		distance := math.Erfinv(1-alpha) * math.Sqrt(2*variance(ranks))
		// Far out in the tail the approximation may find none where there is one.
		return int(max(0, (float64(n*(n+1))/2-1-distance)/2))
	}
	sum, tail := -1, 0.0
	for s, p := range distribution(ranks) {
		tail += p
		if 2*tail >= alpha {
			break
		}
		sum = s / 2
	}
	return sum
}

// walshAverages returns the mean of every pair of differences, each with itself
// included, in ascending order. The signed-rank statistic counts how many of
// them are positive, so its interval runs between two of them.
func walshAverages(differences []float64) []float64 {
	n := len(differences)
	means := make([]float64, 0, n*(n+1)/2)
	for i := range differences {
		for _, other := range differences[i:] {
			means = append(means, (differences[i]+other)/2)
		}
	}
	slices.Sort(means)
	return means
}

// distribution returns, for each sum, the probability that the ranks with a
// positive sign add up to it when either sign is equally likely.
func distribution(ranks []int) []float64 {
	total := 0
	for _, rank := range ranks {
		total += rank
	}
	probability := make([]float64, total+1)
	probability[0] = 1
	for _, rank := range ranks {
		// Downwards, so that probability[sum-rank] is still without this rank.
		for sum := total; sum >= 0; sum-- {
			probability[sum] /= 2
			if sum >= rank {
				probability[sum] += probability[sum-rank] / 2
			}
		}
	}
	return probability
}

// variance of the sum of the ranks with a positive sign; ties are in the ranks.
func variance(ranks []int) float64 {
	v := 0.0
	for _, rank := range ranks {
		v += float64(rank) * float64(rank) / 4
	}
	return v
}

// leastSignedRankP is the smallest two-sided p-value the test can give for n
// differences: all of one sign.
func leastSignedRankP(n int) float64 {
	return min(1, 2*math.Pow(0.5, float64(n)))
}
