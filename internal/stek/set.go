package stek

import (
	"context"
	"fmt"
	"time"
)

// Set is the keys in force.
type Set struct {
	Current  Key // encrypts, decrypts
	Next     Key // decrypts; encrypts after the next rotation
	Previous Key // decrypts; zero before the first rotation
	// Rotated is when Current began to encrypt: from then on Previous makes no more tickets. Zero when not known.
	Rotated time.Time
}

// Store keeps a Set. Save replaces it so that whoever reads in the meantime finds a working one.
type Store interface {
	Load(ctx context.Context) (Set, error)
	Save(ctx context.Context, s Set) error
}

// NewSet returns two fresh keys of the size; there is no previous one yet.
func NewSet(size int, now time.Time) (Set, error) {
	s := Set{Rotated: now}
	var err error
	if s.Current, err = NewKey(size); err != nil {
		return s, err
	}
	s.Next, err = NewKey(size)
	return s, err
}

// Which returns the role ("current", "next", "previous") of the key that made the ticket, "" when none of them did. The
// ticket is as it came from the server.
func (s Set) Which(ticket []byte) string {
	for _, k := range s.Keys() {
		if k.Key.made(ticket) {
			return k.Role
		}
	}
	return ""
}

// Role is a key with what it is for.
type Role struct {
	Role string // "current", "next" or "previous"
	Key  Key
}

// Keys returns the keys there are in the order nginx is to name them: the first encrypts.
func (s Set) Keys() []Role {
	list := []Role{{"current", s.Current}, {"next", s.Next}}
	if !s.Previous.IsZero() {
		list = append(list, Role{"previous", s.Previous})
	}
	return list
}

// An InUseError says that rotating would drop a key whose tickets may still be alive.
type InUseError struct {
	Name    string
	Expires time.Time // of its last tickets; zero when not known
}

func (e *InUseError) Error() string {
	if e.Expires.IsZero() {
		return fmt.Sprintf("rotating drops the previous key %s, and when it made its last ticket is not known", e.Name)
	}
	return fmt.Sprintf("rotating drops the previous key %s, whose tickets live until %s", e.Name, e.Expires.UTC().Format(time.RFC3339))
}

// Rotate returns the set after one rotation: next becomes current, current previous, and a fresh key is next. Timeout is the
// longest life of a ticket (ssl_session_timeout): a previous key that made one within it is dropped only when force is
// true, else the error is an *InUseError.
func (s Set) Rotate(now time.Time, timeout time.Duration, force bool) (Set, error) {
	if s.Current.IsZero() || s.Next.IsZero() {
		return s, fmt.Errorf("a set without a current or a next key cannot be rotated")
	}
	if !s.Previous.IsZero() && !force {
		e := &InUseError{Name: s.Previous.Name()}
		if s.Rotated.IsZero() {
			return s, e
		}
		if e.Expires = s.Rotated.Add(timeout); now.Before(e.Expires) {
			return s, e
		}
	}
	fresh, err := NewKey(s.Next.Size())
	fresh.Made = now
	return Set{Current: s.Next, Next: fresh, Previous: s.Current, Rotated: now}, err
}
