package handshake

import (
	"bytes"
	"encoding/hex"
	"os"
	"strings"
	"testing"
	"time"

	"shakedown"
	"shakedown/internal/suite"
	"shakedown/internal/wire"
)

// The traces of RFC 8448 are of a client that lays out its ClientHello otherwise
// than this one. The tests here put the trace's ClientHello in the place of ours
// once it is written, and take the whole of the rest through a Machine: sections 3
// and 4, for which the client's private keys and enough of the server's bytes are
// printed. Of sections 5 to 7 the messages are tested in internal/wire, the secrets
// of section 5 in internal/suite.

// loadRFC8448 returns the values that internal/suite tests with, by name.
func loadRFC8448(t *testing.T) map[string][]byte {
	t.Helper()
	text, err := os.ReadFile("../internal/suite/testdata/rfc8448.txt")
	if err != nil {
		t.Fatal(err)
	}
	digits, name := map[string]string{}, ""
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		if n, rest, ok := strings.Cut(line, ":"); ok {
			name, line = n, rest
		}
		digits[name] += strings.Join(strings.Fields(line), "")
	}
	values := map[string][]byte{}
	for name, d := range digits {
		if values[name], err = hex.DecodeString(d); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	return values
}

// traced is a Machine that has sent the trace's ClientHello.
type traced struct {
	*Machine
	t      *testing.T
	values map[string][]byte
	sent   []byte
	data   []byte
	closed bool
}

// startTraced begins a handshake with the trace's random and private key.
func startTraced(t *testing.T, cfg Config, session *Session, values map[string][]byte, hello, private []byte) *traced {
	t.Helper()
	cfg.Versions, cfg.Groups = []shakedown.Version{shakedown.TLS13}, []shakedown.Group{shakedown.X25519}
	cfg.ServerName, cfg.RecordSizeLimit, cfg.NoCompatibility = "server", 0x4001, true
	cfg.Rand = bytes.NewReader(append(bytes.Clone(hello[6:38]), private...))
	client, err := NewClient(&cfg)
	if err != nil {
		t.Fatal(err)
	}
	m := &traced{Machine: NewMachine(nil), t: t, values: values}
	if err := m.Start(client, session); err != nil {
		t.Fatal(err)
	}
	m.drain()
	m.sent = nil
	return m
}

func (m *traced) drain() {
	m.t.Helper()
	for {
		switch e := m.Next(); e.Kind {
		case EventWait:
			return
		case EventWrite:
			m.sent = append(m.sent, e.Bytes...)
		case EventData:
			m.data = append(m.data, e.Bytes...)
		case EventClosed:
			m.closed = true
		case EventFailed:
			m.t.Fatal(m.Failure())
		}
	}
}

func (m *traced) feed(b []byte) {
	m.t.Helper()
	m.Feed(bytes.Clone(b))
	m.drain()
}

// want compares what the Machine has sent with a value of the trace.
func (m *traced) want(name string) {
	m.t.Helper()
	m.equal(name, m.sent)
	m.sent = nil
}

func (m *traced) equal(name string, got []byte) {
	m.t.Helper()
	want := m.values[name]
	if len(want) == 0 || !bytes.Equal(got, want) {
		m.t.Errorf("%s:\ngot  %x\nwant %x", name, got, want)
	}
}

func plain(message []byte) []byte {
	return append(wire.RecordHeader{Type: wire.Handshake, Version: shakedown.TLS12, Length: len(message)}.Append(nil), message...)
}

// TestRFC8448Section3 takes the simple handshake from ClientHello to close_notify,
// every record that the client sends byte for byte.
func TestRFC8448Section3(t *testing.T) {
	v := loadRFC8448(t)
	m := startTraced(t, Config{}, nil, v, v["3 ClientHello"], v["3 client private key"])
	m.equal("3 client public key", m.shares[0].Public())
	m.transcript.messages = append(m.transcript.messages[:0], v["3 ClientHello"]...)

	m.feed(plain(v["3 ServerHello"]))
	m.feed(v["3 server flight record"])
	m.want("3 client finished record")
	if o := m.Observed(); o.Chain.Key() != "RSA-1024" || o.SignatureScheme != shakedown.RSAPSSRSAESHA256 || m.state != stateDone {
		t.Errorf("observed %+v", o)
	}
	m.feed(v["3 ticket record"])
	session := m.Session()
	m.equal("3 psk", session.Secret)
	if session.MaxEarlyData != 1024 || session.Lifetime != 30*time.Second || session.AgeAdd != 0xfad6aac5 {
		t.Errorf("session %+v", session)
	}
	data := make([]byte, 50)
	for i := range data {
		data[i] = byte(i)
	}
	m.SendData(data)
	m.drain()
	m.want("3 client data record")
	m.feed(v["3 server data record"])
	if !bytes.Equal(m.data, data) {
		t.Errorf("data %x", m.data)
	}
	m.SendCloseNotify()
	m.drain()
	m.want("3 client alert record")
	m.feed(v["3 server alert record"])
	if !m.closed {
		t.Error("close_notify was not told")
	}
}

// TestRFC8448Section4 resumes with the ticket of section 3 and early data.
func TestRFC8448Section4(t *testing.T) {
	v := loadRFC8448(t)
	var ticket wire.NewSessionTicketTLS13
	if err := ticket.Parse(v["3 NewSessionTicket"][wire.HandshakeHeaderLen:]); err != nil {
		t.Fatal(err)
	}
	session := &Session{
		Version: shakedown.TLS13, CipherSuite: shakedown.TLS_AES_128_GCM_SHA256, Secret: v["3 psk"],
		Ticket: ticket.Ticket, AgeAdd: ticket.AgeAdd, Lifetime: time.Hour, Received: time.Now(), MaxEarlyData: 1024,
	}
	hello := append(append(bytes.Clone(v["4 ClientHello prefix"]), 0, 33, 32), make([]byte, 32)...)
	m := startTraced(t, Config{Mode: shakedown.ModeEarlyData, Request: []byte("ABCDEF")}, session, v, hello, v["4 client private key"])

	// The ClientHello of the trace in the place of ours: its binder, and the
	// early data behind it.
	m.transcript.reset()
	m.fillBinder(hello)
	m.equal("4 binder", hello[len(hello)-32:])
	m.transcript.add(hello)
	m.records.write = nil
	if err := m.sendEarlyData(); err != nil {
		t.Fatal(err)
	}
	m.flush()
	m.drain()
	info, _ := suite.Lookup(session.CipherSuite)
	early := m.tls13.early.ClientEarlyTraffic(m.transcript.digestWith(info.Hash, nil))
	m.equal("4 c e traffic", early.Bytes())
	client := info.Protection13(early)
	m.open(client, wire.ApplicationData, []byte("ABCDEF"))

	m.feed(plain(v["4 ServerHello"]))
	m.equal("4 c hs traffic", m.tls13.client.Bytes())
	m.equal("4 s hs traffic", m.tls13.server.Bytes())
	clientHandshake := m.tls13.client
	server := info.Protection13(m.tls13.server)
	finished := append(wire.AppendHandshakeHeader(nil, wire.TypeFinished, 32), v["4 server finished"]...)
	m.feed(server.Seal(nil, uint8(wire.Handshake), append(bytes.Clone(v["4 EncryptedExtensions"]), finished...)))

	m.open(client, wire.Handshake, v["4 EndOfEarlyData"])
	m.open(info.Protection13(clientHandshake), wire.Handshake, append(wire.AppendHandshakeHeader(nil, wire.TypeFinished, 32), v["4 client finished"]...))
	if len(m.sent) > 0 || m.Observed().EarlyData != shakedown.EarlyDataAccepted || m.state != stateDone {
		t.Errorf("early data %s, %x left over", m.Observed().EarlyData, m.sent)
	}
	digest := m.tls13.atServerFinished[:info.Hash.Size()]
	m.equal("4 c ap traffic", m.tls13.master.Client(digest).Bytes())
	m.equal("4 s ap traffic", m.tls13.master.Server(digest).Bytes())
	m.equal("4 exp master", m.tls13.master.Exporter(digest).Bytes())
	m.equal("4 res master", m.tls13.master.Resumption(m.transcript.sum()).Bytes())
}

// open opens the first record of what the Machine has sent.
func (m *traced) open(p suite.Protection, kind wire.ContentType, want []byte) {
	m.t.Helper()
	h, ok := wire.ParseRecordHeader(m.sent)
	if !ok {
		m.t.Fatalf("no record where %x was to come", want)
	}
	record := m.sent[:wire.RecordHeaderLen+h.Length]
	m.sent = m.sent[len(record):]
	got, content, err := p.Open(record)
	if err != nil || wire.ContentType(got) != kind || !bytes.Equal(content, want) {
		m.t.Errorf("%s %x, want %s %x: %v", wire.ContentType(got), content, kind, want, err)
	}
}
