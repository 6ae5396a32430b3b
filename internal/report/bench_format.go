package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"golang.org/x/perf/benchfmt"

	"shakedown/internal/load"
	"shakedown/internal/stats"
)

// WriteCSV writes the series: a line for each second of the run.
func (b *Bench) WriteCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	c.Write([]string{"second", "handshakes", "failures"}) //nolint:errcheck // Error tells below
	for _, s := range b.Series {
		c.Write([]string{ //nolint:errcheck // as above
			strconv.FormatInt(int64(s.At/time.Second), 10),
			strconv.FormatInt(s.Handshakes, 10),
			strconv.FormatInt(s.Failures, 10),
		})
	}
	c.Flush()
	return c.Error()
}

// WriteGobench writes the run in the format of Go's benchmarks, for benchstat:
// a line for each whole second with its rate, which are the samples, and one
// with the figures of the whole run.
func (b *Bench) WriteGobench(w io.Writer) error {
	out := benchfmt.NewWriter(w)
	for _, unit := range []struct{ name, better string }{
		{"handshakes/s", "higher"}, {"server-ns/handshake", "lower"}, {"client-ns/handshake", "lower"},
		{"p50-ns", "lower"}, {"p99-ns", "lower"},
	} {
		meta := &benchfmt.UnitMetadata{UnitMetadataKey: benchfmt.UnitMetadataKey{Unit: unit.name, Key: "better"}, OrigUnit: unit.name, Value: unit.better}
		if err := out.Write(meta); err != nil {
			return err
		}
	}
	result := func(n int64, values ...benchfmt.Value) error {
		r := &benchfmt.Result{Name: benchfmt.Name(b.benchmarkName()), Iters: int(n), Values: values}
		for _, c := range [][2]string{{"goos", b.Environment.OS}, {"goarch", b.Environment.Arch}, {"cpu", b.Environment.CPU}, {"target", b.Target.String()}} {
			r.Config = append(r.Config, benchfmt.Config{Key: c[0], Value: []byte(c[1]), File: true})
		}
		return out.Write(r)
	}
	for _, s := range b.wholeSeconds() {
		if err := result(s.Handshakes, benchfmt.Value{Value: float64(s.Handshakes), Unit: "handshakes/s"}); err != nil {
			return err
		}
	}
	values := []benchfmt.Value{
		{Value: float64(b.Summary.ClientCPU), Unit: "client-ns/handshake"},
		{Value: float64(b.Latency.Total.P50), Unit: "p50-ns"}, {Value: float64(b.Latency.Total.P99), Unit: "p99-ns"},
	}
	if b.Summary.ServerCPU != nil {
		values = append(values, benchfmt.Value{Value: float64(*b.Summary.ServerCPU), Unit: "server-ns/handshake"})
	}
	return result(b.Summary.Handshakes, values...)
}

// benchmarkName names what was asked, so that runs of one name are samples of
// one thing.
func (b *Bench) benchmarkName() string {
	clean := strings.NewReplacer(" ", "", "/", "-")
	var versions []string
	for _, v := range b.Asked.Versions {
		versions = append(versions, clean.Replace(v.String()))
	}
	mode := string(b.Asked.Mode)
	if len(b.Plan.Mix) > 1 {
		var shares []string
		for _, s := range b.Plan.Mix {
			shares = append(shares, fmt.Sprintf("%s:%d", s.Mode, s.Weight))
		}
		mode = strings.Join(shares, "+")
	}
	return fmt.Sprintf("Handshake/mode=%s/version=%s/work=%s/complete=%s", mode, strings.Join(versions, "+"), b.Asked.Work, b.Asked.Complete)
}

// wholeSeconds returns the seconds of the series that were measured to their
// end. A second in which nothing ended, at the end of a run, counts too.
func (b *Bench) wholeSeconds() []stats.Second {
	n := int(b.Summary.Duration / time.Second)
	seconds := make([]stats.Second, n)
	for i := range seconds {
		seconds[i].At = time.Duration(i) * time.Second
		if i < len(b.Series) {
			seconds[i] = b.Series[i]
		}
	}
	return seconds
}

// WriteHistograms writes the histograms of a summary as an HdrHistogram log: a
// line each for connect, handshake and total.
func WriteHistograms(w io.Writer, s *load.Summary) error {
	if err := stats.WriteLogHeader(w, s.Started); err != nil {
		return err
	}
	for i, tag := range []string{"connect", "handshake", "total"} {
		if err := s.Recorders[i].WriteLogLine(w, tag, s.Started, s.Started.Add(s.Duration)); err != nil {
			return err
		}
	}
	return nil
}
