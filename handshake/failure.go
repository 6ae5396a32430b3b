package handshake

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"slices"
	"syscall"

	"shakedown"
	"shakedown/internal/wire"
)

// misbehaved is the server's fault: it broke the protocol. The alert is sent.
func misbehaved(alert shakedown.Alert, format string, args ...any) *shakedown.Failure {
	return &shakedown.Failure{Class: shakedown.ClassPeer, Alert: &alert, AlertSent: true, Text: fmt.Sprintf(format, args...)}
}

// malformed is the server's fault: a message of wrong form.
func malformed(err error) *shakedown.Failure {
	alert := shakedown.AlertDecodeError
	var we *wire.Error
	if errors.As(err, &we) {
		alert = we.Alert
	}
	return &shakedown.Failure{Class: shakedown.ClassPeer, Alert: &alert, AlertSent: true, Text: "the server sent a " + err.Error(), Err: err}
}

// incompatible is nobody's fault: the server chose what we do not do. The alert
// is sent.
func incompatible(alert shakedown.Alert, hint, format string, args ...any) *shakedown.Failure {
	return &shakedown.Failure{Class: shakedown.ClassIncompatible, Alert: &alert, AlertSent: true, Text: fmt.Sprintf(format, args...), Hint: hint}
}

// ours is a fault of this program or of what it was told.
func ours(err error) *shakedown.Failure {
	alert := shakedown.AlertInternalError
	return &shakedown.Failure{Class: shakedown.ClassOurs, Alert: &alert, AlertSent: true, Text: err.Error(), Err: err}
}

func asFailure(err error) *shakedown.Failure {
	var f *shakedown.Failure
	if errors.As(err, &f) {
		return f
	}
	return ours(err)
}

// alertFailure is an alert that the server sent, with the one reason that what
// was offered suggests.
func (m *Machine) alertFailure(a shakedown.Alert) *shakedown.Failure {
	f := alertFailure(a, m.phase, m.awaiting)
	if a == shakedown.AlertHandshakeFailure && m.phase < shakedown.PhaseServerHello && !m.client.offers13 &&
		!slices.ContainsFunc(m.config.Groups, certificateCurve) {
		f.Hint = fmt.Sprintf("with an ECDSA certificate it had to: in TLS 1.2 the certificate's curve has to be among the groups, "+
			"and %v are none of those (RFC 8422, section 5.1.1): add secp256r1", m.config.Groups)
	}
	return f
}

// alertFailure is an alert that the server sent.
func alertFailure(a shakedown.Alert, phase shakedown.Phase, awaiting string) *shakedown.Failure {
	f := &shakedown.Failure{
		Class: shakedown.ClassAlert, Phase: phase, Alert: &a,
		Text: fmt.Sprintf("the server sent alert %s while %s was awaited", a, awaiting),
	}
	switch a {
	case shakedown.AlertHandshakeFailure, shakedown.AlertInsufficientSecurity:
		f.Hint = "it found no cipher suite, group or signature scheme that suits it: offer more of them"
	case shakedown.AlertProtocolVersion:
		f.Hint = "it speaks none of the versions offered: try another with --version"
	case shakedown.AlertUnrecognizedName:
		f.Hint = "it does not know the name in server_name: try another with --sni"
	case shakedown.AlertNoApplicationProtocol:
		f.Hint = "it speaks none of the ALPN protocols offered"
	case shakedown.AlertCertificateRequired, shakedown.AlertBadCertificate:
		f.Hint = "it wants a client certificate: give one with --cert and --key"
	case shakedown.AlertMissingExtension:
		f.Hint = "it wants an extension that was not sent, such as server_name"
	}
	return f
}

// connectionFailure is the end of the connection before the handshake was done.
// partial is how many bytes of an unfinished record had come.
func connectionFailure(err error, phase shakedown.Phase, awaiting string, partial int) *shakedown.Failure {
	f := &shakedown.Failure{Class: shakedown.ClassNetwork, Phase: phase, Err: err}
	rest := ""
	if partial > 0 {
		rest = fmt.Sprintf(", %d bytes into a record", partial)
	}
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		f.Text = fmt.Sprintf("the server closed the connection while %s was awaited%s", awaiting, rest)
		if phase == shakedown.PhaseConnected {
			f.Hint = "it closed without an alert: it may not speak TLS on this port, or dislike the ClientHello"
		}
	case errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE):
		f.Text = fmt.Sprintf("the server reset the connection while %s was awaited%s", awaiting, rest)
	case isTimeout(err):
		f.Class = shakedown.ClassTimeout
		f.Text = fmt.Sprintf("timed out while %s was awaited%s", awaiting, rest)
		f.Hint = "the server is there but does not answer: raise --timeout, or look at its load"
	case errors.Is(err, context.Canceled):
		f.Class = shakedown.ClassOurs
		f.Text = fmt.Sprintf("interrupted while %s was awaited", awaiting)
	default:
		f.Text = fmt.Sprintf("the connection failed while %s was awaited: %v", awaiting, err)
	}
	return f
}

// DialFailure classifies the error of a connection that could not be made.
func DialFailure(err error) *shakedown.Failure {
	f := &shakedown.Failure{Class: shakedown.ClassNetwork, Phase: shakedown.PhaseStarted, Text: err.Error(), Err: err}
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns):
		f.Text = fmt.Sprintf("looking up %s: %s", dns.Name, dns.Err)
		f.Hint = "check the name, or give an address"
	case errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE):
		f.Class, f.Text = shakedown.ClassLocal, "out of file descriptors on this machine"
		f.Hint = "raise the limit with ulimit -n, or use fewer connections"
	case errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EADDRINUSE):
		f.Class, f.Text = shakedown.ClassLocal, "out of local ports to this target"
		f.Hint = "close with --close rst, use more source addresses, or widen net.ipv4.ip_local_port_range"
	case errors.Is(err, syscall.ENOBUFS) || errors.Is(err, syscall.ENOMEM):
		f.Class, f.Text = shakedown.ClassLocal, "out of memory for sockets on this machine"
	case errors.Is(err, syscall.ECONNREFUSED):
		f.Text = "the connection was refused: nothing listens there"
		f.Hint = "check the address and the port, and that the server runs"
	case errors.Is(err, syscall.ENETUNREACH) || errors.Is(err, syscall.EHOSTUNREACH):
		f.Text = "the network has no way to the target"
	case errors.Is(err, syscall.ECONNRESET):
		f.Text = "the connection was reset while it was made"
	case errors.Is(err, fs.ErrPermission):
		f.Text = "this machine does not permit the connection: " + err.Error()
	case errors.Is(err, context.Canceled):
		f.Class, f.Text = shakedown.ClassOurs, "interrupted while connecting"
	case isTimeout(err):
		f.Class, f.Text = shakedown.ClassTimeout, "timed out while connecting"
		f.Hint = "a firewall may drop the packets, or the accept queue is full"
	}
	return f
}

func isTimeout(err error) bool {
	var ne net.Error
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, syscall.ETIMEDOUT) || errors.As(err, &ne) && ne.Timeout()
}
