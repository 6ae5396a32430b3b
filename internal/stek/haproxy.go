package stek

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"strings"
)

// HAProxy is a Store for haproxy's tls-ticket-keys: a file of base64 lines of which the last but one encrypts, so previous,
// current, next. haproxy wants three lines at least; before the first rotation the current key stands in for the previous.
type HAProxy string

// Load reads the last three keys. The time of the last rotation is that of the file.
func (h HAProxy) Load(ctx context.Context) (Set, error) {
	text, err := os.ReadFile(string(h))
	if err != nil {
		return Set{}, err
	}
	info, err := os.Stat(string(h))
	if err != nil {
		return Set{}, err
	}
	var keys []Key
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(line))
		if err != nil {
			return Set{}, fmt.Errorf("%s:%d: not base64: %w", h, i+1, err)
		}
		k, err := ParseKey(raw)
		if err != nil {
			return Set{}, fmt.Errorf("%s:%d: %w", h, i+1, err)
		}
		k.Made = info.ModTime()
		keys = append(keys, k)
	}
	if len(keys) < 3 {
		return Set{}, fmt.Errorf("%s has %d keys, where haproxy wants three or more", h, len(keys))
	}
	keys = keys[len(keys)-3:]
	s := Set{Previous: keys[0], Current: keys[1], Next: keys[2], Rotated: info.ModTime()}
	if s.Previous.Equal(s.Current) {
		s.Previous = Key{}
	}
	return s, ctx.Err()
}

// Save replaces the file in one step.
func (h HAProxy) Save(ctx context.Context, s Set) error {
	previous := s.Previous
	if previous.IsZero() {
		previous = s.Current
	}
	var out bytes.Buffer
	for _, k := range []Key{previous, s.Current, s.Next} {
		b, err := k.MarshalBinary()
		if err != nil {
			return err
		}
		out.WriteString(base64.StdEncoding.EncodeToString(b) + "\n")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return writeFile(string(h), out.Bytes(), s.Rotated)
}
