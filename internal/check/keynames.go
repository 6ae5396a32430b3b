package check

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"time"

	"shakedown"
)

// KeyNames remembers the names of ticket keys from run to run. A nil one
// remembers nothing.
type KeyNames struct {
	Schema  string                      `json:"schema"`
	Servers map[netip.AddrPort][]KeyUse `json:"servers"`
}

// KeyUse is when a key was seen in use.
type KeyUse struct {
	Mechanism string               `json:"mechanism"`
	Name      shakedown.TicketName `json:"name"`
	FirstSeen time.Time            `json:"first_seen"`
	LastSeen  time.Time            `json:"last_seen"`
}

// keyNamesSchema names the form of the file.
const keyNamesSchema = "shakedown/ticket-key-names/v1"

// ReadKeyNames reads what [KeyNames.Write] wrote. A file that is not there is one
// with nothing in it.
func ReadKeyNames(file string) (*KeyNames, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return &KeyNames{Schema: keyNamesSchema, Servers: map[netip.AddrPort][]KeyUse{}}, nil
	}
	if err != nil {
		return nil, err
	}
	k := &KeyNames{Servers: map[netip.AddrPort][]KeyUse{}}
	if err := json.Unmarshal(text, k); err != nil {
		return nil, fmt.Errorf("%s is no file of ticket key names: %w", file, err)
	}
	if k.Schema != keyNamesSchema {
		return nil, fmt.Errorf("%s has schema %q, not %q", file, k.Schema, keyNamesSchema)
	}
	return k, nil
}

// Write replaces the file as a whole. Names of keys are no secrets: every ticket
// shows them.
func (k *KeyNames) Write(file string) error {
	text, err := json.MarshalIndent(k, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// note adds what one run saw at an address, and tells the run what was known.
func (k *KeyNames) note(p *prober) {
	if k == nil {
		return
	}
	for i := range p.seen.Tickets {
		t := &p.seen.Tickets[i]
		for j := range t.Keys {
			key := &t.Keys[j]
			uses := k.Servers[p.address]
			at := slices.IndexFunc(uses, func(u KeyUse) bool { return u.Mechanism == t.Mechanism && u.Name == key.Name })
			if at < 0 {
				uses = append(uses, KeyUse{t.Mechanism, key.Name, key.FirstSeen.UTC(), key.LastSeen.UTC()})
				at = len(uses) - 1
			}
			uses[at].LastSeen = key.LastSeen.UTC()
			key.FirstSeen = uses[at].FirstSeen
			k.Servers[p.address] = uses
		}
		t.Rotation = k.rotation(p.address, t.Mechanism)
	}
}

// rotation says how often keys of one address changed, from all runs; empty with
// fewer than two keys.
func (k *KeyNames) rotation(address netip.AddrPort, mechanism string) string {
	var first []time.Time
	for _, u := range k.Servers[address] {
		if u.Mechanism == mechanism {
			first = append(first, u.FirstSeen)
		}
	}
	slices.SortFunc(first, time.Time.Compare)
	// Keys that were met in one and the same run are not a rotation.
	const oneRun = time.Minute
	changes := 0
	for i := 1; i < len(first); i++ {
		if first[i].Sub(first[i-1]) > oneRun {
			changes++
		}
	}
	if changes == 0 {
		return ""
	}
	span := first[len(first)-1].Sub(first[0])
	return fmt.Sprintf("%s over %s: rotated about every %s as far as these runs can tell",
		plural(changes+1, "key"), span.Round(time.Minute), (span / time.Duration(changes)).Round(time.Minute))
}
