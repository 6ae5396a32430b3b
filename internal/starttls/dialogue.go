package starttls

import (
	"fmt"

	"shakedown"
)

const (
	// maxAnswer bounds one answer, in bytes. The longest seen are those to EHLO
	// and the features of XMPP, of about 1,000.
	maxAnswer = 16 << 10
	// maxLine bounds one line of an answer, in bytes, its end included. RFC 5321,
	// section 4.5.3.1.5, allows 512; greetings of IMAP that list capabilities
	// are longer.
	maxLine = 2 << 10
)

// Dialogue is the plain-text part of a connection. It does no I/O and can be used
// again for the next connection.
type Dialogue struct {
	// Watch, if set, is told what was said and heard, and how many bytes it had.
	Watch func(direction shakedown.Direction, what string, bytes int)

	protocol string
	steps    []step
	at       int    // in steps; len(steps) when it is over
	partial  []byte // of the answer to steps[at]
}

// New makes a Dialogue of one of [Protocols] with the server of this name, which
// only xmpp needs. The error is a *shakedown.Failure of our own.
func New(protocol, serverName string) (*Dialogue, error) {
	p, err := find(protocol)
	if err != nil {
		return nil, &shakedown.Failure{Class: shakedown.ClassOurs, Text: "starttls: " + err.Error(), Err: err}
	}
	d := &Dialogue{protocol: p.name}
	if d.steps, err = p.steps(serverName); err != nil {
		return nil, d.complete(err)
	}
	return d, nil
}

// Start begins a Dialogue on a new connection. It returns what to send at first,
// which is nothing when the server is the first to speak.
func (d *Dialogue) Start() []byte {
	d.at, d.partial = 0, d.partial[:0]
	return d.say()
}

// Feed takes bytes that were received, which it does not keep. It returns what
// to send next, if anything, and whether TLS begins behind that. After ready or
// a failure only Start may follow.
func (d *Dialogue) Feed(b []byte) (send []byte, ready bool, failure *shakedown.Failure) {
	if d.at >= len(d.steps) {
		return nil, false, d.complete(ours("bytes were fed to a dialogue that is over"))
	}
	if len(d.partial) > 0 {
		d.partial = append(d.partial, b...)
		b = d.partial
	}
	n, err := d.steps[d.at].parse(b[:min(len(b), maxAnswer)])
	switch {
	case err != nil:
		return nil, false, d.complete(err)
	case n == 0 && len(b) >= maxAnswer:
		return nil, false, d.complete(misbehaved(b, "it does not end within %d bytes", maxAnswer))
	case n == 0:
		if len(d.partial) == 0 {
			d.partial = append(d.partial, b...)
		}
		return nil, false, nil
	}
	d.watch(shakedown.Received, d.steps[d.at].heard, n)
	if extra := b[n:]; len(extra) > 0 {
		f := misbehaved(extra, "the server sent %d bytes behind it that nobody asked for", len(extra))
		f.Hint = "someone between may have put them there: what comes before TLS is not protected by it"
		return nil, false, d.complete(f)
	}
	d.at, d.partial = d.at+1, d.partial[:0]
	if d.at < len(d.steps) {
		send = d.say()
		if d.steps[d.at].parse == nil {
			d.at = len(d.steps)
		}
	}
	return send, d.at == len(d.steps), nil
}

// say returns what the step at hand sends.
func (d *Dialogue) say() []byte {
	s := &d.steps[d.at]
	if len(s.send) > 0 {
		d.watch(shakedown.Sent, s.said, len(s.send))
	}
	return s.send
}

func (d *Dialogue) watch(direction shakedown.Direction, what string, n int) {
	if d.Watch != nil {
		d.Watch(direction, d.protocol+" "+what, n)
	}
}

// heard names the answer that is awaited.
func (d *Dialogue) heard() string { return d.steps[min(d.at, len(d.steps)-1)].heard }

// complete adds to a failure in which protocol and step it was.
func (d *Dialogue) complete(err error) *shakedown.Failure {
	f, ok := err.(*shakedown.Failure)
	if !ok {
		f = ours(err.Error())
	}
	where := "starttls " + d.protocol
	if f.Class != shakedown.ClassOurs {
		where += ", " + d.heard()
		f.Phase = shakedown.PhaseConnected
	}
	f.Text = fmt.Sprintf("%s: %s", where, f.Text)
	return f
}
