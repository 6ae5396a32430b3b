package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"

	"shakedown"
	"shakedown/handshake"
	"shakedown/internal/load"
	"shakedown/internal/report"
	"shakedown/internal/starttls"
)

// What an offer lacks for the server's certificate shows only when the server is
// asked. Bench asks before the load, if the offer is of the kind that a usual
// certificate forbids, and after a load that nobody took; a trace is one handshake,
// and asks once that was refused.

// preflight refuses a load whose every handshake could only fail.
func (b *bencher) preflight(ctx context.Context, t shakedown.Target) error {
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	client, err := handshake.NewClient(&b.plan.Config)
	if err != nil {
		return failed("", "%w", err)
	}
	if f := handshake.Preflight(ctx, client, dialer(t, addresses(t)[0])); f != nil {
		return failed(f.Hint, "%s: %w", t, f)
	}
	return nil
}

// explainNone says of a load without one complete handshake what the offer lacked,
// if the server refused it.
func (b *bencher) explainNone(ctx context.Context, t shakedown.Target, s *load.Summary) {
	if s.Handshakes == 0 && len(s.Failed) > 0 {
		first := &s.Failed[0]
		first.Hint = b.explain(ctx, t, &shakedown.Failure{Class: first.Class, Phase: first.Phase, Alert: first.Alert, Hint: first.Hint})
	}
}

// explain returns the hint of a handshake that failed, the reason in it if the
// server refused what was offered.
func (b *bencher) explain(ctx context.Context, t shakedown.Target, failure *shakedown.Failure) string {
	client, err := handshake.NewClient(&b.plan.Config)
	if err != nil {
		return failure.Hint // no handshake was begun
	}
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	if f := handshake.Explain(ctx, client, failure, dialer(t, addresses(t)[0])); f != nil {
		return advice(f)
	}
	return failure.Hint
}

// explain says of a trace that the server refused what the offer lacked.
func (t *tracer) explain(ctx context.Context, c *handshake.Client, trace *report.Trace) {
	if trace.Failure == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	if f := handshake.Explain(ctx, c, trace.Failure, dialer(t.to, trace.Address)); f != nil {
		trace.Failure.Hint = advice(f)
	}
}

// advice is a hint that says what is so before it says what to do.
func advice(f *shakedown.Failure) string { return fmt.Sprintf("%s: %s", f.Text, f.Hint) }

// dialer returns what connects to an address of the target, up to where TLS begins.
func dialer(t shakedown.Target, address netip.AddrPort) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address.String())
		if err != nil || t.StartTLS == "" {
			return conn, err
		}
		if err := starttls.Upgrade(ctx, conn, t.StartTLS, t.ServerName); err != nil {
			conn.Close()
			return nil, err
		}
		return conn, nil
	}
}
