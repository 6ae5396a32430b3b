package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"shakedown/internal/host"
)

// HostSchema names the JSON of [Host].
const HostSchema = host.Schema

// Host says what this machine is, and whether it is fit to measure on.
type Host struct{ host.Record }

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
	if h.FrequencyMax > 0 {
		rows.add("frequency", fmt.Sprintf("%s of %s GHz, governor %s", significant(float64(h.Frequency)/1e9), significant(float64(h.FrequencyMax)/1e9), h.Governor))
	}
	if h.ClockSource != "" {
		rows.add("clock", h.ClockSource)
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
	layout, head := "lrrrl", []string{"primitive", "threads", "per s", "µs each", "95% interval"}
	sealing := slices.ContainsFunc(h.Primitives, func(p host.Primitive) bool { return p.BytesPerS != nil })
	if sealing {
		layout, head = layout+"r", append(head, "MB/s")
	}
	if len(h.OpenSSL) > 0 {
		layout, head = layout+"r", append(head, "openssl")
	}
	rows := newTable("", layout)
	rows.add(head...)
	for _, p := range h.Primitives {
		each := "-"
		if p.PerS > 0 {
			each = significant(1e6 * float64(p.Threads) / p.PerS)
		}
		cells := []string{p.Name, number(p.Threads), number(int64(math.Round(p.PerS))), each, significant(p.Low) + " to " + significant(p.High)}
		if sealing {
			throughput := ""
			if p.BytesPerS != nil {
				throughput = number(int64(math.Round(*p.BytesPerS / 1e6)))
			}
			cells = append(cells, throughput)
		}
		if len(h.OpenSSL) > 0 {
			cells = append(cells, h.openSSL(p))
		}
		rows.add(cells...)
	}
	lines := rows.lines()
	t.WriteString(s.Faint(lines[0]) + "\n" + strings.Join(lines[1:], "\n") + "\n")
	if n := h.Primitives[0].N; n > 0 {
		t.WriteString(s.Faint(fmt.Sprintf("medians of %s; µs of one thread's time", count(n, "round"))) + "\n")
	}
	if len(h.OpenSSL) > 0 {
		t.WriteString(s.Faint("openssl: per s by openssl speed, in one thread and second of CPU time") + "\n")
	}
}

// openSSL is what openssl speed says beside a primitive, if anything.
func (h *Host) openSSL(p host.Primitive) string {
	for _, s := range h.OpenSSL {
		if s.Name == p.Name && p.Threads == 1 {
			return number(int64(math.Round(s.PerS)))
		}
	}
	return ""
}
