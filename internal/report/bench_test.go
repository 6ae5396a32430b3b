package report

import (
	"bytes"
	"strings"
	"testing"

	"shakedown"
	"shakedown/internal/load"
)

// TestFiniteField: the prime of TLS 1.2's DHE may be any, so only its size is told.
func TestFiniteField(t *testing.T) {
	b := aBench(t, 100)
	b.Observed = observe([]load.Observed{{Asked: shakedown.ModeFull, Mode: shakedown.ModeFull, Version: shakedown.TLS12,
		CipherSuite: shakedown.TLS_DHE_RSA_WITH_AES_128_GCM_SHA256, DHBits: 2048, N: 7}})
	if b.Observed.Group["DH 2048 bits"] != 7 || len(b.Observed.Group) != 1 {
		t.Errorf("groups %v", b.Observed.Group)
	}
	if got := text(t, b); !strings.Contains(got, "  DH 2048 bits  ") {
		t.Errorf("no size in %s", got)
	}
}

// TestTraceUnheard: what a server that said nothing did not do is absent.
func TestTraceUnheard(t *testing.T) {
	trace := &Trace{Schema: TraceSchema, Target: target, Messages: []TraceMessage{}}
	trace.SetResult(shakedown.Result{Address: address, Observed: shakedown.Observed{Mode: shakedown.ModeFull, EarlyData: shakedown.EarlyDataNone},
		Failure: &shakedown.Failure{Class: shakedown.ClassNetwork, Text: "refused"}})
	var b bytes.Buffer
	if err := WriteJSON(&b, trace); err != nil {
		t.Fatal(err)
	}
	_, observed, _ := strings.Cut(b.String(), `"observed": {`)
	observed, _, _ = strings.Cut(observed, "}")
	for _, field := range []string{"mode", "version", "cipher_suite", "group", "signature_scheme"} {
		if strings.Contains(observed, `"`+field+`"`) {
			t.Errorf("%s is there, but nothing was observed: %s", field, observed)
		}
	}
}
