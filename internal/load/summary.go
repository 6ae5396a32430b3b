package load

import (
	"net/netip"
	"time"

	"shakedown"
	"shakedown/internal/host"
	"shakedown/internal/link"
	"shakedown/internal/stats"
)

// Summary is what came of a Plan: of all handshakes that ended in the measured
// time, those begun in it and ended in the drain after it among them.
type Summary struct {
	Plan    Plan      `json:"plan"`
	Started time.Time `json:"started"` // of the measured time
	// Duration measured, the drain of the last handshakes not included.
	Duration time.Duration `json:"duration_ns"`
	// Interrupted: the run was ended before its time.
	Interrupted bool `json:"interrupted"`

	Handshakes int64 `json:"handshakes"` // complete
	Failures   int64 `json:"failures"`
	// Missed arrivals of an open loop: planned in the measured time but never
	// begun, for want of a free connection.
	Missed int64 `json:"missed"`
	// Abandoned handshakes were under way when an interrupted run ended.
	Abandoned int64 `json:"abandoned"`
	// PerSecond is the median rate of the whole seconds measured.
	PerSecond stats.Estimate `json:"handshakes_per_s"`

	// Connect is the time from the planned instant until TCP is connected and,
	// with StartTLS, the plain text before TLS is over; Handshake from there until
	// the handshake is complete as asked; Total both.
	Connect   stats.Percentiles `json:"connect"`
	Handshake stats.Percentiles `json:"handshake"`
	Total     stats.Percentiles `json:"total"`

	// Targets are the figures of each address, when there are several.
	Targets  []TargetSummary `json:"targets,omitempty"`
	Observed []Observed      `json:"observed"`
	Failed   []FailureCount  `json:"failed"`
	Series   []stats.Second  `json:"series"`

	Client  ClientUse  `json:"client"`
	Server  *ServerUse `json:"server"` // nil when it is not seen
	Why     string     `json:"server_not_seen,omitempty"`
	Priming Priming    `json:"priming"`
	Limit   Limit      `json:"limited_by"`
	// Link is what the emulated network did from before the priming to the end
	// of the run; nil without one.
	Link *LinkUse `json:"link"`
	// Steal is the share of the machine's time taken by others, in percent.
	Steal *float64 `json:"steal_percent"`
	// ListenDrops of all listening sockets of this machine; nil if not seen.
	ListenDrops *host.ListenDrops `json:"listen_drops"`

	// Recorders behind Connect, Handshake and Total, for other formats.
	Recorders [3]*stats.Recorder `json:"-"`
}

// TargetSummary is what came of the handshakes with one address.
type TargetSummary struct {
	Address    netip.AddrPort    `json:"address"`
	Handshakes int64             `json:"handshakes"`
	Failures   int64             `json:"failures"`
	Total      stats.Percentiles `json:"total"`
}

// Observed is how many handshakes came out in one way.
type Observed struct {
	Asked       shakedown.Mode            `json:"asked"` // the mode
	Mode        shakedown.Mode            `json:"mode"`
	Version     shakedown.Version         `json:"version"`
	CipherSuite shakedown.CipherSuite     `json:"cipher_suite"`
	Group       shakedown.Group           `json:"group"`
	Signature   shakedown.SignatureScheme `json:"signature_scheme"`
	Certificate string                    `json:"certificate"` // key of the leaf; "" when resumed
	DHBits      int                       `json:"dh_bits,omitempty"`
	Retried     bool                      `json:"hello_retry_request"`
	Staple      bool                      `json:"staple"`
	EarlyData   shakedown.EarlyData       `json:"early_data"`
	N           int64                     `json:"n"`
	// Mismatch says what is other than asked; empty: nothing.
	Mismatch []string `json:"mismatch,omitempty"`
}

// FailureCount is how many handshakes failed in one way.
type FailureCount struct {
	Class shakedown.Class  `json:"class"`
	Phase shakedown.Phase  `json:"phase"`
	Alert *shakedown.Alert `json:"alert,omitempty"`
	N     int64            `json:"n"`
	// Text, Hint and cause of the first of them.
	Text string `json:"text"`
	Hint string `json:"hint,omitempty"`
	Err  error  `json:"-"`
}

// ClientUse is what the load itself took.
type ClientUse struct {
	Threads int           `json:"threads"`
	CPU     time.Duration `json:"cpu_ns"` // of this process, user and system, without Looked and the thread of a Link
	// Looked is CPU time that an open loop spent looking for events in the last
	// microseconds before planned instants, so as to keep them.
	Looked time.Duration `json:"looked_ns"`
	User   time.Duration `json:"user_ns"`
	// PerHandshake is CPU over Handshakes plus Failures.
	PerHandshake time.Duration `json:"cpu_per_handshake_ns"`
	// Busy is CPU over the time of all threads, 0 to 1.
	Busy float64 `json:"busy"`
	// Lag is how long the loops took for the events of one wake-up, which is how
	// long the last of them waited; RunQueue how long the threads waited for a
	// core. In the portable loop both are unknown.
	Lag      stats.Percentiles `json:"loop_lag"`
	RunQueue time.Duration     `json:"run_queue_wait_ns"`
	// PeakInFlight handshakes were under way at once.
	PeakInFlight        int   `json:"peak_in_flight"`
	InvoluntarySwitches int64 `json:"involuntary_switches"`
}

// ServerUse is what the server's processes took.
type ServerUse struct {
	PIDs []int         `json:"pids"`
	CPU  time.Duration `json:"cpu_ns"`
	// PerHandshake is CPU over Handshakes plus Failures.
	PerHandshake time.Duration `json:"cpu_per_handshake_ns"`
	// Series of CPU per handshake, one for each second but the first, which has no
	// beginning to compare with, and their estimate.
	Series    []float64      `json:"cpu_per_handshake_series_ns"`
	PerSecond stats.Estimate `json:"cpu_per_handshake_by_second_ns"`
	Busy      float64        `json:"busy"` // cores' worth of CPU
	Processes int            `json:"processes"`
	waited    float64        // cores' worth of time in which it was ready and had no core
	Cores     int            `json:"cores"` // that they may run on
	Memory    host.Memory    `json:"memory"`
	// Hardware is what the processor counted per handshake, where it counts.
	Hardware        *host.Hardware `json:"hardware_per_handshake"`
	HardwareNotSeen string         `json:"hardware_not_seen,omitempty"`
}

// LinkUse is what an emulated network did.
type LinkUse struct {
	link.Stats
	// Busy is the share of the measured time that the thread which carries the
	// packets was running, and with it much of the kernel's TCP on both ends.
	Busy float64 `json:"busy"`
	// Used is the share of the rate that the busier direction used in the
	// measured time; 0 without a rate.
	Used float64 `json:"used"`
}

// Priming is what it cost to get the sessions that were offered.
type Priming struct {
	Handshakes int64         `json:"handshakes"`
	Failures   int64         `json:"failures"`
	Duration   time.Duration `json:"duration_ns"`
}

// Limit is what kept the rate from being higher, with the evidence.
type Limit struct {
	By       string   `json:"by"` // server, client, ports, descriptors, backlog, link, connections, rate asked, unknown
	Evidence []string `json:"evidence"`
}

// Mismatches returns how many handshakes were not what was asked.
func (s *Summary) Mismatches() (n int64) {
	for _, o := range s.Observed {
		if len(o.Mismatch) > 0 {
			n += o.N
		}
	}
	return n
}

// Progress is what a run tells while it goes on.
type Progress struct {
	At         time.Duration // since the load began, warm-up included
	Measuring  bool          // the warm-up is over
	Handshakes int64         // in the measured time so far
	Failures   int64
	InFlight   int
	PerSecond  float64 // over the last second or less
	// P50 and P99 of all so far. Of several threads the slowest is shown:
	// percentiles do not add up.
	P50, P99 time.Duration
	// Modes counts the complete handshakes by what the server did.
	Modes map[shakedown.Mode]int64
	// ServerCPU per handshake in the last whole second; 0: not seen.
	ServerCPU time.Duration
}
