package starttls

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"syscall"

	"shakedown"
)

// maxQuote bounds what is told of an answer, in bytes.
const maxQuote = 160

// quote prints what a server said, cut, and with nothing in it that a terminal
// would obey.
func quote(said []byte) string {
	if len(said) <= maxQuote {
		return strconv.Quote(string(said))
	}
	return fmt.Sprintf("%s and %d bytes more", strconv.Quote(string(said[:maxQuote])), len(said)-maxQuote)
}

const hintTLS = "the server speaks TLS from the first byte on this port: leave out --starttls"

// misbehaved is the server's fault: its answer is not of the protocol.
func misbehaved(said []byte, format string, args ...any) *shakedown.Failure {
	f := &shakedown.Failure{
		Class: shakedown.ClassPeer, Text: fmt.Sprintf(format, args...) + ": " + quote(said),
		Hint: "check the port and the protocol given with --starttls",
	}
	// An alert is how TLS answers to plain text (RFC 8446, section 5.1).
	if bytes.HasPrefix(said, []byte{21, 3}) {
		f.Hint = hintTLS
	}
	return f
}

// refused is nobody's fault: the server says that there is no TLS to be had, or
// nothing at all.
func refused(said []byte, what, hint string) *shakedown.Failure {
	return &shakedown.Failure{Class: shakedown.ClassIncompatible, Text: what + ": it said " + quote(said), Hint: hint}
}

// The usual whats and hints of refused.
const (
	noTLS       = "the server offers no TLS"
	noService   = "the server refuses service"
	hintOff     = "switch TLS on in the server: it needs a certificate and a key for that"
	hintService = "it may limit connections by their address, number or rate"
)

// ours is a fault of this program or of what it was told.
func ours(text string) *shakedown.Failure {
	return &shakedown.Failure{Class: shakedown.ClassOurs, Text: text}
}

// Close says what it means that the connection ended with err before TLS could
// begin: io.EOF for a server that closed it, a time-out for one that did not answer.
func (d *Dialogue) Close(err error) *shakedown.Failure {
	awaited := fmt.Sprintf("while the %s was awaited", d.heard())
	if len(d.partial) > 0 {
		awaited += ", of which came " + quote(d.partial)
	}
	f := &shakedown.Failure{Class: shakedown.ClassNetwork, Phase: shakedown.PhaseConnected, Err: err}
	var ne net.Error
	switch {
	case errors.Is(err, context.Canceled):
		f.Class, f.Text = shakedown.ClassOurs, "interrupted "+awaited
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, syscall.ETIMEDOUT), errors.As(err, &ne) && ne.Timeout():
		f.Class, f.Text = shakedown.ClassTimeout, "timed out "+awaited
		f.Hint = "the server is there but does not answer: raise --timeout, or look at its load"
		if d.at == 0 && len(d.partial) == 0 {
			f.Hint = "the server may expect TLS from the first byte: try without --starttls, or check the port"
		}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		f.Text = "the server closed the connection " + awaited
		f.Hint = hintService
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		f.Text = "the server reset the connection " + awaited
		f.Hint = hintService
	default:
		f.Text = fmt.Sprintf("the connection failed %s: %v", awaited, err)
	}
	f.Text = fmt.Sprintf("starttls %s: %s", d.protocol, f.Text)
	return f
}
