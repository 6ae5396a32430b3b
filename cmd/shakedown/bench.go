package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"shakedown"
	"shakedown/handshake"
	"shakedown/internal/host"
	"shakedown/internal/link"
	"shakedown/internal/load"
	"shakedown/internal/report"
)

const (
	// closedConnections is the default of --connections in a closed loop: enough
	// to keep a few cores of a server busy, few enough that latency is not all
	// queueing.
	closedConnections = 32
	// openConnections is the default in an open loop, where it is the most there
	// may be at once.
	openConnections = 1024
	// publicRate is the rate, per second, at which a target that is neither
	// loopback nor private is loaded unless --rate or --stages says otherwise.
	publicRate = 10
)

// bencher makes load.
type bencher struct {
	connection
	output output

	plan        load.Plan // fields that a flag sets as they are
	mix         string
	stages      string
	rate        float64
	sources     string
	link        string
	cpus        string
	all         bool
	sessionIn   string
	histograms  string
	expressions []string
	allowPublic bool
	quiet       bool
	find        finder
	changed     func(flag string) bool
}

func (a *app) benchCommand() *cobra.Command {
	b := &bencher{}
	cmd := &cobra.Command{
		Use:   "bench [flags] TARGET",
		Short: "Make handshakes by the thousand and say what they cost",
		Long: `Bench makes handshakes for a time or up to a count, and says how many a second,
how long they took, what they cost the server and the client in CPU time, what
the server did, and what kept the rate from being higher. Failures are counted by
class and stay in.

By default a closed loop of 32 connections takes full handshakes one after the
other for 10 s, after 1 s that is not counted. --rate and --stages make an open
loop: handshakes begin by the clock, and their time counts from the instant for
which they were planned. Work is minimal: the server does all of its own, the
client as little as it can, and nothing is verified. A server on this machine is
found by its listening socket.

Load is for servers of your own. A target that is neither loopback nor private is
refused without --allow-public, and then gets 10 handshakes a second unless --rate
or --stages says otherwise.

With --find-max it searches for the highest rate of an open loop that keeps one
threshold or several: it doubles the rate until one breaks, then halves the interval.

Exit code 1: the server did not do as asked, an expectation was not met, or no rate
keeps the thresholds.`,
		Example: `  shakedown bench --sni demo.test 127.0.0.1:8443
  shakedown bench --version 1.2 --mode ticket --duration 30s 10.0.0.5
  shakedown bench --rate 500 --poisson --expect 'p99<30ms' --expect 'failed<=0.1%' 10.0.0.5
  shakedown bench --find-max 'p99<20ms' --find-step 10s 10.0.0.5
  shakedown bench -o json --out before.json 127.0.0.1:8443`,
		Args: oneTarget,
		RunE: func(cmd *cobra.Command, args []string) error {
			b.changed = cmd.Flags().Changed
			return b.run(cmd.Context(), a, args[0])
		},
	}
	sections := append([]section{b.loadFlags(), b.find.flags(), b.measureFlags()}, b.connection.flags(shakedown.WorkMinimal)...)
	addFlags(cmd, append(sections, b.output.flags("text", "json", "csv", "gobench"))...)
	return cmd
}

func (b *bencher) loadFlags() section {
	fs := pflag.NewFlagSet("load", pflag.ContinueOnError)
	fs.IntVar(&b.plan.Connections, "connections", closedConnections, "`number` of connections at once; in an open loop the most there may be (1024 there)")
	fs.DurationVar(&b.plan.Duration, "duration", 10*time.Second, "`time` to measure")
	fs.Int64Var(&b.plan.Count, "count", 0, "measure this `number` of handshakes instead; with --duration, so long at the most")
	fs.DurationVar(&b.plan.Warmup, "warmup", time.Second, "`time` of load before it is measured")
	fs.Float64Var(&b.rate, "rate", 0, "open loop: begin handshakes at this `rate` per second")
	fs.StringVar(&b.stages, "stages", "", "open loop: `time:rate` one after the other, such as 10s:500,30s:5000")
	fs.BoolVar(&b.plan.Arrivals.Poisson, "poisson", false, "open loop: at random times (Poisson) instead of evenly spaced")
	fs.StringVar(&b.mix, "mix", "", "several modes by `mode=weight`, such as full=20,psk=80")
	fs.Var(choiceValue[load.TicketPolicy]{&b.plan.Tickets, "policy", load.ParseTicketPolicy}, "tickets", "offer sessions again (reuse), once (single-use) or of a stock (pool=N)")
	fs.StringVar(&b.sessionIn, "session-in", "", "offer the sessions of this `file` (of trace --session-out), in their mode")
	fs.Var(choiceValue[load.Close]{&b.plan.Close, "way", load.ParseClose}, "close", "end connections by rst, fin or close-notify")
	b.plan.Close, b.plan.Tickets = load.CloseReset, load.TicketsReuse
	fs.DurationVar(&b.plan.RTT, "rtt", 0, "hold each flight of the server for this `time`")
	fs.StringVar(&b.link, "link", "", "reach a server on this machine over an emulated `network`, with real TCP, such as\nrtt=50ms,rate=100mbit,loss=0.5% (Linux, root)")
	fs.StringVar(&b.sources, "source", "", "connect from these local `addresses`: 127.0.0.2-127.0.0.9, 10.1.0.0/28, ...")
	fs.BoolVar(&b.all, "all-addresses", false, "use all addresses of the target's name in turn, not the first that answers")
	fs.BoolVar(&b.allowPublic, "allow-public", false, "allow a target that is neither loopback nor private")
	return section{"Load", fs}
}

func (b *bencher) measureFlags() section {
	fs := pflag.NewFlagSet("measure", pflag.ContinueOnError)
	fs.IntVar(&b.plan.Threads, "threads", 0, "`number` of threads of load (default: the cores that the server leaves free)")
	fs.StringVar(&b.cpus, "cpus", "", "run the threads on these `cores`, such as 1 or 2-5")
	fs.IntSliceVar(&b.plan.ServerPIDs, "server-pid", nil, "process `IDs` of the server (default: found by its listening socket)")
	fs.Uint64Var(&b.plan.Seed, "seed", 0, "`number` from which random arrivals, the order of sessions and losses of --link follow")
	fs.StringArrayVar(&b.expressions, "expect", nil, "exit with 1 unless this `expression` holds, such as 'p99<30ms'; repeat. Figures:\n"+report.MetricNames())
	fs.Var(fileValue{&b.histograms}, "hdr", "write the latency histograms to this `file` (HdrHistogram log)")
	fs.BoolVarP(&b.quiet, "quiet", "q", false, "show no progress")
	return section{"Measuring", fs}
}

func (b *bencher) run(ctx context.Context, a *app, text string) error {
	expected, err := expectations("expect", b.expressions)
	if err != nil {
		return err
	}
	thresholds, err := expectations("find-max", b.find.expressions)
	if err != nil {
		return err
	}
	if err := b.search(); err != nil {
		return err
	}
	if err := b.arrivals(); err != nil {
		return err
	}
	target, err := b.target(ctx, text)
	if err != nil {
		return err
	}
	if !target.Local() && !b.allowPublic {
		return failed("load is for servers of your own: add --allow-public if this is one",
			"%s is at %v, which is neither loopback nor private", target, target.Addresses)
	}
	if !target.Local() && len(thresholds) > 0 && !b.changed("find-from") {
		return failed("say where to begin with --find-from", "a search on a public target doubles the rate without end")
	}
	if !target.Local() && len(thresholds) == 0 && !b.plan.Arrivals.Open() {
		b.open([]load.Stage{{Duration: b.plan.Warmup + b.plan.Duration, Rate: publicRate}})
		fmt.Fprintf(a.stderr, "a public target gets %d handshakes a second unless --rate says otherwise\n", publicRate)
	}
	asked, err := b.offer(target)
	if err != nil {
		return err
	}
	defer b.close()
	if target, err = b.reachable(ctx, a, target); err != nil {
		return err
	}
	b.plan.Targets, b.plan.StartTLS = addresses(target), target.StartTLS
	why, err := b.findServer(a)
	if err != nil {
		return err
	}
	if err := b.preflight(ctx, target); err != nil {
		return err
	}

	if len(thresholds) > 0 {
		return b.runSearch(ctx, a, target, asked, thresholds)
	}

	p := b.progress(a)
	summary, err := load.Run(ctx, b.plan, func(now load.Progress) { p.show(report.Live(b.plan, now), report.LiveLine(b.plan, now)) })
	p.clear()
	if err != nil {
		return b.notDone(ctx, target, err)
	}
	if summary.Server == nil && why != "" {
		summary.Why = why
	}
	b.explainNone(ctx, target, summary)
	if done := summary.Handshakes + summary.Failures; b.plan.Duration > 0 && done < b.plan.Count && !summary.Interrupted {
		fmt.Fprintf(a.stderr, "--duration ended it after %d of the %d handshakes of --count\n", done, b.plan.Count)
	}
	doc := report.NewBench(target, asked, host.Describe(ctx), summary, expected)
	formats := map[string]func(io.Writer) error{"csv": doc.WriteCSV, "gobench": doc.WriteGobench}
	if err := b.output.write(a, doc, formats); err != nil {
		return err
	}
	if err := b.writeHistograms(summary); err != nil {
		return err
	}
	return verdict(doc)
}

// progress shows the load on stderr, unless that is not wanted.
func (b *bencher) progress(a *app) *progress {
	p := a.newProgress()
	p.plain = plainEvery
	if b.quiet {
		p.w = nil
	}
	return p
}

// notDone is the problem of a load that could not be made.
func (b *bencher) notDone(ctx context.Context, target shakedown.Target, err error) error {
	hint := ""
	if f, ok := errors.AsType[*shakedown.Failure](err); ok {
		hint = b.explain(ctx, target, f)
	}
	return failed(hint, "%s: %w", target, err)
}

// expectations reads the expressions of a flag.
func expectations(flag string, expressions []string) ([]report.Expectation, error) {
	var list []report.Expectation
	for _, text := range expressions {
		for part := range strings.SplitSeq(text, ",") {
			e, err := report.ParseExpectation(part)
			if err != nil {
				return nil, failed(fmt.Sprintf("quote it for the shell: --%s 'p99<30ms'", flag), "--%s: %w", flag, err)
			}
			list = append(list, e)
		}
	}
	return list, nil
}

// arrivals makes of the flags about when handshakes begin what they mean.
func (b *bencher) arrivals() error {
	p := &b.plan
	switch {
	case p.Connections < 1:
		return failed("", "--connections: at least 1 is needed, not %d", p.Connections)
	case p.Duration <= 0:
		return failed("", "--duration: %s is no time to measure in", p.Duration)
	case p.Warmup < 0:
		return failed("", "--warmup: %s is below zero", p.Warmup)
	case p.RTT < 0:
		return failed("", "--rtt: %s is below zero", p.RTT)
	case p.Count < 0 || b.changed("count") && p.Count == 0:
		return failed("leave it out to measure for a time", "--count: at least 1 is needed, not %d", p.Count)
	case p.Threads < 0:
		return failed("leave it out for one for each core the server leaves free", "--threads: at least 1 is needed, not %d", p.Threads)
	case p.Threads > p.Connections:
		return failed("a thread for each core that the server leaves free is the most that helps, and the default",
			"--threads: %d threads cannot share %d connections: some would have none", p.Threads, p.Connections)
	case b.timeout <= 0:
		return failed("", "--timeout: %s is no time to wait", b.timeout)
	case b.changed("rate") && !(b.rate > 0 && b.rate <= 1e7): // NaN is none either
		return failed("", "--rate: %v is not from above 0 to 10000000 per second", b.rate)
	case b.rate > 0 && b.stages != "":
		return failed("a single stage is a rate, too", "--rate and --stages exclude each other")
	case p.Arrivals.Poisson && b.rate == 0 && b.stages == "" && len(b.find.expressions) == 0:
		return failed("add --rate, --stages or --find-max", "--poisson is for an open loop")
	case b.stages != "" && b.changed("duration"):
		return failed("", "--duration and --stages exclude each other: the stages have their own times")
	case b.mix != "" && b.changed("mode"):
		return failed("", "--mode and --mix exclude each other")
	}
	if p.Count > 0 && !b.changed("duration") {
		p.Duration = 0 // the count ends it
	}
	var err error
	if b.stages != "" {
		stages, err := load.ParseStages(b.stages)
		if err != nil {
			return failed("", "--stages: %w", err)
		}
		if !b.changed("warmup") {
			p.Warmup = 0
		}
		p.Duration = -p.Warmup // which is a part of the stages
		for _, stage := range stages {
			p.Duration += stage.Duration
		}
		if p.Duration <= 0 {
			return failed("", "--warmup: %s is all the time that the stages have", p.Warmup)
		}
		b.open(stages)
	} else if b.rate > 0 {
		b.open([]load.Stage{{Duration: p.Warmup + p.Duration, Rate: b.rate}})
	}
	if b.mix != "" {
		if p.Mix, err = load.ParseMix(b.mix); err != nil {
			return failed("", "--mix: %w", err)
		}
	}
	if p.Sources, err = parseAddresses(b.sources); err != nil {
		return failed("", "--source: %w", err)
	}
	if b.link != "" {
		c, err := link.Parse(b.link)
		if err != nil {
			return failed("", "--link: %w", err)
		}
		p.Link = &c
	}
	if p.CPUs, err = parseCPUs(b.cpus); err != nil {
		return failed("", "--cpus: %w", err)
	}
	if err := allowedCPUs(p.CPUs); err != nil {
		return err
	}
	if b.sessionIn != "" {
		if p.Sessions, err = readSessions(b.sessionIn); err != nil {
			return err
		}
		if b.mix == "" && !b.changed("mode") {
			b.offered.Mode = modeOf(p.Sessions)
		}
	}
	p.Timeout = b.timeout
	return nil
}

// open makes the loop an open one.
func (b *bencher) open(stages []load.Stage) {
	b.plan.Arrivals.Stages = stages
	if !b.changed("connections") {
		b.plan.Connections = openConnections
	}
}

// offer sets what the handshakes offer and returns what they ask for; with a
// mix, what its first mode asks for.
func (b *bencher) offer(target shakedown.Target) (shakedown.Asked, error) {
	if len(b.plan.Mix) > 0 {
		b.offered.Mode = b.plan.Mix[0].Mode
		early := func(s load.Share) bool { return s.Mode == shakedown.ModeEarlyData }
		if slices.ContainsFunc(b.plan.Mix, early) {
			b.offered.Mode = shakedown.ModeEarlyData // for its request
		}
	}
	cfg, err := b.config(target)
	if err != nil {
		return shakedown.Asked{}, err
	}
	if cfg.Roots, err = b.roots(); err != nil {
		return shakedown.Asked{}, err
	}
	if len(b.plan.Mix) > 0 {
		cfg.Mode = b.plan.Mix[0].Mode
	}
	made, err := client(cfg)
	if err != nil {
		return shakedown.Asked{}, err
	}
	b.plan.Config = cfg
	return *made.Asked(cfg.Mode.Resumes()), b.refuseIdle()
}

// reachable leaves of several addresses the first that accepts a connection.
func (b *bencher) reachable(ctx context.Context, a *app, t shakedown.Target) (shakedown.Target, error) {
	if len(t.Addresses) == 1 || b.all {
		return t, nil
	}
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	var last *shakedown.Failure
	for i, address := range addresses(t) {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address.String())
		if err == nil {
			conn.Close()
			t.Addresses = t.Addresses[i : i+1]
			return t, nil
		}
		last = handshake.DialFailure(err)
		fmt.Fprintf(a.stderr, "%s is skipped: %v\n", address, last)
	}
	return t, failed(last.Hint, "%s: none of its %d addresses accepts a connection: %w", t, len(t.Addresses), last)
}

func (b *bencher) writeHistograms(s *load.Summary) error {
	if b.histograms == "" {
		return nil
	}
	f, err := os.Create(b.histograms)
	if err != nil {
		return failed("", "--hdr: %w", err)
	}
	if err := errors.Join(report.WriteHistograms(f, s), f.Close()); err != nil {
		return failed("", "--hdr: %w", err)
	}
	return nil
}

// verdict says what of a load is not as it should be, once it is written.
func verdict(b *report.Bench) error {
	s := b.Summary
	if s.Interrupted && s.Handshakes == 0 && len(b.Failed) == 0 {
		return failed("", "interrupted before a handshake of the measured time came to an end")
	}
	if s.Handshakes == 0 {
		if len(b.Failed) > 0 {
			f := b.Failed[0]
			return failed(f.Hint, "%s: not one of %d handshakes was complete: %s", b.Target, s.Failures, f.Text)
		}
		return failed("give it more time with --duration", "%s: no handshake came to an end", b.Target)
	}
	if s.Interrupted {
		return failed("", "interrupted: the figures are of %s", s.Duration.Round(time.Millisecond))
	}
	var complaints []string
	if s.Failures > 0 && !b.ExpectsFailures() {
		complaints = append(complaints, fmt.Sprintf("%d of %d handshakes failed: %s", s.Failures, s.Handshakes+s.Failures, b.Failed[0].Text))
	}
	if s.Mismatched > 0 {
		complaints = append(complaints, fmt.Sprintf("%d of %d handshakes were not as asked: %s", s.Mismatched, s.Handshakes, strings.Join(b.Mismatches(), "; ")))
	}
	for _, j := range b.Unmet() {
		complaints = append(complaints, fmt.Sprintf("expected %s: it is %s", j.Expression, j.Text))
	}
	if len(complaints) > 0 {
		return unmet("%s", strings.Join(complaints, "; "))
	}
	return nil
}

// maxSources bounds the addresses that --source may name.
const maxSources = 1 << 16

// parseAddresses reads addresses, ranges of them, and CIDR prefixes, separated
// by commas.
func parseAddresses(text string) ([]netip.Addr, error) {
	if text == "" {
		return nil, nil
	}
	var list []netip.Addr
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		first, last, err := addressRange(part)
		if err != nil {
			return nil, err
		}
		for a := first; ; a = a.Next() {
			if len(list) == maxSources {
				return nil, fmt.Errorf("%q: more than %d addresses", part, maxSources)
			}
			list = append(list, a)
			if a == last {
				break
			}
		}
	}
	return list, nil
}

// addressRange returns the first and the last address of one part.
func addressRange(part string) (first, last netip.Addr, err error) {
	bad := fmt.Errorf("%q is not an address, a range such as 127.0.0.2-127.0.0.9, or a prefix such as 10.1.0.0/28", part)
	if from, to, ok := strings.Cut(part, "-"); ok {
		first, err = netip.ParseAddr(strings.TrimSpace(from))
		if err == nil {
			last, err = netip.ParseAddr(strings.TrimSpace(to))
		}
		if err != nil || first.BitLen() != last.BitLen() || last.Less(first) {
			return first, last, bad
		}
		return first, last, nil
	}
	if strings.Contains(part, "/") {
		prefix, err := netip.ParsePrefix(part)
		if err != nil {
			return first, last, bad
		}
		first = prefix.Masked().Addr()
		end := first.AsSlice()
		for bit := prefix.Bits(); bit < first.BitLen(); bit++ {
			end[bit/8] |= 0x80 >> (bit % 8)
		}
		last, _ = netip.AddrFromSlice(end)
		return first, last, nil
	}
	first, err = netip.ParseAddr(part)
	if err != nil {
		return first, last, bad
	}
	return first, first, nil
}
