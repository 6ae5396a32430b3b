package stats

import (
	"encoding/json"
	"math"

	"golang.org/x/perf/benchmath"
)

// Confidence is the level of every interval of Median, Wilson and Rate: an
// interval made this way holds the true value in at least 95% of cases
// (Wilson: in 95% on average).
const Confidence = 0.95

// z is the 97.5% quantile of the standard normal distribution.
const z = 1.959963984540054

// MinMedian is the fewest measurements for which a 95% interval of the median
// exists: 2 * 0.5^n <= 0.05.
const MinMedian = 6

// An Estimate is the median of n measurements with its interval. Low and High
// are infinite, and null in JSON, with fewer than MinMedian measurements; the
// median is NaN, and null in JSON, with none.
type Estimate struct {
	N      int
	Median float64
	Low    float64
	High   float64
}

// Median estimates the median of what the values were drawn from. The interval
// runs between two order statistics, so it assumes nothing about the shape of
// the distribution, only that the values are independent and from the same
// one. Its real level is at least Confidence, since ranks are whole numbers.
// A NaN among the values makes the median NaN and the interval infinite.
func Median(values []float64) Estimate {
	unknown := Estimate{N: len(values), Median: math.NaN(), Low: math.Inf(-1), High: math.Inf(1)}
	for _, v := range values {
		if math.IsNaN(v) {
			return unknown
		}
	}
	if len(values) == 0 {
		return unknown
	}
	sample := benchmath.NewSample(append([]float64(nil), values...), &benchmath.DefaultThresholds)
	summary := benchmath.AssumeNothing.Summary(sample, Confidence)
	estimate := Estimate{N: len(values), Median: summary.Center, Low: summary.Lo, High: summary.Hi}
	if len(values) < MinMedian {
		// At n = 5 benchmath gives a bound on one side only, which a reader
		// would take for half of a usual interval.
		estimate.Low, estimate.High = math.Inf(-1), math.Inf(1)
	}
	return estimate
}

// Wilson returns the 95% score interval (Wilson 1927) for the probability
// behind k successes in n independent tries. Unlike k/n plus or minus two
// standard errors it stays within [0, 1] and says something at k = 0 and k = n.
// With n = 0 it is the whole of [0, 1]. Without 0 <= k <= n there is no
// proportion, and both bounds are NaN.
func Wilson(k, n int64) (low, high float64) { return WilsonClustered(k, n, 1) }

// WilsonClustered is [Wilson] for tries that are not independent: effect is by how
// much the variance of k is greater than if they were (the design effect of Kish
// 1965), at least 1, so that n tries count for n/effect.
func WilsonClustered(k, n int64, effect float64) (low, high float64) {
	if k < 0 || n < 0 || k > n || !(effect >= 1) {
		return math.NaN(), math.NaN()
	}
	if n == 0 {
		return 0, 1
	}
	p, m := float64(k)/float64(n), float64(n)/effect
	centre := (p + z*z/(2*m)) / (1 + z*z/m)
	half := z / (1 + z*z/m) * math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	low, high = max(0, centre-half), min(1, centre+half)
	// At the ends the bound is exactly 0 or 1; rounding must not say otherwise.
	if k == 0 {
		low = 0
	}
	if k == n {
		high = 1
	}
	return low, high
}

// estimateJSON is an Estimate on the wire, where what is unknown is null.
type estimateJSON struct {
	N      int      `json:"n"`
	Median *float64 `json:"median"`
	Low    *float64 `json:"low"`
	High   *float64 `json:"high"`
}

// MarshalJSON writes {n, median, low, high}, with null for what is unknown.
func (e Estimate) MarshalJSON() ([]byte, error) {
	return json.Marshal(estimateJSON{e.N, finite(e.Median), finite(e.Low), finite(e.High)})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (e *Estimate) UnmarshalJSON(data []byte) error {
	var in estimateJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*e = Estimate{
		N:      in.N,
		Median: known(in.Median, math.NaN()),
		Low:    known(in.Low, math.Inf(-1)),
		High:   known(in.High, math.Inf(1)),
	}
	return nil
}

// finite returns nil for a number JSON cannot hold.
func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// known returns *v, or unknown if v is nil.
func known(v *float64, unknown float64) float64 {
	if v == nil {
		return unknown
	}
	return *v
}
