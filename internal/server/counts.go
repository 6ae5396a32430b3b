package server

import (
	"fmt"
	"strings"
)

// NotTold stands for a number that a server does not give away.
const NotTold = -1

// Counts is a server's own account of its connections. Numbers that the server
// does not give away are NotTold; the maps count completed handshakes and are
// nil if the server does not tell.
type Counts struct {
	Accepted   int64 `json:"accepted"`   // TCP connections
	Handshakes int64 `json:"handshakes"` // completed: the client's Finished was read
	Full       int64 `json:"full"`
	Resumed    int64 `json:"resumed"`
	// Untold handshakes completed, but the server does not say whether they
	// resumed: Full + Resumed + Untold = Handshakes, unless one is NotTold.
	Untold    int64 `json:"untold"`
	Failed    int64 `json:"failed"` // connections that ended before their handshake was complete
	Requests  int64 `json:"requests"`
	EarlyData int64 `json:"early_data"` // handshakes with early data accepted

	Versions map[string]int64 `json:"versions,omitempty"`
	Suites   map[string]int64 `json:"suites,omitempty"`
	Groups   map[string]int64 `json:"groups,omitempty"`
	Names    map[string]int64 `json:"names,omitempty"` // by SNI, "" if there was none

	Basis string `json:"basis"` // where the numbers come from and what they leave out
}

// untoldCounts is an account that tells nothing yet.
func untoldCounts(basis string) Counts {
	return Counts{Accepted: NotTold, Handshakes: NotTold, Full: NotTold, Resumed: NotTold, Untold: NotTold,
		Failed: NotTold, Requests: NotTold, EarlyData: NotTold, Basis: basis}
}

// String returns the numbers told, and how they were got.
func (c Counts) String() string {
	var parts []string
	for _, n := range []struct {
		name  string
		value int64
	}{{"accepted", c.Accepted}, {"handshakes", c.Handshakes}, {"full", c.Full}, {"resumed", c.Resumed},
		{"untold", c.Untold}, {"failed", c.Failed}, {"requests", c.Requests}, {"early data", c.EarlyData}} {
		if n.value != NotTold {
			parts = append(parts, fmt.Sprintf("%s %d", n.name, n.value))
		}
	}
	return strings.Join(parts, ", ") + " (" + c.Basis + ")"
}
