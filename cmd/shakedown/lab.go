package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"shakedown/internal/host"
	"shakedown/internal/lab"
	"shakedown/internal/report"
	"shakedown/internal/server"
	"shakedown/internal/spelling"
)

// labServeVerb is the process of an embedded server that a run measures.
const labServeVerb = "internal-serve-embedded"

func (a *app) labCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lab",
		Short: "Make controlled experiments on real servers",
		Long: `Lab measures plans: files of factors and levels, such as two certificates and two
ways to keep sessions. It starts the servers itself, on this machine and for this
purpose, asks each whether it is what the plan says, measures every combination in
rounds of shuffled order, and says what each change brings, with intervals.`,
		Example: `  shakedown lab list
  shakedown lab run certificate
  shakedown lab run combined --server embedded -o html --out combined.html`,
		Args: func(cmd *cobra.Command, args []string) error { return unknownVerbOf(cmd, args) },
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.labListCommand(), a.labShowCommand(), a.labCheckCommand(), a.labRunCommand(), a.labReportCommand())
	return cmd
}

// unknownVerbOf refuses arguments of a command that only has verbs below it.
func unknownVerbOf(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := "see " + cmd.CommandPath() + " --help"
	var names []string
	for _, verb := range cmd.Commands() {
		names = append(names, verb.Name())
	}
	if n := spelling.Nearest(args[0], names); n != "" {
		hint = fmt.Sprintf("did you mean %s %s?", cmd.CommandPath(), n)
	}
	return failed(hint, "unknown verb %q", args[0])
}

// labServeCommand is hidden: see [server.Embedded].
func (a *app) labServeCommand() *cobra.Command {
	return &cobra.Command{
		Use: labServeVerb, Hidden: true, Args: cobra.NoArgs,
		Short: "Serve what stdin says, until stdin ends",
		RunE: func(cmd *cobra.Command, _ []string) error {
			// A ^C at the terminal is for the run; what ends the server is SIGTERM,
			// at once: whoever sends it has asked all there is to ask.
			signal.Ignore(os.Interrupt)
			signal.Reset(syscall.SIGTERM)
			if err := server.ServeEmbedded(cmd.Context(), a.stdin, a.stdout); err != nil {
				return failed("", "%w", err)
			}
			return nil
		},
	}
}

func (a *app) labListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the plans that come with the program", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			plans, err := lab.Builtin()
			if err != nil {
				return failed("", "%w", err)
			}
			w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
			for _, p := range plans {
				cells, err := p.Cells()
				if err != nil {
					return failed("", "%w", err)
				}
				fmt.Fprintf(w, "%s\t%d cells\t%s\t%s\n", p.Name, len(cells), roughly(labTime(p, cells)), p.Title)
			}
			return w.Flush()
		},
	}
}

// labTime estimates how long a run takes, with the record of the host before it.
func labTime(p *lab.Plan, cells []*lab.Cell) time.Duration { return p.Needed(cells) + host.Budget }

// roughly rounds a time that is only estimated.
func roughly(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("about %d s", int(d.Round(time.Second).Seconds()))
	}
	return fmt.Sprintf("about %d min", int(d.Round(time.Minute).Minutes()))
}

func (a *app) labShowCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "Print a plan that comes with the program, to start another from", Args: onePlan,
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := openPlan(args[0])
			if err != nil {
				return err
			}
			_, err = a.stdout.Write(p.Text())
			return err
		},
	}
}

func onePlan(cmd *cobra.Command, args []string) error {
	if len(args) == 1 {
		return nil
	}
	return failed("such as: "+cmd.CommandPath()+" certificate; shakedown lab list names the others", "one plan is wanted, not %d", len(args))
}

// openPlan opens a built-in plan or a file.
func openPlan(name string) (*lab.Plan, error) {
	p, err := lab.Open(name)
	if err == nil {
		return p, nil
	}
	hint := ""
	if bad, ok := errors.AsType[*lab.PlanError](err); ok {
		hint = bad.Hint
	}
	return nil, failed(hint, "%w", err)
}

// labFlags are what may be chosen beside a plan.
func labFlags(o *lab.Overrides) *pflag.FlagSet {
	fs := pflag.NewFlagSet("lab", pflag.ContinueOnError)
	fs.StringVar(&o.Server, "server", "", "`kind` of server instead of the plan's")
	fs.IntVar(&o.Rounds, "rounds", 0, "rounds instead of the plan's; an interval takes 6")
	fs.DurationVar(&o.Turn, "turn", 0, "`time` of load for each cell in a round instead of the plan's")
	fs.DurationVar(&o.Budget, "budget", 0, "begin no round that would go beyond this `time`")
	fs.Uint64Var(&o.Seed, "seed", 0, "seed of the order instead of the plan's")
	return fs
}

func (a *app) labCheckCommand() *cobra.Command {
	var o lab.Overrides
	cmd := &cobra.Command{
		Use:   "check [flags] PLAN",
		Short: "Say which cells a plan has, which are impossible, and how long it takes",
		Long: `Check reads a plan and says which cells it has, which of them the server cannot be
and why, and how long a run takes. It starts nothing.

Exit code 1: a cell is impossible, or the budget does not suffice.`,
		Args: onePlan,
		RunE: func(_ *cobra.Command, args []string) error { return a.labCheck(args[0], o) },
	}
	addFlags(cmd, section{"Plan", labFlags(&o)})
	return cmd
}

func (a *app) labCheck(name string, o lab.Overrides) error {
	p, err := openPlan(name)
	if err != nil {
		return err
	}
	if err := p.Override(o); err != nil {
		return failed("", "%w", err)
	}
	cells, err := p.Cells()
	if err != nil {
		return failed("", "%w", err)
	}
	fmt.Fprintf(a.stdout, "%s: %s\n", p.Name, p.Title)
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	for _, c := range cells {
		state := "possible"
		if c.Impossible != "" {
			state = "impossible: " + c.Impossible
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", c.ID, c.Name, c.Driver.Name(), state)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	possible := lab.Possible(cells)
	needed := labTime(p, cells)
	fmt.Fprintf(a.stdout, "%d cells, %d possible; %d rounds of %s each: %s\n", len(cells), len(possible), p.Rounds, p.Turn, roughly(needed))
	for _, c := range possible {
		if err := c.Driver.Available(); err != nil {
			return failed("", "%w", err)
		}
	}
	switch {
	case len(possible) < len(cells):
		return unmet("%d of %d cells are impossible", len(cells)-len(possible), len(cells))
	case p.Budget > 0 && needed > p.Budget:
		return unmet("the budget of %s has no room for all rounds", p.Budget)
	}
	return nil
}

// labRun is a run and where it goes.
type labRun struct {
	output    output
	overrides lab.Overrides
	dir       string
	resume    string
	quick     bool
}

func (a *app) labRunCommand() *cobra.Command {
	r := &labRun{}
	cmd := &cobra.Command{
		Use:   "run [flags] PLAN",
		Short: "Measure a plan, or go on with a run that was interrupted",
		Long: `Run measures a plan: a file, or the name of one that comes with the program. The
run directory gets plan, what shakedown host says of the machine, raw results of every
complete round and the servers' logs; ^C ends the run, which still reports, and --resume goes on with it.

Exit code 1: a cell could not be measured. Exit code 2: none could, or the run was
interrupted.`,
		Example: `  shakedown lab run certificate
  shakedown lab run combined --server embedded --rounds 6 -o html --out combined.html
  shakedown lab run --resume shakedown-lab-certificate-20260102-150405`,
		Args: func(cmd *cobra.Command, args []string) error {
			if r.resume != "" && len(args) == 0 {
				return nil
			}
			if r.resume != "" {
				return failed("the run directory has its plan", "--resume goes on with a run: leave out %q", args[0])
			}
			return onePlan(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return r.run(cmd.Context(), a, args) },
	}
	fs := pflag.NewFlagSet("run", pflag.ContinueOnError)
	fs.StringVar(&r.dir, "dir", "", "run `directory`; a new one is made here if none is given")
	fs.StringVar(&r.resume, "resume", "", "go on with the run in this `directory`; --rounds and --budget may be raised")
	fs.BoolVar(&r.quick, "quick", false, "do not measure the machine's primitives, as shakedown host does, before the first round")
	addFlags(cmd, section{"Plan", labFlags(&r.overrides)}, section{"Run", fs}, r.output.flags("text", "json", "html", "csv"))
	return cmd
}

func (r *labRun) run(ctx context.Context, a *app, args []string) error {
	program, err := os.Executable()
	if err != nil {
		return failed("", "%w", err)
	}
	p := a.newProgress()
	options := lab.Options{
		Dir: r.dir, Overrides: r.overrides, Command: []string{program, labServeVerb},
		Say: func(text string) { p.say("%s", text) },
		Warn: func(text string) {
			p.clear()
			fmt.Fprintln(a.stderr, text)
		},
	}
	if !r.quick {
		if options.Operations, err = hostOperations(); err != nil {
			return failed("", "%w", err)
		}
		options.Machine = host.Budget
	}
	var plan *lab.Plan
	if r.resume != "" {
		options.Dir, options.Resume = r.resume, true
	} else if plan, err = openPlan(args[0]); err != nil {
		return err
	}
	if options.Dir == "" {
		options.Dir = fmt.Sprintf("shakedown-lab-%s-%s", plan.Name, time.Now().Format("20060102-150405"))
	}
	record, err := lab.Run(ctx, plan, options)
	p.clear()
	if err != nil {
		return failed(labHint(options.Dir), "%w", err)
	}
	fmt.Fprintf(a.stderr, "the run is in %s\n", options.Dir)
	outcome, err := r.report(a, record)
	if err != nil {
		return err
	}
	if why, fewer := record.Interrupted(); fewer && ctx.Err() != nil {
		return failed("shakedown lab run --resume "+options.Dir, "%d of %d rounds are complete: %s", outcome.Rounds, outcome.Plan.Rounds, why)
	}
	return labVerdict(outcome)
}

// labHint says where a run that ended early left what it had.
func labHint(dir string) string {
	if record, err := lab.Read(dir); err != nil || len(record.Rounds) == 0 {
		return ""
	}
	return "what was measured before can be seen with: shakedown lab report " + dir
}

// labVerdict is the error of a run in which cells were not measured.
func labVerdict(o *lab.Outcome) error {
	missing := 0
	for _, c := range o.Cells {
		if c.Status == lab.Failed || c.Status == lab.Impossible {
			missing++
		}
	}
	if missing > 0 {
		return unmet("%d of %d cells could not be measured", missing, len(o.Cells))
	}
	return nil
}

// report writes the report of a record.
func (r *labRun) report(a *app, record *lab.Record) (*lab.Outcome, error) {
	outcome, err := lab.Analyse(record)
	if err != nil {
		return nil, failed("", "%w", err)
	}
	doc := report.NewLab(outcome)
	return outcome, r.output.write(a, doc, map[string]func(io.Writer) error{"html": doc.WriteHTML, "csv": doc.WriteCSV})
}

func (a *app) labReportCommand() *cobra.Command {
	r := &labRun{}
	cmd := &cobra.Command{
		Use:   "report [flags] DIR",
		Short: "Report once more on a run, from its directory",
		Example: `  shakedown lab report shakedown-lab-certificate-20260102-150405
  shakedown lab report -o html --out certificate.html shakedown-lab-certificate-20260102-150405`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return nil
			}
			return failed("such as: shakedown lab report shakedown-lab-certificate-20260102-150405", "one run directory is wanted, not %d", len(args))
		},
		RunE: func(_ *cobra.Command, args []string) error {
			record, err := lab.Read(args[0])
			if err != nil {
				return failed("", "%w", err)
			}
			outcome, err := r.report(a, record)
			if err != nil {
				return err
			}
			return labVerdict(outcome)
		},
	}
	addFlags(cmd, r.output.flags("text", "json", "html", "csv"))
	return cmd
}
