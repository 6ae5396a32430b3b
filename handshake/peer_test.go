package handshake_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"

	"shakedown"
	"shakedown/handshake"
	"shakedown/internal/suite"
	"shakedown/internal/wire"
)

// A peer is a server in memory, made of the same parts as the client, that does
// what a test tells it, right or wrong. It feeds a Machine and takes what that
// writes; there is no connection and no time.
type peer struct {
	t       testing.TB
	machine *handshake.Machine

	info       *suite.Info
	chain      [][]byte
	key        crypto.Signer
	hello      wire.ClientHello
	session    *handshake.Session
	read       suite.Protection // nil: plaintext
	write      suite.Protection
	keys       *keys13 // once a TLS 1.3 handshake is complete
	transcript []byte

	sent   []byte // by the client, not yet read
	events []handshake.Event
	data   []byte // application data that the client took
	ended  bool   // EventFailed or EventClosed
	done   bool
}

// newPeer starts a handshake of m, or of a new Machine when that is nil.
func newPeer(t testing.TB, m *handshake.Machine, cfg handshake.Config, session *handshake.Session) *peer {
	t.Helper()
	client, err := handshake.NewClient(&cfg)
	if err != nil {
		t.Fatal(err)
	}
	if m == nil {
		m = handshake.NewMachine(nil)
	}
	p := &peer{t: t, machine: m, session: session}
	if err := p.machine.Start(client, session); err != nil {
		t.Fatal(err)
	}
	p.drain()
	return p
}

// drain takes events until the Machine waits. A Machine that never does so is
// caught here.
func (p *peer) drain() {
	p.t.Helper()
	for range 100_000 {
		e := p.machine.Next()
		switch e.Kind {
		case handshake.EventWait:
			return
		case handshake.EventWrite:
			p.sent = append(p.sent, e.Bytes...)
		case handshake.EventData:
			p.data = append(p.data, e.Bytes...)
		case handshake.EventDone:
			p.done = true
		case handshake.EventFailed, handshake.EventClosed:
			p.ended = true
		}
		e.Bytes = nil
		p.events = append(p.events, e)
	}
	p.t.Fatal("the machine has events without end")
}

// feed gives bytes to the Machine in one piece, of which it gets a copy.
func (p *peer) feed(b []byte) {
	p.t.Helper()
	if p.ended {
		return
	}
	p.machine.Feed(append([]byte(nil), b...))
	p.drain()
}

// seal makes one record, or several where content is too long for one.
func (p *peer) seal(kind wire.ContentType, content []byte) []byte {
	if p.write != nil {
		return p.write.Seal(nil, uint8(kind), content)
	}
	return plainRecord(kind, content)
}

func plainRecord(kind wire.ContentType, content []byte) []byte {
	return append(wire.RecordHeader{Type: kind, Version: shakedown.TLS12, Length: len(content)}.Append(nil), content...)
}

// next returns the client's next record, opened.
func (p *peer) next() (wire.ContentType, []byte, bool) {
	p.t.Helper()
	h, ok := wire.ParseRecordHeader(p.sent)
	if !ok || len(p.sent) < wire.RecordHeaderLen+h.Length {
		return 0, nil, false
	}
	raw := p.sent[:wire.RecordHeaderLen+h.Length]
	p.sent = p.sent[len(raw):]
	if p.read == nil || h.Type == wire.ChangeCipherSpec {
		return h.Type, raw[wire.RecordHeaderLen:], true
	}
	kind, content, err := p.read.Open(raw)
	if err != nil {
		p.t.Fatalf("the client's record does not open: %v", err)
	}
	return wire.ContentType(kind), content, true
}

// message returns the client's next handshake message, which has to be of this
// type, and adds it to the transcript. Records of change_cipher_spec are read
// over. One message lies in one record here.
func (p *peer) message(want wire.HandshakeType) []byte {
	p.t.Helper()
	for {
		kind, content, ok := p.next()
		if ok && kind == wire.ChangeCipherSpec {
			continue
		}
		if !ok || kind != wire.Handshake || wire.HandshakeType(content[0]) != want {
			p.t.Fatalf("the client sent %s %x, want %s (%v)", kind, content, want, p.machine.Failure())
		}
		p.transcript = append(p.transcript, content...)
		return content[wire.HandshakeHeaderLen:]
	}
}

// readHello reads the ClientHello.
func (p *peer) readHello() {
	p.t.Helper()
	if err := p.hello.Parse(p.message(wire.TypeClientHello)); err != nil {
		p.t.Fatal(err)
	}
}

// share returns the client's key share of group g.
func (p *peer) share(g shakedown.Group) []byte {
	p.t.Helper()
	data, _ := p.hello.Extensions.Find(shakedown.ExtKeyShare)
	shares, err := wire.ParseKeyShares(nil, data)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, s := range shares {
		if s.Group == g {
			return s.Public
		}
	}
	return nil
}

// digest is the hash of the transcript.
func (p *peer) digest() []byte {
	h := p.info.Hash.New()
	h.Write(p.transcript)
	return h.Sum(nil)
}

// told returns how often the client told that it reached the phase.
func (p *peer) told(phase shakedown.Phase) (n int) {
	for _, e := range p.events {
		if e.Kind == handshake.EventPhase && e.Phase == phase {
			n++
		}
	}
	return n
}

// alerts reads the rest of what the client sent and returns its alerts.
func (p *peer) alerts() (alerts []wire.AlertMessage) {
	p.t.Helper()
	for {
		kind, content, ok := p.next()
		if !ok {
			return alerts
		}
		if kind == wire.AlertRecord {
			var a wire.AlertMessage
			if err := a.Parse(content); err != nil {
				p.t.Fatalf("the client sent an alert %x: %v", content, err)
			}
			alerts = append(alerts, a)
		}
	}
}

// verdict is what a client has to make of a fault.
type verdict struct {
	class shakedown.Class // ClassPeer when empty
	alert shakedown.Alert // sent, or received where class is ClassAlert
	phase shakedown.Phase
	text  string // that the failure's text holds
}

// expect holds what the client made of it against v. The alert has to stand on
// the wire as well as in the failure.
func (p *peer) expect(v verdict) {
	p.t.Helper()
	f := p.machine.Failure()
	if f == nil {
		p.t.Fatalf("the client went on, done %v", p.done)
	}
	if v.class == "" {
		v.class = shakedown.ClassPeer
	}
	if f.Class != v.class || f.Phase != v.phase || !strings.Contains(f.Text, v.text) {
		p.t.Errorf("failure %s in phase %s: %q\nwant %s in phase %s: %q", f.Class, f.Phase, f.Text, v.class, v.phase, v.text)
	}
	sent := p.alerts()
	if v.class == shakedown.ClassAlert {
		if f.AlertSent || f.Alert == nil || *f.Alert != v.alert {
			p.t.Errorf("alert %v, sent by us %v, want %s received", f.Alert, f.AlertSent, v.alert)
		}
		return
	}
	if !f.AlertSent || f.Alert == nil || *f.Alert != v.alert {
		p.t.Errorf("alert in the failure %v, want %s", f.Alert, v.alert)
	}
	if want := (wire.AlertMessage{Level: 2, Description: v.alert}); len(sent) != 1 || sent[0] != want {
		p.t.Errorf("alerts on the wire %v, want %v", sent, want)
	}
	if m := p.machine; m.Close(io.EOF) != f {
		p.t.Errorf("the end of the connection covers up the failure")
	}
}

// identity is a certificate with its key.
type identity struct {
	chain [][]byte
	key   crypto.Signer
}

var identities = map[string]func() identity{
	"p256": sync.OnceValue(func() identity { return selfSigned(must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))) }),
	"p384": sync.OnceValue(func() identity { return selfSigned(must(ecdsa.GenerateKey(elliptic.P384(), rand.Reader))) }),
	"rsa":  sync.OnceValue(func() identity { return selfSigned(must(rsa.GenerateKey(rand.Reader, 2048))) }),
}

func ptr[T any](v T) *T { return &v }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func selfSigned(key crypto.Signer) identity {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "peer"}, DNSNames: []string{"peer"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	return identity{[][]byte{must(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))}, key}
}

// changeLength returns a handshake message with delta bytes more, or fewer, at
// its end and a header that says so.
func changeLength(raw []byte, delta int) []byte {
	raw = append([]byte(nil), raw...)
	if delta > 0 {
		raw = append(raw, make([]byte, delta)...)
	} else {
		raw = raw[:len(raw)+delta]
	}
	n := len(raw) - wire.HandshakeHeaderLen
	raw[1], raw[2], raw[3] = byte(n>>16), byte(n>>8), byte(n)
	return raw
}

// extension is an extension that servers send, for tests that put it where it
// may not stand.
func extension(t shakedown.Extension, data ...byte) wire.Extension {
	return wire.Extension{Type: t, Data: data}
}

func (v verdict) String() string { return fmt.Sprintf("%s %s %q", v.alert, v.phase, v.text) }
