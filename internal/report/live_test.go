package report

import (
	"strings"
	"testing"
	"time"

	"shakedown"
	"shakedown/internal/load"
)

// TestLive draws a load in every stage that it can be in.
func TestLive(t *testing.T) {
	timed := load.Plan{Duration: 30 * time.Second, Warmup: 5 * time.Second}
	counted := load.Plan{Count: 20_000}
	middle := load.Progress{At: 17 * time.Second, Measuring: true, Handshakes: 14_808, Failures: 2, InFlight: 32, PerSecond: 1234.4,
		P50: 3200 * time.Microsecond, P99: 8100 * time.Microsecond, ServerCPU: 512 * time.Microsecond,
		Modes: map[shakedown.Mode]int64{shakedown.ModeFull: 2976, shakedown.ModePSK: 11_832}}
	end := middle
	end.At, end.ServerCPU, end.Modes = 36*time.Second, 0, map[shakedown.Mode]int64{shakedown.ModeFull: 14_808}
	var b strings.Builder
	for _, c := range []struct {
		plan load.Plan
		now  load.Progress
	}{
		{timed, load.Progress{At: 2600 * time.Millisecond, InFlight: 32}},
		{timed, load.Progress{At: 5100 * time.Millisecond, Measuring: true, Failures: 7, InFlight: 25}},
		{timed, middle}, {timed, end}, {counted, middle},
	} {
		b.WriteString(strings.Join(Live(c.plan, c.now), "\n") + "\n" + wrap("in one line: ", LiveLine(c.plan, c.now)) + "\n")
	}
	golden(t, "live", b.String())
}
