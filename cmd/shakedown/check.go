package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"shakedown"
	"shakedown/internal/check"
	"shakedown/internal/report"
)

// checker asks servers what they do.
type checker struct {
	connection
	output  output
	plan    check.Plan
	sources []string
	state   string
	policy  string
	diff    string
	verbose bool
	earlier *check.Report // of diff; nil: none
}

func (a *app) checkCommand() *cobra.Command {
	c := &checker{}
	cmd := &cobra.Command{
		Use:   "check [flags] TARGET...",
		Short: "Ask a server or a fleet what it does, and what could be better",
		Long: `Check asks a server what clients get of it: versions, suites, groups,
certificates, staples, tickets, how long handshakes take, and above all which
sessions are resumed how often, by each mechanism, with many connections open at
once. Each answer is yes, no or inconclusive, with its evidence; findings come
with advice and the nginx lines that follow it.

A name with several addresses, and several targets, are asked one by one; then the
sessions of each are offered to the others, which shows who shares state with whom.

It is no load: at most --max-connections go to each address. What the budget does
not allow stays inconclusive.

Exit code 1: the policy asked for with --policy is not met. Exit code 2: no
address answered.`,
		Example: `  shakedown check example.com
  shakedown check --policy intermediate --state keys.json example.com
  shakedown check --sni demo.test --ca roots.pem 10.0.0.1 10.0.0.2 10.0.0.3:8443`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return failed(fmt.Sprintf("such as: %s example.com:443", cmd.CommandPath()), "no target given")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), a, args) },
	}
	own := pflag.NewFlagSet("check", pflag.ContinueOnError)
	own.IntVar(&c.plan.MaxConnections, "max-connections", check.DefaultMaxConnections, "make at most this many connections to each address")
	own.Float64Var(&c.plan.Rate, "rate", check.DefaultRate, "begin at most this many connections a second to each address, on average")
	own.StringSliceVar(&c.sources, "source", nil, "connect from these local `addresses`, in turn")
	own.DurationVar(&c.plan.RTT, "rtt", 0, "add this `time` to every round trip, to see the server as from far away")
	own.BoolVar(&c.plan.AllowReplay, "allow-replay", false, "send early data twice with the same bytes: the GET is served twice if it is accepted")
	own.StringVar(&c.state, "state", "", "keep the names of ticket keys in this `file`, from run to run")
	own.StringVar(&c.policy, "policy", "", "judge by this `policy`: modern, intermediate or a JSON file")
	own.StringVar(&c.diff, "diff", "", "tell what changed since the report in this `file` (JSON)")
	own.BoolVar(&c.verbose, "verbose", false, "write every answer with its evidence, however long the text gets")
	all := c.connection.flags(shakedown.WorkFull)
	sections := append(pick(all, "Whom to reach", "Certificates and keys"), section{"Check", own}, c.output.flags("text", "json", "html", "sarif"))
	addFlags(cmd, sections...)
	return cmd
}

// pick returns the sections of these titles.
func pick(all []section, titles ...string) []section {
	return slices.DeleteFunc(slices.Clone(all), func(s section) bool { return !slices.Contains(titles, s.title) })
}

func (c *checker) run(ctx context.Context, a *app, args []string) error {
	defer c.close()
	if err := c.prepare(ctx, args); err != nil {
		return err
	}
	progress := a.newProgress()
	asked := &asking{show: progress.show, of: c.addresses()}
	c.plan.Progress = asked.say
	r, err := check.Run(ctx, c.plan)
	progress.clear()
	if err != nil {
		return failed("", "%w", err)
	}
	if c.earlier != nil {
		r.Changes = r.Diff(c.earlier)
	}
	d := report.NewCheck(r)
	d.Verbose = c.verbose
	if err := c.output.write(a, d, map[string]func(io.Writer) error{"html": d.WriteHTML, "sarif": d.WriteSARIF}); err != nil {
		return err
	}
	if c.state != "" {
		if err := c.plan.KeyNames.Write(c.state); err != nil {
			return failed("", "--state: %w", err)
		}
	}
	return c.verdict(ctx, r)
}

// prepare turns what was typed into a plan.
func (c *checker) prepare(ctx context.Context, args []string) error {
	c.plan.Timeout = c.timeout
	for _, text := range args {
		t, err := c.target(ctx, text)
		if err != nil {
			return err
		}
		cfg, err := c.config(t)
		if err != nil {
			return err
		}
		c.plan.Targets = append(c.plan.Targets, check.Target{Target: t, Config: cfg, Request: getRequest(t)})
	}
	var err error
	if c.plan.Roots, err = c.roots(); err != nil {
		return err
	}
	for _, text := range c.sources {
		addr, err := netip.ParseAddr(text)
		if err != nil {
			return failed("give addresses of this machine", "--source: %q is not an IP address", text)
		}
		c.plan.Sources = append(c.plan.Sources, addr)
	}
	if c.state != "" {
		if c.plan.KeyNames, err = check.ReadKeyNames(c.state); err != nil {
			return failed("", "--state: %w", err)
		}
	}
	if c.diff != "" {
		if c.earlier, err = readReport(c.diff); err != nil {
			return failed("it is what check -o json writes", "--diff: %w", err)
		}
	}
	if c.policy != "" {
		if c.plan.Policy, err = check.ReadPolicy(c.policy); err != nil {
			return failed("", "--policy: %w", err)
		}
	}
	return nil
}

// readReport reads an earlier report.
func readReport(file string) (*check.Report, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var document report.Check
	if err := json.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if document.Schema != report.CheckSchema {
		return nil, fmt.Errorf("%s has schema %q, not %q", file, document.Schema, report.CheckSchema)
	}
	return &document.Report, nil
}

// getRequest is a GET of the target's path after which the connection stays open;
// nil for servers that speak another protocol.
func getRequest(t shakedown.Target) []byte {
	if t.StartTLS != "" {
		return nil
	}
	host := t.ServerName
	if host == "" {
		host = t.Host
	}
	if t.Port != shakedown.DefaultPort {
		host = net.JoinHostPort(host, strconv.Itoa(int(t.Port)))
	}
	return fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: shakedown\r\n\r\n", t.Path, host)
}

// verdict is the exit code's reason.
func (c *checker) verdict(ctx context.Context, r *check.Report) error {
	reached := slices.ContainsFunc(r.Targets, func(t check.TargetReport) bool { return t.Reached() })
	switch {
	case ctx.Err() != nil:
		return failed("", "interrupted: what was not asked by then is inconclusive")
	case !reached && len(r.Targets) > 0:
		return &problem{exitFailed, errors.New("no address answered"), "see above for the reasons; check host and port"}
	case len(r.Breaches) > 0:
		return unmet("policy %s is not met: %s", r.Policy, breaches(len(r.Breaches)))
	}
	return nil
}

func breaches(n int) string {
	if n == 1 {
		return "1 breach"
	}
	return fmt.Sprintf("%d breaches", n)
}
