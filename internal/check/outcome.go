package check

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"shakedown"
	"shakedown/handshake"
	"shakedown/internal/certificate"
	"shakedown/internal/starttls"
)

// ask is one connection to make.
type ask struct {
	config  handshake.Config
	session *handshake.Session // to offer; nil for none
	// purpose tells connections apart that look alike: in the log, those made
	// one at a time for the sake of their times.
	purpose purpose
	prompt  bool // whatever comes is acknowledged at once
	// record is given the bytes sent before anything was read; nil for nobody.
	record func([]byte)
}

type purpose uint8

const (
	forAnswer purpose = iota
	forTime           // alone, so that its time counts
	forStall          // likewise, to see whether a pause goes away
)

// outcome is what one connection came to.
type outcome struct {
	shakedown.Result
	ask ask
	// err: the connection was not made, and why: budget, end of the run, or an
	// offer that makes no sense.
	err      error
	retried  bool // the first try came to trouble
	plain    bool // it failed before TLS could begin, which says nothing of an offer
	began    time.Time
	chain    *certificate.Parsed // nil if the server sent none
	sessions []*handshake.Session
	response *http.Response // its head; nil if none came
	// answered: it sent something after the handshake, so that no ticket is
	// still on its way. Otherwise patience ran out.
	answered bool
}

type kind uint8

const (
	taken   kind = iota // the handshake was done
	refused             // the server said no: by an alert, or by choosing otherwise
	trouble             // anything else went wrong
	untried             // the connection was not made
)

// kind tells a refusal from trouble. Alerts that speak of the server's own state
// or of a client certificate say nothing of what was offered.
func (o *outcome) kind() kind {
	f := o.Failure
	switch {
	case o.err != nil:
		return untried
	case f == nil:
		return taken
	case o.plain:
		return trouble
	case f.Class == shakedown.ClassIncompatible:
		return refused
	case f.Class == shakedown.ClassAlert && f.Alert != nil:
		switch *f.Alert {
		case shakedown.AlertInternalError, shakedown.AlertUserCanceled, shakedown.AlertCloseNotify,
			shakedown.AlertCertificateRequired, shakedown.AlertBadCertificate, shakedown.AlertAccessDenied:
			return trouble
		}
		return refused
	}
	return trouble
}

// word says in a few words how it ended.
func (o *outcome) word() string {
	switch {
	case o.err != nil:
		return o.err.Error()
	case o.Failure == nil:
		return "done"
	case o.Failure.Class == shakedown.ClassAlert && o.Failure.Alert != nil:
		return "alert " + o.Failure.Alert.String()
	}
	text := o.Failure.Text
	if o.retried {
		text += ", twice"
	}
	return text
}

// unanswered is the answer to a question whose connection came to trouble.
func (o *outcome) unanswered() shakedown.Answer {
	if o.Failure != nil && o.Failure.Hint != "" {
		return unsure("%s (%s)", o.word(), o.Failure.Hint)
	}
	return unsure("%s", o.word())
}

// resumed reports whether the session that was offered was taken.
func (o *outcome) resumed() bool {
	return o.kind() == taken && o.ask.session != nil && o.Observed.Mode.Resumes()
}

// full reports whether it was a full handshake with a chain.
func (o *outcome) full() bool {
	return o.kind() == taken && o.chain != nil && !o.ask.config.ProbeOnly
}

// took is the time from one phase to another, if both were reached.
func (o *outcome) took(from, to shakedown.Phase) (time.Duration, bool) {
	return o.Phases.Between(from, to)
}

// helloAt is when the server's answer began.
func (o *outcome) helloAt() time.Time {
	d, _ := o.Phases.At(shakedown.PhaseServerHello)
	return o.began.Add(d)
}

// line is a connection under way.
type line struct {
	*outcome
	p      *prober
	conn   net.Conn
	client *handshake.Client
	engine *handshake.Conn // once the handshake has begun
	end    time.Time
}

// connect connects for a, and leaves the handshake to run. All has to be over
// after limit.
func (p *prober) connect(ctx context.Context, a ask, limit time.Duration) *line {
	l := &line{outcome: &outcome{ask: a, began: time.Now()}, p: p}
	l.Address = p.address
	if l.client, l.err = handshake.NewClient(&a.config); l.err != nil {
		return l
	}
	l.end = l.began.Add(limit)
	ctx, cancel := context.WithDeadline(ctx, l.end)
	defer cancel()
	l.Phases.Mark(shakedown.PhaseStarted, time.Since(l.began))
	if l.conn, l.err = p.dial(ctx); l.err != nil {
		l.Failure, l.err = handshake.DialFailure(l.err), nil
		return l
	}
	if t := p.target.StartTLS; t != "" {
		// As over TCP: TLS begins where the plain text ends.
		if err := starttls.Upgrade(ctx, l.conn, t, p.target.ServerName); err != nil {
			l.plain = true
			l.Failure, _ = errors.AsType[*shakedown.Failure](err)
			l.conn.Close()
			l.conn = nil
			return l
		}
	}
	l.Phases.Mark(shakedown.PhaseConnected, time.Since(l.began))
	if a.prompt {
		l.conn, _ = acknowledging(l.conn)
	}
	if a.record != nil {
		l.conn = &recorded{Conn: l.conn, done: a.record}
	}
	return l
}

// patience is how long a server has, besides a round trip, to send tickets or to
// begin its response once the handshake is complete.
const patience = time.Second

// run takes the handshake, sends the request if the server answers them, and
// collects tickets.
func (l *line) run(ctx context.Context) {
	if l.conn == nil {
		return
	}
	ctx, cancel := context.WithDeadline(ctx, l.end)
	defer cancel()
	var data []byte
	c := handshake.NewConn(l.conn, l.client, l.began, handshake.Recorder{
		Session: func(s *handshake.Session) {
			if s != nil {
				l.sessions = append(l.sessions, s)
			}
		},
		Data: func(b []byte) { data = append(data, b...) },
	})
	l.engine = c
	c.Result.Phases = l.Phases
	if l.err = c.Handshake(ctx, l.ask.session); l.err != nil {
		return
	}
	if c.Result.Failure == nil && !l.ask.config.ProbeOnly {
		l.settle(ctx, c, &data)
	}
	address := l.Address
	l.Result = c.Result
	l.Address = address
	if der := c.Machine.Certificates(); der != nil {
		l.chain, _ = certificate.Parse(der) //nolint:errcheck // the engine has parsed it
	}
	if s := c.Machine.Session(); s != nil && s.Version != shakedown.TLS13 && c.Result.Failure == nil {
		l.sessions = []*handshake.Session{s}
	}
	l.response = head(data)
}

// settle goes on until the server has said all that is of interest.
func (l *line) settle(ctx context.Context, c *handshake.Conn, data *[]byte) {
	ctx, cancel := context.WithTimeout(ctx, patience+2*l.p.plan.RTT)
	defer cancel()
	early := c.Result.Observed.EarlyData == shakedown.EarlyDataAccepted
	if request := l.p.request(); request != nil && c.Result.Observed.ALPN != "h2" {
		if !early {
			c.Machine.SendData(request)
		}
		const enough = 1 << 16 // bytes, for a head
		c.Collect(ctx, func() bool {
			n := len(*data)
			return n > enough || n > 0 && !l.p.http || head(*data) != nil
		})
		l.answered = len(*data) > 0
		return
	}
	if c.Result.Observed.Version != shakedown.TLS13 {
		l.answered = true // its tickets come within the handshake
		return
	}
	c.Collect(ctx, func() bool { return len(l.sessions) > 0 })
	if len(l.sessions) > 0 {
		// Others follow at once, if at all.
		tail, cancel := context.WithTimeout(ctx, 20*time.Millisecond+l.p.plan.RTT)
		defer cancel()
		c.Collect(tail, func() bool { return false })
		l.answered = true
	}
}

// head returns the head of an HTTP response, or nil if it is not all there.
func head(data []byte) *http.Response {
	if !bytes.Contains(data, []byte("\r\n\r\n")) {
		return nil
	}
	r, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(data)), nil)
	if err != nil {
		return nil
	}
	r.Body.Close()
	return r
}

// close says goodbye: OpenSSL forgets the session of a connection that ends
// without (RFC 5246, section 7.2.1, demanded that once).
func (l *line) close() {
	if l.conn == nil {
		return
	}
	if l.engine != nil && l.kind() == taken && !l.ask.config.ProbeOnly {
		m := l.engine.Machine
		m.SendCloseNotify()
		l.conn.SetWriteDeadline(time.Now().Add(patience)) //nolint:errcheck // the write fails then
		for e := m.Next(); e.Kind == handshake.EventWrite; e = m.Next() {
			if _, err := l.conn.Write(e.Bytes); err != nil {
				break
			}
		}
	}
	l.conn.Close()
}

// plural prints n of something.
func plural(n int, what string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(what, "ry"):
		what = strings.TrimSuffix(what, "y") + "ies" // tries
	default:
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
