package lab

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"shakedown"
	"shakedown/internal/host"
	"shakedown/internal/server"
)

const tiny = `
name: tiny
server: embedded
fixed:
  server: {certificates: [p256], versions: [TLS 1.3]}
  load: {connections: 4}
factors:
  - name: mode
    levels:
      - {name: full}
      - {name: resumed, load: {mode: resumed}}
rounds: 2
turn: 400ms
warmup: 50ms
`

// start runs a plan in a new directory and checks that nothing is left of it.
func startRun(t *testing.T, ctx context.Context, text string, o Options) (*Record, error) {
	t.Helper()
	p, err := Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	nothingLeft(t)
	if o.Dir == "" {
		o.Dir = filepath.Join(t.TempDir(), "run")
	}
	o.Command = []string{os.Args[0], serveArgument}
	if o.Resume {
		p = nil
	}
	return Run(ctx, p, o)
}

// nothingLeft fails the test if, at its end, this program has a child or a
// goroutine more than before.
func nothingLeft(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("measuring server CPU, and looking for children, takes Linux's /proc")
	}
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		if left := children(t); len(left) > 0 {
			t.Errorf("left running: %v", left)
		}
		goleak.VerifyNone(t, before)
	})
}

// children returns the processes that this one started and that still are.
func children(t *testing.T) []string {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, file := range stats {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it ended meanwhile
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		if fields := strings.Fields(rest); len(fields) > 1 && fields[1] == strconv.Itoa(os.Getpid()) {
			left = append(left, string(text))
		}
	}
	return left
}

func needs(t *testing.T, name string) {
	t.Helper()
	d, err := server.DriverByName(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Available(); err != nil {
		t.Skip(err)
	}
}

// TestRun measures a few cells for real and looks at what a report is made of.
func TestRun(t *testing.T) {
	for _, name := range []string{"embedded", "nginx"} {
		t.Run(name, func(t *testing.T) {
			needs(t, name)
			r, err := startRun(t, t.Context(), tiny, Options{Overrides: Overrides{Server: name}, Machine: 300 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			o, err := Analyse(r)
			if err != nil {
				t.Fatal(err)
			}
			if o.Rounds != 2 || len(o.Cells) != 2 {
				t.Fatalf("%d rounds of %d cells", o.Rounds, len(o.Cells))
			}
			for i, mode := range []shakedown.Mode{shakedown.ModeFull, shakedown.ModePSK} {
				c := o.Cells[i]
				if c.Status != Measured || c.Server != name || c.Handshakes == 0 || c.Modes[mode] != c.Handshakes {
					t.Errorf("%s: %s by %s, %d handshakes, modes %v: %s", c.Name, c.Status, c.Server, c.Handshakes, c.Modes, c.Reason)
				}
				if cpu := c.ServerCPU; cpu.N != 2 || cpu.Median < 20e3 || cpu.Median > 1e8 {
					t.Errorf("%s: server CPU %+v", c.Name, cpu)
				}
				if c.Received < 500 || c.Sent < 100 || len(c.Confirmed) < 2 || len(c.Waterfall) < 4 {
					t.Errorf("%s: %d bytes in, %d out, confirmed %q, waterfall %v", c.Name, c.Received, c.Sent, c.Confirmed, c.Waterfall)
				}
			}
			if s := o.Cells[1].Resumption; s == nil || s.K != s.N || s.N == 0 {
				t.Errorf("resumption: %+v", s)
			}
			if len(o.Primitives) != 2 || len(o.Parts) != 2 {
				t.Errorf("primitives %+v, parts %+v", o.Primitives, o.Parts)
			}
			if e := o.Environment; e.Schema != host.Schema || len(e.Primitives) == 0 || e.Fit != (len(e.Reasons) == 0) {
				t.Errorf("the machine: %+v", e)
			}
			if name == "nginx" {
				if text, err := os.ReadFile(filepath.Join(r.Dir, "servers", "c01", "error.log")); err != nil || len(text) == 0 {
					t.Errorf("the server's log: %d bytes, %v", len(text), err)
				}
			}
		})
	}
}

// TestLink: over a link of 40 ms no handshake with its request takes less than
// three round trips: TCP, TLS 1.3, and the answer.
func TestLink(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("a link takes a network namespace: run as root")
	}
	far := strings.Replace(tiny, "{connections: 4}", `{connections: 4, link: "rtt=40ms"}`, 1)
	r, err := startRun(t, t.Context(), far, Options{Overrides: Overrides{Server: "embedded"}})
	if err != nil {
		t.Fatal(err)
	}
	o, err := Analyse(r)
	if err != nil {
		t.Fatal(err)
	}
	if c := o.Cells[0]; c.Status != Measured || c.P50.Median < 120e6*0.97 {
		t.Errorf("%s: %s %s, median of %v ns", c.Name, c.Status, c.Reason, c.P50.Median)
	}
}

// TestInterruptedAndResumed ends a run in its second round: the first is kept,
// and a run that goes on makes the others.
func TestInterruptedAndResumed(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	dir := filepath.Join(t.TempDir(), "run")
	o := Options{Dir: dir, Overrides: Overrides{Rounds: 3, Turn: 100 * time.Millisecond}}
	o.Say = func(text string) {
		if strings.HasPrefix(text, "round 2 of 3, cell 2") {
			cancel()
		}
	}
	r, err := startRun(t, ctx, tiny, o)
	if err != nil {
		t.Fatal(err)
	}
	if why, fewer := r.Interrupted(); len(r.Rounds) != 1 || !fewer || why != "it was interrupted" {
		t.Fatalf("%d rounds, %q", len(r.Rounds), why)
	}
	first := r.Rounds[0].Measurements["c01"].Started

	if _, err := startRun(t, t.Context(), tiny, Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "holds a run already") {
		t.Errorf("a second run in the directory: %v", err)
	}
	if r, err = startRun(t, t.Context(), tiny, Options{Dir: dir, Resume: true}); err != nil {
		t.Fatal(err)
	}
	if why, fewer := r.Interrupted(); len(r.Rounds) != 3 || fewer || why != "" {
		t.Errorf("%d rounds, %q", len(r.Rounds), why)
	}
	if !r.Rounds[0].Measurements["c01"].Started.Equal(first) {
		t.Error("the first round was measured anew")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "rounds", "*"+partial)); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	file := filepath.Join(dir, environmentFile)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := strings.Replace(string(text), `"cpu": "`, `"cpu": "another `, 1)
	if err := os.WriteFile(file, []byte(elsewhere), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := startRun(t, t.Context(), tiny, Options{Dir: dir, Resume: true}); err == nil || !strings.Contains(err.Error(), "cannot be resumed here: its CPU was another") {
		t.Errorf("resuming on another machine: %v", err)
	}
	if _, err := startRun(t, t.Context(), tiny, Options{Dir: t.TempDir(), Resume: true}); err == nil || !strings.Contains(err.Error(), "is not the directory of a run") {
		t.Errorf("resuming what is not a run: %v", err)
	}
}

// TestBudget ends a run before a round that would go beyond its budget.
func TestBudget(t *testing.T) {
	r, err := startRun(t, t.Context(), tiny, Options{Overrides: Overrides{Rounds: 5, Turn: 100 * time.Millisecond, Budget: time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	if why, fewer := r.Interrupted(); len(r.Rounds) != 1 || !fewer || why != "the budget of 1ms has no room for another round" {
		t.Errorf("%d rounds, %q", len(r.Rounds), why)
	}
	o, err := Analyse(r)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(o.Caveats, "1 of 5 rounds are complete: the budget of 1ms has no room for another round") {
		t.Errorf("caveats: %q", o.Caveats)
	}
}

// TestServerDoesNotStart: the cell fails with the server's own words, the other
// one is measured.
func TestServerDoesNotStart(t *testing.T) {
	needs(t, "nginx")
	const plan = `
name: broken
server: nginx
fixed: {server: {certificates: [p256], versions: [TLS 1.3]}, load: {connections: 2}}
factors:
  - name: key
    levels:
      - {name: ours}
      - {name: text, server: {tickets: key-file, ticket_keys: [KEY]}}
rounds: 1
turn: 100ms
`
	key := filepath.Join(t.TempDir(), "ticket.key")
	if err := os.WriteFile(key, []byte("this is no ticket key"), 0o600); err != nil {
		t.Fatal(err)
	}
	var warned []string
	r, err := startRun(t, t.Context(), strings.ReplaceAll(plan, "KEY", key), Options{Warn: func(text string) { warned = append(warned, text) }})
	if err != nil {
		t.Fatal(err)
	}
	o, err := Analyse(r)
	if err != nil {
		t.Fatal(err)
	}
	if o.Cells[0].Status != Measured || o.Cells[1].Status != Failed {
		t.Errorf("got %s and %s", o.Cells[0].Status, o.Cells[1].Status)
	}
	if reason := o.Cells[1].Reason; !strings.Contains(reason, "nginx did not start") || !strings.Contains(reason, "must be 48 or 80 bytes") {
		t.Errorf("the reason is %q", reason)
	}
	if len(warned) != 1 || !strings.Contains(warned[0], "must be 48 or 80 bytes") {
		t.Errorf("warned: %q", warned)
	}
}

// TestPortTaken: with no other cell there is nothing to measure.
func TestPortTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	for _, name := range []string{"embedded", "nginx"} {
		t.Run(name, func(t *testing.T) {
			needs(t, name)
			plan := strings.Replace(tiny, "certificates: [p256]", "certificates: [p256], port: "+strconv.Itoa(port), 1)
			_, err := startRun(t, t.Context(), plan, Options{Overrides: Overrides{Server: name}})
			if !errors.Is(err, ErrNothing) || !strings.Contains(err.Error(), "the port was taken by another program") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestServerNotInstalled says what to install, before anything is made.
func TestServerNotInstalled(t *testing.T) {
	p, err := Parse("test.yaml", []byte(tiny))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", t.TempDir())
	for _, dir := range []string{"/usr/sbin", "/usr/local/sbin", "/usr/local/bin"} {
		if _, err := os.Stat(filepath.Join(dir, "nginx")); err == nil {
			// It is looked for there whatever the path; openssl is not there.
			t.Logf("nginx is in %s: looking for openssl instead", dir)
		}
	}
	dir := filepath.Join(t.TempDir(), "run")
	_, err = Run(t.Context(), p, Options{Dir: dir, Overrides: Overrides{Server: "openssl"}})
	if err == nil || !strings.Contains(err.Error(), "openssl is not installed") || !strings.Contains(err.Error(), "apt install openssl") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory was made: %v", err)
	}
}

// TestAllImpossible is refused with a reason.
func TestAllImpossible(t *testing.T) {
	plan := strings.Replace(tiny, "certificates: [p256]", "certificates: [p256], early_data: true", 1)
	_, err := startRun(t, t.Context(), plan, Options{})
	if !errors.Is(err, ErrNothing) || !strings.Contains(err.Error(), "crypto/tls has no early data over TCP") {
		t.Errorf("got %v", err)
	}
}

// TestRotation changes the ticket key in the middle of a turn: whoever keeps
// the old one goes on resuming, whoever drops it does not.
func TestRotation(t *testing.T) {
	for _, name := range []string{"embedded", "nginx"} {
		t.Run(name, func(t *testing.T) {
			needs(t, name)
			const plan = `
name: rotation
server: nginx
fixed:
  server: {certificates: [p256], versions: [TLS 1.3], tickets: key-file}
  load: {mode: psk, connections: 4, slices: 4}
factors:
  - name: rotation
    levels:
      - {name: kept, load: {rotate: keep}}
      - {name: dropped, load: {rotate: drop}}
rounds: 1
turn: 800ms
`
			r, err := startRun(t, t.Context(), plan, Options{Overrides: Overrides{Server: name}})
			if err != nil {
				t.Fatal(err)
			}
			o, err := Analyse(r)
			if err != nil {
				t.Fatal(err)
			}
			for i, resumesAfter := range []bool{true, false} {
				c := o.Cells[i]
				if len(c.Slices) != 4 {
					t.Fatalf("%s: %s, %d slices: %s", c.Name, c.Status, len(c.Slices), c.Reason)
				}
				for j, s := range c.Slices {
					all := j < 2 || resumesAfter
					if s.Handshakes == 0 || all && s.Resumed != s.Handshakes || !all && s.Resumed > 0 {
						t.Errorf("%s: slice %d: %d of %d resumed", c.Name, j, s.Resumed, s.Handshakes)
					}
				}
				if !c.Slices[2].Rotated || slices.ContainsFunc(c.Slices[:2], func(s Slice) bool { return s.Rotated }) {
					t.Errorf("%s: the rotation is not before the third slice: %+v", c.Name, c.Slices)
				}
			}
		})
	}
}

// TestVisits: a client that asks a CA which takes 100 ms waits for it only
// where nothing is stapled.
func TestVisits(t *testing.T) {
	const plan = `
name: visits
server: embedded
fixed:
  server: {certificates: [p256], versions: [TLS 1.3], ocsp: {delay: 100ms}}
  load: {connections: 2, status_request: true, visits: 2, ask_ca: true}
factors:
  - name: stapling
    levels:
      - {name: "off"}
      - {name: "on", server: {stapling: file}}
rounds: 1
turn: 100ms
`
	r, err := startRun(t, t.Context(), plan, Options{})
	if err != nil {
		t.Fatal(err)
	}
	without, with := r.Rounds[0].Measurements["c01"], r.Rounds[0].Measurements["c02"]
	if without.AskedCA != 2 || with.AskedCA != 0 || len(without.Visits) != 2 || len(with.Visits) != 2 {
		t.Fatalf("asked the CA %d and %d times in %d and %d visits", without.AskedCA, with.AskedCA, len(without.Visits), len(with.Visits))
	}
	if v := slices.Min(without.Visits); v < 100e6 {
		t.Errorf("a visit that asks the CA took %v ns, less than the CA's answer", v)
	}
}

// TestConfirmFinds holds cells against servers that are something else.
func TestConfirmFinds(t *testing.T) {
	p, err := Parse("test.yaml", []byte(tiny))
	if err != nil {
		t.Fatal(err)
	}
	cells, err := p.Cells()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		spec server.Spec
		want string
	}{
		"another certificate": {server.Spec{Certificates: []server.KeyKind{server.P384}, Versions: []shakedown.Version{shakedown.TLS13}}, "its certificate has a key of ECDSA-P384, not of [p256]"},
		"one version more":    {server.Spec{Certificates: []server.KeyKind{server.P256}}, "it speaks TLS 1.2, which is not among its versions"},
		"no tickets":          {server.Spec{Certificates: []server.KeyKind{server.P256}, Versions: []shakedown.Version{shakedown.TLS13}, Tickets: server.TicketsOff}, "psk: the server gave no session"},
		"no version of ours":  {server.Spec{Certificates: []server.KeyKind{server.P256}, Versions: []shakedown.Version{shakedown.TLS12}}, "a full handshake could not be made"},
		"what it should be":   {server.Spec{Certificates: []server.KeyKind{server.P256}, Versions: []shakedown.Version{shakedown.TLS13}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := server.Embedded{}.Start(t.Context(), c.spec, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer s.Stop()
			seen := confirm(t.Context(), cells[1], s)
			seen.question(t.Context(), cells[1], s)
			problems := strings.Join(seen.Problems, "\n")
			if c.want == "" && problems != "" || !strings.Contains(problems, c.want) {
				t.Errorf("got %q, want %q", problems, c.want)
			}
		})
	}
}
