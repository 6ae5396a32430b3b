package lab

import (
	"context"
	"fmt"
	"time"

	"shakedown/internal/load"
	"shakedown/internal/server"
)

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
