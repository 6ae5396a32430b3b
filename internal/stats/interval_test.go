package stats_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"shakedown/internal/stats"
)

var inf = math.Inf(1)

// Values of Newcombe, "Two-sided confidence intervals for the single
// proportion" (1998), table I, method 3.
func TestWilsonKnownValues(t *testing.T) {
	tests := []struct {
		k, n      int64
		low, high float64
	}{
		{81, 263, 0.2553, 0.3662},
		{15, 148, 0.0624, 0.1605},
		{0, 20, 0, 0.1611},
		{1, 29, 0.0061, 0.1718},
		{20, 20, 1 - 0.1611, 1},
		{0, 0, 0, 1},
	}
	for _, test := range tests {
		low, high := stats.Wilson(test.k, test.n)
		if math.Abs(low-test.low) > 0.00005 || math.Abs(high-test.high) > 0.00005 {
			t.Errorf("Wilson(%d, %d) = %.4f, %.4f; want %.4f, %.4f", test.k, test.n, low, high, test.low, test.high)
		}
	}
	for _, bad := range [][2]int64{{-1, 5}, {6, 5}, {0, -1}} {
		if low, high := stats.Wilson(bad[0], bad[1]); !math.IsNaN(low) || !math.IsNaN(high) {
			t.Errorf("Wilson(%d, %d) = %v, %v; want NaN", bad[0], bad[1], low, high)
		}
	}
}

// The true coverage for a known probability is a sum over all outcomes, so
// nothing is simulated. Wilson's holds its level on average, not at each p.
func TestWilsonCoverage(t *testing.T) {
	for _, n := range []int64{20, 100} {
		sum, points := 0.0, 0
		for p := 0.02; p < 0.985; p += 0.01 {
			covered := 0.0
			for k := int64(0); k <= n; k++ {
				if low, high := stats.Wilson(k, n); low <= p && p <= high {
					covered += binomial(n, k, p)
				}
			}
			if covered < 0.83 {
				t.Errorf("n=%d p=%.2f: covered %.3f", n, p, covered)
			}
			sum += covered
			points++
		}
		if mean := sum / float64(points); mean < 0.945 || mean > 0.96 {
			t.Errorf("n=%d: mean coverage %.4f; want 0.95", n, mean)
		}
	}
}

func binomial(n, k int64, p float64) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return math.Exp(a - b - c + float64(k)*math.Log(p) + float64(n-k)*math.Log(1-p))
}

func TestMedianKnownValues(t *testing.T) {
	nan := math.NaN()
	tests := []struct {
		name   string
		values []float64
		want   stats.Estimate
	}{
		{"none", nil, stats.Estimate{N: 0, Median: nan, Low: -inf, High: inf}},
		{"one", []float64{7}, stats.Estimate{N: 1, Median: 7, Low: -inf, High: inf}},
		{"five are too few for either bound", []float64{5, 3, 1, 2, 4}, stats.Estimate{N: 5, Median: 3, Low: -inf, High: inf}},
		{"six are bounded by their extremes", []float64{6, 5, 3, 1, 2, 4}, stats.Estimate{N: 6, Median: 3.5, Low: 1, High: 6}},
		// P(2 <= Binomial(10, 1/2) <= 8) = 0.979: ranks 2 and 9.
		{"ten", []float64{10, 9, 8, 7, 6, 5, 4, 3, 2, 1}, stats.Estimate{N: 10, Median: 5.5, Low: 2, High: 9}},
		{"not a number", []float64{1, 2, 3, 4, 5, 6, nan}, stats.Estimate{N: 7, Median: nan, Low: -inf, High: inf}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			before := append([]float64(nil), test.values...)
			if diff := cmp.Diff(test.want, stats.Median(test.values), cmpopts.EquateNaNs()); diff != "" {
				t.Errorf("median (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, test.values, cmpopts.EquateNaNs()); diff != "" {
				t.Errorf("the caller's values were reordered:\n%s", diff)
			}
		})
	}
}

func TestMedianCoverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	const runs = 4000
	for _, n := range []int{6, 7, 10, 31, 100} {
		covered := 0
		for range runs {
			values := make([]float64, n)
			for i := range values {
				values[i] = rng.ExpFloat64() // far from symmetric, median ln 2
			}
			if e := stats.Median(values); e.Low <= math.Ln2 && math.Ln2 <= e.High {
				covered++
			}
		}
		// Never below the level but for chance (3 standard errors are 0.010), and
		// not so wide as to say nothing.
		if share := float64(covered) / runs; share < stats.Confidence-0.010 || share > 0.995 {
			t.Errorf("n=%d: the interval held the median in %.3f of cases", n, share)
		}
	}
}

func TestEstimateJSON(t *testing.T) {
	tests := []struct {
		estimate stats.Estimate
		want     string
	}{
		{stats.Median([]float64{1, 2, 3, 4, 5, 6}), `{"n":6,"median":3.5,"low":1,"high":6}`},
		{stats.Median([]float64{1}), `{"n":1,"median":1,"low":null,"high":null}`},
		{stats.Median(nil), `{"n":0,"median":null,"low":null,"high":null}`},
	}
	for _, test := range tests {
		got, err := json.Marshal(test.estimate)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != test.want {
			t.Errorf("JSON is %s; want %s", got, test.want)
		}
		var back stats.Estimate
		if err := json.Unmarshal(got, &back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.estimate, back, cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("read back (-want +got):\n%s", diff)
		}
	}
	var e stats.Estimate
	if err := json.Unmarshal([]byte(`{"n":"six"}`), &e); err == nil {
		t.Error("a word was read as n")
	}
}
