package stek

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"time"
)

// The sizes of a key, in bytes. Layout in nginx: 48 = name 16, AES-128 key 16, HMAC key 16; 80 = name 16, HMAC key 32,
// AES-256 key 32 (the order differs; src/event/ngx_event_openssl.c). All of it is random, so making one needs no layout.
const (
	SizeAES128 = 48
	SizeAES256 = 80
	nameSize   = 16
)

// Key is a ticket key. Its printed forms hold the name alone.
type Key struct {
	bytes []byte
	// Made is when it was made, as far as is known: a file's time.
	Made time.Time
}

// NewKey returns a fresh random key of 48 or 80 bytes.
func NewKey(size int) (Key, error) {
	if size != SizeAES128 && size != SizeAES256 {
		return Key{}, fmt.Errorf("a ticket key has 48 or 80 bytes, not %d", size)
	}
	k := Key{bytes: make([]byte, size), Made: time.Now()}
	_, err := rand.Read(k.bytes)
	return k, err
}

// A FormError says what a file holds that nginx does not take for a key.
type FormError struct {
	Size int    // in bytes
	Form string // what it looks like, "" when unknown
}

func (e *FormError) Error() string {
	if e.Form == "" {
		return fmt.Sprintf("%d bytes, where nginx wants 48 or 80", e.Size)
	}
	return fmt.Sprintf("%d bytes, where nginx wants 48 or 80: this is a key %s", e.Size, e.Form)
}

// ParseKey takes the raw bytes of a key file. The error is a *FormError.
func ParseKey(b []byte) (Key, error) {
	if goodSize(len(b)) {
		if bytes.Count(b, b[:1]) == len(b) {
			return Key{}, &FormError{len(b), "of one byte repeated, no random one"}
		}
		return Key{bytes: bytes.Clone(b)}, nil
	}
	e := &FormError{Size: len(b)}
	trimmed := bytes.TrimRight(b, "\r\n")
	switch {
	case endsInLineBreak(b):
		e.Form = "with a line break at its end"
	case decodes(base64.StdEncoding.DecodeString, trimmed):
		e.Form = "in base64 (haproxy wants that, nginx the raw bytes)"
	case decodes(hex.DecodeString, trimmed):
		e.Form = "in hex (nginx wants the raw bytes)"
	}
	return Key{}, e
}

// endsInLineBreak reports whether b is a key and a line break. A key may itself
// end in such bytes, so that no more than one break is taken off.
func endsInLineBreak(b []byte) bool {
	for _, end := range []string{"\r\n", "\n", "\r"} {
		if key, ok := bytes.CutSuffix(b, []byte(end)); ok && goodSize(len(key)) {
			return true
		}
	}
	return false
}

func goodSize(n int) bool { return n == SizeAES128 || n == SizeAES256 }

func decodes(decode func(string) ([]byte, error), text []byte) bool {
	raw, err := decode(string(text))
	return err == nil && goodSize(len(raw))
}

// Name is the first 16 bytes in hex, as in every ticket the key made; "none" for the zero Key.
func (k Key) Name() string {
	if k.IsZero() {
		return "none"
	}
	return hex.EncodeToString(k.bytes[:nameSize])
}

// String, GoString and Format print the name and nothing else.
func (k Key) String() string { return k.Name() }

// GoString is String.
func (k Key) GoString() string { return "stek.Key(" + k.Name() + ")" }

// Format is String under every verb, so that no format reaches the bytes.
func (k Key) Format(f fmt.State, _ rune) { fmt.Fprint(f, k.Name()) }

// MarshalJSON is the name.
func (k Key) MarshalJSON() ([]byte, error) { return []byte(`"` + k.Name() + `"`), nil }

// MarshalBinary returns the key itself, for a Store.
func (k Key) MarshalBinary() ([]byte, error) {
	if k.IsZero() {
		return nil, errors.New("there is no key")
	}
	return bytes.Clone(k.bytes), nil
}

// IsZero reports whether there is no key.
func (k Key) IsZero() bool { return len(k.bytes) == 0 }

// Size is in bytes.
func (k Key) Size() int { return len(k.bytes) }

// Equal compares all bytes.
func (k Key) Equal(other Key) bool { return bytes.Equal(k.bytes, other.bytes) }

// Made tickets begin with the key's name.
func (k Key) made(ticket []byte) bool {
	return !k.IsZero() && len(ticket) > nameSize && bytes.HasPrefix(ticket, k.bytes[:nameSize])
}
