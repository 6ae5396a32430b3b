package shakedown

import (
	"encoding/json"
	"fmt"
	"time"
)

// Phase is a mark in the life of one handshake.
type Phase uint8

const (
	PhasePlanned      Phase = iota // the instant at which it was to begin
	PhaseStarted                   // the connection was begun
	PhaseConnected                 // the transport is connected
	PhaseServerHello               // first byte of ServerHello (or of a HelloRetryRequest) read
	PhaseServerFlight              // the server's flight is complete
	PhaseFinished                  // our Finished is sent
	PhaseComplete                  // both Finished are done with: sent and verified
	PhaseTicket                    // first NewSessionTicket read
	PhaseResponse                  // first application byte read
	PhaseClosed                    // the connection is closed
	NumPhases                      // how many there are
)

var phaseNames = [NumPhases]string{
	"planned", "started", "connected", "server_hello", "server_flight",
	"finished", "complete", "ticket", "response", "closed",
}

// String returns the phase's name as used in JSON.
func (p Phase) String() string {
	if p < NumPhases {
		return phaseNames[p]
	}
	return fmt.Sprintf("phase(%d)", uint8(p))
}

// MarshalText implements encoding.TextMarshaler with [Phase.String].
func (p Phase) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *Phase) UnmarshalText(b []byte) error {
	for i, s := range phaseNames {
		if s == string(b) {
			*p = Phase(i)
			return nil
		}
	}
	return fmt.Errorf("unknown phase %q", b)
}

// Phases holds when each phase was reached, as time since the planned instant.
// The zero value has reached none but PhasePlanned.
type Phases struct {
	at      [NumPhases]time.Duration
	reached uint16
}

// Mark records that p was reached at d after the planned instant. Only the
// first mark of a phase counts.
func (ps *Phases) Mark(p Phase, d time.Duration) {
	if bit := uint16(1) << p; ps.reached&bit == 0 {
		ps.reached |= bit
		ps.at[p] = d
	}
}

// At returns when p was reached, and whether it was.
func (ps *Phases) At(p Phase) (time.Duration, bool) {
	return ps.at[p], p == PhasePlanned || ps.reached&(1<<p) != 0
}

// Between returns the time from p to q, and whether both were reached.
func (ps *Phases) Between(p, q Phase) (time.Duration, bool) {
	a, okA := ps.At(p)
	b, okB := ps.At(q)
	return b - a, okA && okB
}

// Last returns the latest phase reached.
func (ps *Phases) Last() Phase {
	for p := NumPhases - 1; p > PhasePlanned; p-- {
		if _, ok := ps.At(p); ok {
			return p
		}
	}
	return PhasePlanned
}

// MarshalJSON writes the phases reached as {"connected_ns": 81234, ...}, in order.
func (ps Phases) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for p := range NumPhases {
		if d, ok := ps.At(p); ok {
			if len(b) > 1 {
				b = append(b, ',')
			}
			b = fmt.Appendf(b, "%q:%d", p.String()+"_ns", d.Nanoseconds())
		}
	}
	return append(b, '}'), nil
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (ps *Phases) UnmarshalJSON(b []byte) error {
	var m map[string]int64
	if err := json.Unmarshal(b, &m); err != nil {
		return err
	}
	*ps = Phases{}
	for p := PhaseStarted; p < NumPhases; p++ {
		if ns, ok := m[p.String()+"_ns"]; ok {
			ps.Mark(p, time.Duration(ns))
		}
	}
	return nil
}
