package load_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"shakedown"
	"shakedown/internal/load"
	"shakedown/internal/server"
)

// TestProgress holds what a run tells while it goes on against what it tells at
// the end.
func TestProgress(t *testing.T) {
	s := startServer(t, server.Nginx{}, server.Spec{Certificates: []server.KeyKind{server.P256}})
	p := plan(s)
	p.Count, p.Duration, p.Threads, p.ServerPIDs = 0, 3200*time.Millisecond, 1, []int{s.PID}
	p.Mix = []load.Share{{Mode: shakedown.ModeFull, Weight: 1}, {Mode: shakedown.ModePSK, Weight: 3}}
	var told []load.Progress
	sum, err := load.Run(t.Context(), p, func(now load.Progress) { told = append(told, now) })
	if err != nil {
		t.Fatal(err)
	}
	if len(told) < 4 {
		t.Fatalf("told %d times in %s", len(told), p.Duration)
	}
	last := told[len(told)-1]
	if last.Handshakes <= 0 || last.Handshakes > sum.Handshakes || last.P50 <= 0 || last.P99 < last.P50 || last.PerSecond <= 0 {
		t.Errorf("at the end %+v, the summary has %d handshakes", last, sum.Handshakes)
	}
	full, psk := last.Modes[shakedown.ModeFull], last.Modes[shakedown.ModePSK]
	if full+psk != last.Handshakes || psk < 2*full {
		t.Errorf("%d full and %d resumed of %d, asked for 1 : 3", full, psk, last.Handshakes)
	}
	if last.ServerCPU <= 0 {
		t.Error("no CPU time of the server in the last second")
	}
	if sum.Server == nil || len(sum.Server.Series) < 2 || len(sum.Server.Series) != sum.Server.PerSecond.N {
		t.Errorf("server %+v: want the CPU of at least two seconds", sum.Server)
	}
	if plural := regexp.MustCompile(`\b1 (threads|processes|connections)\b`); plural.MatchString(strings.Join(sum.Limit.Evidence, "; ")) {
		t.Errorf("bad English: %q", sum.Limit.Evidence)
	}
}
