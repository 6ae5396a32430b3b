package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"shakedown/internal/host"
)

// The files of a run directory.
const (
	planFile        = "plan.yaml"
	stateFile       = "run.json"
	environmentFile = "environment.json"
	primitivesFile  = "primitives.json"
	roundsDir       = "rounds"
	partial         = ".partial" // ends the name of a round under way
)

// state is what a run keeps beside its plan.
type state struct {
	PlanName  string            `json:"plan_name"`
	Overrides Overrides         `json:"overrides"`
	Started   time.Time         `json:"started"`
	Failed    map[string]string `json:"failed"` // cells, with the reason
	// Stopped says why there are fewer rounds than asked for; empty: there are not.
	Stopped string `json:"stopped,omitempty"`
}

// Record is what a run directory holds.
type Record struct {
	Dir         string
	Plan        *Plan
	Cells       []*Cell
	Environment host.Record
	Rounds      []Round // complete
	state       state
}

// Round is one complete round.
type Round struct {
	Number       int
	Measurements map[string]*Measurement // by cell
	Primitives   []Primitive
}

// Read reads a run directory, whatever part of it is complete.
func Read(dir string) (*Record, error) {
	r := &Record{Dir: dir}
	if err := readJSON(filepath.Join(dir, stateFile), &r.state); err != nil {
		return nil, fmt.Errorf("%s is not the directory of a run: %w", dir, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, planFile))
	if err != nil {
		return nil, err
	}
	if r.Plan, err = Parse(filepath.Join(dir, planFile), text); err != nil {
		return nil, err
	}
	if err := r.Plan.Override(r.state.Overrides); err != nil {
		return nil, err
	}
	if r.Cells, err = r.Plan.Cells(); err != nil {
		return nil, err
	}
	if err := readJSON(filepath.Join(dir, environmentFile), &r.Environment); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(filepath.Join(dir, roundsDir))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		number, err := strconv.Atoi(e.Name())
		if err != nil {
			continue // a round that was not completed
		}
		round, err := readRound(filepath.Join(dir, roundsDir, e.Name()), number)
		if err != nil {
			return nil, err
		}
		r.Rounds = append(r.Rounds, round)
	}
	slices.SortFunc(r.Rounds, func(a, b Round) int { return a.Number - b.Number })
	return r, nil
}

func readRound(dir string, number int) (Round, error) {
	round := Round{Number: number, Measurements: map[string]*Measurement{}}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return round, err
	}
	for _, e := range entries {
		file := filepath.Join(dir, e.Name())
		if e.Name() == primitivesFile {
			if err := readJSON(file, &round.Primitives); err != nil {
				return round, err
			}
			continue
		}
		m := &Measurement{}
		if err := readJSON(file, m); err != nil {
			return round, err
		}
		round.Measurements[strings.TrimSuffix(e.Name(), ".json")] = m
	}
	return round, nil
}

func readJSON(file string, v any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// writeJSON replaces file in one step: it is whole or not there.
func writeJSON(file string, v any) error {
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	return writeFile(file, append(text, '\n'))
}

func writeFile(file string, text []byte) error {
	temporary := file + ".new"
	if err := os.WriteFile(temporary, text, 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, file)
}

func makeDir(dir string) error { return os.MkdirAll(dir, 0o700) }

func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o600)
}

func cpuList(cores []int) string {
	var list []string
	for _, c := range cores {
		list = append(list, strconv.Itoa(c))
	}
	return strings.Join(list, ",")
}
