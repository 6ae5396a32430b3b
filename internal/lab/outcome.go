package lab

import (
	"time"

	"shakedown"
	"shakedown/internal/host"
	"shakedown/internal/server"
	"shakedown/internal/stats"
)

// The metrics that effects are worked out for, the first being the first figure
// of every comparison: it is steadier than a rate on a noisy machine.
const (
	ServerCPU = "server_cpu_per_handshake_ns"
	Rate      = "handshakes_per_s"
	P50       = "total_p50_ns"
	P99       = "total_p99_ns"
	Visit     = "visit_ns" // median of the first visits in a turn
)

// Metrics lists all, in the order of reports.
func Metrics() []string { return []string{ServerCPU, Rate, P50, P99, Visit} }

// Outcome is what a run came to.
type Outcome struct {
	Plan PlanFacts `json:"plan"`
	// Environment is the machine before the first round; its steal is that of
	// the middle turn.
	Environment host.Record `json:"environment"`
	Started     time.Time   `json:"started"`
	// Rounds are complete; Stopped says why there are fewer than were asked for.
	Rounds  int    `json:"rounds"`
	Stopped string `json:"stopped,omitempty"`
	// Repeated turns were thrown away because of steal.
	Repeated int `json:"repeated_turns"`
	// Caveats are to be read before the figures.
	Caveats []string `json:"caveats"`

	Cells         []CellOutcome   `json:"cells"`
	Effects       []Effect        `json:"effects"`
	Interactions  []Interaction   `json:"interactions"`
	Contributions []Contribution  `json:"contributions"`
	Primitives    []PrimitiveFact `json:"primitives"`
	Parts         []Part          `json:"decomposition"`
	Agreements    []Agreement     `json:"agreement"`
	Curves        []Curve         `json:"curves"`
}

// PlanFacts is the plan in short, and as it was read.
type PlanFacts struct {
	Name      string        `json:"name"`
	Title     string        `json:"title"`
	Question  string        `json:"question"`
	Published string        `json:"published"`
	Server    string        `json:"server"`
	Factors   []FactorFacts `json:"factors"`
	Rounds    int           `json:"rounds"`
	Turn      time.Duration `json:"turn_ns"`
	Warmup    time.Duration `json:"warmup_ns"`
	Budget    time.Duration `json:"budget_ns"`
	Seed      uint64        `json:"seed"`
	Steal     float64       `json:"steal_limit_percent"`
	Text      string        `json:"text"`
}

// FactorFacts is a factor with the names of its levels.
type FactorFacts struct {
	Name   string   `json:"name"`
	Levels []string `json:"levels"`
}

// The states of a cell.
const (
	Measured   = "measured"
	Impossible = "impossible" // the server cannot be so
	Failed     = "failed"     // it could not be started, confirmed or measured
	Pending    = "pending"    // no round with it is complete
)

// CellOutcome is what a cell came to.
type CellOutcome struct {
	ID      string            `json:"id"`
	Name    string            `json:"name"`
	Factors map[string]string `json:"factors"` // level of each
	Status  string            `json:"status"`
	Reason  string            `json:"reason,omitempty"`
	Server  string            `json:"server"`
	Spec    server.Spec       `json:"spec"`
	Load    Load              `json:"load"`
	Rounds  int               `json:"rounds"`

	Handshakes int64 `json:"handshakes"` // complete, in all rounds
	Failures   int64 `json:"failures"`
	Missed     int64 `json:"missed"`
	// Failure is the text of a failure, the first.
	Failure string `json:"failure,omitempty"`

	// Medians over rounds with their intervals.
	ServerCPU stats.Estimate `json:"server_cpu_per_handshake_ns"`
	Rate      stats.Estimate `json:"handshakes_per_s"`
	P50       stats.Estimate `json:"total_p50_ns"`
	P90       stats.Estimate `json:"total_p90_ns"`
	P99       stats.Estimate `json:"total_p99_ns"`
	P999      stats.Estimate `json:"total_p999_ns"`
	ClientCPU stats.Estimate `json:"client_cpu_per_handshake_ns"`
	Memory    stats.Estimate `json:"server_memory_bytes"`
	Visit     stats.Estimate `json:"visit_ns"`
	// ByRound has the values that effects are worked out from.
	ByRound map[string][]float64 `json:"by_round"`
	// Rests tells which rounds these are.
	RoundNumbers []int `json:"round_numbers"`

	Sent     int `json:"sent_bytes"` // by the client, in a full handshake
	Received int `json:"received_bytes"`
	// Modes counts the handshakes by what was observed.
	Modes map[shakedown.Mode]int64 `json:"modes"`
	// Resumption is how many of the handshakes that were to resume did.
	Resumption *Share `json:"resumption"`
	// Observed are versions, suites, groups and certificates seen, most frequent
	// first.
	Observed []string `json:"observed"`
	// LimitedBy counts rounds.
	LimitedBy map[string]int `json:"limited_by"`
	Evidence  []string       `json:"limit_evidence"` // of the last round
	Confirmed []string       `json:"confirmed"`
	// Total is the latency by quantile, the median over rounds.
	Total     []Quantile `json:"total"`
	Waterfall []Mark     `json:"waterfall"`
	Slices    []Slice    `json:"slices"` // medians over rounds
	// AskedCA is how many of Visits asked the CA.
	Visits  int `json:"visits"`
	AskedCA int `json:"asked_ca"`

	modes []observedWay
}

// observedWay is one way in which handshakes came out, for the decomposition.
type observedWay struct {
	mode        shakedown.Mode
	certificate string
	group       string
	suite       string
	n           int64
}

// Share is a proportion with its 95% interval.
type Share struct {
	K    int64   `json:"k"`
	N    int64   `json:"n"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Mark is when a phase of one handshake on an idle server was reached.
type Mark struct {
	Phase string  `json:"phase"`
	At    float64 `json:"at_ns"` // median over rounds, since the planned instant
}

// Effect compares two levels of a factor: To against From, round by round.
type Effect struct {
	Factor string `json:"factor"`
	From   string `json:"from"`
	To     string `json:"to"`
	// Given are the levels of the other factors; empty: their mean.
	Given  string `json:"given"`
	Metric string `json:"metric"`
	Compared
}

// Compared is a ratio with what it rests on. Low and High are null, if the
// rounds are too few.
type Compared struct {
	Ratio   float64       `json:"ratio"`
	Low     *float64      `json:"low"`
	High    *float64      `json:"high"`
	P       float64       `json:"p"`
	Rounds  int           `json:"rounds"`
	Needed  int           `json:"rounds_needed"` // to show any difference at all
	Verdict stats.Verdict `json:"verdict"`
}

// Interaction says how the effect of one factor changes with another's level:
// the ratio of its ratios.
type Interaction struct {
	FactorA string `json:"factor_a"`
	FromA   string `json:"from_a"`
	ToA     string `json:"to_a"`
	FactorB string `json:"factor_b"`
	FromB   string `json:"from_b"`
	ToB     string `json:"to_b"`
	Metric  string `json:"metric"`
	Compared
}

// Contribution is what each change brings on the way from the worst to the best
// cell, in one order of the changes.
type Contribution struct {
	Metric string   `json:"metric"`
	Order  string   `json:"order"` // forward or backward
	Worst  string   `json:"worst"` // names of the cells
	Best   string   `json:"best"`
	Total  Compared `json:"total"`
	Steps  []Step   `json:"steps"`
}

// Step is one change on the way.
type Step struct {
	Factor string `json:"factor"`
	From   string `json:"from"`
	To     string `json:"to"`
	Cell   string `json:"cell"` // that it leads to
	Compared
	// Share of the whole way, on a log scale.
	Share float64 `json:"share"`
	// Missing says why there is no figure.
	Missing string `json:"missing,omitempty"`
}

// PrimitiveFact is what an operation takes, over rounds.
type PrimitiveFact struct {
	Library string         `json:"library"`
	Name    string         `json:"name"`
	CPU     stats.Estimate `json:"cpu_ns"`
	Source  string         `json:"source"`
}

// Part is a handshake's server CPU in its parts, per handshake of a cell.
type Part struct {
	Cell      string  `json:"cell"`
	Name      string  `json:"name"`
	Whole     float64 `json:"server_cpu_per_handshake_ns"`
	Signature float64 `json:"signature_ns"`
	Exchange  float64 `json:"exchange_ns"`
	Rest      float64 `json:"rest_ns"`
	Note      string  `json:"note"`
}

// Agreement holds the difference between two cells that differ in the
// certificate alone against the difference of the signatures measured apart.
type Agreement struct {
	From       string  `json:"from"` // cells
	To         string  `json:"to"`
	Measured   float64 `json:"measured_ns"`
	Primitives float64 `json:"primitives_ns"`
	Ratio      float64 `json:"ratio"`
}

// Curve is what becomes of rate and latency as a number grows.
type Curve struct {
	Factor string        `json:"factor"`
	Unit   string        `json:"unit"`
	Series []CurveSeries `json:"series"`
}

// CurveSeries is a curve for one choice of the other levels.
type CurveSeries struct {
	Name   string       `json:"name"`
	Points []CurvePoint `json:"points"`
}

// CurvePoint is one cell on a curve.
type CurvePoint struct {
	X         float64 `json:"x"`
	Cell      string  `json:"cell"`
	Rate      float64 `json:"handshakes_per_s"`
	P50       float64 `json:"total_p50_ns"`
	P99       float64 `json:"total_p99_ns"`
	ServerCPU float64 `json:"server_cpu_per_handshake_ns"` // 0: not seen
}
