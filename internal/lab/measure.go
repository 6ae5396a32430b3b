package lab

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"shakedown"
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
	if p := m.Confirmed.Problems; len(p) > 0 {
		return nil, fmt.Errorf("the server is not what the plan says: %s", p[0])
	}
	plan = at(plan, s)
	plan.Duration, plan.Warmup = r.plan.Turn, r.plan.Warmup
	for {
		if err := r.load(ctx, m, c, s, plan); err != nil {
			return nil, err
		}
		steal := m.Summary.Steal
		if m.Summary.Interrupted || steal == nil || *steal <= r.plan.StealLimit || m.Repeated == maxRepeats {
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

// sliced makes the load in parts, all with the sessions fetched at first, and
// changes the ticket key in the middle if the cell is to.
func (r *runner) sliced(ctx context.Context, m *Measurement, c *Cell, s *server.Server, plan load.Plan) error {
	n := c.Load.Slices
	if mode := plan.Config.Mode; mode.Resumes() {
		for range plan.Connections {
			cfg := plan.Config
			session, err := fetch(ctx, s, &cfg)
			if err != nil {
				return fmt.Errorf("no session to resume: %w", err)
			}
			plan.Sessions = append(plan.Sessions, session)
		}
	}
	plan.Duration = r.plan.Turn / time.Duration(n)
	m.Rate = 0
	var parts []*load.Summary
	for i := range n {
		rotated := i == n/2 && c.Load.rotates()
		if rotated {
			if err := rotate(ctx, s, c.Load.Rotate == "keep"); err != nil {
				return err
			}
		}
		part, err := load.Run(ctx, plan, r.watch(c, m.Round))
		if err != nil {
			return err
		}
		plan.Warmup = 0
		m.Rate += rate(part) / float64(n)
		slice := Slice{At: time.Duration(i) * plan.Duration, Handshakes: part.Handshakes, Failures: part.Failures, Rotated: rotated, P50: part.Total.P50, P99: part.Total.P99}
		for _, o := range part.Observed {
			if o.Mode.Resumes() {
				slice.Resumed += o.N
			}
		}
		if part.Server != nil {
			slice.ServerCPU = part.Server.PerHandshake
		}
		m.Slices = append(m.Slices, slice)
		parts = append(parts, part)
		if part.Interrupted {
			break
		}
	}
	var err error
	m.Summary, err = join(parts)
	return err
}

// join makes one summary of the parts of a turn.
func join(parts []*load.Summary) (*load.Summary, error) {
	s := parts[0]
	for _, part := range parts[1:] {
		s.Handshakes += part.Handshakes
		s.Failures += part.Failures
		s.Missed += part.Missed
		s.Duration += part.Duration
		s.Interrupted = s.Interrupted || part.Interrupted
		for i, r := range part.Recorders {
			if err := s.Recorders[i].Merge(r); err != nil {
				return nil, err
			}
		}
		s.Observed = append(s.Observed, part.Observed...)
		s.Failed = append(s.Failed, part.Failed...)
		s.Client.CPU += part.Client.CPU
		if part.Server == nil || s.Server == nil {
			s.Server, s.Why = nil, part.Why
		} else {
			s.Server.CPU += part.Server.CPU
		}
		if part.Steal != nil && s.Steal != nil {
			*s.Steal = max(*s.Steal, *part.Steal)
		}
	}
	s.Connect, s.Handshake, s.Total = s.Recorders[0].Percentiles(), s.Recorders[1].Percentiles(), s.Recorders[2].Percentiles()
	s.Series = nil // its seconds belong to the parts
	if ended := s.Handshakes + s.Failures; ended > 0 {
		s.Client.PerHandshake = s.Client.CPU / time.Duration(ended)
		if s.Server != nil {
			s.Server.PerHandshake = s.Server.CPU / time.Duration(ended)
		}
	}
	return s, nil
}

// newTicketKeys writes fresh keys to the files.
func newTicketKeys(dir string, files []string) error {
	if err := makeDir(dir); err != nil {
		return err
	}
	for _, file := range files {
		if err := server.NewTicketKey(file); err != nil {
			return err
		}
	}
	return nil
}

// rotate puts a fresh ticket key in front, keeps the old one behind it or drops
// it, and has the server read them.
func rotate(ctx context.Context, s *server.Server, keep bool) error {
	current, previous := s.Spec.TicketKeys[0], s.Spec.TicketKeys[1]
	if keep {
		if err := copyFile(current, previous); err != nil {
			return err
		}
	} else if err := server.NewTicketKey(previous); err != nil {
		return err
	}
	if err := server.NewTicketKey(current); err != nil {
		return err
	}
	if err := s.Reload(ctx); err != nil {
		return fmt.Errorf("rotating the ticket key: %w", err)
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

// full reports whether a cell's load is of full handshakes alone.
func (c *Cell) full() bool {
	return !slices.ContainsFunc(c.plan.Mix, func(s load.Share) bool { return s.Mode != shakedown.ModeFull })
}
