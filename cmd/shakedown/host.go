package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"shakedown/internal/host"
	"shakedown/internal/report"
)

func (a *app) hostCommand() *cobra.Command {
	var out output
	var budget time.Duration
	cmd := &cobra.Command{
		Use:   "host [flags]",
		Short: "Say what this machine is, and whether it is fit to measure on",
		Long: `Host describes this machine: its CPU and what of it matters to TLS, limits of the
kernel, the servers installed, how busy others keep it, and how many signatures,
key exchanges and encryptions a second it does with one thread and with all. It
says whether figures measured here can be relied on, and if not, why.

Exit code 1: it is not fit to measure on.`,
		Example: `  shakedown host
  shakedown host --time 20s -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return describeHost(cmd.Context(), a, &out, budget) },
	}
	fs := pflag.NewFlagSet("host", pflag.ContinueOnError)
	fs.DurationVar(&budget, "time", 6*time.Second, "`time` to measure primitives for; 0s leaves them out")
	addFlags(cmd, section{"Host", fs}, out.flags("text", "json"))
	return cmd
}

func describeHost(ctx context.Context, a *app, out *output, budget time.Duration) error {
	if budget < 0 {
		return failed("", "--time: %s is below zero", budget)
	}
	p := a.newProgress()
	doc := &report.Host{Schema: report.HostSchema, Environment: host.Describe(ctx)}
	doc.Primitives, doc.Scaling = []host.Primitive{}, []host.Scale{}
	before, seenErr := host.ReadCPUTimes()
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return failed("", "interrupted")
	}
	idle, err := host.ReadCPUTimes()
	if seenErr == nil && err == nil {
		if share, err := idle.Since(before); err == nil {
			doc.Busy, doc.Steal = &share.Busy, &share.Steal
		}
	}
	var interrupted bool
	if budget > 0 {
		p.say("measuring primitives for %s", budget)
		rates, err := host.Primitives(ctx, budget)
		p.clear()
		interrupted = ctx.Err() != nil
		if err != nil && !interrupted {
			return failed("", "%w", err)
		}
		if len(rates.Primitives) > 0 {
			doc.Rates = rates
		}
		// Only who wants a CPU can be robbed of it: steal shows under load.
		if after, err := host.ReadCPUTimes(); err == nil && seenErr == nil {
			if share, err := after.Since(idle); err == nil {
				doc.Steal = &share.Steal
			}
		}
	}
	doc.Judge()
	if err := out.write(a, doc, nil); err != nil {
		return err
	}
	switch {
	case interrupted:
		return failed("", "interrupted before the primitives were measured")
	case !doc.Fit:
		return unmet("this machine is not fit to measure on: %s", doc.Reasons[0])
	}
	return nil
}
