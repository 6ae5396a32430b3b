package report

import (
	"fmt"
	"strings"
	"time"

	"shakedown"
	"shakedown/internal/load"
)

// Live returns the lines of a screen that shows a load while it goes on.
func Live(p load.Plan, now load.Progress) []string {
	rows := newTable("", "ll")
	rows.add("time      ", liveTime(p, now)) // as wide as what may come below
	if !now.Measuring {
		rows.add("in flight", number(now.InFlight))
		return rows.lines()
	}
	rows.add("rate", fmt.Sprintf("%s/s of late; %s complete, %s in flight", significant(now.PerSecond), number(now.Handshakes), number(now.InFlight)))
	rows.add("failed", fmt.Sprintf("%s (%s)", number(now.Failures), share(now.Failures, now.Handshakes+now.Failures)))
	if now.Handshakes > 0 {
		rows.add("latency", fmt.Sprintf("p50 %s, p99 %s", Duration(now.P50), Duration(now.P99)))
		rows.add("observed", liveModes(now))
	}
	if now.ServerCPU > 0 {
		rows.add("server CPU", Duration(now.ServerCPU)+" per handshake in the last second")
	}
	return rows.lines()
}

// LiveLine is [Live] in one line.
func LiveLine(p load.Plan, now load.Progress) string {
	parts := []string{liveTime(p, now)}
	if now.Measuring {
		parts = append(parts, significant(now.PerSecond)+"/s")
		if now.Handshakes > 0 {
			parts = append(parts, "p50 "+Duration(now.P50), "p99 "+Duration(now.P99), liveModes(now))
		}
		parts = append(parts, number(now.Failures)+" failed")
	}
	parts = append(parts, number(now.InFlight)+" in flight")
	if now.ServerCPU > 0 {
		parts = append(parts, "server CPU "+Duration(now.ServerCPU)+" per handshake")
	}
	return strings.Join(parts, ", ")
}

// liveTime says how far a load is.
func liveTime(p load.Plan, now load.Progress) string {
	if !now.Measuring {
		return fmt.Sprintf("warming up, %s of %s", now.At.Round(time.Second), p.Warmup)
	}
	at := (now.At - p.Warmup).Round(time.Second).String()
	switch {
	case p.Count > 0:
		at += fmt.Sprintf(", %s of %s handshakes", number(now.Handshakes+now.Failures), number(p.Count))
	case now.At > p.Warmup+p.Duration:
		at = "waiting for the last handshakes"
	default:
		at += " of " + p.Duration.String()
	}
	return at
}

// liveModes tells the modes observed, with their shares if there are several.
func liveModes(now load.Progress) string {
	var parts []string
	for _, mode := range shakedown.Modes() {
		if n := now.Modes[mode]; n == now.Handshakes {
			return "all " + string(mode)
		} else if n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", mode, share(n, now.Handshakes)))
		}
	}
	return strings.Join(parts, ", ")
}
