package main

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"shakedown"
	"shakedown/handshake"
	"shakedown/internal/certificate"
	"shakedown/internal/report"
	"shakedown/internal/starttls"
)

// tracer takes single handshakes and writes down all that happens.
type tracer struct {
	connection
	output     output
	wait       time.Duration
	sessionIn  string
	sessionOut string
	changed    func(flag string) bool

	to       shakedown.Target
	trusted  *x509.CertPool       // to verify the chain with, of the handshake traced; nil: none
	stock    []*handshake.Session // of sessionIn
	sessions []*handshake.Session // that the latest handshake brought
	took     time.Duration        // by the latest handshake, its connection included
}

func (a *app) traceCommand() *cobra.Command {
	t := &tracer{}
	cmd := &cobra.Command{
		Use:   "trace [flags] TARGET",
		Short: "Show one handshake, message by message",
		Long: `Trace takes one handshake and shows each message with its direction, size and
time, the flights and round trips, what was asked for and what the server did,
its certificates and tickets. A chain that does not verify is reported, and the
handshake is shown all the same. Times are in milliseconds, sizes in bytes.

With --mode session-id, ticket, psk or early-data it first takes a full handshake
to get a session, and then traces the one that resumes it.

Exit code 1: the chain does not verify, or the server did not do as asked.`,
		Example: `  shakedown trace example.com
  shakedown trace --version 1.2 --suite TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 example.com
  shakedown trace --mode psk --ca roots.pem --sni demo.test 127.0.0.1:8443`,
		Args: oneTarget,
		RunE: func(cmd *cobra.Command, args []string) error {
			t.changed = cmd.Flags().Changed
			return t.run(cmd.Context(), a, args[0])
		},
	}
	own := pflag.NewFlagSet("trace", pflag.ContinueOnError)
	own.DurationVar(&t.wait, "wait", 300*time.Millisecond, "`time` to wait for tickets and for the rest of a response")
	own.Var(fileValue{&t.sessionOut}, "session-out", "write the sessions received to this `file` (JSON; it holds secrets)")
	own.StringVar(&t.sessionIn, "session-in", "", "resume a session of this `file` instead of making one, in its mode")
	sections := append(t.connection.flags(shakedown.WorkFull), section{"Trace", own}, t.output.flags("text", "json"))
	addFlags(cmd, sections...)
	return cmd
}

func (t *tracer) run(ctx context.Context, a *app, text string) error {
	began := time.Now()
	var err error
	if t.to, err = t.target(ctx, text); err != nil {
		return err
	}
	lookup := time.Since(began)
	if t.address != "" || t.to.Host == t.to.Addresses[0].String() {
		lookup = 0 // there was nothing to look up
	}
	if t.sessionIn != "" {
		if t.stock, err = readSessions(t.sessionIn); err != nil {
			return err
		}
		if !t.changed("mode") {
			t.offered.Mode = modeOf(t.stock)
		}
	}
	cfg, err := t.config(t.to)
	if err != nil {
		return err
	}
	defer t.close()
	trace, err := t.trace(ctx, cfg)
	if err != nil {
		return err
	}
	trace.Lookup = lookup
	if err := t.output.write(a, trace, nil); err != nil {
		return err
	}
	return t.verdict(trace)
}

// trace takes the handshake asked for, and the ones that it takes to get there.
func (t *tracer) trace(ctx context.Context, cfg handshake.Config) (*report.Trace, error) {
	roots, err := t.roots()
	if err != nil {
		return nil, err
	}
	plain, err := client(cfg)
	if err != nil {
		return nil, err
	}
	if err := refuseIdle(t.changed, plain.Config()); err != nil {
		return nil, err
	}
	if cfg.Mode.Resumes() {
		session, priming, err := t.session(ctx, plain)
		if err != nil {
			return nil, err
		}
		trace, err := t.take(ctx, plain, session)
		if err == nil {
			trace.Priming = priming
		}
		return trace, err
	}
	if t.sessionIn != "" {
		return nil, failed("leave out --mode", "--session-in is for a mode that resumes")
	}
	t.trusted = roots
	return t.take(ctx, plain, nil)
}

// session returns the session to offer: from the file, or of a full handshake
// made for it.
func (t *tracer) session(ctx context.Context, c *handshake.Client) (*handshake.Session, *report.Priming, error) {
	mode := c.Config().Mode
	if t.sessionIn != "" {
		s, err := fitting(c, t.stock)
		if err != nil {
			return nil, nil, failed("sessions go with one version and mode, and for a limited time", "no session of %s can be offered: %w", t.sessionIn, err)
		}
		return s, nil, nil
	}
	trace, err := t.take(ctx, c, nil)
	if err != nil {
		return nil, nil, err
	}
	if f := trace.Failure; f != nil {
		return nil, nil, failed(f.Hint, "%s: the full handshake for a session: %w", t.to, f)
	}
	s, err := fitting(c, t.sessions)
	if err != nil {
		hint := "the server does not resume so; try another --mode"
		switch {
		case len(t.sessions) == 0:
			hint = "the server issues no sessions of this kind, or takes longer than --wait"
		case mode == shakedown.ModeEarlyData:
			hint = "switch early data on in the server (nginx: ssl_early_data on), or try --mode psk"
		}
		return nil, nil, failed(hint, "%s: no session for mode %s: %w", t.to, mode, err)
	}
	return s, &report.Priming{Address: trace.Address, Duration: t.took, Version: trace.Observed.Version, Lifetime: s.Lifetime}, nil
}

// take takes one handshake with the first address that can be connected to.
func (t *tracer) take(whole context.Context, c *handshake.Client, session *handshake.Session) (*report.Trace, error) {
	skipped := []report.Skipped{}
	list := addresses(t.to)
	for i := 0; ; i++ {
		address := list[i]
		trace := &report.Trace{Schema: report.TraceSchema, Target: t.to, Skipped: skipped, Messages: []report.TraceMessage{}}
		trace.Verification.Result = shakedown.VerificationSkipped
		t.sessions = nil
		ctx, cancel := context.WithTimeout(whole, t.timeout)
		result, connected, err := t.handshake(ctx, address, c, session, trace)
		cancel()
		if err != nil {
			return nil, failed("", "%w", err)
		}
		trace.SetResult(result)
		if f := result.Failure; !connected && i < len(list)-1 && f.Class != shakedown.ClassOurs {
			skipped = append(skipped, report.Skipped{Address: address, Text: f.Text})
			continue
		}
		t.explain(whole, c, trace)
		return trace, nil
	}
}

// handshake connects and takes one handshake, writing messages to trace. It
// reports whether the connection was made.
func (t *tracer) handshake(ctx context.Context, address netip.AddrPort, c *handshake.Client, session *handshake.Session, trace *report.Trace) (shakedown.Result, bool, error) {
	var phases shakedown.Phases
	planned := time.Now()
	phases.Mark(shakedown.PhaseStarted, time.Since(planned))
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address.String())
	if err != nil {
		return shakedown.Result{Address: address, Asked: *c.Asked(session != nil), Phases: phases, Failure: handshake.DialFailure(err)}, false, nil
	}
	defer conn.Close()
	phases.Mark(shakedown.PhaseConnected, time.Since(planned))
	if err := t.upgrade(ctx, conn, planned, trace); err != nil {
		f, ok := errors.AsType[*shakedown.Failure](err)
		if !ok {
			return shakedown.Result{}, true, err
		}
		return shakedown.Result{Address: address, Asked: *c.Asked(session != nil), Phases: phases, Failure: f}, true, nil
	}
	h := handshake.NewConn(conn, c, planned, handshake.Recorder{
		Message: func(m handshake.Message, at time.Duration) {
			if m.Direction == shakedown.Sent {
				at = time.Since(planned) // not when what it answers was read
			}
			trace.AddMessage(m, at)
		},
		Session: func(s *handshake.Session) {
			if s != nil { // in TLS 1.2 tickets come before the handshake is complete
				t.sessions = append(t.sessions, s)
			}
		},
	})
	h.Result.Phases = phases
	if err := h.Handshake(ctx, session); err != nil {
		return shakedown.Result{}, true, err
	}
	t.took = time.Since(planned)
	t.verify(h, trace)
	if h.Result.Failure == nil {
		t.linger(ctx, h, c)
		hangUp(conn, h, planned, trace)
		if s := h.Machine.Session(); s != nil && len(t.sessions) == 0 {
			t.sessions = append(t.sessions, s)
		}
	}
	return h.Result, true, nil
}

// verify verifies the chain once the handshake is over. A client that verifies
// ends it where the chain comes; the one that is traced goes on, so that one
// connection shows it all.
func (t *tracer) verify(h *handshake.Conn, trace *report.Trace) {
	if t.trusted == nil || h.Result.Observed.Chain == nil {
		return
	}
	err := h.Machine.Verify(t.trusted)
	v := report.TraceVerification{Result: h.Machine.Observed().Verification, Name: cmp.Or(t.to.ServerName, t.to.Host)}
	h.Result.Observed.Verification = v.Result
	if v.Apart = v.Result == shakedown.VerificationFailed; err != nil {
		v.Problem = err.Error()
	} else if v.Result == shakedown.VerificationNotSupported {
		v.Problem = "the server's signature is of an algorithm that cannot be verified here"
	}
	if ve, ok := errors.AsType[*certificate.VerifyError](err); ok {
		v.Hint = ve.Hint
	}
	trace.Verification = v
}

// upgrade speaks the plain text before TLS, if the target has any.
func (t *tracer) upgrade(ctx context.Context, conn net.Conn, planned time.Time, trace *report.Trace) error {
	if t.to.StartTLS == "" {
		return nil
	}
	d, err := starttls.New(t.to.StartTLS, t.to.ServerName)
	if err != nil {
		return err
	}
	d.Watch = func(direction shakedown.Direction, what string, bytes int) {
		trace.AddMessage(handshake.Message{Direction: direction, Name: what, Bytes: bytes}, time.Since(planned))
	}
	return d.Run(ctx, conn)
}

// linger reads on for what comes after a handshake: tickets in TLS 1.3, and the
// rest of a response.
func (t *tracer) linger(ctx context.Context, h *handshake.Conn, c *handshake.Client) {
	cfg := c.Config()
	tickets := h.Result.Observed.Version == shakedown.TLS13 && !cfg.NoTickets
	response := cfg.Complete == shakedown.CompleteResponse || h.Result.Observed.EarlyData == shakedown.EarlyDataAccepted
	if !tickets && !response {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, t.wait)
	defer cancel()
	h.Collect(ctx, func() bool { return false })
}

// hangUp ends the connection as a client should, with close_notify.
func hangUp(conn net.Conn, h *handshake.Conn, planned time.Time, trace *report.Trace) {
	conn.SetDeadline(time.Now().Add(time.Second)) //nolint:errcheck // a closed connection fails below
	h.Machine.SendCloseNotify()
	for {
		switch e := h.Machine.Next(); e.Kind {
		case handshake.EventWait:
			h.Result.Phases.Mark(shakedown.PhaseClosed, time.Since(planned))
			return
		case handshake.EventMessage:
			trace.AddMessage(e.Message, time.Since(planned))
		case handshake.EventWrite:
			conn.Write(e.Bytes) //nolint:errcheck // the server may have closed first
		}
	}
}

// verdict says what of a trace is not as it should be, once it is written.
func (t *tracer) verdict(trace *report.Trace) error {
	if f := trace.Failure; f != nil {
		return failed(f.Hint, "%s: %w", t.to, f)
	}
	if t.sessionOut != "" {
		if err := writeSessions(t.sessionOut, t.sessions); err != nil {
			return err
		}
		if len(t.sessions) == 0 {
			return unmet("%s: the server gave no session, so --session-out holds none", t.to)
		}
	}
	if len(trace.Mismatch) > 0 {
		return unmet("%s: not as asked: %s", t.to, strings.Join(trace.Mismatch, "; "))
	}
	if v := trace.Verification; v.Result == shakedown.VerificationFailed {
		return unmet("%s: the certificate does not verify: %s", t.to, v.Problem)
	}
	return nil
}
