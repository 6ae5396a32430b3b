package handshake

import (
	"shakedown"
	"shakedown/internal/suite"
	"shakedown/internal/wire"
)

const (
	// maxMessage bounds a handshake message; chains with ML-DSA signatures are
	// some tens of kilobytes.
	maxMessage = 1 << 18
	// maxIdle bounds records in a row that carry the handshake no further: empty
	// ones, change_cipher_spec, warnings. More is an attack or a broken peer.
	maxIdle = 32

	// Levels of alerts (RFC 8446, section 6).
	warning = 1
	fatal   = 2
)

// recordLayer turns the server's bytes into records and the records' contents
// into handshake messages. It copies only what is left over when it has to wait.
type recordLayer struct {
	input   []byte // unread bytes: of the last Feed, or partial
	partial []byte // owned: the start of a record

	messages []byte // unread handshake bytes, alias of a record or of spanning
	spanning []byte // owned: a message that spans records or Feeds
	first    int    // number of the record in which messages begins
	count    int    // handshake records so far
	span     int    // records in which the last message lay
	idle     int

	read, write suite.Protection // nil: plaintext
	inner       bool             // the read protection is TLS 1.3's: it hides content types
	limit       int              // of a ciphertext fragment
	contents    contentLimits
	early       bool // the first record is still to come
}

// contentLimits are the most bytes that a record may hold, as agreed by
// max_fragment_length or record_size_limit.
type contentLimits struct {
	send, receive int
	plaintext     bool // they hold for unprotected records too
}

// record is one record of the server, decrypted.
type record struct {
	kind    wire.ContentType
	payload []byte
	size    int // with header, as on the wire
}

func (r *recordLayer) reset() {
	*r = recordLayer{partial: r.partial[:0], spanning: r.spanning[:0], limit: wire.MaxCiphertext12, early: true}
	r.contents = contentLimits{wire.MaxPlaintext, wire.MaxPlaintext, true}
}

func (r *recordLayer) feed(b []byte) {
	if len(r.partial) > 0 {
		r.partial = append(r.partial, b...)
		r.input = r.partial
		return
	}
	r.input = b
}

// save copies what is unread out of the driver's buffer.
func (r *recordLayer) save() {
	if len(r.messages) > 0 {
		r.keepMessages()
	}
	if len(r.input) == 0 {
		r.partial = r.partial[:0]
	} else if len(r.partial) == 0 || &r.input[0] != &r.partial[0] {
		r.partial = append(r.partial[:0], r.input...)
	}
	r.input = nil
	if len(r.partial) > 0 {
		r.input = r.partial
	}
}

// partialRecord returns how many bytes of an unfinished record are held.
func (r *recordLayer) partialRecord() int { return len(r.input) }

// nextMessage returns the next whole handshake message, if there is one.
func (r *recordLayer) nextMessage() (message, bool, error) {
	kind, n, ok := wire.ParseHandshakeHeader(r.messages)
	if !ok {
		return message{}, false, nil
	}
	if n > maxMessage {
		return message{}, false, misbehaved(shakedown.AlertIllegalParameter, "the server announced a %s of %d bytes, the limit is %d", kind, n, maxMessage)
	}
	n += wire.HandshakeHeaderLen
	if len(r.messages) < n {
		return message{}, false, nil
	}
	raw := r.messages[:n:n]
	r.messages = r.messages[n:]
	r.span = r.count - r.first
	r.first = r.count - 1 // what follows begins in the latest record
	return message{kind: kind, raw: raw, body: raw[wire.HandshakeHeaderLen:]}, true, nil
}

// addMessages takes the content of a handshake record.
func (r *recordLayer) addMessages(payload []byte) {
	r.count++
	if len(r.messages) == 0 {
		r.messages, r.first = payload, r.count-1
		return
	}
	r.keepMessages()
	r.spanning = append(r.spanning, payload...)
	r.messages = r.spanning
}

// keepMessages has the unread handshake bytes lie in spanning, and nothing else.
func (r *recordLayer) keepMessages() {
	if len(r.messages) > 0 && len(r.messages) == len(r.spanning) && &r.messages[0] == &r.spanning[0] {
		return // a message that came in many pieces is not copied again for each
	}
	r.spanning = append(r.spanning[:0], r.messages...)
	r.messages = r.spanning
}

// nextRecord returns the next whole record, decrypted in place, if there is one.
func (r *recordLayer) nextRecord() (record, bool, error) {
	h, ok := wire.ParseRecordHeader(r.input)
	if !ok {
		return record{}, false, r.checkFirstBytes()
	}
	if r.early {
		if err := r.checkFirstBytes(); err != nil {
			return record{}, false, err
		}
	}
	if err := r.checkHeader(h); err != nil {
		return record{}, false, err
	}
	size := wire.RecordHeaderLen + h.Length
	if len(r.input) < size {
		return record{}, false, nil
	}
	raw := r.input[:size:size]
	r.input = r.input[size:]
	r.early = false
	rec := record{kind: h.Type, payload: raw[wire.RecordHeaderLen:], size: size}
	if r.inner && h.Type != wire.ApplicationData && h.Type != wire.ChangeCipherSpec {
		return record{}, false, misbehaved(shakedown.AlertUnexpectedMessage, "the server sent an unprotected record of type %s (RFC 8446, section 5.2)", h.Type)
	}
	if r.read == nil || h.Type == wire.ChangeCipherSpec {
		// RFC 8446 section 5: change_cipher_spec is never protected in TLS 1.3;
		// takeRecord judges whether it may come now.
		if h.Length > wire.MaxPlaintext {
			return record{}, false, misbehaved(shakedown.AlertRecordOverflow, "the server sent a plaintext record of %d bytes, the limit is %d (RFC 8446, section 5.1)", h.Length, wire.MaxPlaintext)
		}
		return rec, true, nil
	}
	kind, plaintext, err := r.read.Open(raw)
	if err != nil {
		return record{}, false, misbehaved(suite.AlertFor(err), "the server sent a record that does not open: %v", err)
	}
	rec.kind, rec.payload = wire.ContentType(kind), plaintext
	if r.inner && rec.kind == wire.ChangeCipherSpec {
		return record{}, false, misbehaved(shakedown.AlertUnexpectedMessage, "the server sent a protected change_cipher_spec (RFC 8446, section 5)")
	}
	return rec, true, nil
}

func (r *recordLayer) checkHeader(h wire.RecordHeader) error {
	switch {
	case h.Type < wire.ChangeCipherSpec || h.Type > wire.ApplicationData:
		return misbehaved(shakedown.AlertUnexpectedMessage, "the server sent a record of unknown type %d", uint8(h.Type))
	case h.Version>>8 != 3:
		return misbehaved(shakedown.AlertProtocolVersion, "the server sent a record of version 0x%04X", uint16(h.Version))
	case h.Length > r.limit:
		return misbehaved(shakedown.AlertRecordOverflow, "the server sent a record of %d bytes, the limit is %d (RFC 8446, section 5.2)", h.Length, r.limit)
	}
	return nil
}

// checkFirstBytes recognises peers that do not speak TLS at all, from as many
// bytes as are there.
func (r *recordLayer) checkFirstBytes() error {
	if !r.early || len(r.input) == 0 {
		return nil
	}
	if k := wire.ContentType(r.input[0]); k >= wire.ChangeCipherSpec && k <= wire.ApplicationData {
		return nil
	}
	f := misbehaved(shakedown.AlertUnexpectedMessage, "the server does not speak TLS on this port: it began with %q", r.input[:min(len(r.input), 16)])
	f.AlertSent, f.Alert = false, nil
	f.Hint = "check the port"
	switch first := r.input[0]; {
	case first == 'H':
		f.Hint = "it answers in plain HTTP: check the port, or switch TLS on for it"
	case first == '2' || first == '+' || first == '*':
		f.Hint = "it greets in plain text: a mail or file server wants STARTTLS first"
	}
	return f
}

// takeRecord deals with one record of the server.
func (m *Machine) takeRecord(rec record) error {
	r := &m.records
	if rec.kind == wire.Handshake {
		m.reach(shakedown.PhaseServerHello)
	}
	if len(rec.payload) > r.contents.receive && (r.contents.plaintext || r.read != nil) {
		return misbehaved(shakedown.AlertRecordOverflow, "the server sent a record with %d bytes, the limit is %d", len(rec.payload), r.contents.receive)
	}
	// An alert is worth more than the complaint about its place.
	if len(r.messages) > 0 && rec.kind != wire.Handshake && rec.kind != wire.AlertRecord {
		return misbehaved(shakedown.AlertUnexpectedMessage, "the server sent a record of type %s in the middle of a handshake message (RFC 8446, section 5.1)", rec.kind)
	}
	progress := len(rec.payload) > 0
	var err error
	switch rec.kind {
	case wire.Handshake:
		if len(rec.payload) == 0 && m.observed.Version == shakedown.TLS13 {
			return misbehaved(shakedown.AlertUnexpectedMessage, "the server sent an empty handshake record (RFC 8446, section 5.1)")
		}
		r.addMessages(rec.payload)
	case wire.ChangeCipherSpec:
		progress = false
		err = m.takeChangeCipherSpec(rec.payload)
	case wire.AlertRecord:
		progress = false
		err = m.takeAlert(rec.payload)
	case wire.ApplicationData:
		err = m.takeData(rec.payload)
	default:
		err = misbehaved(shakedown.AlertUnexpectedMessage, "the server sent a record of type %s", rec.kind)
	}
	if err != nil {
		return err
	}
	if r.idle++; progress {
		r.idle = 0
	}
	if r.idle > maxIdle {
		return misbehaved(shakedown.AlertUnexpectedMessage, "the server sent %d records in a row that carry the handshake no further", r.idle)
	}
	return nil
}

func (m *Machine) takeChangeCipherSpec(payload []byte) error {
	if err := wire.ParseChangeCipherSpec(payload); err != nil {
		return misbehaved(shakedown.AlertUnexpectedMessage, "the server sent a %v (RFC 8446, section 5)", err)
	}
	if m.LogMessages {
		m.tell(shakedown.Received, "ChangeCipherSpec", len(payload), 1, false)
	}
	// RFC 8446 section 5: a TLS 1.3 client drops it, from its ClientHello until
	// the server's Finished.
	compat := m.observed.Version == 0 && m.client.offers13 || m.observed.Version == shakedown.TLS13
	if compat && m.state == stateHandshake {
		return nil
	}
	if m.tls12.pendingRead == nil {
		return misbehaved(shakedown.AlertUnexpectedMessage, "the server sent ChangeCipherSpec while %s was awaited", m.awaiting)
	}
	m.records.read, m.tls12.pendingRead = m.tls12.pendingRead, nil
	return nil
}

func (m *Machine) takeAlert(payload []byte) error {
	var alert wire.AlertMessage
	if err := alert.Parse(payload); err != nil {
		return malformed(err)
	}
	if m.LogMessages {
		m.tell(shakedown.Received, "Alert ("+alert.Description.String()+")", len(payload), 1, m.records.read != nil)
	}
	switch {
	case alert.Description == shakedown.AlertCloseNotify && m.state == stateDone:
		m.state = stateEnded
		m.push(Event{Kind: EventClosed})
		return nil
	case alert.Description == shakedown.AlertCloseNotify:
		return m.alertFailure(alert.Description)
	case alert.Description == shakedown.AlertUserCanceled,
		alert.Level == warning && m.observed.Version != shakedown.TLS13:
		return nil
	}
	return m.alertFailure(alert.Description)
}

func (m *Machine) takeData(payload []byte) error {
	if m.state < stateComplete {
		return misbehaved(shakedown.AlertUnexpectedMessage, "the server sent application data while %s was awaited", m.awaiting)
	}
	if len(payload) == 0 {
		return nil
	}
	if m.LogMessages {
		m.tell(shakedown.Received, "application data", len(payload), 1, true)
	}
	m.useless = 0
	m.reach(shakedown.PhaseResponse)
	m.push(Event{Kind: EventData, Bytes: payload})
	m.checkDone()
	return nil
}

// writeRecords appends records with payload to what is to be sent.
func (m *Machine) writeRecords(kind wire.ContentType, payload []byte) {
	r := &m.records
	for {
		n := min(len(payload), m.contentLimit())
		start := len(m.ws.out)
		if r.write == nil || kind == wire.ChangeCipherSpec {
			version := shakedown.TLS12
			if !m.has(shakedown.PhaseServerHello) && kind == wire.Handshake {
				version = shakedown.TLS10 // for old servers (RFC 8446, section 5.1)
			}
			m.ws.out = wire.RecordHeader{Type: kind, Version: version, Length: n}.Append(m.ws.out)
			m.ws.out = append(m.ws.out, payload[:n]...)
		} else {
			m.ws.out = r.write.Seal(m.ws.out, uint8(kind), payload[:n])
		}
		m.count(shakedown.Sent, len(m.ws.out)-start)
		if payload = payload[n:]; len(payload) == 0 {
			return
		}
	}
}

// flush tells the driver to send what was written since the last flush. Bytes
// of an earlier event that waits in the queue stay as they are.
func (m *Machine) flush() {
	if n := len(m.ws.out); n > m.flushed {
		m.push(Event{Kind: EventWrite, Bytes: m.ws.out[m.flushed:n:n]})
		m.flushed = n
	}
}

// clear makes room for new events once all are told.
func (m *Machine) clear() {
	if m.head == len(m.events) {
		m.events, m.head = m.events[:0], 0
		m.ws.out, m.flushed = m.ws.out[:0], 0
	}
}

// RecordLimits returns the most bytes of content that a record may hold in either
// direction: 16384, unless max_fragment_length or record_size_limit was agreed.
func (m *Machine) RecordLimits() (send, receive int) {
	return m.records.contents.send, m.records.contents.receive
}

// contentLimit returns the most bytes that the next record may hold.
func (m *Machine) contentLimit() int {
	if c := &m.records.contents; c.plaintext || m.records.write != nil {
		return c.send
	}
	return wire.MaxPlaintext
}

// count adds a record to the flights; a change of direction begins a new one.
func (m *Machine) count(d shakedown.Direction, size int) {
	flights := m.observed.Flights
	if n := len(flights); n == 0 || flights[n-1].Direction != d {
		m.observed.Flights = append(flights, shakedown.Flight{Direction: d, Bytes: size, Records: 1})
		return
	}
	f := &flights[len(flights)-1]
	f.Bytes += size
	f.Records++
}

func (m *Machine) countReceived(rec record) { m.count(shakedown.Received, rec.size) }

// sendAlert sends an alert: a warning where the RFCs know it as one, fatal
// otherwise.
func (m *Machine) sendAlert(a shakedown.Alert) {
	level := uint8(fatal)
	if a == shakedown.AlertCloseNotify || a == shakedown.AlertNoRenegotiation {
		level = warning
	}
	if m.LogMessages {
		m.tell(shakedown.Sent, "Alert ("+a.String()+")", 2, 1, m.records.write != nil)
	}
	m.writeRecords(wire.AlertRecord, []byte{level, byte(a)})
}

// sendHandshake writes a message of the handshake and adds it to the transcript.
func (m *Machine) sendHandshake(t wire.HandshakeType, msg []byte) {
	m.transcript.add(msg)
	if m.LogMessages {
		records := (len(msg) + m.contentLimit() - 1) / m.contentLimit()
		m.tell(shakedown.Sent, t.String(), len(msg), records, m.records.write != nil)
	}
	m.writeRecords(wire.Handshake, msg)
}
