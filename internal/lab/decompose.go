package lab

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"shakedown"
	"shakedown/internal/stats"
)

func nanos(v float64) time.Duration { return time.Duration(v) }

// sources says how operations were measured, and what is in them.
var sources = map[Library]string{
	openSSL: "openssl speed, its own CPU time; an exchange is one shared secret, without making the server's key pair",
	goLib:   "Go's library in this program, CPU time of one thread; an exchange is a key pair and one shared secret",
}

// decompose takes the handshakes' server CPU apart: the signatures and key
// exchanges that were observed, at what the primitives took in the same run, and
// what is left.
func decompose(o *Outcome, r *Record) {
	byOperation := map[Operation][]float64{}
	for _, round := range r.Rounds {
		for _, p := range round.Primitives {
			byOperation[p.Operation] = append(byOperation[p.Operation], p.CPU)
		}
	}
	cost := map[Operation]float64{}
	for op, values := range byOperation {
		e := stats.Median(values)
		cost[op] = e.Median
		o.Primitives = append(o.Primitives, PrimitiveFact{string(op.Library), op.Name, e, sources[op.Library]})
	}
	slices.SortFunc(o.Primitives, func(a, b PrimitiveFact) int { return strings.Compare(a.Library+a.Name, b.Library+b.Name) })
	parts := map[string]Part{}
	for i := range o.Cells {
		c := &o.Cells[i]
		if p, ok := part(c, cost); ok {
			o.Parts = append(o.Parts, p)
			parts[c.ID] = p
		}
	}
	o.Agreements = append(o.Agreements, agreements(o, parts)...)
}

// part takes one cell apart; false if an operation in it was not measured.
func part(c *CellOutcome, cost map[Operation]float64) (Part, bool) {
	lib := library(c.Server)
	p := Part{Cell: c.ID, Name: c.Name, Whole: c.ServerCPU.Median}
	if c.Status != Measured || lib == "" || c.ServerCPU.N == 0 || c.Handshakes == 0 {
		return p, false
	}
	var n int64
	for _, w := range c.modes {
		n += w.n
		if w.certificate != "" && w.mode == shakedown.ModeFull {
			// A static RSA exchange decrypts, which is the same operation.
			sign, ok := cost[Operation{lib, signing(w.certificate)}]
			if !ok {
				return p, false
			}
			p.Signature += sign * float64(w.n)
		}
		if w.group != "" {
			exchange, ok := cost[Operation{lib, exchanging(w.group)}]
			if !ok {
				return p, false
			}
			p.Exchange += exchange * float64(w.n)
		}
		if strings.HasPrefix(w.suite, "TLS_RSA_") {
			p.Note = "the signature's column is the decryption of the premaster secret"
		}
	}
	p.Signature /= float64(n)
	p.Exchange /= float64(n)
	p.Rest = p.Whole - p.Signature - p.Exchange
	return p, true
}

// agreements holds every pair of cells with full handshakes that differ in the
// key of the certificate alone against the signatures measured apart.
func agreements(o *Outcome, parts map[string]Part) []Agreement {
	var all []Agreement
	for i := range o.Cells {
		for j := range o.Cells {
			a, b := &o.Cells[i], &o.Cells[j]
			pa, okA := parts[a.ID]
			pb, okB := parts[b.ID]
			if !okA || !okB || pa.Signature <= pb.Signature || !differInCertificate(a, b) || !allFull(a) || !allFull(b) {
				continue
			}
			measured, apart := pa.Whole-pb.Whole, pa.Signature-pb.Signature
			all = append(all, Agreement{a.Name, b.Name, measured, apart, measured / apart})
		}
	}
	return all
}

func allFull(c *CellOutcome) bool {
	return c.Handshakes > 0 && c.Modes[shakedown.ModeFull] == c.Handshakes
}

// differInCertificate reports whether the cells' specs and loads are equal but
// for the certificate.
func differInCertificate(a, b *CellOutcome) bool {
	x, y := a.Spec, b.Spec
	if slices.Equal(x.Certificates, y.Certificates) || a.Server != b.Server {
		return false
	}
	x.Certificates, y.Certificates = nil, nil
	return x.Equal(y) && fmt.Sprint(a.Load) == fmt.Sprint(b.Load)
}

// curves finds factors whose levels differ in one number of the load.
func curves(o *Outcome) []Curve {
	all := []Curve{}
	for _, n := range []struct {
		unit string
		of   func(Load) float64
	}{
		{"connections", func(l Load) float64 { return float64(l.Connections) }},
		{"handshakes begun per second", func(l Load) float64 { return l.Rate }},
		{"ms round trip", func(l Load) float64 { return float64(l.RTT) / 1e6 }},
	} {
		for f, factor := range o.Plan.Factors {
			if c, ok := curve(o, f, n.of); ok {
				c.Factor, c.Unit = factor.Name, n.unit
				all = append(all, c)
			}
		}
	}
	return all
}

// curve makes a curve over factor f if its levels give x three values at least.
func curve(o *Outcome, f int, x func(Load) float64) (Curve, bool) {
	byName := map[string]*CurveSeries{}
	var names []string
	distinct := map[float64]bool{}
	t := newTableau(o)
	for i := range o.Cells {
		c := &o.Cells[i]
		if c.Status != Measured {
			continue
		}
		name := t.given(t.levels[i], f)
		if byName[name] == nil {
			byName[name] = &CurveSeries{Name: name}
			names = append(names, name)
		}
		s := byName[name]
		v := x(c.Load)
		if slices.ContainsFunc(s.Points, func(p CurvePoint) bool { return p.X == v }) {
			return Curve{}, false // another factor makes the difference, or none
		}
		distinct[v] = true
		p := CurvePoint{X: v, Cell: c.Name, Rate: c.Rate.Median, P50: c.P50.Median, P99: c.P99.Median}
		if c.ServerCPU.N > 0 {
			p.ServerCPU = c.ServerCPU.Median
		}
		s.Points = append(s.Points, p)
	}
	if len(distinct) < 3 {
		return Curve{}, false
	}
	var out Curve
	for _, name := range names {
		slices.SortFunc(byName[name].Points, func(a, b CurvePoint) int { return int(a.X*1000) - int(b.X*1000) })
		out.Series = append(out.Series, *byName[name])
	}
	return out, true
}
