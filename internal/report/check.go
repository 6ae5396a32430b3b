package report

import (
	"shakedown/internal/check"
)

// CheckSchema names the JSON of [Check].
const CheckSchema = "shakedown/check/v1"

// Check is what a server or a fleet was seen to do, and what could be better.
type Check struct {
	Schema string `json:"schema"`
	check.Report
	// Verbose: the text has all that the JSON has, however long.
	Verbose bool `json:"-"`
}

// NewCheck makes the document of a run.
func NewCheck(r *check.Report) *Check { return &Check{Schema: CheckSchema, Report: *r} }
