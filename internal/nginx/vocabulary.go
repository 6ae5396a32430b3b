package nginx

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

// directives.tsv: the commands compiled into nginx 1.22.1 and Debian's modules for it, with those of later releases from
// CHANGES and the documentation.
//
//go:embed directives.tsv
var directivesTSV string

// Command is what nginx knows of a directive name.
type Command struct {
	Name     string
	Block    bool
	Contexts []string // "main", "events", "http", "http/server", "http/location", "http/location/if", "stream/server", ...
	Since    Version  // zero: 1.22 or before
	Removed  Version  // zero: still there
	Origin   string   // "" for open source nginx, "plus", "third" for a known third-party module
}

// Commands is the vocabulary, by name.
type Commands map[string]Command

// LoadCommands returns the built-in vocabulary, which no caller changes.
func LoadCommands() Commands { return commands() }

var commands = sync.OnceValue(func() Commands {
	all := Commands{}
	for line := range strings.Lines(directivesTSV) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		c := Command{Name: f[0], Block: f[1] == "block", Contexts: strings.Split(f[2], ","), Origin: f[5]}
		c.Since, _ = ParseVersion(f[3])
		c.Removed, _ = ParseVersion(f[4])
		all[c.Name] = c
	}
	return all
})

// Allows reports whether the command may stand in context in release v.
func (c Command) Allows(context string, v Version) bool {
	for _, allowed := range c.Contexts {
		name, since, dated := strings.Cut(allowed, "@")
		if name == "any" {
			return true
		}
		if name != context {
			continue
		}
		from, _ := ParseVersion(since)
		return !dated || !v.Before(from.Major, from.Minor, from.Patch)
	}
	return false
}

// Context names the place d stands in as Command.Contexts does, "" inside a block whose content is not directives (map,
// types, geo, a third-party block) or that is unknown.
func (m *Model) Context(d *Directive) string {
	var path []string
	for p := d.Parent; p != nil; p = p.Parent {
		path = append(path, p.Name)
	}
	slices.Reverse(path)
	if m.Fragment {
		path = append([]string{"http"}, path...)
	}
	context := "main"
	for _, name := range path {
		switch {
		case context == "main" && slices.Contains([]string{"events", "http", "stream", "mail"}, name):
			context = name
		case context == "http" && (name == "server" || name == "upstream"),
			context == "stream" && (name == "server" || name == "upstream"), context == "mail" && name == "server":
			context += "/" + name
		case strings.HasPrefix(context, "http/") && name == "location":
			context = "http/location"
		case (context == "http/server" || context == "http/location") && name == "if":
			context += "/if"
		case strings.HasPrefix(context, "http/location") && name == "limit_except":
			context = "http/limit_except"
		default:
			return ""
		}
	}
	return context
}

// Nearest returns the known name closest to an unknown one, "" when none is within two edits (one for short names).
func (all Commands) Nearest(name string) string {
	limit := 2
	if len(name) < 6 {
		limit = 1
	}
	best, bestAt := "", limit+1
	for known, c := range all {
		if c.Origin != "" || len(known) < len(name)-limit || len(known) > len(name)+limit {
			continue
		}
		if n := edits(name, known); n < bestAt || n == bestAt && known < best {
			best, bestAt = known, n
		}
	}
	return best
}

// edits is the optimal string alignment distance: insertions, deletions, substitutions, neighbours swapped.
func edits(a, b string) int {
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	for j := range rows[0] {
		rows[0][j] = j
	}
	before, last, row := rows[2], rows[0], rows[1]
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
