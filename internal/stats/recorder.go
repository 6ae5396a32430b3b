package stats

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// significantDigits is the precision of a recorded duration: a percentile is
// at most 0.1% above the duration it stands for.
const significantDigits = 3

// A Recorder keeps durations in an HDR histogram from 1 ns up to the largest
// time.Duration, so none is out of range. It takes about 440 KB, most of which
// is touched only if durations are spread over that whole range.
type Recorder struct {
	histogram *hdrhistogram.Histogram
	// The histogram rounds; these do not.
	min, max time.Duration
	sum      float64 // float64 because the sum of many durations overflows int64
}

// Percentiles is the summary of a Recorder. Percentiles are rounded up by at
// most 0.1% and never beyond Max; N, Mean, Min and Max are exact. With N == 0
// nothing was measured and the durations mean nothing.
type Percentiles struct {
	N    int64         `json:"n"`
	Mean time.Duration `json:"mean_ns"`
	Min  time.Duration `json:"min_ns"`
	P50  time.Duration `json:"p50_ns"`
	P90  time.Duration `json:"p90_ns"`
	P99  time.Duration `json:"p99_ns"`
	P999 time.Duration `json:"p999_ns"`
	Max  time.Duration `json:"max_ns"`
}

// NewRecorder returns an empty Recorder.
func NewRecorder() *Recorder {
	return &Recorder{
		histogram: hdrhistogram.New(1, math.MaxInt64, significantDigits),
		min:       math.MaxInt64,
	}
}

// Record adds one duration and allocates nothing. It fails only for a negative
// duration, which means that the caller subtracted its times the wrong way round.
func (r *Recorder) Record(d time.Duration) error {
	if err := r.histogram.RecordValue(int64(d)); err != nil {
		return fmt.Errorf("stats: record duration: %w", err)
	}
	r.min = min(r.min, d)
	r.max = max(r.max, d)
	r.sum += float64(d)
	return nil
}

// Merge adds everything other has recorded; other is unchanged.
func (r *Recorder) Merge(other *Recorder) error {
	if dropped := r.histogram.Merge(other.histogram); dropped > 0 {
		return fmt.Errorf("stats: merge would lose %d durations: the total count overflows", dropped)
	}
	r.min = min(r.min, other.min)
	r.max = max(r.max, other.max)
	r.sum += other.sum
	return nil
}

// Reset forgets everything, keeping the memory.
func (r *Recorder) Reset() {
	r.histogram.Reset()
	r.min, r.max, r.sum = math.MaxInt64, 0, 0
}

// N returns how many durations were recorded.
func (r *Recorder) N() int64 { return r.histogram.TotalCount() }

// Quantile returns the duration that the fraction q (0 to 1) of all recorded
// durations do not exceed, rounded up by at most 0.1%. Quantile 0 is the exact
// minimum and quantile 1 the exact maximum. It is 0 when nothing was recorded.
func (r *Recorder) Quantile(q float64) time.Duration {
	switch {
	case r.N() == 0:
		return 0
	case q <= 0:
		return r.min
	}
	d := time.Duration(r.histogram.ValueAtPercentile(100 * q))
	// A bucket's upper end may lie beyond anything that was ever recorded.
	return min(max(d, r.min), r.max)
}

// Percentiles summarizes what was recorded so far.
func (r *Recorder) Percentiles() Percentiles {
	n := r.N()
	if n == 0 {
		return Percentiles{}
	}
	return Percentiles{
		N:    n,
		Mean: r.mean(),
		Min:  r.min,
		P50:  r.Quantile(0.50),
		P90:  r.Quantile(0.90),
		P99:  r.Quantile(0.99),
		P999: r.Quantile(0.999),
		Max:  r.max,
	}
}

func (r *Recorder) mean() time.Duration {
	mean := math.Round(r.sum / float64(r.N()))
	if mean >= float64(r.max) {
		return r.max // the largest durations round up to more than one can hold
	}
	return time.Duration(mean)
}

// WriteLogHeader writes the comment lines that begin an HdrHistogram interval
// log (format 1.3). Lines of [Recorder.WriteLogLine] follow it.
func WriteLogHeader(w io.Writer, start time.Time) error {
	log := hdrhistogram.NewHistogramLogWriter(w)
	return errors.Join(
		log.OutputComment("[Durations are nanoseconds; Interval_Max is in milliseconds]"),
		log.OutputLogFormatVersion(),
		log.OutputStartTime(start.UnixMilli()),
		log.OutputLegend(),
	)
}

// WriteLogLine writes the histogram as one line of an HdrHistogram interval
// log, under tag unless that is empty. Times have millisecond resolution and
// are absolute. The tag may hold no comma, space or line break, which would
// end its field.
func (r *Recorder) WriteLogLine(w io.Writer, tag string, start, end time.Time) error {
	if strings.ContainsAny(tag, ", \r\n") {
		return fmt.Errorf("stats: tag %q holds a comma, space or line break", tag)
	}
	r.histogram.SetTag(tag)
	r.histogram.SetStartTimeMs(start.UnixMilli())
	r.histogram.SetEndTimeMs(end.UnixMilli())
	return hdrhistogram.NewHistogramLogWriter(w).OutputIntervalHistogram(r.histogram)
}
