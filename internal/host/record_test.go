package host

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

// TestJudge: each thing that spoils figures is found by itself, with what to do.
func TestJudge(t *testing.T) {
	number := func(v float64) *float64 { return &v }
	fit := Record{Environment: Environment{OS: "linux", CPUs: 4, AllowedCPU: []int{0, 1, 2, 3}, Governor: "performance", ClockSource: "tsc", Steal: number(0.5),
		Limits: &Limits{OpenFiles: 20_000, OpenFilesMax: 20_000, PortLow: 32768, PortHigh: 60999, AcceptQueueMax: 4096, SYNBacklogMax: 2048}}, Busy: number(3)}
	fit.Primitives = []Primitive{{Name: "rsa-2048 sign", Threads: 1, PerS: 1000, N: 9, Low: 990, High: 1010}}
	fit.Scaling = []Scale{{Name: "rsa-2048 sign", Threads: 4, Ratio: 3.9, N: 9, Low: 3.8, High: 4}}
	tests := []struct {
		name    string
		change  func(r *Record)
		reason  string
		caution string
	}{
		{"nothing", func(*Record) {}, "", ""},
		{"one CPU", func(r *Record) { r.AllowedCPU = []int{2} }, "load from another machine", ""},
		{"steal", func(r *Record) { r.Steal = number(7) }, "7.0% of the time wanted to others (steal)", ""},
		{"busy", func(r *Record) { r.Busy = number(40) }, "end them, or wait", ""},
		{"unsteady", func(r *Record) { r.Primitives = []Primitive{{Name: "x", Threads: 1, PerS: 10, Low: 8, High: 11, N: 9}} }, "x is known to within 30% only", ""},
		{"governor", func(r *Record) { r.Governor = "powersave" }, "", "frequency-set -g performance"},
		{"clock", func(r *Record) { r.ClockSource = "hpet" }, "", "hpet"},
		{"files", func(r *Record) { r.Limits.OpenFiles = 1024 }, "", "ulimit -n"},
		{"accept queue", func(r *Record) { r.Limits.AcceptQueueMax = 128 }, "", "net.core.somaxconn"},
		{"SYN backlog", func(r *Record) { r.Limits.SYNBacklogMax = 128 }, "", "tcp_max_syn_backlog"},
		{"ports", func(r *Record) { r.Limits.PortLow = 50_000 }, "", "ip_local_port_range"},
		{"hyper-threads", func(r *Record) { r.Scaling = []Scale{{Name: "x", Threads: 4, Ratio: 2, High: 2.1}} }, "", "hyper-threads"},
		{"virtual", func(r *Record) { r.Hypervisor = "KVM" }, "", "KVM"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := fit
			limits := *fit.Limits
			r.Limits = &limits
			test.change(&r)
			r.Judge()
			check := func(kind string, got []string, want string) {
				if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || !strings.Contains(got[0], want)) {
					t.Errorf("%s %q; want %q", kind, got, want)
				}
			}
			check("reasons", r.Reasons, test.reason)
			check("cautions", r.Cautions, test.caution)
			if r.Fit != (test.reason == "") {
				t.Errorf("fit: %v", r.Fit)
			}
		})
	}
}

func TestExamine(t *testing.T) {
	var said []string
	r, err := Examine(t.Context(), 0, func(text string) { said = append(said, text) })
	if err != nil {
		t.Fatal(err)
	}
	if r.Schema != Schema || r.CPUs < 1 || len(r.Primitives) != 0 || r.Reasons == nil || !slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, "busy") }) {
		t.Errorf("%+v after %q", r, said)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := Examine(ctx, Budget, func(string) {}); !errors.Is(err, context.Canceled) || r.Schema != Schema || len(r.Primitives) != 0 {
		t.Errorf("interrupted at once: %+v, %v", r, err)
	}
}
