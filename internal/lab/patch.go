package lab

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"shakedown/internal/spelling"
)

// PlanError says what is wrong with a plan, and where.
type PlanError struct {
	File         string
	Line, Column int // from 1; 0: the file as a whole
	Text         string
	Hint         string // what to write instead; may be empty
}

// Error returns file, line, column and what is wrong there.
func (e *PlanError) Error() string {
	where := e.File
	if e.Line > 0 {
		where = fmt.Sprintf("%s:%d:%d", e.File, e.Line, e.Column)
	}
	return where + ": " + e.Text
}

// Patch is a part of a plan that is laid over another: the keys in it replace
// those below, all others stay.
type Patch struct{ node ast.Node }

// UnmarshalYAML keeps the part as it stands; its keys are checked when it is
// applied.
func (p *Patch) UnmarshalYAML(node ast.Node) error {
	p.node = node
	return nil
}

// pairs returns the keys with their values.
func (p Patch) pairs() []*ast.MappingValueNode {
	switch n := p.node.(type) {
	case *ast.MappingNode:
		return n.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}
	}
	return nil
}

// keys returns the names of the keys.
func (p Patch) keys() []string {
	var keys []string
	for _, pair := range p.pairs() {
		keys = append(keys, pair.Key.String())
	}
	return keys
}

// apply lays the patch over the struct that target points to. Keys are applied
// one by one, since errors of types that read themselves have no position.
func (p Patch) apply(file string, target any) error {
	if p.node == nil || p.node.Type() == ast.NullType {
		return nil
	}
	pairs := p.pairs()
	if pairs == nil {
		return errorAt(file, p.node.GetToken(), "want keys with values here, such as {workers: 2}", "")
	}
	for _, pair := range pairs {
		if err := yaml.NodeToValue(pair, target, yaml.Strict()); err != nil {
			return explain(file, pair.Value.GetToken(), err, target)
		}
	}
	return nil
}

// find returns the token of the value at key, nil if the patch has none.
func (p Patch) find(key string) *token.Token {
	for _, pair := range p.pairs() {
		if pair.Key.String() == key {
			return pair.Value.GetToken()
		}
	}
	return nil
}

// errorAt makes a PlanError at a token, which may be nil.
func errorAt(file string, t *token.Token, text, hint string) *PlanError {
	e := &PlanError{File: file, Text: text, Hint: hint}
	if t != nil && t.Position != nil {
		e.Line, e.Column = t.Position.Line, t.Position.Column
	}
	return e
}

// explain puts an error of the YAML decoder into our words, at its own position
// or, if it has none, at that of near. Keys are those of target.
func explain(file string, near *token.Token, err error, target any) *PlanError {
	var unknown *yaml.UnknownFieldError
	if errors.As(err, &unknown) {
		key := unknown.GetToken().Value
		names := keysOf(reflect.TypeOf(target), map[reflect.Type]bool{})
		hint := ""
		if n := spelling.Nearest(key, names); n != "" {
			hint = fmt.Sprintf("did you mean %q?", n)
		}
		return errorAt(file, unknown.GetToken(), fmt.Sprintf("unknown key %q", key), hint)
	}
	var mismatch *yaml.TypeError
	if errors.As(err, &mismatch) {
		text := fmt.Sprintf("%q is not %s", mismatch.Token.Value, kindName(mismatch.DstType))
		return errorAt(file, mismatch.Token, text, "")
	}
	var other yaml.Error
	if errors.As(err, &other) {
		return errorAt(file, other.GetToken(), other.GetMessage(), "")
	}
	if text, ok := strings.CutPrefix(err.Error(), "time: "); ok {
		return errorAt(file, near, text, "durations have a unit, such as 500ms, 10s or 2m")
	}
	return errorAt(file, near, err.Error(), "")
}

// kindName says what a value of the type looks like in a plan.
func kindName(t reflect.Type) string {
	switch {
	case t == nil:
		return "as expected"
	case t.String() == "time.Duration":
		return "a duration such as 500ms or 2s"
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int64, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list such as [a, b]"
	case reflect.Struct, reflect.Map:
		return "a group of keys with values"
	}
	return "a " + t.Kind().String()
}

// keysOf returns the keys that a struct and the structs within it may have. A
// word near one of another level is worth a hint, too.
func keysOf(t reflect.Type, seen map[reflect.Type]bool) []string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || seen[t] {
		return nil
	}
	seen[t] = true
	var keys []string
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ",")
		if name != "" && name != "-" {
			keys = append(keys, name)
			keys = append(keys, keysOf(t.Field(i).Type, seen)...)
		}
	}
	return keys
}
