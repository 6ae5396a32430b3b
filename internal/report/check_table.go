package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"shakedown"
	"shakedown/internal/check"
	"shakedown/internal/stats"
)

// targetName says whom a part of the report is about.
func targetName(t *check.TargetReport) string {
	name := t.Address.String()
	if t.Target.Host != t.Address.Addr().String() {
		name = t.Target.String() + " at " + name
	}
	if t.Target.ServerName != "" && t.Target.ServerName != t.Target.Host {
		name += ", as " + t.Target.ServerName
	}
	return name
}

var mechanisms = []struct{ id, name string }{
	{check.MechanismPSK, "TLS 1.3 psk"}, {check.MechanismTicket, "TLS 1.2 ticket"},
	{check.MechanismSessionID, "TLS 1.2 session ID"}, {check.MechanismPSKOnly, "TLS 1.3 psk_ke"},
}

func mechanismName(id string) string {
	for _, m := range mechanisms {
		if m.id == id {
			return m.name
		}
	}
	return id
}

// rate prints a row of resumption: never a number without its interval.
func rate(r *check.Resumption) string {
	if r == nil || r.Tried == 0 {
		return "-"
	}
	text := fmt.Sprintf("%d of %d (%.0f%% to %.0f%%)", r.Resumed, r.Tried, 100*r.Low, 100*r.High)
	if r.Failed > 0 {
		text += fmt.Sprintf(", %d failed", r.Failed)
	}
	return text
}

// resumption returns the rows of a mechanism made at once and in sequence; nil if
// there is none.
func resumption(o *check.Observation, mechanism string) (atOnce, sequence *check.Resumption) {
	for i := range o.Resumption {
		switch r := &o.Resumption[i]; {
		case r.Mechanism != mechanism:
		case r.AtOnce > 1:
			atOnce = r
		default:
			sequence = r
		}
	}
	return atOnce, sequence
}

func resumptionTable(o *check.Observation) (head []string, rows [][]string) {
	for _, m := range mechanisms {
		atOnce, sequence := resumption(o, m.id)
		state := ""
		switch {
		case atOnce != nil:
			state = string(atOnce.State)
		case sequence != nil:
			state = string(sequence.State)
		default:
			continue
		}
		rows = append(rows, []string{m.name, rate(atOnce), rate(sequence), state})
	}
	return []string{"resumption", "at once (95% interval)", "in sequence", ""}, rows
}

// overview puts several targets side by side.
func (c *Check) overview() (head []string, rows [][]string) {
	share := func(o *check.Observation, mechanism string) string {
		r, _ := resumption(o, mechanism)
		switch {
		case r == nil:
			return "-"
		case r.Tried == 0:
			return string(r.State)
		}
		return fmt.Sprintf("%d/%d", r.Resumed, r.Tried)
	}
	for i := range c.Targets {
		t := &c.Targets[i]
		o := &t.Observation
		row := []string{c.label(t), number(severe(t.Findings, shakedown.SeverityError)), number(severe(t.Findings, shakedown.SeverityWarning)), "-", "-", "-", "-", "-", "-"}
		if !t.Reached() {
			row[1], row[2], row[3] = "-", "-", "not answered"
		}
		if u := o.Usual; u != nil {
			row[3] = strings.TrimPrefix(u.Version.String(), "TLS ") + " " + u.Certificate
			row[4], row[5], row[6] = share(o, check.MechanismPSK), share(o, check.MechanismTicket), share(o, check.MechanismSessionID)
			row[7] = number(u.FlightBytes) + " B"
			for _, k := range o.Timing {
				if k.Mode == shakedown.ModeFull && k.Version == u.Version {
					row[8] = nanoseconds(k.Complete.Median)
				}
			}
		}
		rows = append(rows, row)
	}
	return []string{"", "errors", "warns", "usual", "psk", "ticket", "ID", "flight", "full"}, rows
}

// label is the address of a target, with the name where that has several.
func (c *Check) label(t *check.TargetReport) string {
	n := 0
	for i := range c.Targets {
		if c.Targets[i].Address == t.Address {
			n++
		}
	}
	if n > 1 {
		return t.Address.String() + " as " + t.Target.ServerName
	}
	return t.Address.String()
}

// matrix returns the head and the rows of the table of who takes whose sessions.
func (c *Check) matrix(g check.Groups) (head []string, rows [][]string) {
	all := slices.Concat(g.Members()...)
	head = []string{"session of \\ offered to"}
	for _, from := range all {
		head = append(head, g.Label(from))
		row := []string{g.Label(from)}
		for _, to := range all {
			row = append(row, c.cell(g.Mechanism, from, to))
		}
		rows = append(rows, row)
	}
	return head, rows
}

func (c *Check) cell(mechanism string, from, to check.Place) string {
	list := c.Resumption
	if from == to {
		for i := range c.Targets {
			if t := &c.Targets[i]; t.Address == from.Address && t.Target.ServerName == from.Name {
				list = t.Observation.Resumption
			}
		}
	}
	for _, r := range list {
		if r.Mechanism == mechanism && r.Origin == from.Address && r.OriginName == from.Name &&
			r.Destination == to.Address && r.DestinationName == to.Name && r.Tried > 0 { // made at once if any were: they come first
			return fmt.Sprintf("%d/%d", r.Resumed, r.Tried)
		}
	}
	return "-"
}

// line is a name and what is said of it.
type line struct{ name, text string }

// ticketLines says what tickets of each mechanism are like.
func ticketLines(o *check.Observation) []line {
	var lines []line
	for _, t := range o.Tickets {
		text := fmt.Sprintf("%d with a full handshake, %d with a resumption, up to %s bytes, %s", t.PerFull, t.PerResumption, number(t.Bytes), lifetime(t.Lifetime))
		switch {
		case t.Stateful:
			text += "; they only name a session that the server keeps"
		case t.KeyName == check.KeyNameRandom:
			text += fmt.Sprintf("; no key name in this stack (%d tickets, each begins otherwise)", t.Seen)
		case t.KeyName == check.KeyNameRepeated:
			text += "; key"
			for i, k := range t.Keys {
				if i > 0 {
					text += ","
				}
				text += fmt.Sprintf(" %x... (%s)", k.Name[:8], count(k.Tickets, "ticket"))
				if k.LastSeen.Sub(k.FirstSeen) > time.Minute {
					text += " since " + k.FirstSeen.UTC().Format("2006-01-02 15:04 UTC")
				}
			}
			if t.Rotation != "" {
				text += "; " + t.Rotation
			}
		}
		lines = append(lines, line{"tickets, " + mechanismName(t.Mechanism), text})
	}
	return lines
}

// ticketTable is [ticketLines] in short.
func ticketTable(o *check.Observation) (head []string, rows [][]string) {
	for _, t := range o.Tickets {
		key := ""
		switch {
		case t.Stateful:
			key = "only names a session of the server"
		case t.KeyName == check.KeyNameRandom:
			key = fmt.Sprintf("no key name in this stack (%s)", count(t.Seen, "ticket"))
		case len(t.Keys) == 1:
			key = fmt.Sprintf("key %x... (%s)", t.Keys[0].Name[:8], count(t.Keys[0].Tickets, "ticket"))
		case len(t.Keys) > 1:
			key = fmt.Sprintf("%d keys: %x..., %x...", len(t.Keys), t.Keys[0].Name[:4], t.Keys[1].Name[:4])
			if len(t.Keys) > 2 {
				key += " and so on"
			}
		}
		rows = append(rows, []string{mechanismName(t.Mechanism), number(t.PerFull), number(t.PerResumption), number(t.Bytes) + " B", strings.TrimPrefix(lifetime(t.Lifetime), "lifetime "), key})
	}
	return []string{"tickets", "full", "resumed", "size", "lifetime", ""}, rows
}

// lifetime prints the hint of a ticket without the zeros of its seconds.
func lifetime(d time.Duration) string {
	if d == 0 {
		return "no lifetime told"
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return "lifetime " + text
}

func certificateTable(o *check.Observation) (head []string, rows [][]string) {
	for _, c := range o.Certificates {
		until := "-"
		if leaf := c.Chain.Certificates[0]; !leaf.NotAfter.IsZero() {
			until = leaf.NotAfter.UTC().Format("2006-01-02")
		}
		stapled := fmt.Sprintf("%d of %d", c.Stapling.Stapled, c.Stapling.Asked)
		if st := c.Stapling.Staple; st != nil {
			stapled += ", " + st.Status
		}
		rows = append(rows, []string{c.Chain.Key(), names(c.Versions), number(c.Chain.Bytes) + " B", number(c.FlightBytes) + " B", until, string(c.Verification), stapled})
	}
	return []string{"certificate", "versions", "chain", "flight", "until", "verified", "stapled"}, rows
}

func timeTable(o *check.Observation) (head []string, rows [][]string) {
	n := 0
	for _, t := range o.Timing {
		n = max(n, t.Complete.N)
		against := ""
		switch {
		case t.Saves != nil && t.Saves.Verdict == stats.Inconclusive:
			against = fmt.Sprintf("%d of %d rounds needed", t.Saves.A.N, t.Saves.Needed)
		case t.Saves != nil:
			against = fmt.Sprintf("%.0f%% (%.0f%% to %.0f%%), %s", 100*t.Saves.Ratio, 100*t.Saves.Low, 100*t.Saves.High, verdict(t.Saves.Verdict))
		}
		rows = append(rows, []string{fmt.Sprintf("%s %s", strings.TrimPrefix(t.Version.String(), "TLS "), t.Mode), nanoseconds(t.Connect.Median), nanoseconds(t.ServerHello.Median), nanoseconds(t.Complete.Median),
			nanoseconds(t.Response.Median), nanoseconds(t.ServerCPU.Median), number(t.RoundTrips), against})
	}
	return []string{fmt.Sprintf("medians, n=%d", n), "TCP", "hello", "complete", "response", "CPU", "trips", "against full (95% interval)"}, rows
}

// verdict says it of a time, of which less is better. No difference was detected,
// that is: the interval says how large a one could have been missed.
func verdict(v stats.Verdict) string {
	switch v {
	case stats.Lower:
		return "faster"
	case stats.Higher:
		return "slower"
	}
	return "no difference"
}

// listLines says what there is of each kind.
func listLines(o *check.Observation) []line {
	var lines []line
	for _, suites := range o.Suites {
		if len(suites.Found) > 0 {
			text := joinSome(suites.Found, suites.Complete)
			if suites.Preference != "" {
				text += "; the " + suites.Preference + "'s order counts"
			}
			lines = append(lines, line{suites.Version.String() + " suites", text})
		}
	}
	if len(o.Groups) > 0 {
		lines = append(lines, line{"groups", joinSome(o.Groups, answer(o, "groups").Verdict == shakedown.Yes)})
	}
	if len(o.SignatureSchemes) > 0 {
		lines = append(lines, line{"signature schemes", joinSome(o.SignatureSchemes, answer(o, "schemes").Verdict == shakedown.Yes)})
	}
	return lines
}
