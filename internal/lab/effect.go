package lab

import (
	"math"
	"slices"
	"strings"

	"shakedown/internal/stats"
)

// tableau is the measured cells as a grid over the factors, with the rounds that
// all of them have.
type tableau struct {
	o      *Outcome
	levels [][]int // of each cell, by factor
	cells  map[string]*CellOutcome
}

func newTableau(o *Outcome) *tableau {
	t := &tableau{o: o, cells: map[string]*CellOutcome{}}
	for i := range o.Cells {
		c := &o.Cells[i]
		var at []int
		for _, f := range o.Plan.Factors {
			at = append(at, slices.Index(f.Levels, c.Factors[f.Name]))
		}
		t.levels = append(t.levels, at)
		if c.Status == Measured {
			t.cells[key(at)] = c
		}
	}
	return t
}

func key(levels []int) string {
	var b strings.Builder
	for _, l := range levels {
		b.WriteByte(byte(l))
	}
	return b.String()
}

// with returns levels with the one of factor f replaced.
func with(levels []int, f, level int) []int {
	changed := slices.Clone(levels)
	changed[f] = level
	return changed
}

// others returns every choice of levels of the factors other than those given,
// whose levels are 0 in it.
func (t *tableau) others(except ...int) [][]int {
	var all [][]int
	for _, levels := range t.levels {
		if !slices.ContainsFunc(except, func(f int) bool { return levels[f] != 0 }) {
			all = append(all, levels)
		}
	}
	return all
}

// values returns a cell's metric by round, nil if it has none.
func (t *tableau) values(levels []int, metric string) []float64 {
	c := t.cells[key(levels)]
	if c == nil {
		return nil
	}
	return c.ByRound[metric]
}

// compare compares b with a, round by round.
func compare(a, b []float64) (Compared, error) {
	c, err := stats.ComparePaired(a, b, alpha)
	if err != nil {
		return Compared{}, err
	}
	out := Compared{Ratio: c.Ratio, P: c.P, Rounds: len(a), Needed: c.Needed, Verdict: c.Verdict}
	if !math.IsInf(c.Low, 0) {
		out.Low, out.High = &c.Low, &c.High
	}
	return out, nil
}

// product multiplies the rounds of several samples, each raised to a power: a
// mean on the log scale.
type product struct {
	logs []float64
	n    int
}

func (p *product) add(values []float64) bool {
	if values == nil || p.logs != nil && len(p.logs) != len(values) {
		return false
	}
	if p.logs == nil {
		p.logs = make([]float64, len(values))
	}
	for i, v := range values {
		p.logs[i] += math.Log(v)
	}
	p.n++
	return true
}

// mean returns the geometric mean by round, times the number of samples that
// make one value.
func (p *product) mean(each int) []float64 {
	out := make([]float64, len(p.logs))
	for i, l := range p.logs {
		out[i] = math.Exp(l / float64(p.n) * float64(each))
	}
	return out
}

// effects compares every level with the first one of its factor: over the mean
// of all others, and given each of them.
func (t *tableau) effects() ([]Effect, error) {
	all := []Effect{}
	for _, metric := range Metrics() {
		for f, factor := range t.o.Plan.Factors {
			for to := 1; to < len(factor.Levels); to++ {
				e := Effect{Factor: factor.Name, From: factor.Levels[0], To: factor.Levels[to], Metric: metric}
				found, err := t.effect(e, f, to)
				if err != nil {
					return nil, err
				}
				all = append(all, found...)
			}
		}
	}
	return all, nil
}

func (t *tableau) effect(e Effect, f, to int) ([]Effect, error) {
	var from, upTo product
	var given []Effect
	whole := true
	for _, levels := range t.others(f) {
		a, b := t.values(levels, e.Metric), t.values(with(levels, f, to), e.Metric)
		if a == nil || b == nil || len(a) != len(b) {
			// The mean would be of other cells on one side than on the other.
			continue
		}
		whole = whole && from.add(a) && upTo.add(b)
		c, err := compare(a, b)
		if err != nil {
			return nil, err
		}
		one := e
		one.Given, one.Compared = t.given(levels, f), c
		given = append(given, one)
	}
	if len(given) == 0 || !whole {
		return given, nil
	}
	c, err := compare(from.mean(1), upTo.mean(1))
	if err != nil {
		return nil, err
	}
	e.Compared = c
	if len(given) == 1 {
		return []Effect{e}, nil // there is nothing to be given
	}
	return append([]Effect{e}, given...), nil
}

// given names the levels of all factors but f.
func (t *tableau) given(levels []int, f int) string {
	var names []string
	for i, factor := range t.o.Plan.Factors {
		if i != f && len(factor.Levels) > 1 {
			names = append(names, factor.Name+"="+factor.Levels[levels[i]])
		}
	}
	return strings.Join(names, ", ")
}

// interactions returns, for two factors and two levels of each, the ratio of
// ratios: how many times larger the one's effect is at the other's level.
func (t *tableau) interactions() ([]Interaction, error) {
	all := []Interaction{}
	for _, metric := range Metrics() {
		for f, a := range t.o.Plan.Factors {
			for g := f + 1; g < len(t.o.Plan.Factors); g++ {
				b := t.o.Plan.Factors[g]
				for toA := 1; toA < len(a.Levels); toA++ {
					for toB := 1; toB < len(b.Levels); toB++ {
						i := Interaction{FactorA: a.Name, FromA: a.Levels[0], ToA: a.Levels[toA], FactorB: b.Name, FromB: b.Levels[0], ToB: b.Levels[toB], Metric: metric}
						ok, err := t.interaction(&i, f, toA, g, toB)
						if err != nil {
							return nil, err
						}
						if ok {
							all = append(all, i)
						}
					}
				}
			}
		}
	}
	return all, nil
}

func (t *tableau) interaction(i *Interaction, f, toA, g, toB int) (bool, error) {
	var alone, together product
	for _, levels := range t.others(f, g) {
		base, both := t.values(levels, i.Metric), t.values(with(with(levels, f, toA), g, toB), i.Metric)
		a, b := t.values(with(levels, f, toA), i.Metric), t.values(with(levels, g, toB), i.Metric)
		if base == nil || both == nil || a == nil || b == nil {
			continue
		}
		if !together.add(base) || !together.add(both) || !alone.add(a) || !alone.add(b) {
			return false, nil // cells with different numbers of rounds
		}
	}
	if alone.n == 0 {
		return false, nil
	}
	var err error
	i.Compared, err = compare(alone.mean(2), together.mean(2))
	return err == nil, err
}
