package stats

import (
	"fmt"
	"time"
)

// A Series counts handshakes and failures per second since the start of a run.
// The zero Series is ready to use.
type Series struct {
	seconds []Second
}

// A Second is one second of a Series.
type Second struct {
	At         time.Duration `json:"at_ns"` // start of the second, since the start of the run
	Handshakes int64         `json:"handshakes"`
	Failures   int64         `json:"failures"`
}

// maxSeconds bounds the memory a wrong clock could make a Series take: ten days.
const maxSeconds = 10 * 24 * 60 * 60

// Handshake counts one handshake that ended at the given time since the start
// of the run. It fails if at is negative or more than ten days.
func (s *Series) Handshake(at time.Duration) error {
	second, err := s.second(at)
	if err != nil {
		return err
	}
	second.Handshakes++
	return nil
}

// Failure counts one handshake that failed at the given time, as Handshake does.
func (s *Series) Failure(at time.Duration) error {
	second, err := s.second(at)
	if err != nil {
		return err
	}
	second.Failures++
	return nil
}

// second returns the second that holds at, making it and any before it.
func (s *Series) second(at time.Duration) (*Second, error) {
	if at < 0 || at >= maxSeconds*time.Second {
		return nil, fmt.Errorf("stats: time %v is outside a run of at most ten days", at)
	}
	i := int(at / time.Second)
	s.grow(i + 1)
	return &s.seconds[i], nil
}

func (s *Series) grow(n int) {
	for i := len(s.seconds); i < n; i++ {
		s.seconds = append(s.seconds, Second{At: time.Duration(i) * time.Second})
	}
}

// Merge adds the counts of other, which has the same start; other is unchanged.
func (s *Series) Merge(other *Series) {
	s.grow(len(other.seconds))
	for i, second := range other.seconds {
		s.seconds[i].Handshakes += second.Handshakes
		s.seconds[i].Failures += second.Failures
	}
}

// Seconds returns a copy of all seconds up to the last one in which anything
// ended, the silent ones between included.
func (s *Series) Seconds() []Second {
	return append([]Second(nil), s.seconds...)
}

// Rate estimates handshakes per second: the median over the whole seconds that
// lie within [from, to), both since the start of the run. A second in which
// nothing ended counts as 0. The caller leaves out warm-up by from and the
// time after the load ended by to; seconds cut by either do not count.
//
// The interval takes seconds to be independent of one another. Where a server
// slows down or speeds up in the course of a run they are not, and the interval
// is too narrow.
func (s *Series) Rate(from, to time.Duration) Estimate {
	first := max(0, int((from+time.Second-1)/time.Second))
	end := min(int(to/time.Second), maxSeconds)
	var rates []float64
	for i := first; i < end; i++ {
		var n int64
		if i < len(s.seconds) {
			n = s.seconds[i].Handshakes
		}
		rates = append(rates, float64(n))
	}
	return Median(rates)
}
