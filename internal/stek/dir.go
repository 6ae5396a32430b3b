package stek

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Dir is a Store for nginx: current.key, next.key, previous.key and rotated (the time of the last rotation, as text) in a
// directory, mode 0600. Before the first rotation previous.key holds the current key, so that a configuration can name all three.
type Dir string

// Path returns the file of a role.
func (d Dir) Path(role string) string { return filepath.Join(string(d), role+".key") }

// Load reads the keys. A previous.key equal to current.key counts as none.
func (d Dir) Load(ctx context.Context) (Set, error) {
	var s Set
	for role, key := range map[string]*Key{"current": &s.Current, "next": &s.Next, "previous": &s.Previous} {
		var err error
		if *key, err = ReadKey(d.Path(role)); err != nil && !(role == "previous" && errors.Is(err, fs.ErrNotExist)) {
			return s, err
		}
	}
	if s.Previous.Equal(s.Current) {
		s.Previous = Key{}
	}
	text, err := os.ReadFile(filepath.Join(string(d), "rotated"))
	if errors.Is(err, fs.ErrNotExist) {
		return s, ctx.Err()
	}
	if err != nil {
		return s, err
	}
	if s.Rotated, err = time.Parse(time.RFC3339, strings.TrimSpace(string(text))); err != nil {
		return s, fmt.Errorf("%s holds no time: %w", filepath.Join(string(d), "rotated"), err)
	}
	return s, ctx.Err()
}

// Save writes the keys, previous first: whatever stops it, every file is there, and the key that made the live tickets is
// in one of them.
func (d Dir) Save(ctx context.Context, s Set) error {
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return err
	}
	previous := s.Previous
	if previous.IsZero() {
		previous = s.Current
	}
	for _, r := range []Role{{"previous", previous}, {"current", s.Current}, {"next", s.Next}} {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := WriteKey(d.Path(r.Role), r.Key); err != nil {
			return err
		}
	}
	return writeFile(filepath.Join(string(d), "rotated"), []byte(s.Rotated.UTC().Format(time.RFC3339)+"\n"), s.Rotated)
}

// ReadKey reads a key file in nginx's form.
func ReadKey(path string) (Key, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return Key{}, err
	}
	k, err := ParseKey(b)
	if err != nil {
		return k, fmt.Errorf("%s: %w", path, err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return k, err
	}
	k.Made = info.ModTime()
	return k, nil
}

// WriteKey puts the key at path in one step, mode 0600, with the time it was made.
func WriteKey(path string, k Key) error {
	b, err := k.MarshalBinary()
	if err != nil {
		return err
	}
	return writeFile(path, b, k.Made)
}

// writeFile writes a file beside path, readable by its owner alone, and renames it over path.
func writeFile(path string, content []byte, modified time.Time) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".stek-*") // 0600 whatever the umask
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil && !modified.IsZero() {
		err = os.Chtimes(f.Name(), modified, modified)
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close()) // the name too is on disk
}
