package stats_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"shakedown/internal/stats"
)

// count fills a Series with handshakes[i] handshakes in second i.
func count(t *testing.T, handshakes ...int) *stats.Series {
	t.Helper()
	var s stats.Series
	for second, n := range handshakes {
		for i := range n {
			at := time.Duration(second)*time.Second + time.Duration(i)
			if err := s.Handshake(at); err != nil {
				t.Fatal(err)
			}
		}
	}
	return &s
}

func TestSeriesSeconds(t *testing.T) {
	s := count(t, 2, 0, 1)
	for _, at := range []time.Duration{time.Second - 1, 4 * time.Second} {
		if err := s.Failure(at); err != nil {
			t.Fatal(err)
		}
	}
	want := []stats.Second{
		{At: 0, Handshakes: 2, Failures: 1},
		{At: 1 * time.Second},
		{At: 2 * time.Second, Handshakes: 1},
		{At: 3 * time.Second},
		{At: 4 * time.Second, Failures: 1},
	}
	if diff := cmp.Diff(want, s.Seconds()); diff != "" {
		t.Errorf("seconds (-want +got):\n%s", diff)
	}
}

func TestSeriesRefusesTimesOutsideARun(t *testing.T) {
	var s stats.Series
	for _, at := range []time.Duration{-1, 10 * 24 * time.Hour} {
		if err := s.Handshake(at); err == nil {
			t.Errorf("a handshake at %v was counted", at)
		}
		if err := s.Failure(at); err == nil {
			t.Errorf("a failure at %v was counted", at)
		}
	}
	if got := s.Seconds(); len(got) != 0 {
		t.Errorf("refused times left %d seconds", len(got))
	}
}

func TestSeriesMerge(t *testing.T) {
	short, long := count(t, 1), count(t, 2, 3)
	short.Merge(long)
	want := count(t, 3, 3)
	if diff := cmp.Diff(want.Seconds(), short.Seconds()); diff != "" {
		t.Errorf("merged (-want +got):\n%s", diff)
	}
	long.Merge(count(t, 1))
	if diff := cmp.Diff(want.Seconds(), long.Seconds()); diff != "" {
		t.Errorf("merged the other way (-want +got):\n%s", diff)
	}
}

func TestSeriesRate(t *testing.T) {
	const second = time.Second
	s := count(t, 1, 100, 102, 104, 106, 108, 110, 7)
	tests := []struct {
		name     string
		from, to time.Duration
		want     stats.Estimate
	}{
		{"warm-up and the last, cut second are out", second / 2, 7*second + second/2, stats.Estimate{N: 6, Median: 105, Low: 100, High: 110}},
		{"whole seconds at the borders are in", second, 7 * second, stats.Estimate{N: 6, Median: 105, Low: 100, High: 110}},
		{"silence counts as zero", 7 * second, 16 * second, stats.Estimate{N: 9, Median: 0, Low: 0, High: 0}},
		{"a start before the run adds nothing", -5 * second, second, stats.Estimate{N: 1, Median: 1, Low: -inf, High: inf}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, s.Rate(test.from, test.to)); diff != "" {
				t.Errorf("rate (-want +got):\n%s", diff)
			}
		})
	}
	if got := s.Rate(second, second+second/2); got.N != 0 || got.Median == got.Median {
		t.Errorf("without a whole second the rate is %+v; want n 0 and no number", got)
	}
}
