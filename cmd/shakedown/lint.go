package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"shakedown/internal/audit"
	"shakedown/internal/lint"
	"shakedown/internal/nginx"
)

// linter finds what is wrong, wasteful or without effect in nginx configurations.
type linter struct {
	output      output
	nginx       string
	openssl     string
	hosts       int
	rate        float64
	failOn      string
	showIgnored bool
	explain     string
	list        bool
	effective   bool
	fix         bool
	dryRun      bool
	mainFile    string
	noTest      bool
	against     string
	names       []string
	budget      int
	binary      nginx.Binary
	options     lint.Options
	reports     []*lint.Report
	failures    []lint.Failure
	rules       []*lint.Rule
	severities  map[string]lint.Severity
}

func (a *app) lintCommand() *cobra.Command {
	l := &linter{severities: map[string]lint.Severity{"error": lint.Error, "warning": lint.Warning, "info": lint.Info}}
	cmd := &cobra.Command{
		Use:   "lint [flags] FILE...",
		Short: "Find what nginx ignores, breaks or wastes in a TLS configuration",
		Long: `Lint reads nginx configurations with all they include, works out what is in force
for every server and socket as nginx does, and tells what is without effect, broken
or wasteful: settings outside the default server, sessions that do not resume, groups
that cost a round trip, ciphers and certificates that cost CPU.

What is right depends on the releases of nginx and OpenSSL. They are asked of the
nginx installed here, or given. A file without http{} is read as a part of one; what
its surroundings may set is not judged.

A comment "# shakedown:ignore RULE reason" answers a finding: behind a directive for
that one, on a line of its own for the next one with all it holds.

With --against the running server is asked, by the questions of check, and held
against the file: a reload forgotten, another file in force. Each difference is a
finding (RUNNING-DIFFERS); what the server does not tell is no difference.

Exit codes: 0 nothing found, 1 findings, 2 a file could not be judged.`,
		Example: `  shakedown lint /etc/nginx/nginx.conf
  shakedown lint --hosts 4 --sessions-per-second 200 nginx.conf
  shakedown lint --nginx-version 1.27.5 --openssl-version 3.5.0 -o sarif site.conf
  shakedown lint --explain DEF-TICKETS-MIX
  shakedown lint --fix --dry-run /etc/nginx/nginx.conf
  shakedown lint --against shop.example /etc/nginx/nginx.conf`,
		RunE: func(cmd *cobra.Command, args []string) error { return l.run(cmd.Context(), a, args) },
	}
	about := pflag.NewFlagSet("about", pflag.ContinueOnError)
	about.StringVar(&l.nginx, "nginx-version", "", "`release` that reads the files (default: the one installed here)")
	about.StringVar(&l.openssl, "openssl-version", "", "`release` that nginx is linked with (default: as nginx -V says)")
	about.IntVar(&l.hosts, "hosts", 1, "`number` of machines that answer for the same names")
	about.Float64Var(&l.rate, "sessions-per-second", 0, "full handshakes expected at the peak, a `rate`, for the size of the session cache")
	what := pflag.NewFlagSet("what", pflag.ContinueOnError)
	what.StringVar(&l.failOn, "fail-on", "warning", "least `severity` that makes the exit code 1: error, warning, info")
	what.BoolVar(&l.showIgnored, "show-ignored", false, "tell the findings that comments answer as well")
	what.BoolVar(&l.effective, "effective", false, "tell what is in force for every server and who decides on its sockets, instead of findings")
	what.BoolVar(&l.list, "rules", false, "list the rules and do nothing else")
	what.StringVar(&l.explain, "explain", "", "tell all about one `rule` and do nothing else")
	repair := pflag.NewFlagSet("repair", pflag.ContinueOnError)
	repair.BoolVar(&l.fix, "fix", false, "show what can be repaired without a person as a diff, then write it; a copy stays as FILE.shakedown-backup")
	repair.BoolVar(&l.dryRun, "dry-run", false, "with --fix: show the diff alone")
	repair.StringVar(&l.mainFile, "main", "", "with --fix: main `file` to try with nginx -t (default: the file given, if it is one)")
	repair.BoolVar(&l.noTest, "no-test", false, "with --fix: do not try the outcome with nginx -t")
	running := pflag.NewFlagSet("running", pflag.ContinueOnError)
	running.StringVar(&l.against, "against", "", "tell where the server at `HOST[:PORT]` does something else than the file says")
	running.StringSliceVar(&l.names, "sni", nil, "with --against: `names` to ask for (default: one of each server of the file)")
	running.IntVar(&l.budget, "max-connections", audit.DefaultMaxConnections, "with --against: make at most this `number` of connections for each name")
	addFlags(cmd, section{"About the server", about}, section{"What to tell", what}, section{"The running server", running}, section{"Repair", repair}, l.output.flags("text", "json", "sarif"))
	return cmd
}

func (l *linter) run(ctx context.Context, a *app, paths []string) error {
	l.rules = lint.Rules()
	switch {
	case l.list:
		return lint.WriteRules(a.stdout, append(l.rules, lint.RunningDiffers()))
	case strings.EqualFold(l.explain, lint.RunningDiffers().ID):
		return lint.WriteExplanation(a.stdout, lint.RunningDiffers())
	case l.explain != "":
		rule, err := lint.FindRule(l.explain)
		if err != nil {
			return failed("shakedown lint --rules lists them", "%w", err)
		}
		return lint.WriteExplanation(a.stdout, rule)
	case len(paths) == 0:
		return failed("such as: shakedown lint /etc/nginx/nginx.conf", "no file given")
	case l.severities[l.failOn] == "":
		return failed("", "--fail-on: unknown severity %q (one of error, warning, info)", l.failOn)
	case l.dryRun && !l.fix:
		return failed("add --fix", "--dry-run is for --fix")
	case l.against != "" && (l.fix || l.effective || len(paths) != 1):
		return failed("", "--against takes one file, and neither --fix nor --effective")
	case l.against == "" && len(l.names) > 0:
		return failed("add --against", "--sni is for --against")
	}
	if err := l.versions(ctx); err != nil {
		return err
	}
	for _, path := range paths {
		report, err := lint.Run(path, l.rules, l.options)
		if err != nil {
			l.failures = append(l.failures, lint.Failure{Path: path, Err: err})
			continue
		}
		l.reports = append(l.reports, report)
	}
	if l.effective {
		for _, r := range l.reports {
			if err := lint.WriteEffective(a.stdout, r.Model); err != nil {
				return failed("", "%w", err)
			}
		}
		return l.notJudged(a)
	}
	if l.against != "" && len(l.reports) > 0 {
		if err := l.compare(ctx, a); err != nil {
			return err
		}
	}
	if l.fix {
		if err := l.repair(ctx, a); err != nil {
			return err
		}
	} else if err := l.write(a); err != nil {
		return err
	}
	return l.verdict(a)
}

// versions settles the releases the files are for. Nothing is assumed: without nginx here they must be given.
func (l *linter) versions(ctx context.Context) error {
	l.options = lint.Options{Hosts: l.hosts, SessionsPerSecond: l.rate, Now: time.Now()}
	if l.hosts < 1 || l.rate < 0 {
		return failed("", "--hosts is at least 1 and --sessions-per-second not negative")
	}
	binary, installed := nginx.Installed(ctx)
	l.binary = binary
	var err error
	if l.nginx != "" {
		if l.options.Nginx, err = nginx.ParseVersion(l.nginx); err != nil {
			return failed("", "--nginx-version: %w", err)
		}
	} else if installed != nil {
		return failed("say which release reads the files, such as --nginx-version 1.22.1 --openssl-version 3.0.22", "%w", installed)
	} else {
		l.options.Nginx = binary.Version
	}
	switch {
	case l.openssl != "":
		if l.options.OpenSSL, err = nginx.ParseVersion(l.openssl); err != nil {
			return failed("", "--openssl-version: %w", err)
		}
	case installed == nil && l.options.Nginx == binary.Version:
		l.options.OpenSSL = binary.OpenSSL
	}
	return nil
}

func (l *linter) write(a *app) error {
	err := l.output.write(a, nil, map[string]func(io.Writer) error{
		"text":  func(w io.Writer) error { return lint.WriteText(w, l.reports, l.showIgnored) },
		"json":  func(w io.Writer) error { return lint.WriteJSON(w, l.reports, l.failures, l.options) },
		"sarif": func(w io.Writer) error { return lint.WriteSARIF(w, l.reports, append(l.rules, lint.RunningDiffers())) },
	})
	if err != nil {
		return err
	}
	for _, r := range l.reports {
		for _, note := range r.Notes {
			fmt.Fprintf(a.stderr, "note: %s\n", note)
		}
		for _, c := range r.Compared {
			tellComparison(a.stderr, &c)
		}
		fmt.Fprintf(a.stderr, "%s: %s (nginx %s%s)\n", r.Path, r.Summary(), l.options.Nginx, l.withOpenSSL())
	}
	return nil
}

func (l *linter) withOpenSSL() string {
	if l.options.OpenSSL.IsZero() {
		return ""
	}
	return ", OpenSSL " + l.options.OpenSSL.String()
}

// repair shows the diff and, unless it is a dry run, writes it.
func (l *linter) repair(ctx context.Context, a *app) error {
	changes, err := lint.Fix(l.reports)
	if err != nil {
		return failed("", "%w", err)
	}
	if len(changes) == 0 {
		fmt.Fprintln(a.stderr, "nothing here can be repaired without a person")
		return nil
	}
	for _, c := range changes {
		fmt.Fprint(a.stdout, c.Diff())
		for _, f := range c.Fixed {
			fmt.Fprintf(a.stderr, "%s: %s: %s\n", f.Pos, f.Rule.ID, f.Rule.Title)
		}
	}
	if l.dryRun {
		return nil
	}
	test := l.test(a)
	if err := lint.Write(ctx, changes, test); err != nil {
		return failed("", "%w", err)
	}
	for _, c := range changes {
		fmt.Fprintf(a.stderr, "%s is rewritten; its old text is in %s.shakedown-backup\n", c.Path, c.Path)
	}
	for i, r := range l.reports { // what is left decides the exit code
		if l.reports[i], err = lint.Run(r.Path, l.rules, l.options); err != nil {
			return failed("", "after the repair: %w", err)
		}
	}
	return nil
}

// test is nginx -t on the main file, nil when it cannot be had, which is said.
func (l *linter) test(a *app) *lint.Test {
	file := l.mainFile
	if file == "" && len(l.reports) == 1 && !l.reports[0].Model.Fragment {
		file = l.reports[0].Path
	}
	switch {
	case l.noTest:
		return nil
	case l.binary.Path == "":
		fmt.Fprintln(a.stderr, "note: the outcome is not tried: nginx is not installed here")
		return nil
	case l.binary.Version != l.options.Nginx:
		fmt.Fprintf(a.stderr, "note: the outcome is not tried: nginx here is %s, the files are for %s\n", l.binary.Version, l.options.Nginx)
		return nil
	case file == "":
		fmt.Fprintln(a.stderr, "note: the outcome is not tried: no main file is known (--main)")
		return nil
	}
	return &lint.Test{Binary: l.binary.Path, Config: file}
}

// verdict is the exit code: 2 when a file could not be judged, 1 when something was found.
func (l *linter) verdict(a *app) error {
	if err := l.notJudged(a); err != nil {
		return err
	}
	found := 0
	for _, r := range l.reports {
		for _, f := range r.Findings {
			if f.Severity.AtLeast(l.severities[l.failOn]) {
				found++
			}
		}
	}
	if found > 0 {
		return unmet("%d of severity %s or worse", found, l.failOn)
	}
	return nil
}

// notJudged tells of every file that could not be read or parsed; the last is the error.
func (l *linter) notJudged(a *app) error {
	if len(l.failures) == 0 {
		return nil
	}
	last := len(l.failures) - 1
	for _, f := range l.failures[:last] {
		fmt.Fprintf(a.stderr, "%v\n", f.Err)
	}
	return failed("", "%w", l.failures[last].Err)
}
