package lab

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"shakedown/internal/host"
	"shakedown/internal/load"
	"shakedown/internal/server"
)

// Measurement is one turn: a cell in a round.
type Measurement struct {
	Cell    string    `json:"cell"`
	Round   int       `json:"round"`
	Started time.Time `json:"started"`
	// Repeated turns were thrown away because of steal.
	Repeated  int           `json:"repeated"`
	Confirmed Confirmation  `json:"confirmed"`
	Summary   *load.Summary `json:"summary"`
	// Rate of handshakes completed in the measured time alone.
	Rate float64 `json:"handshakes_per_s"`
	// Total is how long handshakes took, by quantile.
	Total []Quantile `json:"total"`
	// Others is how many cores' worth of time went to neither the load nor the
	// server: to other programs, and to the kernel's work for the network.
	Others *float64 `json:"others_cores"`
	// Visits are the times of first visits, in ns; AskedCA is how many of them
	// asked the CA.
	Visits  []float64 `json:"visits_ns,omitempty"`
	AskedCA int       `json:"asked_ca,omitempty"`
	Slices  []Slice   `json:"slices,omitempty"`
}

// Quantile is a point of a distribution.
type Quantile struct {
	Q  float64 `json:"q"` // 0 to 1
	At float64 `json:"at_ns"`
}

// Slice is a part of a turn.
type Slice struct {
	At         time.Duration `json:"at_ns"` // its begin
	Handshakes int64         `json:"handshakes"`
	Failures   int64         `json:"failures"`
	Resumed    int64         `json:"resumed"`
	P50        time.Duration `json:"p50_ns"`
	P99        time.Duration `json:"p99_ns"`
	ServerCPU  time.Duration `json:"server_cpu_per_handshake_ns"`
	Rotated    bool          `json:"rotated"` // the ticket key was changed before it
}

// quantiles are those a latency curve is drawn through.
var quantiles = []float64{0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999, 0.9995, 0.9999, 1}

// maxRepeats is how often a turn with too much steal is repeated.
const maxRepeats = 3

// turn measures a cell once: start, confirm, load, stop.
func (r *runner) turn(ctx context.Context, c *Cell, round int) (*Measurement, error) {
	// The server outlives an interrupt for as long as the load needs to end.
	alive, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	m := &Measurement{Cell: c.ID, Round: round, Started: time.Now()}
	spec := c.Spec
	dir := r.path("servers", c.ID)
	spec.PKI = r.path("pki")
	if spec.Stapling == server.StaplingResponder {
		spec.PKI = filepath.Join(dir, "pki") // its leaf names the responder's port
	}
	plan := c.plan
	r.place(&spec, &plan, c.Driver)
	if c.Load.rotates() {
		spec.TicketKeys = []string{filepath.Join(dir, "current.key"), filepath.Join(dir, "previous.key")}
		if err := newTicketKeys(dir, spec.TicketKeys); err != nil {
			return nil, err
		}
	}
	s, err := c.Driver.Start(alive, spec, dir)
	if err != nil {
		return nil, err
	}
	defer s.Stop() //nolint:errcheck // how it ended does not change what was measured
	m.Confirmed = confirm(alive, c, s)
	if !r.questioned[c.ID] {
		m.Confirmed.question(alive, c, s)
		r.questioned[c.ID] = true
	}
	if p := m.Confirmed.Problems; len(p) > 0 {
		return nil, fmt.Errorf("the server is not what the plan says: %s", p[0])
	}
	plan = at(plan, s)
	plan.Duration, plan.Warmup = r.plan.Turn, r.plan.Warmup
	for {
		if err := r.load(ctx, m, c, s, plan); err != nil {
			return nil, err
		}
		if !disturbed(m.Summary, r.plan.StealLimit) || m.Repeated == maxRepeats {
			break
		}
		m.Repeated++
	}
	if m.Summary.Interrupted {
		return m, ctx.Err()
	}
	if m.Summary.Handshakes == 0 {
		if f := m.Summary.Failed; len(f) > 0 {
			return nil, fmt.Errorf("not one handshake completed: %s", f[0].Text)
		}
		return nil, errStarved
	}
	return m, r.visits(ctx, m, c, s)
}

// disturbed reports whether others took more of the machine's time than the
// limit, in percent.
func disturbed(s *load.Summary, limit float64) bool {
	return !s.Interrupted && s.Steal != nil && *s.Steal > limit
}

// errStarved: on a machine that is busy with other things a short turn may pass
// without the load having had a core.
var errStarved = errors.New("not one handshake completed in the time of a turn, and none failed: a longer turn may help")

// load makes the load of a turn, whole or in slices.
func (r *runner) load(ctx context.Context, m *Measurement, c *Cell, s *server.Server, plan load.Plan) error {
	m.Slices = nil
	before, err := host.ReadCPUTimes()
	seen := err == nil
	begun := time.Now()
	if c.Load.Slices > 1 {
		err = r.sliced(ctx, m, c, s, plan)
	} else if m.Summary, err = load.Run(ctx, plan, r.watch(c, m.Round)); err == nil {
		m.Rate = rate(m.Summary)
	}
	if err != nil {
		return err
	}
	m.Total = nil
	for _, q := range quantiles {
		m.Total = append(m.Total, Quantile{q, float64(m.Summary.Recorders[2].Quantile(q))})
	}
	if after, err := host.ReadCPUTimes(); err == nil && seen && m.Summary.Server != nil && len(m.Slices) == 0 {
		if share, err := after.Since(before); err == nil {
			// The processor was busy in the whole of that time, ours is known of it
			// without the warm-up and the fetching of sessions.
			ours := time.Since(begun) - plan.Warmup - m.Summary.Priming.Duration
			others := max(0, share.Busy/100*float64(r.environment.CPUs)-(m.Summary.Server.CPU+m.Summary.Client.CPU).Seconds()/ours.Seconds())
			m.Others = &others
		}
	}
	return nil
}

// rate returns the handshakes per second of the measured time. A summary counts
// those too that end in the drain after it, which with many connections may be
// most: whole seconds leave them out, and where there is none, a closed loop has
// as many in the drain as it has connections.
func rate(s *load.Summary) float64 {
	if whole := int(s.Duration / time.Second); whole > 0 {
		var n int64
		for _, second := range s.Series {
			if int(second.At/time.Second) < whole {
				n += second.Handshakes
			}
		}
		return float64(n) / float64(whole)
	}
	n := s.Handshakes
	if !s.Plan.Arrivals.Open() {
		n -= int64(s.Plan.Connections)
	}
	if n <= 0 || s.Duration <= 0 {
		return 0
	}
	return float64(n) / s.Duration.Seconds()
}

// visits makes the first visits of a turn.
func (r *runner) visits(ctx context.Context, m *Measurement, c *Cell, s *server.Server) error {
	if c.Load.Visits == 0 {
		return nil
	}
	v, err := newVisitor(c)
	if err != nil {
		return err
	}
	defer v.Close()
	for range c.Load.Visits {
		took, asked, err := v.visit(ctx, s)
		if err != nil {
			return err
		}
		m.Visits = append(m.Visits, float64(took))
		if asked {
			m.AskedCA++
		}
	}
	return nil
}

// place gives the server cores of its own where the plan names none: the first
// ones, as many as it has workers, and the load those that are left.
func (r *runner) place(spec *server.Spec, plan *load.Plan, d server.Driver) {
	cores := r.environment.AllowedCPU
	if spec.CPUs != "" || len(plan.CPUs) > 0 || len(cores) < 2 {
		return
	}
	n := min(max(spec.Workers, 1), len(cores)-1)
	placed := *spec
	placed.CPUs = cpuList(cores[:n])
	if d.Can(placed) != nil {
		return
	}
	spec.CPUs, plan.CPUs = placed.CPUs, slices.Clone(cores[n:])
	if plan.Threads > 0 {
		plan.CPUs = plan.CPUs[:min(plan.Threads, len(plan.CPUs))]
	}
}
