package stek

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func newKey(t *testing.T, size int) Key {
	t.Helper()
	k, err := NewKey(size)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestParseKey(t *testing.T) {
	raw, err := newKey(t, 80).MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		in   []byte
		want string
	}{
		{"80", raw, ""},
		{"48", raw[:48], ""},
		{"newline", append(bytes.Clone(raw), '\n'), "81 bytes, where nginx wants 48 or 80: this is a key with a line break at its end"},
		{"crlf", append(bytes.Clone(raw[:48]), "\r\n"...), "50 bytes, where nginx wants 48 or 80: this is a key with a line break at its end"},
		{"crlf behind a key that ends in one", append(bytes.Clone(raw[:46]), "\r\n\r\n"...), "50 bytes, where nginx wants 48 or 80: this is a key with a line break at its end"},
		{"base64", []byte(base64.StdEncoding.EncodeToString(raw) + "\n"), "109 bytes, where nginx wants 48 or 80: this is a key in base64 (haproxy wants that, nginx the raw bytes)"},
		{"base64 of 48", []byte(base64.StdEncoding.EncodeToString(raw[:48])), "64 bytes, where nginx wants 48 or 80: this is a key in base64 (haproxy wants that, nginx the raw bytes)"},
		{"hex", []byte(hex.EncodeToString(raw)), "160 bytes, where nginx wants 48 or 80: this is a key in hex (nginx wants the raw bytes)"},
		{"hex of 48", []byte(hex.EncodeToString(raw[:48])), "96 bytes, where nginx wants 48 or 80: this is a key in hex (nginx wants the raw bytes)"},
		{"empty", nil, "0 bytes, where nginx wants 48 or 80"},
		{"zeros", make([]byte, 80), "80 bytes, where nginx wants 48 or 80: this is a key of one byte repeated, no random one"},
	} {
		k, err := ParseKey(test.in)
		if (err == nil) != (test.want == "") || err != nil && err.Error() != test.want {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
		if err == nil && k.Name() != hex.EncodeToString(test.in[:16]) {
			t.Errorf("%s: name %s", test.name, k.Name())
		}
	}
	for n := range raw {
		if _, err := ParseKey(raw[:n]); (err == nil) != (n == 48) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

func FuzzParseKey(f *testing.F) {
	f.Add([]byte("short"))
	f.Add(bytes.Repeat([]byte("ab"), 40))
	f.Add([]byte(base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("ab"), 40)) + "\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		k, err := ParseKey(b)
		if err == nil && k.Size() != len(b) || err != nil && !errors.As(err, new(*FormError)) {
			t.Errorf("size %d, %v", k.Size(), err)
		}
	})
}

// TestKeysAreNotPrinted tries every way of printing and wants no byte behind the name in it.
func TestKeysAreNotPrinted(t *testing.T) {
	k := newKey(t, 80)
	raw, err := k.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	s := Set{Current: k, Next: newKey(t, 48)}
	asJSON, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	out := fmt.Sprintf("%v %+v %#v %s %q %x %X %d", k, k, k, k, k, k, k, k) + fmt.Sprintf("%v %+v %#v", s, s, s) + fmt.Sprintf("%v %x", &k, []Key{k}) + string(asJSON)
	for _, secret := range []string{string(raw[16:20]), hex.EncodeToString(raw[16:20]), strings.ToUpper(hex.EncodeToString(raw[16:20])), fmt.Sprint(raw[16:20]), strings.Trim(fmt.Sprint(raw[16:22]), "[]"), base64.StdEncoding.EncodeToString(raw)[24:32]} {
		if strings.Contains(out, secret) {
			t.Errorf("%q is in %s", secret, out)
		}
	}
	if !strings.Contains(out, k.Name()) {
		t.Error("the name is missing")
	}
}

func TestRotate(t *testing.T) {
	s, err := NewSet(80, noon)
	if err != nil {
		t.Fatal(err)
	}
	first, err := s.Rotate(noon.Add(time.Hour), 24*time.Hour, false)
	if err != nil {
		t.Fatal(err)
	}
	if !first.Current.Equal(s.Next) || !first.Previous.Equal(s.Current) || first.Next.Equal(s.Next) || first.Next.Size() != 80 {
		t.Error("roles did not move up")
	}
	var inUse *InUseError
	_, err = first.Rotate(noon.Add(20*time.Hour), 24*time.Hour, false)
	if !errors.As(err, &inUse) || inUse.Name != s.Current.Name() || !strings.HasSuffix(err.Error(), "whose tickets live until 2026-01-03T13:00:00Z") {
		t.Errorf("a key with live tickets: %v", err)
	}
	if _, err := first.Rotate(noon.Add(20*time.Hour), 24*time.Hour, true); err != nil {
		t.Errorf("forced: %v", err)
	}
	second, err := first.Rotate(noon.Add(25*time.Hour), 24*time.Hour, false)
	if err != nil || !second.Previous.Equal(first.Current) {
		t.Errorf("after the timeout: %v", err)
	}
	second.Rotated = time.Time{}
	if _, err := second.Rotate(noon, 0, false); !errors.As(err, &inUse) || !strings.HasSuffix(err.Error(), "is not known") {
		t.Errorf("no time known: %v", err)
	}
	if _, err := (Set{}).Rotate(noon, 0, true); err == nil {
		t.Error("an empty set was rotated")
	}
	if _, err := NewSet(64, noon); err == nil || err.Error() != "a ticket key has 48 or 80 bytes, not 64" {
		t.Errorf("64 bytes: %v", err)
	}
}

func TestWhich(t *testing.T) {
	s, err := NewSet(48, noon)
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := s.Next.MarshalBinary()
	for _, test := range []struct {
		ticket []byte
		want   string
	}{{raw, "next"}, {raw[:16], ""}, {raw[:17], "next"}, {nil, ""}, {make([]byte, 200), ""}} {
		if got := s.Which(test.ticket); got != test.want {
			t.Errorf("ticket of %d bytes: %q, want %q", len(test.ticket), got, test.want)
		}
	}
}

// TestStores puts each store through the same life.
func TestStores(t *testing.T) {
	dir := t.TempDir()
	for name, store := range map[string]Store{"nginx": Dir(filepath.Join(dir, "tickets")), "haproxy": HAProxy(filepath.Join(dir, "haproxy.keys"))} {
		t.Run(name, func(t *testing.T) {
			if _, err := store.Load(t.Context()); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("nothing there yet: %v", err)
			}
			s, err := NewSet(80, noon)
			if err != nil {
				t.Fatal(err)
			}
			for round := range 3 {
				if err := store.Save(t.Context(), s); err != nil {
					t.Fatal(err)
				}
				got, err := store.Load(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if !got.Current.Equal(s.Current) || !got.Next.Equal(s.Next) || !got.Previous.Equal(s.Previous) || !got.Rotated.Equal(s.Rotated) {
					t.Errorf("round %d: got %v, want %v", round, got, s)
				}
				if s, err = s.Rotate(s.Rotated.Add(time.Hour), time.Minute, false); err != nil {
					t.Fatal(err)
				}
			}
			err = filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
				if err != nil {
					return err
				}
				info, err := e.Info()
				if !e.IsDir() && info.Mode().Perm() != 0o600 || e.IsDir() && path != dir && info.Mode().Perm() != 0o700 {
					t.Errorf("%s has mode %s", path, info.Mode())
				}
				if strings.HasPrefix(e.Name(), ".stek-") {
					t.Errorf("%s is left behind", path)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

func TestBadStores(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	raw, _ := newKey(t, 80).MarshalBinary()
	line := base64.StdEncoding.EncodeToString(raw) + "\n"
	for name, test := range map[string]struct{ text, want string }{
		"two":   {line + line, " has 2 keys, where haproxy wants three or more"},
		"plain": {line + "%%%\n" + line, ":2: not base64: illegal base64 data at input byte 0"},
		"short": {line + line + "YWJj\n", ":3: 3 bytes, where nginx wants 48 or 80"},
	} {
		path := write(name, test.text)
		if _, err := HAProxy(path).Load(t.Context()); err == nil || err.Error() != path+test.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	s, err := NewSet(80, noon)
	if err != nil {
		t.Fatal(err)
	}
	keys := Dir(filepath.Join(dir, "keys"))
	if err := keys.Save(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(string(keys), "rotated"), []byte("yesterday\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := keys.Load(t.Context()); err == nil || !strings.Contains(err.Error(), "rotated holds no time") {
		t.Errorf("a bad time: %v", err)
	}
	if err := os.Remove(filepath.Join(string(keys), "rotated")); err != nil {
		t.Fatal(err)
	}
	if s, err := keys.Load(t.Context()); err != nil || !s.Rotated.IsZero() {
		t.Errorf("no time: %v %v", s.Rotated, err)
	}
}
