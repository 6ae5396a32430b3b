package lab

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"shakedown/internal/server"
	"shakedown/internal/spelling"
)

// Plan is an experiment.
type Plan struct {
	Name string `yaml:"name"`
	// Title says what is compared, in a few words; Question what it is to tell.
	Title    string `yaml:"title"`
	Question string `yaml:"question"`
	// Published is what articles say about it, to hold against the result.
	Published string `yaml:"published"`
	// Server is the driver, unless a level names another.
	Server string `yaml:"server"`
	// Fixed is what all cells have.
	Fixed   Setting  `yaml:"fixed"`
	Factors []Factor `yaml:"factors"`

	// Rounds to measure. An interval takes six.
	Rounds int `yaml:"rounds"`
	// Turn is how long a cell is loaded in a round, after Warmup.
	Turn   time.Duration `yaml:"turn"`
	Warmup time.Duration `yaml:"warmup"`
	// Budget ends the run before a round that would go beyond it; 0: none.
	Budget time.Duration `yaml:"budget"`
	// Seed of the order within rounds, and of arrivals.
	Seed uint64 `yaml:"seed"`
	// StealLimit is the share of the machine's time, in percent, that may be
	// taken by others while a cell is measured; above it the turn is repeated.
	StealLimit float64 `yaml:"steal_limit_percent"`

	file string   // for errors
	text []byte   // as it was read
	root ast.Node // for positions
}

// Setting is a patch on the server and one on the load.
type Setting struct {
	Server Patch `yaml:"server"`
	Load   Patch `yaml:"load"`
}

// Factor is what is varied.
type Factor struct {
	Name   string  `yaml:"name"`
	Levels []Level `yaml:"levels"`
}

// Level is one of the settings of a factor.
type Level struct {
	Name   string `yaml:"name"`
	Driver string `yaml:"driver"` // instead of the plan's server
	Server Patch  `yaml:"server"`
	Load   Patch  `yaml:"load"`
}

// What a plan has that says nothing else.
const (
	defaultRounds     = 8
	defaultTurn       = time.Second
	defaultWarmup     = 200 * time.Millisecond
	defaultStealLimit = 3.0
	defaultServer     = "nginx"
	// maxCells bounds what a slip of the pen can ask for.
	maxCells = 256
)

// Parse reads a plan. Errors are a *PlanError that names the file.
func Parse(file string, text []byte) (*Plan, error) {
	parsed, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, explain(file, nil, err, &Plan{})
	}
	p := &Plan{
		file: file, text: text,
		Server: defaultServer, Rounds: defaultRounds, Turn: defaultTurn, Warmup: defaultWarmup, Seed: 1, StealLimit: defaultStealLimit,
	}
	if len(parsed.Docs) == 0 || parsed.Docs[0].Body == nil {
		return nil, &PlanError{File: file, Text: "the plan is empty", Hint: "shakedown lab show certificate prints one"}
	}
	for _, other := range parsed.Docs[1:] {
		if other.Body != nil {
			return nil, errorAt(file, start(other.Body), "a second document begins here: one plan is one document", "")
		}
	}
	p.root = parsed.Docs[0].Body
	finder := &foreign{}
	ast.Walk(finder, p.root)
	if finder.found != nil {
		return nil, errorAt(file, finder.found.GetToken(), "tags, anchors, aliases and merge keys have no place in a plan", "write the value itself")
	}
	if err := (Patch{p.root}).apply(file, p); err != nil {
		return nil, err
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	if _, err := p.Cells(); err != nil {
		return nil, err
	}
	return p, nil
}

// foreign finds the parts of YAML that plans do without: what they stand for is
// written somewhere else, and the decoder stumbles over some of them.
type foreign struct{ found ast.Node }

// Visit implements [ast.Visitor].
func (f *foreign) Visit(node ast.Node) ast.Visitor {
	switch node.Type() {
	case ast.TagType, ast.AnchorType, ast.AliasType, ast.MergeKeyType:
		if f.found == nil {
			f.found = node
		}
		return nil
	}
	return f
}

// Text returns the plan as it was read.
func (p *Plan) Text() []byte { return p.text }

// check looks at everything but the cells.
func (p *Plan) check() error {
	if !isName(p.Name) {
		return p.at("$.name", "name %q: want lower-case letters, digits and hyphens", p.Name)
	}
	if _, err := server.DriverByName(p.Server); err != nil {
		return p.unknownServer("$.server", p.Server, err)
	}
	for _, bad := range []struct {
		key   string
		wrong bool
		want  string
	}{
		{"rounds", p.Rounds < 1 || p.Rounds > 1000, "rounds from 1 to 1000 are wanted"},
		{"turn", p.Turn < 50*time.Millisecond, "a turn takes 50ms or more"},
		{"warmup", p.Warmup < 0, "a warm-up cannot be negative"},
		{"budget", p.Budget < 0, "a budget cannot be negative"},
		{"steal_limit_percent", p.StealLimit <= 0 || p.StealLimit > 100, "the limit of steal is a percentage above 0"},
	} {
		if bad.wrong {
			return p.at("$."+bad.key, "%s", bad.want)
		}
	}
	if len(p.Factors) == 0 {
		return p.at("$", "no factors: a plan needs one that varies")
	}
	return p.checkFactors()
}

// checkFactors refuses names that are missing or there twice, and two factors
// that set the same key, of which one would silently win.
func (p *Plan) checkFactors() error {
	owner := map[string]string{} // of keys, by "server.tickets"
	names := []string{}
	for i, f := range p.Factors {
		path := fmt.Sprintf("$.factors[%d]", i)
		switch {
		case !isLabel(f.Name):
			return p.at(path, "factor %d has no name, or one with = or a comma in it", i+1)
		case slices.Contains(names, f.Name):
			return p.at(path+".name", "two factors are called %q", f.Name)
		case len(f.Levels) == 0:
			return p.at(path, "factor %q has no levels", f.Name)
		}
		names = append(names, f.Name)
		mine := map[string]bool{}
		var levels []string
		for j, l := range f.Levels {
			path := fmt.Sprintf("%s.levels[%d]", path, j)
			switch {
			case !isLabel(l.Name):
				return p.at(path, "level %d of factor %q has no name, or one with = or a comma in it", j+1, f.Name)
			case slices.Contains(levels, l.Name):
				return p.at(path+".name", "two levels of factor %q are called %q", f.Name, l.Name)
			}
			levels = append(levels, l.Name)
			if l.Driver != "" {
				if _, err := server.DriverByName(l.Driver); err != nil {
					return p.unknownServer(path+".driver", l.Driver, err)
				}
				mine["driver"] = true
			}
			for _, k := range l.Server.keys() {
				mine["server."+k] = true
			}
			for _, k := range l.Load.keys() {
				mine["load."+k] = true
			}
		}
		for key := range mine {
			if other, taken := owner[key]; taken {
				return p.at(path, "factors %q and %q both set %s: in a cell only one of them can", other, f.Name, key)
			}
			owner[key] = f.Name
		}
	}
	return nil
}

// unknownServer makes an error with the nearest driver.
func (p *Plan) unknownServer(path, name string, err error) *PlanError {
	e := p.at(path, "%v", err)
	var names []string
	for _, d := range server.Drivers() {
		names = append(names, d.Name())
	}
	if n := spelling.Nearest(name, names); n != "" {
		e.Hint = fmt.Sprintf("did you mean %q?", n)
	}
	return e
}

// at makes an error at a path of the file such as "$.factors[0].name", or as
// near to it as the file goes.
func (p *Plan) at(path, format string, args ...any) *PlanError {
	e := &PlanError{File: p.file, Text: fmt.Sprintf(format, args...)}
	for path != "" && p.root != nil {
		if found, err := yaml.PathString(path); err == nil {
			if node, err := found.FilterNode(p.root); err == nil && node != nil {
				at := start(node).Position
				e.Line, e.Column = at.Line, at.Column
				break
			}
		}
		i := strings.LastIndexAny(path, ".[")
		if i < 0 {
			break
		}
		path = path[:i]
	}
	return e
}

// start returns the first token of a node; that of a mapping by itself is the
// colon behind its first key.
func start(node ast.Node) *token.Token {
	switch n := node.(type) {
	case *ast.MappingNode:
		if len(n.Values) > 0 {
			return n.Values[0].Key.GetToken()
		}
	case *ast.MappingValueNode:
		return n.Key.GetToken()
	}
	return node.GetToken()
}

// isName reports whether s may name a plan, and so a directory.
func isName(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// isLabel reports whether s may name a factor or a level in a cell's ID.
func isLabel(s string) bool {
	return s != "" && len(s) <= 64 && !strings.ContainsAny(s, "=,\n\t")
}

// Override changes what may be chosen beside the plan. Zero values leave it as
// it is.
func (p *Plan) Override(o Overrides) error {
	if o.Server != "" {
		if _, err := server.DriverByName(o.Server); err != nil {
			return err
		}
		p.Server = o.Server
	}
	for _, field := range []struct{ to, from any }{
		{&p.Rounds, o.Rounds}, {&p.Turn, o.Turn}, {&p.Budget, o.Budget}, {&p.Seed, o.Seed},
	} {
		if v := reflect.ValueOf(field.from); !v.IsZero() {
			reflect.ValueOf(field.to).Elem().Set(v)
		}
	}
	return p.check()
}

// Overrides is what may be chosen beside a plan.
type Overrides struct {
	Server string        `json:"server,omitempty"`
	Rounds int           `json:"rounds,omitempty"`
	Turn   time.Duration `json:"turn_ns,omitempty"`
	Budget time.Duration `json:"budget_ns,omitempty"`
	Seed   uint64        `json:"seed,omitempty"`
}
