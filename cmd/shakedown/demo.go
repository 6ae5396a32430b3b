package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"shakedown"
	"shakedown/handshake"
	"shakedown/internal/host"
	"shakedown/internal/load"
	"shakedown/internal/report"
	"shakedown/internal/server"
)

const (
	// demoConnections keep one core of a server busy at all times.
	demoConnections = 16
	// countPatience is how long a server may take to have counted the last
	// connections.
	countPatience = 3 * time.Second
)

// demo measures RSA beside ECDSA on servers that it starts for the purpose.
type demo struct {
	output output
	driver string
	rounds int
	turn   time.Duration
	seed   uint64

	doc     *report.Demo
	servers []*demoServer
}

// demoServer is one of the servers, and what was made of it.
type demoServer struct {
	*served
	certificate string
	begun       int64 // connections of the load
	complete    int64 // handshakes of the load
}

func (a *app) demoCommand() *cobra.Command {
	d := &demo{}
	cmd := &cobra.Command{
		Use:   "demo [flags]",
		Short: "Measure RSA beside ECDSA on a server started for it",
		Long: `Demo starts a server with an RSA-2048 certificate and one with an ECDSA P-256
certificate, each with an intermediate as in real life, and measures full
handshakes with both in TLS 1.2 and TLS 1.3, in rounds of shuffled order. It says
what they cost the server, how sure that is, and holds its own count against the
server's. It takes about 35 s, needs nothing installed, and leaves nothing behind.

The server is Go's crypto/tls in a process of its own. With --server nginx it is
the nginx that is installed, with a configuration, directory and port of its own.

Exit code 1: the server did not do as asked, or the counts differ.`,
		Example: `  shakedown demo
  shakedown demo --server nginx`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return d.run(cmd.Context(), a) },
	}
	var names []string
	for _, driver := range server.Drivers() {
		names = append(names, driver.Name())
	}
	fs := pflag.NewFlagSet("demo", pflag.ContinueOnError)
	fs.StringVar(&d.driver, "server", "embedded", fmt.Sprintf("`kind` of server: %v", names))
	fs.IntVar(&d.rounds, "rounds", 7, "`number` of rounds to measure; an interval takes 6")
	fs.DurationVar(&d.turn, "turn", time.Second, "`time` of load for each certificate and version in a round")
	fs.Uint64Var(&d.seed, "seed", 1, "`number` from which the order follows")
	addFlags(cmd, section{"Demo", fs}, d.output.flags("text", "json"))
	return cmd
}

func (d *demo) run(ctx context.Context, a *app) (err error) {
	if d.rounds < 1 || d.turn < 50*time.Millisecond {
		return failed("", "at least one round with turns of 50ms is needed")
	}
	driver, err := server.DriverByName(d.driver)
	if err != nil {
		return failed("", "--server: %w", err)
	}
	if err := driver.Available(); err != nil {
		return failed("without --server nothing has to be installed", "--server: %w", err)
	}
	dir, remove, err := scratch()
	if err != nil {
		return failed("", "%w", err)
	}
	defer remove()
	// The servers live on when ctx ends, for their last account.
	alive := context.WithoutCancel(ctx)
	defer func() {
		for _, s := range d.servers {
			if stopErr := s.stop(); err == nil && stopErr != nil {
				err = failed("", "stopping the server: %w", stopErr)
			}
		}
	}()
	d.doc = &report.Demo{Schema: report.DemoSchema, Server: driver.Name(), Started: time.Now(), Turn: d.turn, Notes: []string{}, Counts: []report.DemoCount{}}
	if err := d.start(alive, driver, dir); err != nil {
		return failed("", "%w", err)
	}
	d.doc.Environment = host.Describe(alive)
	p := a.newProgress()
	err = d.measure(ctx, p)
	p.clear()
	if err != nil {
		return failed("", "%w", err)
	}
	d.count(alive)
	d.note(driver)
	d.doc.Duration = time.Since(d.doc.Started)
	if err := d.doc.Conclude(); err != nil {
		return failed("give it more time with --turn: there was a turn with nothing to compare", "%w", err)
	}
	if err := d.output.write(a, d.doc, nil); err != nil {
		return err
	}
	return d.verdict()
}

// start starts a server for each certificate, all on the first core, and leaves
// the last one to the load.
func (d *demo) start(ctx context.Context, driver server.Driver, dir string) error {
	var pin bool
	cores, err := host.AllowedCPUs()
	if pin = err == nil && len(cores) > 1; pin {
		d.doc.ServerCore, d.doc.ClientCore = &cores[0], &cores[len(cores)-1]
	}
	for _, kind := range []server.KeyKind{server.RSA2048, server.P256} {
		spec := server.Spec{Certificates: []server.KeyKind{kind}, Versions: []shakedown.Version{shakedown.TLS12, shakedown.TLS13}, PKI: filepath.Join(dir, "pki")}
		s, err := startServed(ctx, driver, spec, filepath.Join(dir, string(kind)))
		if err != nil {
			return err
		}
		d.servers = append(d.servers, &demoServer{served: s, certificate: certificateNames[kind]})
		if pin {
			if err := pinAll(s.Addr, *d.doc.ServerCore); err != nil {
				return err
			}
		}
	}
	// Cells of one version beside one another: RSA, then ECDSA.
	for _, version := range []shakedown.Version{shakedown.TLS12, shakedown.TLS13} {
		for _, s := range d.servers {
			d.doc.Cells = append(d.doc.Cells, &report.DemoCell{Certificate: s.certificate, Version: version, LimitedBy: []string{}, Mismatch: []string{},
				Rates: []float64{}, ServerCosts: []float64{}, ClientCosts: []float64{}})
		}
	}
	return nil
}

// certificateNames are the kinds as chains have them.
var certificateNames = map[server.KeyKind]string{server.RSA2048: "RSA-2048", server.P256: "ECDSA-P256"}

// pinAll binds all processes that listen on the address to one core.
func pinAll(address netip.AddrPort, core int) error {
	processes, err := host.Listeners(address)
	if err != nil {
		return err
	}
	for _, p := range processes {
		if err := host.PinProcess(p.PID, core); err != nil {
			return err
		}
	}
	return nil
}

// measure makes the rounds. The first one is for the caches and does not count.
func (d *demo) measure(ctx context.Context, p *progress) error {
	rng := rand.New(rand.NewPCG(d.seed, 0))
	order := make([]int, len(d.doc.Cells))
	for i := range order {
		order[i] = i
	}
	for round := range d.rounds + 1 {
		rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		summaries := make([]*load.Summary, len(order))
		turn := d.turn
		if round == 0 {
			turn = d.turn / 4
		}
		for done, i := range order {
			cell := d.doc.Cells[i]
			summary, err := load.Run(ctx, d.plan(i, turn), func(now load.Progress) {
				p.say("round %d of %d, %d of %d: %s in %s, %.0f/s", round, d.rounds, done+1, len(order), cell.Certificate, cell.Version, now.PerSecond)
			})
			if err != nil {
				return err
			}
			s := d.servers[i%len(d.servers)]
			s.complete += summary.Handshakes
			s.begun += summary.Handshakes + summary.Failures + summary.Abandoned
			if summaries[i] = summary; summary.Interrupted {
				d.doc.Interrupted = true
				return nil // half a round is not comparable
			}
		}
		if round == 0 {
			continue
		}
		for i, summary := range summaries {
			d.doc.Cells[i].Add(summary)
		}
		d.doc.Rounds++
	}
	return nil
}

// plan is the load for the i-th cell. The ticket is waited for since by then
// the server has finished, too: its count and ours can agree.
func (d *demo) plan(i int, turn time.Duration) load.Plan {
	s, cell := d.servers[i%len(d.servers)], d.doc.Cells[i]
	plan := load.Plan{
		Targets: []netip.AddrPort{s.Addr}, Connections: demoConnections, Duration: turn, Timeout: 10 * time.Second, Threads: 1,
		ServerPIDs: []int{s.PID}, Close: load.CloseReset,
		Config: handshake.Config{
			ServerName: s.Name, Versions: []shakedown.Version{cell.Version}, Work: shakedown.WorkMinimal, Complete: shakedown.CompleteTicket,
			Groups: []shakedown.Group{shakedown.X25519, shakedown.Secp256r1},
		},
	}
	if d.doc.ClientCore != nil {
		plan.CPUs = []int{*d.doc.ClientCore}
	}
	return plan
}

// count holds the load's count against the servers'. They may still be busy
// with the last connections, so they get a moment.
func (d *demo) count(ctx context.Context) {
	for _, s := range d.servers {
		c := report.DemoCount{Certificate: s.certificate, OursComplete: s.complete, OursBegun: s.begun}
		for deadline := time.Now().Add(countPatience); ; time.Sleep(50 * time.Millisecond) {
			theirs, err := s.counts(ctx)
			if err != nil {
				c.Problem = err.Error()
				break
			}
			c.TheirsComplete, c.TheirsAccepted, c.Basis = theirs.Handshakes, theirs.Accepted, theirs.Basis
			c.Equal = c.OursComplete == c.TheirsComplete && (c.TheirsAccepted == server.NotTold || c.OursBegun == c.TheirsAccepted)
			if c.Equal || time.Now().After(deadline) {
				break
			}
		}
		if !c.Equal && c.Problem == "" && c.TheirsAccepted == server.NotTold {
			// Half an account cannot contradict ours.
			c.Problem = "it does not tell how many connections it had (" + c.Basis + ")"
		}
		d.doc.Counts = append(d.doc.Counts, c)
	}
}

// note says what the figures do not show.
func (d *demo) note(driver server.Driver) {
	add := func(format string, args ...any) { d.doc.Notes = append(d.doc.Notes, fmt.Sprintf(format, args...)) }
	if driver.Name() == "embedded" {
		add("this is Go's crypto/tls (%s); other servers have other ratios: try --server nginx", runtime.Version())
	}
	if d.doc.ServerCore == nil {
		add("server and client are not bound to cores of their own here, so rates are of both together")
	}
	var limited []string
	for _, c := range d.doc.Cells {
		if slices.Contains(c.LimitedBy, "client") {
			limited = append(limited, c.Certificate+" in "+c.Version.String())
		}
		if len(c.ServerCosts) == 0 && d.doc.Rounds > 0 && len(d.doc.Notes) < 4 {
			add("the server's CPU time cannot be seen on this system: only rates are compared")
		}
	}
	if len(limited) > 0 {
		add("the client was the limit for %v: the rate there is not the server's, the CPU per handshake is", limited)
	}
}

// verdict says what of a demo is not as it should be, once it is written.
func (d *demo) verdict() error {
	if d.doc.Interrupted {
		return failed("", "interrupted after %d of %d rounds", d.doc.Rounds, d.rounds)
	}
	for _, c := range d.doc.Cells {
		if len(c.Mismatch) > 0 || c.Failures > 0 {
			return unmet("the server did not do as asked: %d failures, %d other things", c.Failures, len(c.Mismatch))
		}
	}
	for _, c := range d.doc.Counts {
		if !c.Equal && c.TheirsAccepted != server.NotTold {
			return unmet("the %s server's count of connections is not that of the load", c.Certificate)
		}
	}
	return nil
}
