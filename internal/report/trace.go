package report

import (
	"fmt"
	"net/netip"
	"time"

	"shakedown"
	"shakedown/handshake"
)

// TraceSchema names the JSON of [Trace].
const TraceSchema = "shakedown/trace/v1"

// InitialWindow is what a server may send before the client acknowledges any of
// it, in bytes: 10 segments (RFC 6928) of 1,460, which is what IPv4 leaves of
// an Ethernet frame.
const InitialWindow = 10 * 1460

// Trace is one handshake, message by message.
type Trace struct {
	Schema  string           `json:"schema"`
	Target  shakedown.Target `json:"target"`
	Address netip.AddrPort   `json:"address"`
	Local   netip.AddrPort   `json:"local"`
	// Lookup is how long it took to find the addresses; it is not in Phases.
	Lookup time.Duration `json:"lookup_ns"`
	// Skipped are addresses of the target that no connection could be made to.
	Skipped []Skipped `json:"skipped"`
	// Priming is the handshake that fetched the session offered; null if none
	// was needed.
	Priming *Priming `json:"priming"`

	Asked    shakedown.Asked  `json:"asked"`
	Observed TraceObserved    `json:"observed"`
	Phases   shakedown.Phases `json:"phases"`
	// Flights are what each side sent before the other spoke, bytes on the wire
	// without those of TCP.
	Flights []shakedown.Flight `json:"flights"`
	// RoundTrips until the handshake was complete, that of TCP not included.
	RoundTrips int              `json:"round_trips"`
	Messages   []TraceMessage   `json:"messages"`
	Chain      *shakedown.Chain `json:"chain"` // null if none was sent

	Verification  TraceVerification `json:"verification"`
	InitialWindow *Window           `json:"initial_window"` // null if the server sent nothing
	Mismatch      []string          `json:"mismatch"`       // what is other than asked
	Remarks       []string          `json:"remarks"`
	// Failure is why the handshake did not happen; null if it did.
	Failure *shakedown.Failure `json:"failure"`
}

// Skipped is an address that no connection could be made to.
type Skipped struct {
	Address netip.AddrPort `json:"address"`
	Text    string         `json:"text"`
}

// Priming is a full handshake made to get a session.
type Priming struct {
	Address  netip.AddrPort    `json:"address"`
	Duration time.Duration     `json:"duration_ns"` // connection included
	Version  shakedown.Version `json:"version"`
	Lifetime time.Duration     `json:"session_lifetime_ns"` // the server's hint; 0: none
}

// TraceObserved is what the server did, except for what a Trace has a place of
// its own for.
type TraceObserved struct {
	shakedown.Observed
	// These hide the fields of the same name, which are the Trace's.
	Chain      *struct{} `json:"chain,omitempty"`
	Flights    *struct{} `json:"flights,omitempty"`
	RoundTrips *struct{} `json:"round_trips,omitempty"`
}

// TraceMessage is a message and when it was sent or received, since the
// planned start. Application data that came in a row is one message.
type TraceMessage struct {
	handshake.Message
	At time.Duration `json:"at_ns"`
}

// TraceVerification is what was found of the server's chain and name.
type TraceVerification struct {
	Result shakedown.Verification `json:"result"`
	// Name that the certificate was compared with; empty if it was not.
	Name    string `json:"name"`
	Problem string `json:"problem,omitempty"`
	Hint    string `json:"hint,omitempty"`
	// Apart: the handshake went on all the same, where a client that verifies ends
	// it.
	Apart bool `json:"apart"`
}

// Window compares the server's flight of handshake messages with the initial window of TCP.
type Window struct {
	Bytes int `json:"bytes"`        // of the window
	Used  int `json:"flight_bytes"` // of the server's flight
	// Extra round trips that the flight takes because it is over the window, if
	// the window doubles with each.
	Extra int `json:"extra_round_trips"`
}

// NewWindow compares a flight of so many bytes with [InitialWindow].
func NewWindow(bytes int) *Window {
	w := &Window{Bytes: InitialWindow, Used: bytes}
	for sent, window := InitialWindow, InitialWindow; sent < bytes; w.Extra++ {
		window *= 2
		sent += window
	}
	return w
}

// AddMessage adds a message; application data in a row is joined, so that a long
// response does not grow the document.
func (t *Trace) AddMessage(m handshake.Message, at time.Duration) {
	const data = "application data"
	if n := len(t.Messages); n > 0 && m.Name == data {
		if last := &t.Messages[n-1]; last.Name == data && last.Direction == m.Direction {
			last.Bytes += m.Bytes
			last.Records += m.Records
			return
		}
	}
	t.Messages = append(t.Messages, TraceMessage{m, at})
}

// SetResult takes over what a handshake came to, and says what is remarkable.
func (t *Trace) SetResult(r shakedown.Result) {
	t.Address, t.Local, t.Asked, t.Phases, t.Failure = r.Address, r.Local, r.Asked, r.Phases, r.Failure
	t.Observed = TraceObserved{Observed: r.Observed}
	if _, heard := r.Phases.At(shakedown.PhaseServerHello); !heard {
		t.Observed.Mode = "" // the server began none
	}
	t.Chain, t.RoundTrips = r.Observed.Chain, r.Observed.RoundTrips
	t.Flights = append([]shakedown.Flight{}, r.Observed.Flights...)
	t.Mismatch, t.Remarks = []string{}, []string{}
	if r.Failure == nil {
		t.Mismatch = append(t.Mismatch, r.Asked.Mismatch(&r.Observed)...)
	}
	retried := r.Observed.HelloRetryRequest // which is a flight before the one that counts
	for _, f := range t.Flights {
		if f.Direction == shakedown.Sent {
			continue
		}
		if t.InitialWindow = NewWindow(f.Bytes); !retried {
			break
		}
		retried = false
	}
	t.remark()
}

// remark says what a reader should not overlook.
func (t *Trace) remark() {
	add := func(format string, args ...any) { t.Remarks = append(t.Remarks, fmt.Sprintf(format, args...)) }
	o := &t.Observed.Observed
	if o.HelloRetryRequest {
		add("the server asked for another key share (HelloRetryRequest), which costs a round trip: it would have taken %s at once", o.Group)
	}
	if w := t.InitialWindow; w != nil && w.Extra > 0 {
		add("the server's flight of %s bytes is over TCP's initial window of %s bytes (10 segments of 1,460): "+
			"where the server does not raise the window, it takes %s more", number(w.Used), number(w.Bytes), count(w.Extra, "round trip"))
	}
	if c := t.Chain; c != nil {
		if !c.Ordered {
			add("the chain is not in order: each certificate should be issued by the next (RFC 8446, section 4.4.2)")
		}
		last := c.Certificates[len(c.Certificates)-1]
		if len(c.Certificates) > 1 && last.Subject == last.Issuer {
			add("the server sent its root, %s bytes that no client needs", number(last.Bytes))
		}
	}
	if t.Asked.StatusRequest && t.Chain != nil && o.Staple == nil {
		add("a staple was asked for (status_request) and none was sent")
	}
	if o.Version == shakedown.TLS12 && t.Failure == nil && !o.ExtendedMasterSecret {
		add("no extended_master_secret: sessions are not bound to their handshake (RFC 7627)")
	}
}
