package load

import (
	"errors"
	"fmt"
	"slices"
	"syscall"

	"shakedown"
)

const (
	// busy is the share of its time from which a side counts as used up.
	busy = 0.90
	// met is the share of the rate asked for from which it counts as reached.
	met = 0.98
)

// limit says what kept the rate from being higher. It names one thing only if
// the figures show it; otherwise it says that it does not know.
func limit(s *Summary) Limit {
	client := fmt.Sprintf("the load kept %s busy %.0f%% of the time", several(s.Client.Threads, "thread", "threads"), 100*s.Client.Busy)
	server := "the server's CPU was not seen: " + s.Why
	if s.Server != nil {
		server = fmt.Sprintf("the server used %.2f cores with %s", s.Server.Busy, several(s.Server.Processes, "process", "processes"))
	}
	evidence := []string{server, client}
	if s.ListenDrops != nil && s.ListenDrops.Overflows > 0 {
		evidence = append(evidence, several(s.ListenDrops.Overflows, "connection", "connections")+" found an accept queue of this machine full")
	}
	local := slices.IndexFunc(s.Failed, func(f FailureCount) bool { return f.Class == shakedown.ClassLocal })
	open := s.Plan.Arrivals.Open()
	switch {
	case local >= 0:
		by := "descriptors"
		if errors.Is(s.Failed[local].Err, syscall.EADDRNOTAVAIL) || errors.Is(s.Failed[local].Err, syscall.EADDRINUSE) {
			by = "ports"
		}
		return Limit{by, append(evidence, fmt.Sprintf("%s failed here: %s", several(s.Failed[local].N, "handshake", "handshakes"), s.Failed[local].Text))}
	case s.Interrupted || s.Handshakes == 0:
		return Limit{"unknown", evidence}
	case open && s.Missed == 0 && s.PerSecond.N > 0 && s.PerSecond.Median >= met*lastRate(s.Plan.Arrivals):
		return Limit{"rate asked", append(evidence, fmt.Sprintf("%.0f/s were asked for and %.0f/s done", lastRate(s.Plan.Arrivals), s.PerSecond.Median))}
	case s.Client.Busy >= busy:
		return Limit{"client", append(evidence, "add --threads or use more machines: the server could do more")}
	case s.ListenDrops != nil && float64(s.ListenDrops.Overflows) > 0.001*float64(s.Handshakes):
		return Limit{"backlog", append(evidence, "raise the server's listen backlog and net.core.somaxconn")}
	case s.Server != nil && s.Server.Busy >= busy*float64(serverCores(s)):
		return Limit{"server", evidence}
	case s.Server != nil && s.Server.Busy+s.Server.waited >= busy*float64(serverCores(s)):
		return Limit{"server", append(evidence, fmt.Sprintf("it was ready for %.2f cores more and did not get them: others use its cores", s.Server.waited))}
	case s.Link != nil:
		return linkLimit(s, evidence)
	case s.Plan.RTT > 0:
		return Limit{"link", append(evidence, fmt.Sprintf("each flight was held for %s: more --connections would do more", s.Plan.RTT))}
	case !open && s.Server != nil && s.Failures*100 <= s.Handshakes:
		return Limit{"connections", append(evidence, several(s.Plan.Connections, "connection", "connections")+" waited for the server most of the time: more would do more")}
	}
	return Limit{"unknown", evidence}
}

// serverCores is how many cores the server can use up: one for each process that
// serves, as far as the count of processes tells.
func serverCores(s *Summary) int {
	n := s.Server.Processes
	if n > 1 {
		n-- // a master that only supervises
	}
	return max(min(n, s.Server.Cores), 1)
}

// several counts things in words.
func several[T ~int | ~int64 | ~uint64](n T, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

func lastRate(a Arrivals) float64 { return a.Stages[len(a.Stages)-1].Rate }
