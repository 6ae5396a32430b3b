package stats_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"

	"shakedown/internal/stats"
)

// record adds durations to a new Recorder.
func record(t *testing.T, durations ...time.Duration) *stats.Recorder {
	t.Helper()
	r := stats.NewRecorder()
	for _, d := range durations {
		if err := r.Record(d); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func TestPercentilesOfFewDurations(t *testing.T) {
	tests := []struct {
		name      string
		durations []time.Duration
		want      stats.Percentiles
	}{
		{"none", nil, stats.Percentiles{}},
		{"a zero counts", []time.Duration{0}, stats.Percentiles{N: 1}},
		{"zero and one", []time.Duration{0, 1000}, stats.Percentiles{
			N: 2, Mean: 500, P90: 1000, P99: 1000, P999: 1000, Max: 1000}},
		{"mean is rounded", []time.Duration{1, 2, 2}, stats.Percentiles{
			N: 3, Mean: 2, Min: 1, P50: 2, P90: 2, P99: 2, P999: 2, Max: 2}},
		{"the largest duration is in range", []time.Duration{math.MaxInt64}, stats.Percentiles{
			N: 1, Mean: math.MaxInt64, Min: math.MaxInt64, P50: math.MaxInt64, P90: math.MaxInt64,
			P99: math.MaxInt64, P999: math.MaxInt64, Max: math.MaxInt64}},
		// 123456789 is no bucket's end: only min and max, kept apart, are exact.
		{"percentiles stay within min and max", []time.Duration{123456789}, stats.Percentiles{
			N: 1, Mean: 123456789, Min: 123456789, P50: 123456789, P90: 123456789,
			P99: 123456789, P999: 123456789, Max: 123456789}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := record(t, test.durations...).Percentiles()
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("percentiles (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPercentilesAgainstSortedDurations(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	durations := make([]time.Duration, 100_000)
	sum := 0.0
	for i := range durations {
		durations[i] = time.Duration(1e6 * math.Exp(2*rng.NormFloat64()))
		sum += float64(durations[i])
	}
	p := record(t, durations...).Percentiles()
	slices.Sort(durations)

	for _, quantile := range []struct {
		q   float64
		got time.Duration
	}{{0.5, p.P50}, {0.9, p.P90}, {0.99, p.P99}, {0.999, p.P999}} {
		want := durations[int(math.Ceil(quantile.q*float64(len(durations))))-1]
		if quantile.got < want || float64(quantile.got) > 1.001*float64(want) {
			t.Errorf("quantile %v is %v; want %v to 0.1%% above", quantile.q, quantile.got, want)
		}
	}
	if p.Min != durations[0] || p.Max != durations[len(durations)-1] {
		t.Errorf("min %v max %v; want exactly %v and %v", p.Min, p.Max, durations[0], durations[len(durations)-1])
	}
	if want := time.Duration(math.Round(sum / float64(len(durations)))); p.Mean != want {
		t.Errorf("mean %v; want exactly %v", p.Mean, want)
	}
}

func TestRecordRefusesNegative(t *testing.T) {
	r := record(t, 5)
	if err := r.Record(-1); err == nil {
		t.Error("a negative duration was recorded")
	}
	if got := r.Percentiles(); got.N != 1 || got.Min != 5 {
		t.Errorf("the refused duration left a mark: %+v", got)
	}
}

func TestMergeEqualsOneRecorder(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	whole, merged := stats.NewRecorder(), stats.NewRecorder()
	for range 4 {
		part := stats.NewRecorder()
		for range 1000 {
			d := time.Duration(rng.ExpFloat64() * 1e6)
			if err := whole.Record(d); err != nil {
				t.Fatal(err)
			}
			if err := part.Record(d); err != nil {
				t.Fatal(err)
			}
		}
		before := part.Percentiles()
		if err := merged.Merge(part); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, part.Percentiles()); diff != "" {
			t.Errorf("merging changed the source:\n%s", diff)
		}
	}
	// An empty recorder must not bring in its own idea of a minimum.
	if err := merged.Merge(stats.NewRecorder()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(whole.Percentiles(), merged.Percentiles()); diff != "" {
		t.Errorf("percentiles (-one recorder +merged):\n%s", diff)
	}
	if merged.N() != 4000 {
		t.Errorf("n = %d; want 4000", merged.N())
	}
}

func TestReset(t *testing.T) {
	r := record(t, 1, 2, 3)
	r.Reset()
	if got := r.Percentiles(); got != (stats.Percentiles{}) {
		t.Errorf("after Reset: %+v", got)
	}
	if err := r.Record(7); err != nil {
		t.Fatal(err)
	}
	if got := r.Percentiles(); got.N != 1 || got.Min != 7 || got.Max != 7 {
		t.Errorf("after Reset and Record(7): %+v", got)
	}
}

func TestQuantileEnds(t *testing.T) {
	r := record(t, 1001, 500_009, 987_654_321)
	if got := r.Quantile(0); got != 1001 {
		t.Errorf("quantile 0 is %d; want 1001", got)
	}
	if got := r.Quantile(1); got != 987_654_321 {
		t.Errorf("quantile 1 is %d; want 987654321", got)
	}
	if got := stats.NewRecorder().Quantile(0.5); got != 0 {
		t.Errorf("quantile of nothing is %d", got)
	}
}

func TestRecordAllocatesNothing(t *testing.T) {
	r := stats.NewRecorder()
	if n := testing.AllocsPerRun(100, func() {
		if err := r.Record(12345); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("Record allocates %v times", n)
	}
}

func TestLogIsReadBack(t *testing.T) {
	var log bytes.Buffer
	start := time.UnixMilli(1_700_000_000_000)
	if err := stats.WriteLogHeader(&log, start); err != nil {
		t.Fatal(err)
	}
	r := record(t, 0, time.Millisecond, time.Millisecond, time.Hour)
	if err := r.WriteLogLine(&log, "handshake", start, start.Add(2500*time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if err := r.WriteLogLine(&log, "", start, start.Add(time.Second)); err != nil {
		t.Fatal(err)
	}

	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if got := lines[len(lines)-2]; !strings.HasPrefix(got, "Tag=handshake,1700000000.000000,2.500000,") {
		t.Errorf("line begins %.60q", got)
	}
	reader := hdrhistogram.NewHistogramLogReader(&log)
	for _, tag := range []string{"handshake", ""} {
		h, err := reader.NextIntervalHistogram()
		if err != nil || h == nil {
			t.Fatalf("line %q is not read back: %v", tag, err)
		}
		if h.Tag() != tag || h.TotalCount() != 4 || h.Min() != 0 {
			t.Errorf("read back tag %q n %d min %d; want %q 4 0", h.Tag(), h.TotalCount(), h.Min(), tag)
		}
		if got := float64(h.Max()); math.Abs(got/float64(time.Hour)-1) > 0.001 {
			t.Errorf("read back max %v; want an hour within 0.1%%", got)
		}
	}
}

func TestLogRefusesTag(t *testing.T) {
	for _, tag := range []string{"a b", "a,b", "a\nb", "\r", ","} {
		if err := record(t).WriteLogLine(&bytes.Buffer{}, tag, time.Time{}, time.Time{}); err == nil {
			t.Errorf("tag %q was written", tag)
		}
	}
}
