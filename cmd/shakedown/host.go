package main

import (
	"context"
	"crypto"
	"crypto/rand"
	"errors"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"shakedown/internal/host"
	"shakedown/internal/report"
	"shakedown/internal/suite"
)

func (a *app) hostCommand() *cobra.Command {
	var out output
	var budget time.Duration
	var quick bool
	cmd := &cobra.Command{
		Use:   "host [flags]",
		Short: "Say what this machine is, and whether it is fit to measure on",
		Long: `Host describes this machine: its CPU and what of it matters to TLS, limits of the
kernel, the servers installed, how busy others keep it, and how many signatures,
key exchanges, derivations and encryptions a second it does with one thread and with
all, beside what openssl speed says. It says whether figures measured here can be
relied on, and if not, why and what to do about it.

Exit code 1: it is not fit to measure on.`,
		Example: `  shakedown host
  shakedown host --quick
  shakedown host --budget 60s -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if budget <= 0 {
				return failed("--quick measures no primitives", "--budget: %s is not above zero", budget)
			}
			if quick {
				budget = 0
			}
			return describeHost(cmd.Context(), a, &out, budget)
		},
	}
	fs := pflag.NewFlagSet("host", pflag.ContinueOnError)
	fs.DurationVar(&budget, "budget", host.Budget, "`time` to measure primitives for; openssl speed has up to half of it")
	fs.BoolVar(&quick, "quick", false, "measure no primitives")
	addFlags(cmd, section{"Host", fs}, out.flags("text", "json"))
	cmd.MarkFlagsMutuallyExclusive("budget", "quick")
	return cmd
}

func describeHost(ctx context.Context, a *app, out *output, budget time.Duration) error {
	p := a.newProgress()
	operations, err := hostOperations()
	if err != nil {
		return failed("", "%w", err)
	}
	record, err := host.Examine(ctx, budget, func(text string) { p.say("%s", text) }, operations...)
	p.clear()
	if err != nil && ctx.Err() == nil {
		return failed("", "%w", err)
	}
	if err := out.write(a, &report.Host{Record: *record}, nil); err != nil {
		return err
	}
	switch {
	case ctx.Err() != nil:
		return failed("", "interrupted before all was measured")
	case !record.Fit:
		return unmet("this machine is not fit to measure on: %s", record.Reasons[0])
	}
	return nil
}

// hostOperations are the primitives that the standard library does not have.
func hostOperations() ([]host.Operation, error) {
	key, err := suite.GenerateSM2(rand.Reader)
	if err != nil {
		return nil, err
	}
	public := key.Public()
	return []host.Operation{
		host.Sealing("chacha20-poly1305 seal", 32, suite.NewChaCha20Poly1305),
		host.Signing("sm2 sign", key, crypto.Hash(0)),
		host.Verifying("sm2 verify", key, crypto.Hash(0), func(message, sig []byte) error {
			return suite.VerifySM2(public, message, sig)
		}),
		{Name: "tls 1.3 key schedule", Work: "the secrets of one full handshake derived, with HKDF and SHA-256", Prepare: schedule13},
		{Name: "tls 1.2 key schedule", Work: "one master secret and one key block derived, with the PRF and SHA-256", Prepare: schedule12},
	}, nil
}

// errDerived: what was derived is not as long as it has to be.
var errDerived = errors.New("a secret of the wrong length was derived")

// schedule13 derives what a server needs for one full handshake without client
// certificate (RFC 8446, section 7.1).
func schedule13() (func() error, error) {
	kdf := suite.NewKDF(suite.SHA256)
	shared := make([]byte, 32)
	_, _ = rand.Read(shared) // it never fails
	transcript := make([]byte, suite.SHA256.Size())
	var finished []byte
	return func() error {
		handshake := kdf.Early(nil).Handshake(shared)
		client, server := handshake.Client(transcript), handshake.Server(transcript)
		finished = client.Finished(server.Finished(finished[:0], transcript), transcript)
		master := handshake.Master()
		keys := [...]suite.TrafficSecret{master.Client(transcript), master.Server(transcript)}
		if len(finished) != 2*len(transcript) || len(keys[0].Bytes()) != len(transcript) {
			return errDerived
		}
		return nil
	}, nil
}

// schedule12 derives the keys of one full handshake with AES-128-GCM (RFC 5246,
// sections 6.3 and 8.1; RFC 5288, section 3).
func schedule12() (func() error, error) {
	kdf := suite.NewKDF(suite.SHA256)
	pre, random := make([]byte, suite.PreMasterSizeRSA), make([]byte, 32)
	_, _ = rand.Read(pre) // it never fails
	block := make([]byte, 2*(16+4))
	return func() error {
		master := kdf.Master12(pre, random, random)
		master.KeyBlock(block, random, random)
		if len(master.Bytes()) != suite.MasterSize12 {
			return errDerived
		}
		return nil
	}, nil
}
