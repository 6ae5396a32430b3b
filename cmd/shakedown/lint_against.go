package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"time"

	"shakedown"
	"shakedown/internal/audit"
	"shakedown/internal/lint"
)

// compare asks the running server and adds what differs to the report.
func (l *linter) compare(ctx context.Context, a *app) error {
	reach := connection{timeout: 10 * time.Second}
	target, err := reach.target(ctx, l.against)
	if err != nil {
		return err
	}
	progress := a.newProgress()
	err = audit.Run(ctx, audit.Plan{
		Report: l.reports[0], Target: target, Names: l.names, MaxConnections: l.budget, Timeout: reach.timeout,
		Progress: func(address netip.AddrPort, name, question string) {
			progress.say("%s %s: %s", address, name, question)
		},
	})
	progress.clear()
	switch {
	case errors.Is(err, audit.ErrUnreached):
		return failed("check host and port; what was found in the file is told without --against", "--against %s: %w: %s", l.against, err, reasons(l.reports[0].Compared))
	case err != nil:
		return failed("", "--against %s: %w", l.against, err)
	}
	return nil
}

// reasons tells why addresses did not answer.
func reasons(list []lint.Comparison) string {
	var texts []string
	for _, c := range list {
		for _, r := range c.Rows {
			texts = append(texts, fmt.Sprintf("%s: %s", c.Address, r.Observed))
		}
	}
	return strings.Join(texts, "; ")
}

// tellComparison counts the settings and names those that stay open. Those that differ are findings.
func tellComparison(w io.Writer, c *lint.Comparison) {
	name := c.Name
	if name == "" {
		name = "no name"
	}
	for _, r := range c.Rows {
		if r.Agree == shakedown.Inconclusive {
			fmt.Fprintf(w, "note: %s (asked for %s): %s stays open: the file comes to %s; seen: %s\n", c.Address, name, r.Setting, r.Expected, r.Observed)
		}
	}
	agree, differ, open := c.Count()
	fmt.Fprintf(w, "%s (asked for %s, %d connections): %d settings agree, %d differ, %d stay open\n", c.Address, name, c.Connections, agree, differ, open)
}
