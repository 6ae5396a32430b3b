package handshake

import (
	"fmt"
	"io"
	"time"

	"shakedown"
	"shakedown/internal/certificate"
	"shakedown/internal/suite"
	"shakedown/internal/wire"
)

// Machine takes one TLS handshake at a time through its steps. It does no I/O
// and is not safe for concurrent use.
//
//	m.Start(client, session)
//	for {
//		switch e := m.Next(); e.Kind {
//		case EventWrite:  send e.Bytes
//		case EventWait:   receive bytes; m.Feed(bytes)   (or m.Close(err))
//		case EventDone, EventFailed: ...
//		}
//	}
type Machine struct {
	// LogMessages makes Next tell every message.
	LogMessages bool

	ws      *Workspace
	client  *Client
	config  *Config
	asked   *shakedown.Asked
	session *Session // offered
	rand    io.Reader

	observed shakedown.Observed
	failure  *shakedown.Failure
	phase    shakedown.Phase // the latest reached
	reached  uint16          // a bit for each phase reached
	state    state
	step     step   // what takes the next handshake message
	awaiting string // that message's name, for words

	events  []Event
	head    int // of events: the next to tell
	flushed int // bytes of the Workspace's output that events cover

	records recordLayer
	useless int // messages after the handshake, in a row, that bring nothing

	// The handshake's own values, in the order they become known.
	random       [32]byte
	sessionID    []byte // legacy_session_id sent; aliases idBuffer
	idBuffer     [32]byte
	shares       []suite.Share
	cookie       []byte // from a HelloRetryRequest
	retryGroup   shakedown.Group
	retrySuite   shakedown.CipherSuite
	offered      extensionSet // in the latest ClientHello
	serverRandom [32]byte
	info         *suite.Info
	transcript   transcript
	resumed      bool
	chain        *certificate.Parsed
	staple       []byte
	early        earlyState
	ticket       ticketState
	tls13        tls13State
	tls12        tls12State
	lazyRead     lazyProtection
	lazyWrite    lazyProtection
}

type state uint8

const (
	stateIdle      state = iota
	stateHandshake       // under way
	stateComplete        // both Finished are done with
	stateDone            // complete in the sense of Config.Complete, and said so
	stateEnded           // failed or closed
)

// step takes one handshake message and says by setting Machine.step what may
// come next.
type step func(m *Machine, msg message) error

// message is a handshake message as received.
type message struct {
	kind wire.HandshakeType
	body []byte
	raw  []byte // with its header
}

// NewMachine returns a Machine that shares ws with the others of its thread; a
// nil ws gives it one of its own.
func NewMachine(ws *Workspace) *Machine {
	if ws == nil {
		ws = new(Workspace)
	}
	return &Machine{ws: ws}
}

// Start begins a handshake, whatever the Machine did before, and offers session
// unless it is nil. The ClientHello is the first event. An error means that
// nothing can be offered as asked; it is the caller's.
func (m *Machine) Start(client *Client, session *Session) error {
	if session != nil {
		if err := client.CanOffer(session); err != nil {
			return err
		}
	}
	m.reset(client, session)
	if err := m.sendClientHello(); err != nil {
		m.state = stateIdle
		return err
	}
	return nil
}

func (m *Machine) reset(client *Client, session *Session) {
	m.client, m.config, m.session = client, &client.config, session
	m.asked = client.Asked(session != nil)
	m.rand = m.ws.random(m.config)
	tickets, flights := m.observed.Tickets[:0], m.observed.Flights[:0]
	m.observed = shakedown.Observed{
		Mode: shakedown.ModeFull, EarlyData: shakedown.EarlyDataNone, Verification: shakedown.VerificationSkipped,
		Tickets: tickets, Flights: flights,
	}
	m.failure, m.phase, m.reached, m.state = nil, shakedown.PhaseConnected, 0, stateHandshake
	m.events, m.head = m.events[:0], 0
	m.clear()
	m.records.reset()
	m.useless = 0
	m.shares = m.shares[:0]
	m.cookie, m.retryGroup, m.retrySuite = nil, 0, 0
	m.info, m.resumed, m.chain, m.staple = nil, false, nil, m.staple[:0]
	m.early, m.ticket = earlyState{}, ticketState{raw: m.ticket.raw[:0], nonce: m.ticket.nonce[:0]}
	m.tls13, m.tls12 = tls13State{}, tls12State{schemes: m.tls12.schemes[:0], preMaster: m.tls12.preMaster[:0]}
	m.transcript.reset()
}

// Observed returns what the server did so far. It is valid until the next Start.
func (m *Machine) Observed() *shakedown.Observed { return &m.observed }

// Asked returns what this handshake asks for.
func (m *Machine) Asked() *shakedown.Asked { return m.asked }

// Failure returns why the handshake failed, or nil.
func (m *Machine) Failure() *shakedown.Failure { return m.failure }

// Awaiting names the message that the server is to send next.
func (m *Machine) Awaiting() string { return m.awaiting }

// Feed gives the Machine bytes from the server. They are decrypted in place and
// belong to the Machine until Next has returned EventWait.
func (m *Machine) Feed(b []byte) { m.records.feed(b) }

// Next returns the next event. After EventWait it returns EventWait until more
// bytes are fed.
func (m *Machine) Next() Event {
	for {
		if m.head < len(m.events) {
			m.head++
			return m.events[m.head-1]
		}
		m.clear()
		if m.state == stateIdle || m.state == stateEnded || !m.advance() {
			m.records.save()
			return Event{Kind: EventWait}
		}
	}
}

// advance takes one handshake message or one record, if one is there.
func (m *Machine) advance() bool {
	msg, ok, err := m.records.nextMessage()
	switch {
	case err != nil:
		m.fail(err)
		return true
	case ok:
		m.take(msg)
		return true
	}
	rec, ok, err := m.records.nextRecord()
	switch {
	case err != nil:
		m.fail(err)
	case !ok:
		return false
	default:
		m.countReceived(rec)
		if err := m.takeRecord(rec); err != nil {
			m.fail(err)
		}
	}
	return true
}

func (m *Machine) take(msg message) {
	if m.LogMessages {
		m.tell(shakedown.Received, msg.kind.String(), len(msg.raw), m.records.span, m.records.read != nil)
	}
	if msg.kind == wire.TypeHelloRequest && m.state == stateHandshake && m.client.offers12 && m.observed.Version != shakedown.TLS13 {
		// RFC 5246 section 7.4.1.1: ignored while a handshake is under way, and
		// never part of the transcript.
		if err := m.countUseless(msg); err != nil {
			m.fail(err)
		}
		return
	}
	if err := m.step(m, msg); err != nil {
		m.fail(err)
		return
	}
	m.checkDone()
}

// countUseless bears with a message that brings nothing, but not with many.
func (m *Machine) countUseless(msg message) error {
	if m.useless++; m.useless > maxIdle {
		return misbehaved(shakedown.AlertUnexpectedMessage, "the server sent %s %d times in a row", msg.kind, m.useless)
	}
	return nil
}

// checkDone tells EventDone once the handshake is complete in the sense of
// Config.Complete.
func (m *Machine) checkDone() {
	if m.state != stateComplete {
		return
	}
	switch m.config.Complete {
	case shakedown.CompleteTicket:
		if len(m.observed.Tickets) == 0 {
			return
		}
	case shakedown.CompleteResponse:
		if !m.has(shakedown.PhaseResponse) {
			return
		}
	}
	m.state = stateDone
	m.push(Event{Kind: EventDone})
}

// complete marks the handshake complete on both sides and sends the request, if
// there is one still to send.
func (m *Machine) complete() {
	m.state = stateComplete
	for _, f := range m.observed.Flights {
		if f.Direction == shakedown.Received {
			m.observed.RoundTrips++
		}
	}
	m.reach(shakedown.PhaseComplete)
	if m.config.Complete == shakedown.CompleteResponse && m.observed.EarlyData != shakedown.EarlyDataAccepted {
		m.SendData(m.config.Request)
	}
}

// SendData queues application data; EventWrite brings it. Only after the
// handshake is complete.
func (m *Machine) SendData(data []byte) {
	m.clear()
	if m.LogMessages {
		m.tell(shakedown.Sent, "application data", len(data), 1, true)
	}
	m.writeRecords(wire.ApplicationData, data)
	m.flush()
}

// SendCloseNotify queues a close_notify alert.
func (m *Machine) SendCloseNotify() {
	m.clear()
	m.sendAlert(shakedown.AlertCloseNotify)
	m.flush()
}

// Close tells the Machine that the connection ended: err is io.EOF, a network
// error, or a time-out. Before the handshake is done this is its failure, which
// Close returns.
func (m *Machine) Close(err error) *shakedown.Failure {
	if m.state == stateHandshake || m.state == stateComplete {
		m.state = stateEnded
		m.failure = connectionFailure(err, m.phase, m.awaiting, m.records.partialRecord())
	}
	return m.failure
}

func (m *Machine) push(e Event) { m.events = append(m.events, e) }

func (m *Machine) tell(d shakedown.Direction, name string, bytes, records int, encrypted bool) {
	m.push(Event{Kind: EventMessage, Message: Message{Direction: d, Name: name, Bytes: bytes, Records: records, Encrypted: encrypted}})
}

// reach tells a phase when it is first reached. The order is not always that of
// the constants: in TLS 1.2 the ticket comes before the handshake is complete.
func (m *Machine) reach(p shakedown.Phase) {
	if !m.has(p) {
		m.phase, m.reached = p, m.reached|1<<p
		m.push(Event{Kind: EventPhase, Phase: p})
	}
}

func (m *Machine) has(p shakedown.Phase) bool { return m.reached&(1<<p) != 0 }

// expect sets what the next handshake message is to be.
func (m *Machine) expect(name string, s step) { m.awaiting, m.step = name, s }

// fail ends the handshake: the alert that belongs to err is sent, and EventFailed
// follows.
func (m *Machine) fail(err error) {
	f := asFailure(err)
	f.Phase = m.phase
	m.failure = f
	if f.AlertSent && f.Alert != nil {
		m.sendAlert(*f.Alert)
		m.flush()
	}
	m.state = stateEnded
	m.push(Event{Kind: EventFailed})
}

func (m *Machine) logSecret(label string, secret []byte) error {
	if m.config.KeyLog == nil {
		return nil
	}
	if _, err := fmt.Fprintf(m.config.KeyLog, "%s %x %x\n", label, m.random[:], secret); err != nil {
		return &shakedown.Failure{Class: shakedown.ClassOurs, Text: "writing the key log: " + err.Error(), Err: err}
	}
	return nil
}

func (m *Machine) now() time.Time { return m.config.Time() }
