package stats_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shakedown/internal/stats"
)

func source(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, seed)) }

// The two examples are those of R's manual for wilcox.test, whose one-sided
// p-values are 0.1272 (permeability, Hollander and Wolfe 1973, p. 69) and
// 0.01953 (depression scores, p. 29).
func TestCompareKnownValues(t *testing.T) {
	a := []float64{0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46}
	b := []float64{1.15, 0.88, 0.90, 0.74, 1.21}
	c, err := stats.Compare(a, b, 0.05, source(1))
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(c.P-2*0.1272) > 0.0001 {
		t.Errorf("p = %.4f; want 0.2544", c.P)
	}
	if c.A.Median != 1.415 || c.B.Median != 0.90 || c.Ratio != 0.90/1.415 {
		t.Errorf("medians %v and %v, ratio %v; want 1.415, 0.90 and their ratio", c.A.Median, c.B.Median, c.Ratio)
	}
	if c.Verdict != stats.NoDifference {
		t.Errorf("verdict %q", c.Verdict)
	}
}

func TestComparePairedKnownValues(t *testing.T) {
	// R tests differences where ComparePaired tests logarithms, so give it the
	// exponentials.
	x := []float64{1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30}
	y := []float64{0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29}
	for i := range x {
		x[i], y[i] = math.Exp(x[i]), math.Exp(y[i])
	}
	c, err := stats.ComparePaired(y, x, 0.05)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(c.P-2*0.01953) > 0.0001 {
		t.Errorf("p = %.5f; want 0.03906", c.P)
	}
	// wilcox.test(x, y, paired=TRUE, conf.int=TRUE): estimate 0.46, and with 9
	// differences the interval runs from the 6th to the 40th of 45 Walsh averages.
	if got := math.Log(c.Ratio); math.Abs(got-0.46) > 0.0005 {
		t.Errorf("log ratio %.4f; want 0.46", got)
	}
	if c.Verdict != stats.Higher || c.Low <= 1 || c.High <= c.Low {
		t.Errorf("verdict %q, interval %v to %v; want higher and above 1", c.Verdict, c.Low, c.High)
	}
}

// Of the differences 1, 1, -1 and 2 the first three share rank 2. Of the 16 ways
// to give signs to 2, 2, 2 and 4, four have a negative sum of at most 2, so that
// p is 2 * 4/16. A difference of 0 changes nothing.
func TestComparePairedWithTies(t *testing.T) {
	a := []float64{1, 1, math.E, 1, 5}
	b := []float64{math.E, math.E, 1, 8, 5}
	c, err := stats.ComparePaired(a, b, 0.05)
	if err != nil {
		t.Fatal(err)
	}
	if c.P != 0.5 {
		t.Errorf("p = %v; want 0.5", c.P)
	}
}

func TestVerdicts(t *testing.T) {
	tests := []struct {
		name    string
		a, b    []float64
		unequal stats.Verdict // of Compare
		paired  stats.Verdict // of ComparePaired
	}{
		{"clearly higher", seq(100, 10), seq(150, 10), stats.Higher, stats.Higher},
		{"clearly lower", seq(150, 10), seq(100, 10), stats.Lower, stats.Lower},
		{"the same values", seq(100, 10), seq(100, 10), stats.NoDifference, stats.NoDifference},
		{"all one value", []float64{5, 5, 5, 5, 5, 5}, []float64{5, 5, 5, 5, 5, 5}, stats.NoDifference, stats.NoDifference},
		{"three are too few for either", seq(100, 3), seq(900, 3), stats.Inconclusive, stats.Inconclusive},
		{"five are too few for pairs", seq(100, 5), seq(900, 5), stats.Higher, stats.Inconclusive},
		{"six will do", seq(100, 6), seq(900, 6), stats.Higher, stats.Higher},
		{"one", seq(100, 1), seq(900, 1), stats.Inconclusive, stats.Inconclusive},
		// Rounds drift by far more than B differs: only pairs can see it.
		{"drift", []float64{100, 200, 300, 400, 500, 600, 700, 800}, []float64{101, 203, 302, 405, 507, 604, 709, 803}, stats.NoDifference, stats.Higher},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, err := stats.Compare(test.a, test.b, 0.05, source(1))
			if err != nil {
				t.Fatal(err)
			}
			if c.Verdict != test.unequal {
				t.Errorf("Compare: %v; want %q", c, test.unequal)
			}
			c, err = stats.ComparePaired(test.a, test.b, 0.05)
			if err != nil {
				t.Fatal(err)
			}
			if c.Verdict != test.paired {
				t.Errorf("ComparePaired: %v; want %q", c, test.paired)
			}
			if c.Verdict == stats.Inconclusive && !(math.IsInf(c.Low, -1) && math.IsInf(c.High, 1)) {
				t.Errorf("an inconclusive comparison has the interval %v to %v", c.Low, c.High)
			}
		})
	}
}

// seq returns n values from first upwards in steps of 1.
func seq(first float64, n int) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = first + float64(i)
	}
	return values
}

func TestNeeded(t *testing.T) {
	for _, test := range []struct {
		alpha            float64
		unpaired, paired int
	}{{0.05, 4, 6}, {0.01, 5, 8}, {0.001, 7, 11}} {
		c, err := stats.Compare(seq(1, 2), seq(1, 2), test.alpha, source(1))
		if err != nil {
			t.Fatal(err)
		}
		p, err := stats.ComparePaired(seq(1, 2), seq(1, 2), test.alpha)
		if err != nil {
			t.Fatal(err)
		}
		if c.Needed != test.unpaired || p.Needed != test.paired {
			t.Errorf("alpha %v needs %d and %d; want %d and %d", test.alpha, c.Needed, p.Needed, test.unpaired, test.paired)
		}
	}
}

func TestCompareRefuses(t *testing.T) {
	good := []float64{1, 2}
	tests := []struct {
		name  string
		a, b  []float64
		alpha float64
		want  string
	}{
		{"empty A", nil, good, 0.05, "stats: sample A is empty"},
		{"empty B", good, nil, 0.05, "stats: sample B is empty"},
		{"zero", []float64{1, 0}, good, 0.05, "stats: sample A holds 0; a ratio needs positive, finite values"},
		{"negative", good, []float64{-1, 1}, 0.05, "stats: sample B holds -1; a ratio needs positive, finite values"},
		{"not a number", good, []float64{math.NaN(), 1}, 0.05, "stats: sample B holds NaN; a ratio needs positive, finite values"},
		{"infinite", []float64{inf, 1}, good, 0.05, "stats: sample A holds +Inf; a ratio needs positive, finite values"},
		{"alpha 0", good, good, 0, "stats: alpha 0 is not between 0 and 1"},
		{"alpha 1", good, good, 1, "stats: alpha 1 is not between 0 and 1"},
		{"alpha not a number", good, good, math.NaN(), "stats: alpha NaN is not between 0 and 1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, err := stats.Compare(test.a, test.b, test.alpha, source(1)); err == nil || err.Error() != test.want {
				t.Errorf("Compare: %v; want %s", err, test.want)
			}
			if _, err := stats.ComparePaired(test.a, test.b, test.alpha); err == nil || err.Error() != test.want {
				t.Errorf("ComparePaired: %v; want %s", err, test.want)
			}
		})
	}
	if _, err := stats.ComparePaired(good, []float64{1, 2, 3}, 0.05); err == nil || err.Error() != "stats: paired samples of 2 and 3 rounds" {
		t.Errorf("unequal pairs: %v", err)
	}
}

func TestCompareIsDeterministic(t *testing.T) {
	a, b := lognormal(source(5), 100, 12), lognormal(source(6), 104, 12)
	compare := func(seed uint64) stats.Comparison {
		c, err := stats.Compare(a, b, 0.05, source(seed))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	if diff := cmp.Diff(compare(1), compare(1)); diff != "" {
		t.Errorf("one seed, two answers:\n%s", diff)
	}
	first, second := compare(1), compare(2)
	if first.Low == second.Low && first.High == second.High {
		t.Error("the seed changes nothing: is it used?")
	}
}

// Changing places must turn the ratio over and nothing else.
func TestComparePairedIsSymmetric(t *testing.T) {
	rng := source(7)
	for n := 1; n <= 12; n++ {
		a, b := lognormal(rng, 100, n), lognormal(rng, 115, n)
		forth, err := stats.ComparePaired(a, b, 0.05)
		if err != nil {
			t.Fatal(err)
		}
		back, err := stats.ComparePaired(b, a, 0.05)
		if err != nil {
			t.Fatal(err)
		}
		if forth.P != back.P || math.Abs(forth.Ratio*back.Ratio-1) > 1e-12 {
			t.Errorf("n=%d: %v, and back: %v", n, forth, back)
		}
		if n >= 6 && (math.Abs(forth.Low*back.High-1) > 1e-12 || math.Abs(forth.High*back.Low-1) > 1e-12) {
			t.Errorf("n=%d: interval %v to %v, and back %v to %v", n, forth.Low, forth.High, back.Low, back.High)
		}
	}
}

func lognormal(rng *rand.Rand, median float64, n int) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = median * math.Exp(0.1*rng.NormFloat64())
	}
	return values
}

// How often each comparison cries wolf where there is no difference, misses
// one of 20% at this noise, and has the true ratio in its interval.
func TestCompareBySimulation(t *testing.T) {
	const ratio = 1.2
	tests := []struct {
		name     string
		n, runs  int
		paired   bool
		minPower float64
	}{
		{"unpaired 4", 4, 300, false, 0.3},
		{"unpaired 10", 10, 300, false, 0.9},
		{"paired 6", 6, 2000, true, 0.45},
		{"paired 7", 7, 2000, true, 0.65},
		{"paired 10", 10, 2000, true, 0.9},
		{"paired 120, where p is approximate", 120, 300, true, 0.99},
	}
	for i, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			rng := source(uint64(i) + 10)
			compare := func(a, b []float64) stats.Comparison {
				var c stats.Comparison
				var err error
				if test.paired {
					c, err = stats.ComparePaired(a, b, 0.05)
				} else {
					c, err = stats.Compare(a, b, 0.05, rng)
				}
				if err != nil {
					t.Fatal(err)
				}
				// A verdict stands on both legs.
				want := stats.NoDifference
				switch {
				case c.P < c.Alpha && c.Low > 1:
					want = stats.Higher
				case c.P < c.Alpha && c.High < 1:
					want = stats.Lower
				}
				if c.Verdict != want {
					t.Errorf("verdict %q with p %v and %v to %v", c.Verdict, c.P, c.Low, c.High)
				}
				return c
			}
			covered, seen, wolf := 0, 0, 0
			for range test.runs {
				c := compare(lognormal(rng, 100, test.n), lognormal(rng, 100*ratio, test.n))
				if c.Low <= ratio && ratio <= c.High {
					covered++
				}
				if c.Verdict == stats.Higher {
					seen++
				}
				if compare(lognormal(rng, 100, test.n), lognormal(rng, 100, test.n)).Verdict != stats.NoDifference {
					wolf++
				}
			}
			share := func(k int) float64 { return float64(k) / float64(test.runs) }
			chance := 3 * math.Sqrt(0.05*0.95/float64(test.runs)) // three standard errors
			if share(covered) < 0.94-chance {
				t.Errorf("the interval held the ratio in %.3f of cases", share(covered))
			}
			if share(wolf) > 0.05+chance {
				t.Errorf("a difference was seen in %.3f of cases without one", share(wolf))
			}
			if share(seen) < test.minPower {
				t.Errorf("the difference was seen in %.3f of cases; want %.2f", share(seen), test.minPower)
			}
		})
	}
}

func TestComparisonWords(t *testing.T) {
	tests := []struct {
		a, b []float64
		want string
	}{
		{seq(100, 8), seq(150, 8), "B higher by 48.3% (ratio 1.483, 95% interval 1.47 to 1.5, p=0.0078, n=8 rounds)"},
		{seq(150, 8), seq(100, 8), "B lower by 32.6% (ratio 0.6742, 95% interval 0.669 to 0.679, p=0.0078, n=8 rounds)"},
		{seq(100, 8), seq(100, 8), "no difference detected (ratio 1, 95% interval 1 to 1, p=1, n=8 rounds)"},
		{seq(100, 3), seq(150, 3), "inconclusive: n=3 rounds is too few to detect any difference at alpha 0.05, which takes 6 of each"},
	}
	for _, test := range tests {
		c, err := stats.ComparePaired(test.a, test.b, 0.05)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.String(); got != test.want {
			t.Errorf("in words: %s\nwant:     %s", got, test.want)
		}
	}
	c, err := stats.Compare(seq(1, 3), seq(1, 2), 0.05, source(1))
	if err != nil {
		t.Fatal(err)
	}
	if got := c.String(); !strings.HasPrefix(got, "inconclusive: n=3+2 is too few") {
		t.Errorf("in words: %s", got)
	}
}

func TestComparisonJSON(t *testing.T) {
	c, err := stats.ComparePaired(seq(100, 2), seq(100, 2), 0.05)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	const sample = `{"n":2,"median":100.5,"low":null,"high":null}`
	want := `{"a":` + sample + `,"b":` + sample + `,"ratio":1,"low":null,"high":null,"p":1,"alpha":0.05,` +
		`"test":"wilcoxon-signed-rank","needed":6,"verdict":"inconclusive"}`
	if string(got) != want {
		t.Errorf("JSON is %s\nwant    %s", got, want)
	}
	var back stats.Comparison
	if err := json.Unmarshal(got, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c, back); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
	if err := json.Unmarshal([]byte(`{"a":1}`), &back); err == nil {
		t.Error("a number was read as an estimate")
	}
}

// At a level this strict the approximate quantile lies beyond the last rank.
func TestTinyAlpha(t *testing.T) {
	for _, alpha := range []float64{1e-12, 1e-25} {
		c, err := stats.ComparePaired(seq(100, 101), seq(200, 101), alpha)
		if err != nil {
			t.Fatal(err)
		}
		if !(1 < c.Low && c.Low <= c.Ratio && c.Ratio <= c.High) {
			t.Errorf("alpha %v: %v is not within %v to %v", alpha, c.Ratio, c.Low, c.High)
		}
		if _, err := stats.Compare(seq(100, 60), seq(200, 60), alpha, source(1)); err != nil {
			t.Error(err)
		}
	}
}
