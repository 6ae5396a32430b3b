package main

import (
	"os"

	"github.com/spf13/cobra"

	"shakedown/internal/report"
)

func (a *app) compareCommand() *cobra.Command {
	var out output
	cmd := &cobra.Command{
		Use:   "compare [flags] A.json B.json",
		Short: "Say what two runs of bench tell about a difference",
		Long: `Compare reads two documents of bench -o json and says how B stands to A: rates by
second with medians, intervals and p, server CPU per handshake by its intervals,
and the figures of which each run has one. It says, too, what was asked
differently, and what cannot be concluded of runs made one after the other.

Exit code 1: B is slower, or costs the server more.`,
		Example: `  shakedown bench -o json --out before.json 127.0.0.1:8443
  shakedown bench -o json --out after.json 127.0.0.1:8443
  shakedown compare before.json after.json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return failed("such as: shakedown compare before.json after.json", "two files are wanted, not %d", len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return compare(a, &out, args[0], args[1]) },
	}
	addFlags(cmd, out.flags("text", "json"))
	return cmd
}

func compare(a *app, out *output, fileA, fileB string) error {
	var runs [2]*report.Bench
	for i, file := range []string{fileA, fileB} {
		data, err := os.ReadFile(file)
		if err == nil {
			runs[i], err = report.ReadBench(data)
		}
		if err != nil {
			return failed("write one with: shakedown bench -o json --out FILE TARGET", "%s: %w", file, err)
		}
	}
	doc, err := report.NewCompare(fileA, runs[0], fileB, runs[1])
	if err != nil {
		return failed("", "%w", err)
	}
	if err := out.write(a, doc, nil); err != nil {
		return err
	}
	if doc.Slower {
		return unmet("B is slower than A, or costs the server more")
	}
	return nil
}
