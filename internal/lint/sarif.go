package lint

import (
	"io"
	"path/filepath"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
)

// WriteSARIF writes the findings in SARIF 2.1.0; those that comments answer are there as suppressed.
func WriteSARIF(w io.Writer, reports []*Report, rules []*Rule) error {
	run := sarif.NewRunWithInformationURI("shakedown", "https://nginx.org/en/docs/http/ngx_http_ssl_module.html")
	// Columns are counted in bytes; SARIF knows UTF-16 units and code points, and the two agree with bytes in ASCII.
	run.WithColumnKind("unicodeCodePoints")
	for _, r := range rules {
		run.AddRule(r.ID).WithDescription(r.Title).WithMarkdownHelp(r.Why + "\n\nFix: " + r.Fix)
	}
	for _, rep := range reports {
		for _, f := range rep.Findings {
			addResult(run, f)
		}
		for _, i := range rep.Ignored {
			addResult(run, i.Finding).AddSuppression(sarif.NewSuppression().WithKind("inSource").WithJustification(i.Reason))
		}
	}
	out := sarif.NewReport()
	out.AddRun(run)
	return out.PrettyWrite(w)
}

func addResult(run *sarif.Run, f *Finding) *sarif.Result {
	level := map[Severity]string{Error: "error", Warning: "warning", Info: "note"}[f.Severity]
	region := sarif.NewRegion().WithStartLine(f.Pos.Line).WithStartColumn(f.Pos.Col)
	if f.EndCol > 0 {
		region.WithEndLine(f.Pos.Line).WithEndColumn(f.EndCol)
	}
	uri := filepath.ToSlash(f.Pos.File)
	run.AddDistinctArtifact(uri)
	return run.CreateResultForRule(f.Rule.ID).WithLevel(level).WithMessage(sarif.NewTextMessage(f.Message + ". Fix: " + f.Rule.Fix)).
		AddLocation(sarif.NewLocationWithPhysicalLocation(sarif.NewPhysicalLocation().
			WithArtifactLocation(sarif.NewSimpleArtifactLocation(uri)).WithRegion(region)))
}
