package lab

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"shakedown/internal/load"
	"shakedown/internal/server"
)

// Cell is one combination of levels.
type Cell struct {
	// ID is short, stable for a plan and fit for a file name, such as "c03".
	ID string
	// Levels are the names of the levels, in the order of the plan's factors.
	Levels []string
	Name   string // such as "certificate=RSA-2048, tickets=off"
	Driver server.Driver
	Spec   server.Spec
	Load   Load
	// Impossible says why the server cannot be so; empty: it can.
	Impossible string

	plan load.Plan // without targets
}

// Cells returns every combination of levels, the last factor varying fastest.
func (p *Plan) Cells() ([]*Cell, error) {
	n := 1
	for _, f := range p.Factors {
		n *= len(f.Levels)
		if n > maxCells {
			return nil, p.at("$.factors", "more than %d cells: leave levels out, or make several plans", maxCells)
		}
	}
	var cells []*Cell
	ports := map[uint16]bool{}
	for i := range n {
		levels := make([]int, len(p.Factors))
		for rest, f := i, len(p.Factors)-1; f >= 0; f-- {
			levels[f] = rest % len(p.Factors[f].Levels)
			rest /= len(p.Factors[f].Levels)
		}
		c, err := p.cell(fmt.Sprintf("c%02d", i+1), levels)
		if err != nil {
			return nil, err
		}
		cells = append(cells, c)
		ports[c.Spec.Port] = true
	}
	return cells, nil
}

// cell makes the cell with one level of each factor.
func (p *Plan) cell(id string, levels []int) (*Cell, error) {
	c := &Cell{ID: id, Load: defaultLoad()}
	settings := []Setting{p.Fixed}
	driver := p.Server
	var names []string
	for f, l := range levels {
		level := p.Factors[f].Levels[l]
		settings = append(settings, Setting{level.Server, level.Load})
		c.Levels = append(c.Levels, level.Name)
		names = append(names, p.Factors[f].Name+"="+level.Name)
		if level.Driver != "" {
			driver = level.Driver
		}
	}
	c.Name = strings.Join(names, ", ")
	for _, s := range settings {
		if err := s.Server.apply(p.file, &c.Spec); err != nil {
			return nil, err
		}
		if err := s.Load.apply(p.file, &c.Load); err != nil {
			return nil, err
		}
	}
	var err error
	if c.Driver, err = server.DriverByName(driver); err != nil {
		return nil, p.at("$.server", "%v", err)
	}
	if err := c.Spec.Validate(); err != nil {
		// The first line is one fault, and begins with the key.
		text, _, _ := strings.Cut(err.Error(), "\n")
		key, _, _ := strings.Cut(text, ":")
		return nil, p.setBy(settings, "server", key, text)
	}
	if c.Load.rotates() && (c.Spec.Tickets != server.TicketsKeyFile || len(c.Spec.TicketKeys) > 0) {
		return nil, p.setBy(settings, "load", "rotate", "rotate: needs tickets: key-file without files named: the keys are made here")
	}
	var bad *problem
	if c.plan, bad = c.Load.plan(c.Spec); bad != nil {
		text := bad.err.Error()
		if !strings.HasPrefix(text, bad.key) {
			text = bad.key + ": " + text
		}
		return nil, p.setBy(settings, "load", bad.key, text)
	}
	c.plan.Seed = p.Seed
	if err := c.Driver.Can(c.Spec); err != nil {
		c.Impossible = err.Error()
	}
	return c, nil
}

// setBy makes an error at the last setting that gives key a value.
func (p *Plan) setBy(settings []Setting, part, key, text string) error {
	for _, s := range slices.Backward(settings) {
		patch := s.Server
		if part == "load" {
			patch = s.Load
		}
		if t := patch.find(key); t != nil {
			return errorAt(p.file, t, text, "")
		}
	}
	return p.at("$.fixed", "%s", text)
}

// Possible returns the cells that can be measured.
func Possible(cells []*Cell) []*Cell {
	return slices.DeleteFunc(slices.Clone(cells), func(c *Cell) bool { return c.Impossible != "" })
}

// What a turn takes besides its load: starting, confirming, stopping.
const (
	turnOverhead = 400 * time.Millisecond
	// primitiveTime is what one kind of operation takes to measure.
	primitiveTime = time.Second
)

// Needed estimates how long all rounds take.
func (p *Plan) Needed(cells []*Cell) time.Duration {
	var round time.Duration
	for _, c := range Possible(cells) {
		round += turnOverhead + p.Warmup + p.Turn
		// Confirming and visits wait for the round trips, too.
		round += time.Duration(c.Load.Visits+2) * 6 * c.Load.RTT
		round += time.Duration(c.Load.Visits) * c.Spec.OCSP.Delay
	}
	measured := primitiveRounds(p.Rounds)
	kinds := len(operations(Possible(cells)))
	return time.Duration(p.Rounds)*round + time.Duration(measured*kinds)*primitiveTime
}
