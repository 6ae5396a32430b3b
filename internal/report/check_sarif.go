package report

import (
	"io"
	"slices"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"shakedown"
)

// WriteSARIF writes findings and breaches of the policy in SARIF 2.1.0. What they
// are about is an address, and no file: it stands as a URI and as a logical
// location.
func (c *Check) WriteSARIF(w io.Writer) error {
	run := sarif.NewRunWithInformationURI("shakedown", "https://www.rfc-editor.org/rfc/rfc9325")
	for i := range c.Targets {
		t := &c.Targets[i]
		for _, f := range t.Findings {
			addFinding(run, f, targetName(t), t.Address.String())
		}
	}
	// Those of all together have a location for each address.
	var all []string
	for i := range c.Targets {
		if a := c.Targets[i].Address.String(); !slices.Contains(all, a) {
			all = append(all, a)
		}
	}
	for _, f := range c.Findings {
		addFinding(run, f, "all addresses", all...)
	}
	for _, b := range c.Breaches {
		where, addresses := "all addresses", all
		if b.Address.IsValid() {
			where, addresses = b.Address.String(), []string{b.Address.String()}
		}
		rule := run.AddRule("policy/" + b.Rule).WithDescription("the policy " + c.Policy + " is not met")
		locate(run.CreateResultForRule(*rule.ID), where, addresses).WithLevel("error").WithMessage(sarif.NewTextMessage(b.Text))
	}
	out := sarif.NewReport()
	out.AddRun(run)
	return out.PrettyWrite(w)
}

func addFinding(run *sarif.Run, f shakedown.Finding, where string, addresses ...string) {
	level := map[shakedown.Severity]string{shakedown.SeverityError: "error", shakedown.SeverityWarning: "warning", shakedown.SeverityInfo: "note"}[f.Severity]
	help := "Advice: " + f.Advice
	for _, line := range f.Nginx {
		help += "\n\n    " + line
	}
	run.AddRule(f.ID).WithDescription(f.Title).WithMarkdownHelp(help)
	text := f.Title + ": " + f.Evidence
	if f.Cost != "" {
		text += ". Cost: " + f.Cost
	}
	locate(run.CreateResultForRule(f.ID), where, addresses).WithLevel(level).WithMessage(sarif.NewTextMessage(text + ". Advice: " + f.Advice))
}

// locate says whom a result is about.
func locate(r *sarif.Result, where string, addresses []string) *sarif.Result {
	for _, a := range addresses {
		logical := sarif.NewLogicalLocation().WithName(a).WithFullyQualifiedName(where).WithKind("resource")
		r.AddLocation(sarif.NewLocationWithPhysicalLocation(sarif.NewPhysicalLocation().
			WithArtifactLocation(sarif.NewSimpleArtifactLocation("tls://" + a))).WithLogicalLocations([]*sarif.LogicalLocation{logical}))
	}
	return r
}
