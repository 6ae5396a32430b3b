package main

import (
	"fmt"
	"slices"
	"strings"

	"shakedown"
)

// listValue is a flag with several values of a vocabulary, separated by commas
// or given one flag each.
type listValue[T any] struct {
	values *[]T
	kind   string // for help
	parse  func(string) (T, error)
}

func (l listValue[T]) Set(text string) error {
	for part := range strings.SplitSeq(text, ",") {
		v, err := l.parse(strings.TrimSpace(part))
		if err != nil {
			return err
		}
		*l.values = append(*l.values, v)
	}
	return nil
}

func (l listValue[T]) Type() string { return l.kind }

func (l listValue[T]) String() string {
	var parts []string
	if l.values != nil {
		for _, v := range *l.values {
			parts = append(parts, fmt.Sprint(v))
		}
	}
	return strings.Join(parts, ",")
}

// choiceValue is a flag with one of a few words.
type choiceValue[T ~string] struct {
	value *T
	kind  string
	parse func(string) (T, error)
}

func (c choiceValue[T]) Set(text string) (err error) {
	v, err := c.parse(text)
	if err == nil {
		*c.value = v
	}
	return err
}

func (c choiceValue[T]) Type() string { return c.kind }

func (c choiceValue[T]) String() string {
	if c.value == nil {
		return ""
	}
	return string(*c.value)
}

// sharesValue is --key-share: a list of groups, or "none".
type sharesValue struct{ groups *[]shakedown.Group }

func (s sharesValue) Set(text string) error {
	if text == "none" {
		*s.groups = []shakedown.Group{} // unlike nil, which leaves it to the default
		return nil
	}
	return listValue[shakedown.Group]{s.groups, "", shakedown.ParseGroup}.Set(text)
}

func (s sharesValue) Type() string { return "group" }

func (s sharesValue) String() string {
	return listValue[shakedown.Group]{s.groups, "", nil}.String()
}

// The certificate compression algorithms of RFC 8879, section 7.3.
var compressions = []string{1: "zlib", 2: "brotli", 3: "zstd"}

func parseCompression(name string) (uint16, error) {
	if i := slices.Index(compressions, name); i > 0 {
		return uint16(i), nil
	}
	return 0, fmt.Errorf("unknown algorithm %q (one of zlib, brotli, zstd)", name)
}

// fragmentValue is --max-fragment: the sizes of RFC 6066, section 4, kept as
// their codes.
type fragmentValue struct{ code *uint8 }

var fragmentSizes = []string{1: "512", 2: "1024", 3: "2048", 4: "4096"}

func (f fragmentValue) Set(text string) error {
	i := slices.Index(fragmentSizes, text)
	if i < 1 {
		return fmt.Errorf("%q is not one of 512, 1024, 2048, 4096", text)
	}
	*f.code = uint8(i)
	return nil
}

func (f fragmentValue) Type() string { return "bytes" }

func (f fragmentValue) String() string {
	if f.code == nil || int(*f.code) >= len(fragmentSizes) {
		return ""
	}
	return fragmentSizes[*f.code]
}
