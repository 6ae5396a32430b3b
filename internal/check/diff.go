package check

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"shakedown"
)

// Change is what is other than in an earlier report.
type Change struct {
	Address netip.AddrPort `json:"address"` // of all together if it is not valid
	What    string         `json:"what"`
	Before  string         `json:"before"`
	After   string         `json:"after"`
}

// Diff returns what changed since an earlier report, address by address. Figures
// that differ by chance alone are left out: verdicts, states, findings,
// certificates and keys are compared. An answer that is inconclusive in one of
// both is no change: it was not seen.
func (r *Report) Diff(earlier *Report) []Change {
	changes := []Change{}
	for i := range r.Targets {
		now := &r.Targets[i]
		at := slices.IndexFunc(earlier.Targets, func(t TargetReport) bool {
			return t.Address == now.Address && t.Target.ServerName == now.Target.ServerName
		})
		if at < 0 {
			changes = append(changes, Change{now.Address, "address", "not asked", "asked"})
			continue
		}
		changes = append(changes, now.diff(&earlier.Targets[at])...)
	}
	before, after := findingIDs(earlier.Findings), findingIDs(r.Findings)
	if before != after {
		changes = append(changes, Change{What: "findings", Before: before, After: after})
	}
	for _, g := range r.Groups {
		i := slices.IndexFunc(earlier.Groups, func(e Groups) bool { return e.Mechanism == g.Mechanism })
		if i >= 0 && earlier.Groups[i].String() != g.String() {
			changes = append(changes, Change{What: "groups of " + g.Mechanism, Before: earlier.Groups[i].String(), After: g.String()})
		}
	}
	return changes
}

// diff compares two reports on one address.
func (t *TargetReport) diff(earlier *TargetReport) []Change {
	var changes []Change
	add := func(what, before, after string) {
		if before != after {
			changes = append(changes, Change{t.Address, what, orNone(before), orNone(after)})
		}
	}
	for _, a := range t.Observation.Answers {
		before := earlier.Observation.answer(a.ID)
		if a.Verdict != shakedown.Inconclusive && before.Verdict != shakedown.Inconclusive {
			add(a.ID, string(before.Verdict), string(a.Verdict))
		}
	}
	for _, m := range []string{MechanismPSK, MechanismTicket, MechanismSessionID} {
		now, before := t.Observation.resumption(m, true), earlier.Observation.resumption(m, true)
		if now != nil && before != nil && now.Tried > 0 && before.Tried > 0 && now.State != before.State {
			add("state of "+m, fmt.Sprintf("%s, %s", before.State, proportion(before)), fmt.Sprintf("%s, %s", now.State, proportion(now)))
		}
		if now, before := t.Observation.tickets(m), earlier.Observation.tickets(m); now != nil && before != nil {
			add("ticket keys of "+m, keyNames(before.Keys), keyNames(now.Keys))
		}
	}
	add("certificates", certificateNames(earlier.Observation.Certificates), certificateNames(t.Observation.Certificates))
	add("findings", findingIDs(earlier.Findings), findingIDs(t.Findings))
	return changes
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// findingIDs lists the kinds of findings, each once.
func findingIDs(list []shakedown.Finding) string {
	var ids []string
	for _, f := range list {
		ids = append(ids, f.ID)
	}
	return sorted(ids)
}

func keyNames(keys []KeyName) string {
	var all []string
	for _, k := range keys {
		all = append(all, fmt.Sprintf("%x", k.Name[:8]))
	}
	return sorted(all)
}

func certificateNames(list []Certificate) string {
	var all []string
	for _, c := range list {
		leaf := c.Chain.Certificates[0]
		all = append(all, fmt.Sprintf("%s until %s", c.Chain.Key(), leaf.NotAfter.UTC().Format("2006-01-02 15:04")))
	}
	return sorted(all)
}

func sorted(list []string) string {
	slices.Sort(list)
	return strings.Join(slices.Compact(list), ", ")
}
