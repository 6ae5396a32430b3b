package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"shakedown"
	"shakedown/handshake"
	"shakedown/internal/starttls"
	"shakedown/internal/stek"
)

func (a *app) stekVerifyCommand() *cobra.Command {
	t := &ticketKeys{}
	cmd := &cobra.Command{
		Use:   "verify [flags] --keys PATH TARGET...",
		Short: "Tell which host encrypts its tickets with which key",
		Long: `Verify takes tickets of every address of the targets, as psk and where that brings
none as ticket, and compares the names of their keys with those of the files. Several
tickets are taken, since several machines may answer at one address.

PATH is a set as stek new makes it; or key files in the order of the configuration, of
which the first is to encrypt.

Exit code 1: a host uses another key than the current one, or gives no ticket.`,
		Example: `  shakedown stek verify --keys /etc/nginx/tickets shop.example 192.0.2.7:443
  shakedown stek verify --keys new.key,old.key shop.example`,
		RunE: func(cmd *cobra.Command, args []string) error { return t.verify(cmd.Context(), a, args) },
	}
	own := pflag.NewFlagSet("verify", pflag.ContinueOnError)
	t.serverFlag(own)
	own.StringSliceVar(&t.keys, "keys", nil, "the `path` of a set of keys, or key files, the first to encrypt")
	own.IntVar(&t.tries, "tickets", 4, "take this many tickets of each address, one by one")
	addFlags(cmd, section{"Verify", own}, t.connection.flags(shakedown.WorkFull)[0])
	return cmd
}

// knownKey is a key that tickets are looked up in.
type knownKey struct {
	name string // in hex, as in tickets
	role string // current, next or previous, or the file
}

// known reads the keys named; the first is to encrypt.
func (t *ticketKeys) known(ctx context.Context) ([]knownKey, error) {
	var list []knownKey
	info, err := os.Stat(t.keys[0])
	if t.server == "nginx" && (len(t.keys) > 1 || err == nil && !info.IsDir()) {
		for _, file := range t.keys {
			key, err := stek.ReadKey(file)
			if err != nil {
				return nil, failed("", "--keys: %w", err)
			}
			list = append(list, knownKey{key.Name(), file})
		}
		return list, nil
	}
	if len(t.keys) > 1 {
		return nil, failed("", "--keys: haproxy has its keys in one file")
	}
	store, err := t.store(t.keys[0])
	if err != nil {
		return nil, err
	}
	set, err := store.Load(ctx)
	if err != nil {
		return nil, failed("", "--keys: %w", err)
	}
	for _, r := range set.Keys() {
		// Before the first rotation the previous key is a copy of the current one.
		if !slices.ContainsFunc(list, func(k knownKey) bool { return k.name == r.Key.Name() }) {
			list = append(list, knownKey{r.Key.Name(), r.Role})
		}
	}
	return list, nil
}

func (t *ticketKeys) verify(ctx context.Context, a *app, targets []string) error {
	switch {
	case len(t.keys) == 0 || len(targets) == 0:
		return failed("such as: shakedown stek verify --keys /etc/nginx/tickets shop.example", "--keys and a target are wanted")
	case t.tries < 1:
		return failed("", "--tickets is at least 1")
	}
	known, err := t.known(ctx)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	hosts, current := 0, 0
	for _, text := range targets {
		target, err := t.target(ctx, text)
		if err != nil {
			return err
		}
		for _, address := range addresses(target) {
			hosts++
			seen, err := t.ask(ctx, target, address.String())
			if len(seen) == 1 && seen[0].name == known[0].name && err == nil {
				current++
			}
			fmt.Fprintf(w, "%s\t%s\t%s\n", text, address, told(seen, known, err))
		}
	}
	if err := w.Flush(); err != nil {
		return failed("", "%w", err)
	}
	if current < hosts {
		return unmet("%d of %d addresses encrypt with the current key %s alone", current, hosts, known[0].name)
	}
	return nil
}

// seenKey is the name that tickets of an address begin with.
type seenKey struct {
	name    string
	tickets int
}

// told says which keys an address uses. Names are no secrets: every ticket shows one.
func told(seen []seenKey, known []knownKey, err error) string {
	var words []string
	unlike := 0
	for _, s := range seen {
		role := "another key"
		i := slices.IndexFunc(known, func(k knownKey) bool { return k.name == s.name })
		switch {
		case i >= 0:
			role = known[i].role
		case s.tickets == 1 && len(seen) > 1:
			unlike++
			continue
		}
		words = append(words, fmt.Sprintf("%s %s (%d of the tickets)", role, s.name, s.tickets))
	}
	if unlike > 0 {
		words = append(words, fmt.Sprintf("other keys, or none with a name (%d of the tickets, no two alike)", unlike))
	}
	if err != nil {
		words = append(words, "no ticket: "+err.Error())
	}
	return strings.Join(words, ", ")
}

// ask takes tickets and counts the names of their keys, in the order seen. The error is of the first handshake that brought
// none, after which no more are made.
func (t *ticketKeys) ask(ctx context.Context, target shakedown.Target, address string) ([]seenKey, error) {
	var seen []seenKey
	modes := []shakedown.Mode{shakedown.ModePSK, shakedown.ModeTicket}
	for range t.tries {
		ticket, err := t.ticket(ctx, target, address, modes[0])
		if err != nil && len(modes) > 1 && len(seen) == 0 {
			modes = modes[1:]
			ticket, err = t.ticket(ctx, target, address, modes[0])
		}
		if err != nil {
			return seen, err
		}
		name := hex.EncodeToString(ticket[:min(len(ticket), len(shakedown.TicketName{}))])
		i := slices.IndexFunc(seen, func(s seenKey) bool { return s.name == name })
		if i < 0 {
			seen, i = append(seen, seenKey{name: name}), len(seen)
		}
		seen[i].tickets++
	}
	return seen, nil
}

func (t *ticketKeys) ticket(ctx context.Context, target shakedown.Target, address string, mode shakedown.Mode) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, t.connection.timeout)
	defer cancel()
	cfg, err := t.connection.config(target)
	if err != nil {
		return nil, err
	}
	cfg.Mode = mode
	made, err := client(cfg)
	if err != nil {
		return nil, err
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, errors.New(handshake.DialFailure(err).Text)
	}
	defer conn.Close()
	if target.StartTLS != "" {
		if err := starttls.Upgrade(ctx, conn, target.StartTLS, target.ServerName); err != nil {
			return nil, err
		}
	}
	session, err := handshake.Fetch(ctx, conn, made)
	if err != nil {
		return nil, err
	}
	return session.Ticket, nil
}
