package shakedown_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// The layers of the tree, from the ground up: a package may import packages of
// layers below its own and those that stand alone, and nothing else of ours.
var layers = [][]string{
	{""},
	{"internal/wire", "internal/suite"},
	{"internal/certificate"},
	{"handshake"},
	{"internal/load", "internal/check", "internal/server", "internal/lint"},
	{"internal/lab", "internal/audit"},
	{"internal/report"},
	{"cmd/shakedown", "cmd/peers"},
}

// standAlone packages know the root package at the most, and anyone above it may
// use them.
var standAlone = []string{
	"internal/stats", "internal/host", "internal/nginx", "internal/stek", "internal/link", "internal/spelling", "internal/peertest", "internal/starttls",
}

// extra are the arrows within a layer, each with its reason.
var extra = map[string][]string{
	"internal/certificate": {"internal/suite"},
	"internal/lint":        {"internal/stek"}, // it judges key files
}

// fences say where a module may be used, so that what it brings stays there.
var fences = []struct {
	module string
	in     []string
	reason string
}{
	{"github.com/prometheus/", []string{"internal/web"}, "metrics are one way to show a result, not a part of making it"},
	{"github.com/nats-io/", []string{"internal/fleet"}, "only load from many machines needs messages"},
	{"modernc.org/sqlite", []string{"internal/store"}, "only the history needs a database"},
	{"github.com/goccy/go-yaml", []string{"internal/lab", "internal/check"}, "plans and policies are read in one place each and are plain values from there on"},
	{"github.com/emmansun/gmsm", []string{"internal/suite", "internal/server"}, "the national algorithms are reached by suite numbers everywhere else"},
	{"github.com/cloudflare/circl", []string{"internal/suite"}, "key exchange and signatures have one home"},
	{"golang.org/x/crypto", []string{"internal/suite", "internal/server", "internal/certificate"}, "cryptography has one home on each side, and certificates are parsed in one place"},
	{"github.com/gopacket/", []string{"internal/passive"}, "only captures have packets"},
	{"github.com/andybalholm/brotli", []string{"internal/certificate"}, "only certificates are compressed"},
	{"github.com/klauspost/compress", []string{"internal/certificate"}, "only certificates are compressed"},
	{"github.com/klauspost/cpuid", []string{"internal/host"}, "one package knows the machine"},
	{"github.com/HdrHistogram/", []string{"internal/stats"}, "the rest sees recorders and percentiles"},
	{"golang.org/x/perf/benchfmt", []string{"internal/report"}, "it is one way to write a summary"},
	{"golang.org/x/perf/benchmath", []string{"internal/stats"}, "the rest sees estimates and comparisons"},
	{"github.com/owenrumney/go-sarif", []string{"internal/lint", "internal/report"}, "it is one way to write findings"},
	{"github.com/spf13/", []string{"cmd/shakedown", "cmd/peers"}, "flags are the command line's"},
	{"golang.org/x/term", []string{"cmd/shakedown", "internal/report"}, "terminals are the command line's"},
}

type goPackage struct {
	ImportPath string
	Imports    []string
	Standard   bool
}

func listPackages(t *testing.T) []goPackage {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports,Standard", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var list []goPackage
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
}

// ours returns the path of a package of this module below its root.
func ours(importPath string) (string, bool) {
	rest, ok := strings.CutPrefix(importPath, "shakedown")
	return strings.TrimPrefix(rest, "/"), ok
}

// home returns the layer and the top package that path belongs to: rules and
// the like live in folders below the package that knows them.
func home(path string) (layer int, top string, ok bool) {
	for i, l := range layers {
		for _, p := range l {
			if path == p || p != "" && strings.HasPrefix(path, p+"/") {
				return i, p, true
			}
		}
	}
	for _, p := range standAlone {
		if path == p || strings.HasPrefix(path, p+"/") {
			return 0, p, true
		}
	}
	return 0, "", false
}

func TestArrowsPointDown(t *testing.T) {
	for _, p := range listPackages(t) {
		from, _ := ours(p.ImportPath)
		layer, top, ok := home(from)
		if !ok {
			t.Errorf("%s belongs to no layer: give it one here and in ARCHITECTURE.md", p.ImportPath)
			continue
		}
		for _, imp := range p.Imports {
			to, isOurs := ours(imp)
			if !isOurs {
				continue
			}
			toLayer, toTop, _ := home(to)
			alone := slices.Contains(standAlone, toTop)
			switch {
			case toTop == top, slices.Contains(extra[top], toTop):
			case slices.Contains(standAlone, top) && to != "":
				t.Errorf("%s imports %s, but it stands alone above the root package", p.ImportPath, imp)
			case alone:
			case to != "" && toLayer >= layer:
				t.Errorf("%s imports %s: arrows point down, so that a package can be understood without those above it", p.ImportPath, imp)
			}
		}
	}
}

func TestFences(t *testing.T) {
	for _, p := range listPackages(t) {
		from, _ := ours(p.ImportPath)
		_, top, _ := home(from)
		for _, imp := range p.Imports {
			for _, f := range fences {
				if strings.HasPrefix(imp, f.module) && !slices.Contains(f.in, top) {
					t.Errorf("%s imports %s, which is for %v: %s", p.ImportPath, imp, f.in, f.reason)
				}
			}
			if from == "" && strings.Contains(imp, ".") {
				t.Errorf("the root package imports %s, but it is the vocabulary and uses the standard library alone", imp)
			}
		}
	}
}
