package report

import (
	"encoding/csv"
	"io"
	"math"
	"strconv"

	"shakedown/internal/lab"
	"shakedown/internal/stats"
)

// WriteCSV writes a line for each cell: the levels, and every figure with its
// interval. What is not known is empty.
func (l *Lab) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	head := []string{"cell"}
	for _, f := range l.Plan.Factors {
		head = append(head, f.Name)
	}
	head = append(head, "status", "reason", "rounds", "handshakes", "failures", "modes", "limited_by")
	columns := []struct {
		name string
		of   func(lab.CellOutcome) stats.Estimate
	}{
		{lab.ServerCPU, func(c lab.CellOutcome) stats.Estimate { return c.ServerCPU }},
		{lab.Rate, func(c lab.CellOutcome) stats.Estimate { return c.Rate }},
		{lab.P50, func(c lab.CellOutcome) stats.Estimate { return c.P50 }},
		{"total_p90_ns", func(c lab.CellOutcome) stats.Estimate { return c.P90 }},
		{lab.P99, func(c lab.CellOutcome) stats.Estimate { return c.P99 }},
		{"total_p999_ns", func(c lab.CellOutcome) stats.Estimate { return c.P999 }},
		{lab.Visit, func(c lab.CellOutcome) stats.Estimate { return c.Visit }},
		{"client_cpu_per_handshake_ns", func(c lab.CellOutcome) stats.Estimate { return c.ClientCPU }},
		{"server_memory_bytes", func(c lab.CellOutcome) stats.Estimate { return c.Memory }},
	}
	for _, c := range columns {
		head = append(head, c.name, c.name+"_low", c.name+"_high")
	}
	out.Write(append(head, "sent_bytes", "received_bytes")) //nolint:errcheck // Error tells below
	for _, c := range l.Cells {
		row := []string{c.ID}
		for _, f := range l.Plan.Factors {
			row = append(row, c.Factors[f.Name])
		}
		limit := ""
		if c.Rounds > 0 {
			limit = labLimit(c)
		}
		row = append(row, c.Status, c.Reason, strconv.Itoa(c.Rounds), strconv.FormatInt(c.Handshakes, 10), strconv.FormatInt(c.Failures, 10), labModes(c), limit)
		for _, column := range columns {
			e := column.of(c)
			row = append(row, plain(e.Median), plain(e.Low), plain(e.High))
		}
		out.Write(append(row, strconv.Itoa(c.Sent), strconv.Itoa(c.Received))) //nolint:errcheck // as above
	}
	out.Flush()
	return out.Error()
}

// plain prints a number for programs, "" if it is not known.
func plain(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', 8, 64)
}
