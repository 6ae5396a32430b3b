package host

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"
)

// A Primitive is the rate of one cryptographic operation.
type Primitive struct {
	Name    string  `json:"name"`
	Work    string  `json:"work"` // what counts as one
	Threads int     `json:"threads"`
	PerS    float64 `json:"per_s"` // all threads together; the median of N rounds
	N       int     `json:"n"`
	Low     float64 `json:"low"` // interval of the median at 95% or more
	High    float64 `json:"high"`
	// BytesPerS is PerS in bytes; nil where no data are worked on.
	BytesPerS *float64 `json:"bytes_per_s"`
}

// A Scale is how much faster all CPUs together are than one.
type Scale struct {
	Name    string  `json:"name"`
	Threads int     `json:"threads"`
	Ratio   float64 `json:"ratio"` // median over rounds of the rates' ratio to that of one thread
	N       int     `json:"n"`
	Low     float64 `json:"low"` // as for Primitive
	High    float64 `json:"high"`
}

// Rates is what Primitives measured.
type Rates struct {
	Primitives []Primitive `json:"primitives"`
	Scaling    []Scale     `json:"scaling"` // empty on a machine with one CPU
}

const (
	// rounds is the number of measurements of each rate. With 9 the interval
	// leaves out the lowest and the highest and still holds the median in 96%.
	rounds = 9
	// minRounds is the least for which there is such an interval: with 6, the
	// lowest and the highest hold the median between them in 97%.
	minRounds = 6
)

// Primitives measures the operations of a TLS handshake and its records that
// Go's standard library has, and those of the caller, with 1, 2, 4, ... threads
// and as many as there are CPUs. Each is measured in several short turns, round
// by round, so that a disturbance meets all of them alike. The turns share
// budget, but each operation is done at least once a turn, however long it
// takes. Keys are made before that, in up to some seconds.
//
// If ctx ends, the rounds completed until then are reported together with its
// error, or nothing if they are too few for an interval.
func Primitives(ctx context.Context, budget time.Duration, more ...Operation) (Rates, error) {
	operations, err := standard(ctx)
	if err != nil {
		return Rates{}, err
	}
	return measure(ctx, budget, append(operations, more...), threadCounts(min(runtime.NumCPU(), runtime.GOMAXPROCS(0))))
}

// threadCounts returns the powers of two below n, and n.
func threadCounts(n int) []int {
	var counts []int
	for c := 1; c < n; c *= 2 {
		counts = append(counts, c)
	}
	return append(counts, n)
}

func measure(ctx context.Context, budget time.Duration, operations []Operation, threads []int) (Rates, error) {
	turn := budget / time.Duration(rounds*len(operations)*len(threads))
	rates := make([][][]float64, rounds) // by round, operation and thread count
	for round := range rates {
		for _, op := range operations {
			perThreads := make([]float64, len(threads))
			for i, count := range threads {
				if ctx.Err() != nil {
					return summarize(rates[:round], operations, threads), fmt.Errorf("host: measured %d of %d rounds: %w", round, rounds, ctx.Err())
				}
				var err error
				if perThreads[i], err = op.rate(count, turn); err != nil {
					return Rates{}, fmt.Errorf("host: %s: %w", op.Name, err)
				}
			}
			rates[round] = append(rates[round], perThreads)
		}
	}
	return summarize(rates, operations, threads), nil
}

// rate runs the operation on several threads for the time of a turn and returns
// how often a second all of them together completed it.
func (op Operation) rate(threads int, turn time.Duration) (float64, error) {
	rates := make([]float64, threads)
	errs := make([]error, threads)
	start := make(chan struct{})
	var ready, done sync.WaitGroup
	ready.Add(threads)
	for i := range threads {
		done.Go(func() {
			run, err := op.Prepare()
			ready.Done()
			if err != nil {
				errs[i] = err
				return
			}
			<-start
			// Each thread divides by its own time, so that an operation that
			// ends after the turn neither gains nor loses.
			began, n := time.Now(), 0
			for {
				if errs[i] = run(); errs[i] != nil {
					return
				}
				n++
				if elapsed := time.Since(began); elapsed >= turn && elapsed > 0 {
					rates[i] = float64(n) / elapsed.Seconds()
					return
				}
			}
		})
	}
	ready.Wait()
	close(start)
	done.Wait()
	sum := 0.0
	for i, rate := range rates {
		if errs[i] != nil {
			return 0, errs[i]
		}
		sum += rate
	}
	return sum, nil
}

func summarize(rates [][][]float64, operations []Operation, threads []int) Rates {
	all := Rates{Primitives: []Primitive{}, Scaling: []Scale{}}
	if len(rates) < minRounds {
		return all
	}
	for o, op := range operations {
		for t, count := range threads {
			values := make([]float64, len(rates))
			ratios := make([]float64, len(rates))
			for round := range rates {
				values[round] = rates[round][o][t]
				ratios[round] = rates[round][o][t] / rates[round][o][0]
			}
			p := Primitive{Name: op.Name, Work: op.Work, Threads: count, N: len(rates)}
			p.PerS, p.Low, p.High = median(values)
			if op.Bytes > 0 {
				bytes := p.PerS * float64(op.Bytes)
				p.BytesPerS = &bytes
			}
			all.Primitives = append(all.Primitives, p)
			if count > 1 && t == len(threads)-1 {
				s := Scale{Name: op.Name, Threads: count, N: len(rates)}
				s.Ratio, s.Low, s.High = median(ratios)
				all.Scaling = append(all.Scaling, s)
			}
		}
	}
	return all
}

// median returns the median of minRounds to rounds values, which it sorts, and
// the order statistics that hold it in at least 95% of cases.
func median(values []float64) (middle, low, high float64) {
	slices.Sort(values)
	n := len(values)
	middle = (values[(n-1)/2] + values[n/2]) / 2
	if n >= rounds {
		return middle, values[1], values[n-2]
	}
	return middle, values[0], values[n-1]
}
