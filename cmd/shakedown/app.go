package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"shakedown/internal/spelling"
)

// The exit codes are a contract (docs/exit-codes.md).
const (
	exitDone   = 0 // did what was asked; nothing to complain of
	exitUnmet  = 1 // done, but a threshold, expectation or policy was not met
	exitFailed = 2 // could not be done
)

// app is what verbs have of the world outside.
type app struct {
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
}

// verbs returns every verb, in the order in which help lists them.
func (a *app) verbs() []*cobra.Command {
	return []*cobra.Command{
		a.traceCommand(),
		a.demoCommand(),
		a.benchCommand(),
		a.checkCommand(),
		a.compareCommand(),
		a.hostCommand(),
		a.labCommand(),
		a.labServeCommand(),
		a.lintCommand(),
		a.configCommand(),
		a.stekCommand(),
		a.serveCommand(),
	}
}

// Run does what the arguments say and returns the exit code. When ctx ends,
// what is under way ends early and still reports.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr}
	root := a.root()
	root.SetArgs(args)
	called, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitDone
	}
	p := asProblem(called, err)
	fmt.Fprintf(stderr, "%s: %v\n", called.CommandPath(), p.err)
	if p.hint != "" {
		fmt.Fprintf(stderr, "hint: %s\n", p.hint)
	}
	return p.code
}

// root is the command above all verbs.
func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "shakedown",
		Short: "What a TLS handshake costs on a server, and what to change",
		Long: `Shakedown tells what a TLS handshake costs on a server, which settings make it
cost that, and what to change. TARGET is host, host:port or an https URL; the
port is 443 if none is given. Data goes to stdout, words to stderr.

Exit codes: 0 done and nothing to complain of; 1 done, but an expectation was not
met; 2 could not be done.`,
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          unknownVerb,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.AddCommand(a.verbs()...)
	return root
}

// version is what the build says of itself.
func version() string {
	v := "(unknown version)"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		v = info.Main.Version
	}
	return fmt.Sprintf("%s %s %s/%s", v, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// problem is an error with what to do about it and the exit code it ends with.
type problem struct {
	code int
	err  error
	hint string
}

func (p *problem) Error() string { return p.err.Error() }
func (p *problem) Unwrap() error { return p.err }

// failed is the problem of what could not be done.
func failed(hint, format string, args ...any) error {
	return &problem{exitFailed, fmt.Errorf(format, args...), hint}
}

// unmet is the problem of what was done and is not as it should be.
func unmet(format string, args ...any) error {
	return &problem{exitUnmet, fmt.Errorf(format, args...), ""}
}

// asProblem makes a problem of any error that the command ended with. Those of
// the flag parser are told in our words.
func asProblem(cmd *cobra.Command, err error) *problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	p := &problem{exitFailed, err, "see " + cmd.CommandPath() + " --help"}
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		dashes := "--"
		if len(unknown.GetSpecifiedName()) == 1 {
			dashes = "-"
		}
		p.err = fmt.Errorf("unknown flag %s%s", dashes, unknown.GetSpecifiedName())
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if n := spelling.Nearest(unknown.GetSpecifiedName(), names); n != "" {
			p.hint = fmt.Sprintf("did you mean --%s? See %s --help", n, cmd.CommandPath())
		}
	}
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		p.err = fmt.Errorf("--%s: %w", invalid.GetFlag().Name, invalid.Unwrap())
		switch kind := invalid.GetFlag().Value.Type(); kind {
		case "duration":
			p.hint = "durations have a unit, such as 500ms, 10s or 2m"
		case "file":
			p.hint = "it has to be a file that can be written"
		default:
			if bad, ok := errors.AsType[*strconv.NumError](err); ok {
				p.err = fmt.Errorf("--%s: %q is no %s that can be used", invalid.GetFlag().Name, bad.Num, number(kind))
			}
		}
	}
	return p
}

// number says what a flag of a type of pflag's takes.
func number(kind string) string {
	if strings.HasPrefix(kind, "float") {
		return "number"
	}
	if strings.HasPrefix(kind, "uint") {
		return "whole number from 0 on"
	}
	return "whole number"
}

// unknownVerb refuses arguments of the root command with the nearest verb.
func unknownVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := "see shakedown --help for the verbs"
	var names []string
	for _, verb := range cmd.Commands() {
		if !verb.Hidden {
			names = append(names, verb.Name())
		}
	}
	if n := spelling.Nearest(args[0], names); n != "" {
		hint = fmt.Sprintf("did you mean shakedown %s?", n)
	}
	return failed(hint, "unknown verb %q", args[0])
}

// section is a part of a verb's flags under a heading of its own.
type section struct {
	title string
	flags *pflag.FlagSet
}

// addFlags gives the command its flags, and a help that shows them by section.
func addFlags(cmd *cobra.Command, sections ...section) {
	for _, s := range sections {
		s.flags.SortFlags = false
		cmd.Flags().AddFlagSet(s.flags)
	}
	cmd.SetUsageFunc(func(cmd *cobra.Command) error {
		w := cmd.OutOrStderr()
		fmt.Fprintf(w, "Usage:\n  %s\n", cmd.UseLine())
		if cmd.Example != "" {
			fmt.Fprintf(w, "\nExamples:\n%s\n", cmd.Example)
		}
		const columns = 100
		for _, s := range sections {
			if s.flags.HasAvailableFlags() {
				fmt.Fprintf(w, "\n%s:\n%s", s.title, s.flags.FlagUsagesWrapped(columns))
			}
		}
		return nil
	})
}

// target returns the one argument that a verb wants.
func oneTarget(cmd *cobra.Command, args []string) error {
	switch len(args) {
	case 1:
		return nil
	case 0:
		return failed(fmt.Sprintf("such as: %s example.com:443", cmd.CommandPath()), "no target given")
	}
	return failed("flags that take a value want it after = or as the next word; quote values with spaces",
		"one target is wanted, not %d: %s", len(args), strings.Join(args, " "))
}

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && terminal(f)
}
