package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
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

// recordLimitValue is --record-limit, in bytes (RFC 8449, section 4).
type recordLimitValue struct{ limit *uint16 }

func (r recordLimitValue) Set(text string) error {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n < 64 || n > 1<<14+1 {
		return fmt.Errorf("%q is not one of 64 to 16385 (RFC 8449, section 4)", text)
	}
	*r.limit = uint16(n)
	return nil
}

func (r recordLimitValue) Type() string { return "bytes" }

func (r recordLimitValue) String() string {
	if r.limit == nil || *r.limit == 0 {
		return ""
	}
	return strconv.Itoa(int(*r.limit))
}

// fileValue is a flag that names a file to write at the end. That it can be
// written is tried when the flag is read, not after a run of an hour.
type fileValue struct{ path *string }

func (f fileValue) Set(path string) error {
	if path != "" {
		if err := writable(path); err != nil {
			return err
		}
	}
	*f.path = path
	return nil
}

func (f fileValue) Type() string { return "file" }

func (f fileValue) String() string {
	if f.path == nil {
		return ""
	}
	return *f.path
}

// writable reports why a file cannot be written. It leaves what there is as it is.
func writable(path string) error {
	info, err := os.Stat(path)
	isNew := errors.Is(err, fs.ErrNotExist)
	switch {
	case err == nil && info.IsDir():
		return fmt.Errorf("%s is a directory", path)
	case err == nil && !info.Mode().IsRegular():
		return nil // to open a pipe or a device does something
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	file.Close()
	if !isNew {
		return nil
	}
	if path, err = filepath.EvalSymlinks(path); err != nil { // a link may lead to what was made
		return err
	}
	return os.Remove(path)
}
