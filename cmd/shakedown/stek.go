package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"shakedown/internal/lint"
	"shakedown/internal/nginx"
	"shakedown/internal/stek"
)

// ticketKeys makes, inspects, rotates and verifies session ticket keys.
type ticketKeys struct {
	connection
	server string
	size   int
	single bool
	life   time.Duration
	force  bool
	dryRun bool
	config string
	reload string
	keys   []string
	tries  int
}

func (a *app) stekCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "stek",
		Short: "Make, inspect, rotate and verify session ticket keys",
		Long: `Stek keeps the keys servers encrypt session tickets with. A set has three: the
current one encrypts, the next is on every host before one uses it, the previous
decrypts until its tickets have expired. Only names of keys are ever shown.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return failed("one of new, inspect, rotate, verify", "unknown verb %q", args[0])
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(a.stekNewCommand(), a.stekInspectCommand(), a.stekRotateCommand(), a.stekVerifyCommand())
	return cmd
}

// onePath wants one argument.
func onePath(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return failed(fmt.Sprintf("such as: %s /etc/nginx/tickets", cmd.CommandPath()), "one path is wanted, not %d", len(args))
	}
	return nil
}

// serverFlag says which server's layout is meant.
func (t *ticketKeys) serverFlag(fs *pflag.FlagSet) {
	fs.StringVar(&t.server, "for", "nginx", "`server`: nginx (a directory of raw keys), haproxy (a file of base64 lines)")
}

func (t *ticketKeys) store(path string) (stek.Store, error) {
	switch t.server {
	case "nginx":
		return stek.Dir(path), nil
	case "haproxy":
		return stek.HAProxy(path), nil
	case "apache":
		return nil, failed("", "Apache's SSLSessionTicketKeyFile is unreliable with OpenSSL 3: after a graceful restart resumption failed")
	}
	return nil, failed("", "--for: unknown server %q (one of nginx, haproxy)", t.server)
}

func (a *app) stekNewCommand() *cobra.Command {
	t := &ticketKeys{}
	cmd := &cobra.Command{
		Use:   "new [flags] PATH",
		Short: "Make a set of keys, or a single key",
		Long: `New makes current, next and previous keys in a directory, or with --single one key
file. Files are readable by their owner alone. What exists is left alone.`,
		Example: "  shakedown stek new /etc/nginx/tickets\n  shakedown stek new --for haproxy /etc/haproxy/tickets.keys",
		Args:    onePath,
		RunE:    func(cmd *cobra.Command, args []string) error { return t.create(cmd.Context(), a, args[0]) },
	}
	own := pflag.NewFlagSet("new", pflag.ContinueOnError)
	t.serverFlag(own)
	own.IntVar(&t.size, "size", stek.SizeAES256, "`bytes` of a key: 80 (AES-256) or 48 (AES-128, nginx before 1.11.8)")
	own.BoolVar(&t.single, "single", false, "make one key file in nginx's form")
	addFlags(cmd, section{"New", own})
	return cmd
}

func (t *ticketKeys) create(ctx context.Context, a *app, path string) error {
	store, err := t.store(path)
	if err != nil {
		return err
	}
	there := path
	if t.server == "nginx" && !t.single {
		there = stek.Dir(path).Path("current")
	}
	if _, err := os.Lstat(there); !errors.Is(err, fs.ErrNotExist) {
		return failed("rotate it, or move it away", "%s exists", there)
	}
	if t.single {
		key, err := stek.NewKey(t.size)
		if err == nil {
			err = stek.WriteKey(path, key)
		}
		if err != nil {
			return failed("", "%w", err)
		}
		fmt.Fprintf(a.stdout, "%s  %s\n", key, path)
		return nil
	}
	set, err := stek.NewSet(t.size, time.Now())
	if err == nil {
		err = store.Save(ctx, set)
	}
	if err != nil {
		return failed("", "%w", err)
	}
	for _, r := range set.Keys() {
		fmt.Fprintf(a.stdout, "%s  %s\n", r.Key, r.Role)
	}
	if t.server == "nginx" {
		for _, role := range []string{"current", "next", "previous"} {
			fmt.Fprintf(a.stderr, "ssl_session_ticket_key %s;\n", stek.Dir(path).Path(role))
		}
	}
	return nil
}

func (a *app) stekInspectCommand() *cobra.Command {
	t := &ticketKeys{}
	cmd := &cobra.Command{
		Use:     "inspect PATH...",
		Aliases: []string{"show"},
		Short:   "Tell names, sizes and ages of keys",
		Long: `Inspect tells the name, size, age and mode of key files, or of all keys in a directory,
and what a file is that nginx would refuse: with a line break, in base64, in hex.
haproxy's files are shown with the role of each key.

Exit code 1: a file is no key, or others may read it.`,
		Example: "  shakedown stek inspect /etc/nginx/tickets",
		RunE:    func(cmd *cobra.Command, args []string) error { return t.inspect(cmd.Context(), a, args) },
	}
	addFlags(cmd)
	return cmd
}

func (t *ticketKeys) inspect(ctx context.Context, a *app, paths []string) error {
	if len(paths) == 0 {
		return failed("such as: shakedown stek inspect /etc/nginx/tickets", "no path is given")
	}
	var files []string
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return failed("", "%w", err)
		}
		if !info.IsDir() {
			files = append(files, path)
			continue
		}
		inside, err := filepath.Glob(filepath.Join(path, "*.key"))
		if err != nil || len(inside) == 0 {
			return failed("", "%s holds no key file (*.key)", path)
		}
		files = append(files, inside...)
	}
	bad := 0
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	for _, path := range files {
		info, err := os.Stat(path)
		if err != nil {
			return failed("", "%w", err)
		}
		key, err := stek.ReadKey(path)
		var form *stek.FormError
		switch {
		case errors.As(err, &form):
			if set, err := stek.HAProxy(path).Load(ctx); err == nil {
				for _, r := range set.Keys() {
					fmt.Fprintf(w, "%s\t%d bytes\t%s\t%04o\t%s\t%s\n", r.Key, r.Key.Size(), age(r.Key.Made), info.Mode().Perm(), path, r.Role)
				}
				continue
			}
			bad++
			fmt.Fprintf(w, "-\t%d bytes\t%s\t%04o\t%s\t%v\n", info.Size(), age(info.ModTime()), info.Mode().Perm(), path, form)
			continue
		case err != nil:
			return failed("", "%w", err)
		}
		remark := ""
		if info.Mode().Perm()&0o077 != 0 {
			bad++
			remark = "\tothers may read it: chmod 600"
		}
		fmt.Fprintf(w, "%s\t%d bytes\t%s\t%04o\t%s%s\n", key, key.Size(), age(key.Made), info.Mode().Perm(), path, remark)
	}
	if err := w.Flush(); err != nil {
		return failed("", "%w", err)
	}
	if bad > 0 {
		return unmet("%d of %d files are not as they should be", bad, len(files))
	}
	return nil
}

// age is how old something is, in whole units.
func age(since time.Time) string {
	switch d := time.Since(since); {
	case d < time.Minute:
		return "fresh"
	case d < time.Hour:
		return fmt.Sprintf("%.0f min old", d.Minutes())
	case d < 48*time.Hour:
		return fmt.Sprintf("%.0f h old", d.Hours())
	default:
		return fmt.Sprintf("%.0f days old", d.Hours()/24)
	}
}

func (a *app) stekRotateCommand() *cobra.Command {
	t := &ticketKeys{}
	cmd := &cobra.Command{
		Use:   "rotate [flags] PATH",
		Short: "Make the next key current, the current one previous, and a new next one",
		Long: `Rotate moves every key of a set up by one role. The key dropped is the previous one;
while its tickets may live it is kept and nothing changes, unless --force is given.
On a fleet rotate in one place, copy the files to every host, then reload each: the
key that begins to encrypt has been everywhere since the rotation before.

Exit code 1: it is too early.`,
		Example: "  shakedown stek rotate --timeout 24h --nginx-conf /etc/nginx/nginx.conf --reload 'systemctl reload nginx' /etc/nginx/tickets",
		Args:    onePath,
		RunE:    func(cmd *cobra.Command, args []string) error { return t.rotate(cmd.Context(), a, args[0]) },
	}
	own := pflag.NewFlagSet("rotate", pflag.ContinueOnError)
	t.serverFlag(own)
	own.DurationVar(&t.life, "timeout", 24*time.Hour, "longest life of a `ticket` (ssl_session_timeout)")
	own.BoolVar(&t.force, "force", false, "drop the previous key though its tickets may live")
	own.BoolVar(&t.dryRun, "dry-run", false, "tell what would happen and do nothing")
	own.StringVar(&t.config, "nginx-conf", "", "try this `file` with nginx -t before and after; if it is refused nothing is reloaded")
	own.StringVar(&t.reload, "reload", "", "`command` to run afterwards (words, no shell)")
	addFlags(cmd, section{"Rotate", own})
	return cmd
}

func (t *ticketKeys) rotate(ctx context.Context, a *app, path string) error {
	store, err := t.store(path)
	if err != nil {
		return err
	}
	set, err := store.Load(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return failed(fmt.Sprintf("shakedown stek new %s makes them", path), "%w", err)
	} else if err != nil {
		return failed("", "%w", err)
	}
	next, err := set.Rotate(time.Now(), t.life, t.force)
	if _, early := errors.AsType[*stek.InUseError](err); early {
		return unmet("%w: nothing is changed (--force drops it)", err)
	} else if err != nil {
		return failed("", "%w", err)
	}
	for _, r := range next.Keys() {
		name := r.Key.Name()
		if t.dryRun && r.Role == "next" {
			name = "(a new one)"
		}
		fmt.Fprintf(a.stdout, "%s  %s\n", name, r.Role)
	}
	if !set.Previous.IsZero() {
		fmt.Fprintf(a.stdout, "%s  dropped\n", set.Previous)
	}
	if t.dryRun {
		return nil
	}
	if err := t.try(ctx, "before the rotation: nothing is changed"); err != nil {
		return err
	}
	if err := store.Save(ctx, next); err != nil {
		return failed("run it again: every file is in place", "%w", err)
	}
	if err := t.try(ctx, "after the rotation: nothing is reloaded"); err != nil {
		return err
	}
	words := strings.Fields(t.reload)
	if len(words) == 0 {
		return nil
	}
	reload := exec.CommandContext(ctx, words[0], words[1:]...)
	reload.Stdout, reload.Stderr = a.stderr, a.stderr
	if err := reload.Run(); err != nil {
		return failed("the files are rotated: reload the server yourself", "--reload: %w", err)
	}
	return nil
}

// try runs nginx -t on the configuration named, if one is.
func (t *ticketKeys) try(ctx context.Context, when string) error {
	if t.config == "" {
		return nil
	}
	binary, err := nginx.Installed(ctx)
	if err != nil {
		return failed("leave --nginx-conf out", "--nginx-conf: %w", err)
	}
	if err := (&lint.Test{Binary: binary.Path, Config: t.config}).Run(ctx); err != nil {
		return failed("", "%s: %w", when, err)
	}
	return nil
}
