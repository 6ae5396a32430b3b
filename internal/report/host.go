package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strings"

	"shakedown/internal/host"
)

// HostSchema names the JSON of [Host].
const HostSchema = "shakedown/host/v1"

// Host says what this machine is, and whether it is fit to measure on.
type Host struct {
	Schema string `json:"schema"`
	// Fit: nothing was found that makes figures of this machine unreliable.
	Fit      bool     `json:"fit"`
	Reasons  []string `json:"reasons"`  // why it is not
	Cautions []string `json:"cautions"` // what to bear in mind all the same
	host.Environment
	// Busy is the share of all CPUs that other programs used in a second in
	// which this one did nothing, in percent; null if it was not seen.
	Busy *float64 `json:"busy_percent"`
	host.Rates
}

const (
	// maxSteal is the steal, in percent, from which figures suffer.
	maxSteal = 2
	// maxBusy is how much of the machine, in percent, others may use.
	maxBusy = 10
	// maxSpread is how far apart the bounds of a primitive's rate may be, as a
	// fraction of it.
	maxSpread = 0.15
	// minFiles is the limit of open files under which a load is soon at its end.
	minFiles = 4096
	// minScaling is the least that a thread more should do of what one does.
	minScaling = 0.7
)

// Judge works out whether the machine is fit, from all else.
func (h *Host) Judge() {
	h.Reasons, h.Cautions = []string{}, []string{}
	unfit := func(format string, args ...any) { h.Reasons = append(h.Reasons, fmt.Sprintf(format, args...)) }
	caution := func(format string, args ...any) { h.Cautions = append(h.Cautions, fmt.Sprintf(format, args...)) }

	if n := len(h.AllowedCPU); n == 1 || n == 0 && h.CPUs == 1 {
		unfit("there is one CPU for client and server: each takes time from the other")
	}
	if h.Steal != nil && *h.Steal >= maxSteal {
		unfit("the hypervisor gave %.1f%% of the time wanted to others (steal), %d%% is bearable", *h.Steal, maxSteal)
	}
	if h.Busy != nil && *h.Busy >= maxBusy {
		unfit("other programs use %.1f%% of the CPUs, %d%% is bearable: end them, or wait", *h.Busy, maxBusy)
	}
	if worst, spread := h.unsteadiest(); spread > maxSpread {
		unfit("the machine is unsteady: the rate of %s is known to within %s only, over %d rounds", worst.Name, percent(spread), worst.N)
	}
	if h.Limits != nil && h.Limits.OpenFiles < minFiles {
		caution("this process may open %s files, and each connection is one: raise it with ulimit -n", number(h.Limits.OpenFiles))
	}
	for _, s := range h.Scaling {
		if s.High < minScaling*float64(s.Threads) {
			caution("%d threads do %s times the work of one at %s: cores share something, such as hyper-threads do", s.Threads, significant(s.Ratio), s.Name)
			break // one is enough: they all share the same cores
		}
	}
	if h.Hypervisor != "" {
		caution("it is a virtual machine (%s): what its neighbours do is felt here, so compare in interleaved rounds only", h.Hypervisor)
	}
	if h.OS != "linux" {
		caution("the CPU time of a server on this machine is seen on Linux only")
	}
	h.Fit = len(h.Reasons) == 0
}

// unsteadiest returns the primitive of one thread whose rate is known least
// well, and the width of its interval as a fraction of it.
func (h *Host) unsteadiest() (worst host.Primitive, spread float64) {
	for _, p := range h.Primitives {
		if w := (p.High - p.Low) / p.PerS; p.Threads == 1 && w > spread {
			worst, spread = p, w
		}
	}
	return worst, spread
}

// WriteText writes what the machine is and can.
func (h *Host) WriteText(w io.Writer, s Style) error {
	var t strings.Builder
	if h.Fit {
		t.WriteString(s.Good("fit to measure on") + "\n")
	} else {
		t.WriteString(s.Bad("not fit to measure on") + "\n")
	}
	for _, r := range h.Reasons {
		t.WriteString(s.Bad(wrap("  because ", r)))
	}
	for _, c := range h.Cautions {
		t.WriteString(wrap("  bear in mind: ", c))
	}
	t.WriteString("\n")
	h.writeMachine(&t)
	h.writePrimitives(&t, s)
	_, err := io.WriteString(w, t.String())
	return err
}

func (h *Host) writeMachine(t *strings.Builder) {
	rows := newTable("", "ll")
	cores := ""
	if h.Cores > 0 {
		cores = fmt.Sprintf(" on %s", count(h.Cores, "core"))
	}
	rows.add("CPU", fmt.Sprintf("%s, %s%s, %s allowed", h.CPU, count(h.CPUs, "CPU"), cores, number(len(h.AllowedCPU))))
	rows.add("system", fmt.Sprintf("%s %s, %s GB of memory", cmp.Or(h.Kernel, h.OS), h.Arch, significant(float64(h.Memory)/1e9)))
	if h.Hypervisor != "" {
		rows.add("hypervisor", h.Hypervisor)
	}
	rows.add("steal", orUnseen(h.Steal)+" while busy")
	rows.add("others", orUnseen(h.Busy)+" of the CPUs, over 1 s")
	if l := h.Limits; l != nil {
		rows.add("limits", fmt.Sprintf("%s open files (up to %s), %s local ports for each address (%d to %d)", number(l.OpenFiles), number(l.OpenFilesMax), number(l.Ports()), l.PortLow, l.PortHigh))
		rows.add("", fmt.Sprintf("accept queue up to %s, SYN backlog up to %s", number(l.AcceptQueueMax), number(l.SYNBacklogMax)))
	}
	for i, p := range h.Software {
		label := ""
		if i == 0 {
			label = "software"
		}
		text := p.Name + " " + p.Version
		if p.Library != "" {
			text += " with " + p.Library
		}
		rows.add(label, text)
	}
	t.WriteString(rows.String())
	t.WriteString(wrap("features    ", strings.Join(h.Features, " ")))
	for _, n := range h.NotSeen {
		t.WriteString(wrap("not seen    ", strings.TrimPrefix(n, "host: ")))
	}
	t.WriteString("\n")
}

func orUnseen(p *float64) string {
	if p == nil {
		return "not seen"
	}
	return fmt.Sprintf("%.1f%%", *p)
}

func (h *Host) writePrimitives(t *strings.Builder, s Style) {
	if len(h.Primitives) == 0 {
		t.WriteString("primitives were not measured\n")
		return
	}
	rows := newTable("", "lrrrl")
	rows.add("primitive", "threads", "per s", "µs each", "95% interval")
	for _, p := range h.Primitives {
		each := "-"
		if p.PerS > 0 {
			each = significant(1e6 * float64(p.Threads) / p.PerS)
		}
		rows.add(p.Name, number(p.Threads), number(int64(math.Round(p.PerS))), each, significant(p.Low)+" to "+significant(p.High))
	}
	lines := rows.lines()
	t.WriteString(s.Faint(lines[0]) + "\n" + strings.Join(lines[1:], "\n") + "\n")
	if n := h.Primitives[0].N; n > 0 {
		t.WriteString(s.Faint(fmt.Sprintf("medians of %s; µs of one thread's time", count(n, "round"))) + "\n")
	}
}
