package lab

import (
	"fmt"
	"math"
	"slices"
)

// contributions goes from the worst cell to the best one change at a time, in
// the order of the factors and in the opposite one: where the two orders give
// a change different shares, the changes interact.
func (t *tableau) contributions() ([]Contribution, error) {
	all := []Contribution{}
	if len(t.o.Plan.Factors) < 2 {
		return all, nil
	}
	// The ends are those of the steadier figure, so that both ways are the same.
	worst, best := t.ends(ServerCPU)
	if worst == nil {
		worst, best = t.ends(Rate)
	}
	if worst == nil || key(worst) == key(best) {
		return all, nil
	}
	for _, metric := range []string{ServerCPU, Rate} {
		if t.values(worst, metric) == nil || t.values(best, metric) == nil {
			continue
		}
		for _, order := range []string{"forward", "backward"} {
			c, err := t.way(metric, order, worst, best)
			if err != nil {
				return nil, err
			}
			all = append(all, c)
		}
	}
	return all, nil
}

// ends returns the levels of the worst and the best cell by their medians.
func (t *tableau) ends(metric string) (worst, best []int) {
	low, high := math.Inf(1), math.Inf(-1)
	var least, most []int
	for _, levels := range t.levels {
		values := t.values(levels, metric)
		if values == nil {
			continue
		}
		m := middle(values)
		if m < low {
			low, least = m, levels
		}
		if m > high {
			high, most = m, levels
		}
	}
	if metric == Rate {
		return least, most
	}
	return most, least
}

func (t *tableau) way(metric, order string, worst, best []int) (Contribution, error) {
	c := Contribution{Metric: metric, Order: order, Worst: t.cells[key(worst)].Name, Best: t.cells[key(best)].Name}
	var err error
	if c.Total, err = compare(t.values(worst, metric), t.values(best, metric)); err != nil {
		return c, err
	}
	var changes []int
	for f := range worst {
		if worst[f] != best[f] {
			changes = append(changes, f)
		}
	}
	if order == "backward" {
		slices.Reverse(changes)
	}
	at := worst
	for _, f := range changes {
		factor := t.o.Plan.Factors[f]
		next := with(at, f, best[f])
		s := Step{Factor: factor.Name, From: factor.Levels[at[f]], To: factor.Levels[next[f]], Cell: t.name(next)}
		a, b := t.values(at, metric), t.values(next, metric)
		if a == nil || b == nil || len(a) != len(b) {
			s.Missing = fmt.Sprintf("%s or %s was not measured in all rounds", t.name(at), t.name(next))
		} else {
			if s.Compared, err = compare(a, b); err != nil {
				return c, err
			}
			if whole := math.Log(c.Total.Ratio); whole != 0 {
				s.Share = math.Log(s.Ratio) / whole
			}
		}
		c.Steps = append(c.Steps, s)
		at = next
	}
	return c, nil
}

// name returns the name of the cell with these levels.
func (t *tableau) name(levels []int) string {
	for i, other := range t.levels {
		if slices.Equal(other, levels) {
			return t.o.Cells[i].Name
		}
	}
	return ""
}
