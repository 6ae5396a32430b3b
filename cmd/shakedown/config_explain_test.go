package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shakedown/internal/lab"
	"shakedown/internal/lint/config"
	"shakedown/internal/server"
)

// TestExplain gives effects to the choices they are about: by what differs between the cells, whatever the plan calls it.
func TestExplain(t *testing.T) {
	low, high := 0.4, 0.5
	cell := func(key, mode string, spec server.Spec, load lab.Load) lab.CellOutcome {
		return lab.CellOutcome{Factors: map[string]string{"leaf": key, "way": mode}, Status: lab.Measured, Spec: spec, Load: load}
	}
	rsa, p256 := server.Spec{Certificates: []server.KeyKind{server.RSA2048}}, server.Spec{Certificates: []server.KeyKind{server.P256}}
	effect := func(factor, from, to, given, metric string, ratio float64) lab.Effect {
		return lab.Effect{Factor: factor, From: from, To: to, Given: given, Metric: metric, Compared: lab.Compared{Ratio: ratio, Low: &low, High: &high, P: 0.03125, Rounds: 6}}
	}
	run := &lab.Outcome{
		Plan: lab.PlanFacts{Name: "mine", Server: "nginx"}, Rounds: 6, Caveats: []string{"noisy"},
		Cells: []lab.CellOutcome{
			cell("big", "first", rsa, lab.Load{Mode: "full"}), cell("small", "first", p256, lab.Load{Mode: "full"}),
			cell("big", "again", rsa, lab.Load{Mode: "psk"}), cell("small", "again", p256, lab.Load{Mode: "psk"}),
			cell("big", "early", rsa, lab.Load{Mode: "early-data"}),
		},
		Effects: []lab.Effect{
			effect("leaf", "big", "small", "", lab.ServerCPU, 0.45), effect("leaf", "big", "small", "way=first", lab.ServerCPU, 0.41),
			effect("leaf", "big", "small", "", lab.Rate, 2.2),
			effect("way", "first", "again", "", lab.ServerCPU, 0.42), effect("way", "first", "early", "leaf=big", lab.ServerCPU, 0.44),
			effect("way", "first", "never measured", "", lab.ServerCPU, 9),
		},
	}
	file := config.File{{Text: "worker_processes auto;"}, {Text: "    ssl_session_tickets on;"}, {Text: "    ssl_early_data on;"}, {Text: "  ssl_certificate a.pem;"}, {Text: "  ssl_certificate a.pem;"}}
	var b strings.Builder
	if err := explain(&b, file, run); err != nil {
		t.Fatal(err)
	}
	const want = `measured by run mine: nginx on , 6 rounds
note: noisy

certificates
    ssl_certificate a.pem;
  server CPU per handshake, leaf: big -> small: 0.45 times (95% interval 0.4 to 0.5, p = 0.031, 6 rounds)
resumption
    ssl_session_tickets on;
  server CPU per handshake, way: first -> again: 0.42 times (95% interval 0.4 to 0.5, p = 0.031, 6 rounds)
early data
    ssl_early_data on;
  server CPU per handshake, way: first -> early, leaf=big: 0.44 times (95% interval 0.4 to 0.5, p = 0.031, 6 rounds)
workers
    worker_processes auto;
  not measured: the run has no effect of it
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
	run.Cells[1].Load.Mode, run.Cells[1].Spec.Workers = "full", 2
	if costs := choices[1].costs(run); len(costs) != 1 || !strings.HasSuffix(costs[0], "; it changes workers too") {
		t.Errorf("what changes beside is not told: %q", costs)
	}
}
