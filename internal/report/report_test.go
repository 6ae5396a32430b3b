package report

import (
	"bytes"
	"flag"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/perf/benchfmt"

	"shakedown"
	"shakedown/handshake"
	"shakedown/internal/host"
	"shakedown/internal/load"
	"shakedown/internal/stats"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares text with a file of testdata, and holds it to the width.
func golden(t *testing.T, name, got string) {
	t.Helper()
	for line := range strings.Lines(got) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > Width {
			t.Errorf("%s: a line has %d columns, over %d: %q", name, n, Width, line)
		}
		if strings.HasSuffix(line, " \n") {
			t.Errorf("%s: a line ends with a space: %q", name, line)
		}
	}
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got), -update writes it anew:\n%s", name, diff)
	}
}

func text(t *testing.T, d Document) string {
	t.Helper()
	var b bytes.Buffer
	if err := d.WriteText(&b, Style{}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var (
	began   = time.Date(2030, 5, 17, 10, 0, 0, 0, time.UTC)
	address = netip.MustParseAddrPort("127.0.0.1:8443")
	target  = shakedown.Target{Host: "127.0.0.1", Port: 8443, Addresses: []netip.Addr{address.Addr()}, ServerName: "demo.test", Transport: shakedown.TCP, Path: "/"}
	machine = host.Environment{
		OS: "linux", Arch: "amd64", Kernel: "Linux 6.1", CPU: "A Processor", CPUs: 2, Cores: 2, AllowedCPU: []int{0, 1}, Hypervisor: "KVM",
		Features: []string{"AES-NI", "AVX2"}, Memory: 8e9, GoVersion: "go1.26", NotSeen: []string{},
		Limits:   &host.Limits{OpenFiles: 1024, OpenFilesMax: 4096, PortLow: 32768, PortHigh: 60999, AcceptQueueMax: 4096, SYNBacklogMax: 2048},
		Software: []host.Software{{Name: "nginx", Version: "1.22.1", Library: "OpenSSL 3.0.22", Path: "/usr/sbin/nginx"}},
	}
)

func aTrace() *Trace {
	t := &Trace{Schema: TraceSchema, Target: target, Lookup: 1500 * time.Microsecond, Skipped: []Skipped{{Address: netip.MustParseAddrPort("[::1]:8443"), Text: "the connection was refused: nothing listens there"}}}
	message := func(d shakedown.Direction, name string, bytes int, encrypted bool, at time.Duration) {
		t.AddMessage(handshake.Message{Direction: d, Name: name, Bytes: bytes, Records: 1, Encrypted: encrypted}, at)
	}
	message(shakedown.Sent, "ClientHello", 517, false, 310*time.Microsecond)
	message(shakedown.Received, "ServerHello", 122, false, 1400*time.Microsecond)
	message(shakedown.Received, "Certificate", 30_000, true, 2*time.Millisecond)
	message(shakedown.Sent, "Finished", 36, true, 3*time.Millisecond)
	message(shakedown.Received, "application data", 16_384, true, 4*time.Millisecond)
	message(shakedown.Received, "application data", 100, true, 5*time.Millisecond)
	var phases shakedown.Phases
	for p, at := range map[shakedown.Phase]time.Duration{
		shakedown.PhaseStarted: 0, shakedown.PhaseConnected: 300 * time.Microsecond, shakedown.PhaseServerHello: 1400 * time.Microsecond,
		shakedown.PhaseComplete: 3 * time.Millisecond, shakedown.PhaseClosed: 6 * time.Millisecond,
	} {
		phases.Mark(p, at)
	}
	t.SetResult(shakedown.Result{
		Address: address, Local: netip.MustParseAddrPort("127.0.0.1:50000"), Phases: phases,
		Asked: shakedown.Asked{
			Mode: shakedown.ModeFull, Versions: []shakedown.Version{shakedown.TLS13}, CipherSuites: []shakedown.CipherSuite{shakedown.TLS_AES_128_GCM_SHA256},
			Groups: []shakedown.Group{shakedown.X25519, shakedown.Secp256r1}, KeyShares: []shakedown.Group{shakedown.X25519},
			SignatureSchemes: []shakedown.SignatureScheme{shakedown.ECDSASecp256r1}, ServerName: "demo.test", ALPN: []string{"h2"},
			StatusRequest: true, Work: shakedown.WorkFull, Complete: shakedown.CompleteFinished,
		},
		Observed: shakedown.Observed{
			Mode: shakedown.ModeFull, Version: shakedown.TLS13, CipherSuite: shakedown.TLS_AES_128_GCM_SHA256, Group: shakedown.Secp256r1,
			SignatureScheme: shakedown.RSAPSSRSAESHA256, HelloRetryRequest: true, ServerNameAcknowledged: true, EarlyData: shakedown.EarlyDataNone,
			Chain: &shakedown.Chain{Bytes: 29_800, Certificates: []shakedown.Certificate{
				{Subject: "CN=demo.test", Issuer: "CN=A rather long name of an intermediate authority", Key: "RSA-2048", Signature: "SHA256-RSA", Bytes: 1000, NotAfter: began},
				{Subject: "CN=Root", Issuer: "CN=Root", Key: "RSA-4096", Signature: "SHA256-RSA", Bytes: 28_800, NotAfter: began},
			}},
			Tickets: []shakedown.Ticket{{Bytes: 208, Lifetime: 2 * time.Hour, Name: shakedown.TicketName{0xAB, 0xCD}, MaxEarlyData: 16384}},
			Flights: []shakedown.Flight{{Direction: shakedown.Sent, Bytes: 522, Records: 1}, {Direction: shakedown.Received, Bytes: 30_300, Records: 4},
				{Direction: shakedown.Sent, Bytes: 64, Records: 1}},
			RoundTrips: 1, ClientHelloBytes: 517,
		},
	})
	t.Verification = TraceVerification{Result: shakedown.VerificationFailed, Name: "demo.test", Apart: true, Problem: "the certificate is for other.test, not for \"demo.test\"", Hint: "ask for a name that it has"}
	return t
}

func TestTraceText(t *testing.T) {
	golden(t, "trace", text(t, aTrace()))
}

// TestTraceFailed: what came before a failure is shown.
func TestTraceFailed(t *testing.T) {
	trace := &Trace{Schema: TraceSchema, Target: target, Messages: []TraceMessage{}, Priming: &Priming{Version: shakedown.TLS13, Duration: 2 * time.Millisecond}}
	trace.AddMessage(handshake.Message{Direction: shakedown.Sent, Name: "ClientHello", Bytes: 517, Records: 1}, time.Millisecond)
	trace.AddMessage(handshake.Message{Direction: shakedown.Received, Name: "Alert (handshake_failure)", Bytes: 2, Records: 1}, 2*time.Millisecond)
	var phases shakedown.Phases
	phases.Mark(shakedown.PhaseStarted, 0)
	phases.Mark(shakedown.PhaseConnected, time.Millisecond)
	trace.SetResult(shakedown.Result{
		Address: address, Phases: phases,
		Asked:    shakedown.Asked{Mode: shakedown.ModePSK, Versions: []shakedown.Version{shakedown.TLS13}},
		Observed: shakedown.Observed{Flights: []shakedown.Flight{{Direction: shakedown.Sent, Bytes: 522, Records: 1}, {Direction: shakedown.Received, Bytes: 7, Records: 1}}},
		Failure:  &shakedown.Failure{Class: shakedown.ClassAlert, Phase: shakedown.PhaseConnected, Text: "the server sent alert handshake_failure while ServerHello was awaited"},
	})
	if len(trace.Mismatch) > 0 {
		t.Errorf("a failed handshake has mismatches: %v", trace.Mismatch)
	}
	golden(t, "trace_failed", text(t, trace))
}

func TestWindow(t *testing.T) {
	for _, c := range []struct{ bytes, extra int }{
		{0, 0}, {1, 0}, {InitialWindow, 0}, {InitialWindow + 1, 1}, {3 * InitialWindow, 1}, {3*InitialWindow + 1, 2}, {7*InitialWindow + 1, 3},
	} {
		if w := NewWindow(c.bytes); w.Extra != c.extra || w.Used != c.bytes {
			t.Errorf("%d bytes: %+v, want %d extra round trips", c.bytes, w, c.extra)
		}
	}
}

// aSummary is of a load with ten seconds of about perSecond handshakes.
func aSummary(t *testing.T, perSecond int64) *load.Summary {
	t.Helper()
	s := &load.Summary{
		Plan: load.Plan{Targets: []netip.AddrPort{address}, Connections: 32, Duration: 10 * time.Second, Warmup: time.Second, Close: load.CloseReset,
			Mix: []load.Share{{Mode: shakedown.ModeFull, Weight: 1}}, Threads: 1},
		Started: began, Duration: 10 * time.Second,
		Limit: load.Limit{By: "server", Evidence: []string{"the server used 0.99 cores"}},
		Client: load.ClientUse{Threads: 1, CPU: 500 * time.Millisecond, PerHandshake: 60 * time.Microsecond, Busy: 0.05, PeakInFlight: 32,
			Lag: stats.Percentiles{N: 100, P99: 200 * time.Microsecond}},
		Server:    &load.ServerUse{PIDs: []int{77}, CPU: 9 * time.Second, PerHandshake: 500 * time.Microsecond, Busy: 0.99, Processes: 2, Memory: host.Memory{PSS: 12e6}},
		Recorders: [3]*stats.Recorder{stats.NewRecorder(), stats.NewRecorder(), stats.NewRecorder()},
	}
	var costs []float64
	for i := range int64(10) {
		n := perSecond + i
		s.Series = append(s.Series, stats.Second{At: time.Duration(i) * time.Second, Handshakes: n, Failures: 2})
		s.Handshakes += n
		s.Failures += 2
		costs = append(costs, 500_000+1000*float64(i))
	}
	for i := range s.Handshakes {
		for k, d := range []time.Duration{50 * time.Microsecond, 10 * time.Millisecond, 10_050 * time.Microsecond} {
			if err := s.Recorders[k].Record(d + time.Duration(i)*time.Microsecond); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.Connect, s.Handshake, s.Total = s.Recorders[0].Percentiles(), s.Recorders[1].Percentiles(), s.Recorders[2].Percentiles()
	var rates []float64
	for _, second := range s.Series {
		rates = append(rates, float64(second.Handshakes))
	}
	s.PerSecond, s.Server.Series, s.Server.PerSecond = stats.Median(rates), costs, stats.Median(costs)
	s.Observed = []load.Observed{
		{Asked: shakedown.ModeFull, Mode: shakedown.ModeFull, Version: shakedown.TLS13, CipherSuite: shakedown.TLS_AES_128_GCM_SHA256, Group: shakedown.X25519,
			Signature: shakedown.ECDSASecp256r1, Certificate: "ECDSA-P256", EarlyData: shakedown.EarlyDataNone, Staple: true, N: s.Handshakes - 100},
		{Asked: shakedown.ModeFull, Mode: shakedown.ModePSK, Version: shakedown.TLS13, CipherSuite: shakedown.TLS_AES_256_GCM_SHA384, Group: shakedown.Secp256r1,
			EarlyData: shakedown.EarlyDataNone, Retried: true, N: 100, Mismatch: []string{"asked for mode full, observed psk"}},
	}
	s.Failed = []load.FailureCount{{Class: shakedown.ClassNetwork, Phase: shakedown.PhaseConnected, N: s.Failures,
		Text: "the server reset the connection while ServerHello was awaited", Hint: "look at its log"}}
	return s
}

func aBench(t *testing.T, perSecond int64, expressions ...string) *Bench {
	t.Helper()
	var expectations []Expectation
	for _, text := range expressions {
		e, err := ParseExpectation(text)
		if err != nil {
			t.Fatal(err)
		}
		expectations = append(expectations, e)
	}
	asked := shakedown.Asked{Mode: shakedown.ModeFull, Versions: []shakedown.Version{shakedown.TLS13}, Work: shakedown.WorkMinimal, Complete: shakedown.CompleteFinished}
	return NewBench(target, asked, machine, aSummary(t, perSecond), expectations)
}

func TestBenchText(t *testing.T) {
	golden(t, "bench", text(t, aBench(t, 1500, "p99<30ms", "p50<1ms", "resumed>=99%", "handshakes_per_s>1000")))
}

// TestBenchUnseen: what was not seen or not done is said to be so.
func TestBenchUnseen(t *testing.T) {
	s := aSummary(t, 50)
	steal := 7.5
	s.Server, s.Why, s.Steal = nil, "the server is not on this machine", &steal
	s.Interrupted, s.Abandoned, s.Missed = true, 3, 12
	s.Duration = 400 * time.Millisecond
	s.PerSecond = stats.Median(nil)
	s.Plan.Arrivals = load.Arrivals{Stages: []load.Stage{{Duration: time.Second, Rate: 50}, {Duration: 2 * time.Second, Rate: 99.5}}, Poisson: true}
	s.Priming = load.Priming{Handshakes: 20, Failures: 1}
	s.Plan.Targets = append(s.Plan.Targets, netip.MustParseAddrPort("[::1]:8443"))
	s.Targets = []load.TargetSummary{{Address: address, Handshakes: s.Handshakes, Failures: 2, Total: s.Total}, {Address: s.Plan.Targets[1], Failures: 18}}
	b := NewBench(target, shakedown.Asked{Mode: shakedown.ModePSK, Versions: []shakedown.Version{shakedown.TLS13}, Work: shakedown.WorkMinimal, Complete: shakedown.CompleteTicket}, machine, s, nil)
	golden(t, "bench_unseen", text(t, b))
}

func TestGobench(t *testing.T) {
	b := aBench(t, 1500)
	var out bytes.Buffer
	if err := b.WriteGobench(&out); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "BenchmarkHandshake/mode=full/version=TLS1.3/work=minimal/complete=finished "); n != 11 {
		t.Errorf("%d lines, want one for each of 10 seconds and one for the whole run:\n%s", n, out.String())
	}
	// Go's own reader of the format understands it.
	r := benchfmt.NewReader(&out, "out")
	samples := 0
	for r.Scan() {
		switch record := r.Result().(type) {
		case *benchfmt.SyntaxError:
			t.Error(record)
		case *benchfmt.Result:
			if _, ok := record.Value("handshakes/s"); ok {
				samples++
			}
		}
	}
	if r.Err() != nil || samples != 10 {
		t.Errorf("%d samples, want one for each of 10 seconds; error %v", samples, r.Err())
	}
}

func TestCSV(t *testing.T) {
	var out bytes.Buffer
	if err := aBench(t, 20).WriteCSV(&out); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "second,handshakes,failures\n0,20,2\n1,21,2\n"; !strings.HasPrefix(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestHistograms(t *testing.T) {
	var out bytes.Buffer
	if err := WriteHistograms(&out, aSummary(t, 20)); err != nil {
		t.Fatal(err)
	}
	for _, tag := range []string{"Tag=connect,", "Tag=handshake,", "Tag=total,"} {
		if !strings.Contains(out.String(), tag) {
			t.Errorf("no line with %s in %q", tag, out.String())
		}
	}
}

func TestCompare(t *testing.T) {
	a, b := aBench(t, 1500), aBench(t, 900)
	b.Summary.Started = began.Add(time.Minute)
	b.Asked.Versions = []shakedown.Version{shakedown.TLS12}
	b.Server.Series = []float64{8e5, 8e5, 8.1e5, 8.2e5, 8.3e5, 8.4e5, 8.5e5, 0} // one in which it did nothing
	b.Summary.Limit.By = "client"
	c, err := NewCompare("before.json", a, "after.json", b)
	if err != nil {
		t.Fatal(err)
	}
	if !c.Slower || c.Rate.Verdict != stats.Lower || c.ServerCPU.Verdict != stats.Higher {
		t.Errorf("slower %v, rate %s, server CPU %s", c.Slower, c.Rate.Verdict, c.ServerCPU.Verdict)
	}
	if c.ServerCPU.P > 0.001 || c.ServerCPU.B.N != 7 || c.ServerCPU.Test != stats.MannWhitney {
		t.Errorf("server CPU: %v", c.ServerCPU)
	}
	golden(t, "compare", text(t, c))
	same, err := NewCompare("a.json", a, "a.json", a)
	if err != nil {
		t.Fatal(err)
	}
	if same.Slower || same.Rate.Verdict != stats.NoDifference || same.ServerCPU.Verdict != stats.NoDifference || len(same.Differences) > 0 {
		t.Errorf("a run differs from itself: %+v", same)
	}
}

// TestReadBench: a document that is read again says the same.
func TestReadBench(t *testing.T) {
	b := aBench(t, 300, "p99<30ms")
	var first, second bytes.Buffer
	if err := WriteJSON(&first, b); err != nil {
		t.Fatal(err)
	}
	again, err := ReadBench(first.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteJSON(&second, again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first.String(), second.String()); diff != "" {
		t.Error(diff)
	}
	for text, want := range map[string]string{
		"{": "it is not JSON", `{"schema":"shakedown/trace/v1"}`: `its schema is "shakedown/trace/v1", not "shakedown/bench/v1"`,
		`{"schema":"shakedown/bench/v1","summary":7}`: "cannot unmarshal number",
	} {
		if _, err := ReadBench([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func aDemo(t *testing.T, rounds int) *Demo {
	t.Helper()
	core := [2]int{0, 1}
	d := &Demo{Schema: DemoSchema, Server: "embedded", Environment: machine, Started: began, Duration: 30 * time.Second, Turn: time.Second, Rounds: rounds,
		ServerCore: &core[0], ClientCore: &core[1], Notes: []string{"a note"}}
	for _, v := range []shakedown.Version{shakedown.TLS12, shakedown.TLS13} {
		for _, c := range []struct {
			key  string
			cost float64
		}{{"RSA-2048", 1e6}, {"ECDSA-P256", 2e5}} {
			cell := &DemoCell{Certificate: c.key, Version: v, Handshakes: 5000, Suite: "TLS_AES_128_GCM_SHA256", Group: "x25519", LimitedBy: []string{}, Mismatch: []string{}}
			for i := range rounds {
				cost := c.cost * (1 + 0.01*float64(i%3))
				if v == shakedown.TLS13 {
					cost *= 1 + 0.02*math.Cos(float64(i))
				}
				cell.ServerCosts, cell.ClientCosts, cell.Rates = append(cell.ServerCosts, cost), append(cell.ClientCosts, 6e4), append(cell.Rates, 1e9/cost)
			}
			d.Cells = append(d.Cells, cell)
		}
	}
	d.Counts = []DemoCount{{Certificate: "RSA-2048", OursComplete: 7000, OursBegun: 7000, TheirsComplete: 7000, TheirsAccepted: 7000, Equal: true},
		{Certificate: "ECDSA-P256", OursComplete: 7000, OursBegun: 7001, TheirsComplete: 6999, TheirsAccepted: 7001, Basis: "its log"}}
	if err := d.Conclude(); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDemoText(t *testing.T) {
	golden(t, "demo", text(t, aDemo(t, 7)))
}

// TestDemoFewRounds: what too few rounds cannot show is not claimed.
func TestDemoFewRounds(t *testing.T) {
	golden(t, "demo_few", text(t, aDemo(t, 3)))
	if d := aDemo(t, 0); len(d.Comparisons) > 0 || len(d.Conclusions) > 0 {
		t.Errorf("no round was made, and yet: %v", d.Conclusions)
	}
}

func TestHostText(t *testing.T) {
	busy, steal := 50.0, 0.5
	sealed := 16384 * 250_000.0
	h := &Host{host.Record{Schema: HostSchema, Environment: machine, Busy: &busy, Rates: host.Rates{
		Primitives: []host.Primitive{
			{Name: "rsa-2048 sign", Work: "one signature", Threads: 1, PerS: 1000, N: 9, Low: 990, High: 1010},
			{Name: "rsa-2048 sign", Work: "one signature", Threads: 2, PerS: 1200, N: 9, Low: 1100, High: 1300},
			{Name: "x25519 exchange", Work: "one exchange", Threads: 1, PerS: 10_000, N: 9, Low: 7000, High: 10_500},
			{Name: "aes-128-gcm seal", Work: "one record", Threads: 1, PerS: 250_000, N: 9, Low: 249_000, High: 251_000, BytesPerS: &sealed},
		},
		Scaling: []host.Scale{{Name: "rsa-2048 sign", Threads: 2, Ratio: 1.2, N: 9, Low: 1.1, High: 1.3}},
	}, OpenSSL: []host.Speed{{Name: "rsa-2048 sign", PerS: 1100}}}}
	h.Governor, h.Frequency, h.FrequencyMax, h.ClockSource = "powersave", 1_200_000_000, 3_400_000_000, "hpet"
	h.Steal = &steal
	h.Judge()
	golden(t, "host", text(t, h))
	if h.Fit || len(h.Reasons) != 2 {
		t.Errorf("fit %v because %q: want the busy CPUs and the unsteady rate", h.Fit, h.Reasons)
	}
	h = &Host{host.Record{Environment: host.Environment{OS: "linux", CPUs: 4, AllowedCPU: []int{0, 1, 2, 3}}}}
	h.Judge()
	if !h.Fit || len(h.Cautions) > 0 {
		t.Errorf("fit %v because %q, cautions %q: want fit and none", h.Fit, h.Reasons, h.Cautions)
	}
}

// TestStyle: marks are there only if they are wanted.
func TestStyle(t *testing.T) {
	var b bytes.Buffer
	if err := aTrace().WriteText(&b, Style{Colour: true}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "\x1b[31m") || strings.Contains(text(t, aTrace()), "\x1b") {
		t.Error("colour is missing where it is wanted, or there where it is not")
	}
}
