package stats

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"golang.org/x/perf/benchmath"
)

// A Verdict says how B stands to A.
type Verdict string

const (
	Higher       Verdict = "higher" // B is higher than A
	Lower        Verdict = "lower"  // B is lower than A
	NoDifference Verdict = "no difference detected"
	Inconclusive Verdict = "inconclusive" // no outcome could have shown a difference
)

// The tests a Comparison may rest on.
const (
	MannWhitney = "mann-whitney-u"
	SignedRank  = "wilcoxon-signed-rank"
)

// A Comparison is what two samples say about the ratio of B to A.
//
// A verdict of Higher or Lower needs both: p below Alpha, and an interval of
// the ratio at level 1-Alpha that leaves out 1. NoDifference means that these
// measurements show none, not that there is none: the interval tells how large
// a difference could have been missed.
type Comparison struct {
	A, B Estimate
	// Ratio is B/A. Low and High bound it at level 1-Alpha; they are infinite,
	// and null in JSON, when the verdict is Inconclusive.
	Ratio, Low, High float64
	// P is the two-sided p-value of Test: how often chance alone would make
	// samples that differ as much as these.
	P, Alpha float64
	Test     string
	// Needed is the smallest size of each sample (in a paired comparison: number
	// of rounds) at which the test can reach p < Alpha at all.
	Needed  int
	Verdict Verdict
}

// Compare compares independent samples A and B of a positive quantity. The
// ratio is that of the medians with a percentile bootstrap interval, the test
// is Mann-Whitney's U (exact up to 50 values a side, 25 with ties). It takes
// values to be independent, within and between samples; measured in alternating
// rounds on a machine whose speed drifts, they are not, and [ComparePaired]
// sees more. For 4 to 20 values a side, simulated 95% intervals held the true
// ratio in 94% to 96% of cases.
//
// It fails for an empty sample, a value that is not positive and finite, or an
// alpha outside (0, 1).
func Compare(a, b []float64, alpha float64, rng *rand.Rand) (Comparison, error) {
	if err := checkSamples(a, b, alpha); err != nil {
		return Comparison{}, err
	}
	thresholds := benchmath.Thresholds{CompareAlpha: alpha}
	sampleA := benchmath.NewSample(slices.Clone(a), &thresholds)
	sampleB := benchmath.NewSample(slices.Clone(b), &thresholds)
	c := Comparison{A: Median(a), B: Median(b), Alpha: alpha, Test: MannWhitney}
	c.Ratio = c.B.Median / c.A.Median
	// benchmath cannot compare samples that are all one value, and says p = 1.
	c.P = benchmath.AssumeNothing.Compare(sampleA, sampleB).P
	for c.Needed = 1; leastRankSumP(c.Needed, c.Needed) >= alpha; c.Needed++ {
	}
	if leastRankSumP(len(a), len(b)) < alpha {
		c.Low, c.High = bootstrap(1-alpha, func() float64 {
			return resampleMedian(sampleB.Values, rng) / resampleMedian(sampleA.Values, rng)
		})
		c.judge()
	} else {
		c.abstain()
	}
	return c, nil
}

// ComparePaired compares A and B measured together in rounds: a[i] and b[i] are
// of round i. Whatever slows down a whole round cancels out. The test is
// Wilcoxon's signed-rank test of the logarithms of the rounds' ratios; the
// interval holds every ratio that test would not reject, and the ratio is the
// one in its middle (Hodges and Lehmann 1963: the median over all pairs of
// rounds, a round with itself included, of their geometric mean). A bootstrap
// of the median ratio was tried instead: for 7 rounds its 95% interval held the
// true ratio in only 88% of cases.
//
// Rounds are taken to be independent of one another, and the logarithms to be
// spread evenly to both sides of their centre. It fails as [Compare] does, and
// if the samples differ in length.
func ComparePaired(a, b []float64, alpha float64) (Comparison, error) {
	if err := checkSamples(a, b, alpha); err != nil {
		return Comparison{}, err
	}
	if len(a) != len(b) {
		return Comparison{}, fmt.Errorf("stats: paired samples of %d and %d rounds", len(a), len(b))
	}
	logs := make([]float64, len(a))
	for i := range a {
		// Unlike Log(b/a) this is exactly opposite when A and B change places.
		logs[i] = math.Log(b[i]) - math.Log(a[i])
	}
	means := walshAverages(logs)
	c := Comparison{A: Median(a), B: Median(b), Alpha: alpha, Test: SignedRank}
	c.Ratio = math.Exp((means[(len(means)-1)/2] + means[len(means)/2]) / 2)
	c.P = signedRank(logs)
	for c.Needed = 1; leastSignedRankP(c.Needed) >= alpha; c.Needed++ {
	}
	if len(a) >= c.Needed {
		s := criticalSum(len(a), alpha)
		c.Low, c.High = math.Exp(means[s]), math.Exp(means[len(means)-1-s])
		c.judge()
	} else {
		c.abstain()
	}
	return c, nil
}

// judge sets the verdict once p and the interval are known.
func (c *Comparison) judge() {
	switch {
	case c.P >= c.Alpha || c.Low <= 1 && 1 <= c.High:
		c.Verdict = NoDifference
	case c.Low > 1:
		c.Verdict = Higher
	default:
		c.Verdict = Lower
	}
}

// abstain sets verdict and interval for samples so small that no outcome could
// show a difference; an interval would be far too narrow, or a single point.
func (c *Comparison) abstain() {
	c.Low, c.High = math.Inf(-1), math.Inf(1)
	c.Verdict = Inconclusive
}

// String says the verdict in words, with the figures it rests on.
func (c Comparison) String() string {
	n := fmt.Sprintf("n=%d+%d", c.A.N, c.B.N)
	if c.Test == SignedRank {
		n = fmt.Sprintf("n=%d rounds", c.A.N)
	}
	interval := fmt.Sprintf("%g%% interval %.3g to %.3g, p=%.2g, %s", 100*(1-c.Alpha), c.Low, c.High, c.P, n)
	switch c.Verdict {
	case Higher:
		return fmt.Sprintf("B higher by %.3g%% (ratio %.4g, %s)", 100*(c.Ratio-1), c.Ratio, interval)
	case Lower:
		return fmt.Sprintf("B lower by %.3g%% (ratio %.4g, %s)", 100*(1-c.Ratio), c.Ratio, interval)
	case NoDifference:
		return fmt.Sprintf("no difference detected (ratio %.4g, %s)", c.Ratio, interval)
	}
	return fmt.Sprintf("inconclusive: %s is too few to detect any difference at alpha %g, which takes %d of each", n, c.Alpha, c.Needed)
}

// comparisonJSON is a Comparison on the wire, where what is unknown is null.
type comparisonJSON struct {
	A       Estimate `json:"a"`
	B       Estimate `json:"b"`
	Ratio   float64  `json:"ratio"`
	Low     *float64 `json:"low"`
	High    *float64 `json:"high"`
	P       float64  `json:"p"`
	Alpha   float64  `json:"alpha"`
	Test    string   `json:"test"`
	Needed  int      `json:"needed"`
	Verdict Verdict  `json:"verdict"`
}

// MarshalJSON writes {a, b, ratio, low, high, p, alpha, test, needed, verdict}.
func (c Comparison) MarshalJSON() ([]byte, error) {
	return json.Marshal(comparisonJSON{c.A, c.B, c.Ratio, finite(c.Low), finite(c.High), c.P, c.Alpha, c.Test, c.Needed, c.Verdict})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (c *Comparison) UnmarshalJSON(data []byte) error {
	var in comparisonJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*c = Comparison{in.A, in.B, in.Ratio, known(in.Low, math.Inf(-1)), known(in.High, math.Inf(1)), in.P, in.Alpha, in.Test, in.Needed, in.Verdict}
	return nil
}

func checkSamples(a, b []float64, alpha float64) error {
	if !(alpha > 0 && alpha < 1) {
		return fmt.Errorf("stats: alpha %v is not between 0 and 1", alpha)
	}
	for _, sample := range []struct {
		name   string
		values []float64
	}{{"A", a}, {"B", b}} {
		if len(sample.values) == 0 {
			return fmt.Errorf("stats: sample %s is empty", sample.name)
		}
		for _, v := range sample.values {
			if !(v > 0) || math.IsInf(v, 1) {
				return fmt.Errorf("stats: sample %s holds %v; a ratio needs positive, finite values", sample.name, v)
			}
		}
	}
	return nil
}

// leastRankSumP is the smallest two-sided p-value that Mann-Whitney's test can
// give for samples of these sizes: two of all C(n1+n2, n1) ways to share out
// the ranks are the most extreme.
func leastRankSumP(n1, n2 int) float64 {
	ways := 1.0
	for i := 1; i <= n1; i++ {
		ways *= float64(n2+i) / float64(i)
	}
	return min(1, 2/ways)
}
