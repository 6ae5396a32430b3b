package handshake_test

import (
	"bytes"
	"testing"

	"shakedown"
	"shakedown/internal/wire"
)

// deliver13 is a way to send the messages of a TLS 1.3 flight.
type deliver13 func(p *peer, t wire.HandshakeType, raw []byte)

// TestDelivery sends a right handshake in every lawful division into records,
// and feeds the records in every division.
func TestDelivery(t *testing.T) {
	pieces := func(size int) deliver13 {
		return func(p *peer, _ wire.HandshakeType, raw []byte) {
			for len(raw) > 0 {
				n := min(size, len(raw))
				p.feed(p.seal(wire.Handshake, raw[:n]))
				raw = raw[n:]
			}
		}
	}
	coalesced := func() deliver13 {
		var flight []byte
		return func(p *peer, t wire.HandshakeType, raw []byte) {
			if t == wire.TypeServerHello {
				p.feed(p.seal(wire.Handshake, raw))
				return
			}
			if flight = append(flight, raw...); t == wire.TypeFinished {
				p.feed(p.seal(wire.Handshake, flight))
			}
		}
	}
	bytewise := func(p *peer, _ wire.HandshakeType, raw []byte) {
		for _, b := range p.seal(wire.Handshake, raw) {
			p.feed([]byte{b})
		}
	}
	withCCS := func(p *peer, _ wire.HandshakeType, raw []byte) {
		ccs := plainRecord(wire.ChangeCipherSpec, []byte{1})
		p.feed(append(ccs, p.seal(wire.Handshake, raw)...))
	}
	withUserCanceled := func(p *peer, _ wire.HandshakeType, raw []byte) {
		p.feed(append(p.seal(wire.AlertRecord, []byte{1, byte(shakedown.AlertUserCanceled)}), p.seal(wire.Handshake, raw)...))
	}
	for name, d := range map[string]deliver13{
		"a byte a record": pieces(1), "seven bytes a record": pieces(7), "coalesced": coalesced(), "fed by the byte": bytewise,
		"change_cipher_spec before each": withCCS, "user_canceled before each": withUserCanceled,
	} {
		t.Run(name, func(t *testing.T) {
			p := play13(t, config13(), nil, script13{deliver: d, request: certificateRequest()})
			if f := p.machine.Failure(); f != nil || !p.done {
				t.Fatalf("failure %v, done %v", f, p.done)
			}
			if o := p.machine.Observed(); o.Chain == nil || !o.CertificateRequested {
				t.Errorf("observed %+v", o)
			}
		})
	}
}

// TestFlights counts bytes and records of both sides over an uneven division.
func TestFlights(t *testing.T) {
	var received, records int
	p := play13(t, config13(), nil, script13{deliver: func(p *peer, _ wire.HandshakeType, raw []byte) {
		for _, half := range [][]byte{raw[:len(raw)/2], raw[len(raw)/2:]} {
			b := p.seal(wire.Handshake, half)
			received, records = received+len(b), records+1
			p.feed(b[:3])
			p.feed(b[3:])
		}
	}})
	o := p.machine.Observed()
	if len(o.Flights) != 3 || o.Flights[1].Bytes != received || o.Flights[1].Records != records || o.RoundTrips != 1 {
		t.Errorf("flights %+v, round trips %d; the server sent %d bytes in %d records", o.Flights, o.RoundTrips, received, records)
	}
	if want := o.ClientHelloBytes + wire.RecordHeaderLen; o.Flights[0].Bytes != want {
		t.Errorf("the first flight has %d bytes, the ClientHello with its header %d", o.Flights[0].Bytes, want)
	}
}

// TestMisbehavedRecords is about records of TLS 1.3 that may not be.
func TestMisbehavedRecords(t *testing.T) {
	at := func(message wire.HandshakeType, send deliver13) script13 {
		return script13{deliver: func(p *peer, t wire.HandshakeType, raw []byte) {
			if t == message {
				send(p, t, raw)
			} else {
				p.feed(p.seal(wire.Handshake, raw))
			}
		}}
	}
	before := func(message wire.HandshakeType, record func(p *peer) []byte) script13 {
		return at(message, func(p *peer, _ wire.HandshakeType, raw []byte) {
			p.feed(append(record(p), p.seal(wire.Handshake, raw)...))
		})
	}
	within := func(message wire.HandshakeType, record func(p *peer) []byte) script13 {
		return at(message, func(p *peer, _ wire.HandshakeType, raw []byte) {
			b := p.seal(wire.Handshake, raw[:5])
			b = append(b, record(p)...)
			p.feed(append(b, p.seal(wire.Handshake, raw[5:])...))
		})
	}
	plain := func(kind wire.ContentType, content ...byte) func(*peer) []byte {
		return func(*peer) []byte { return plainRecord(kind, content) }
	}
	sealed := func(kind wire.ContentType, content ...byte) func(*peer) []byte {
		return func(p *peer) []byte { return p.seal(kind, content) }
	}
	many := func(n int, one func(*peer) []byte) func(*peer) []byte {
		return func(p *peer) (b []byte) {
			for range n {
				b = append(b, one(p)...)
			}
			return b
		}
	}
	version := func(v shakedown.Version) func(*peer) []byte {
		return func(*peer) []byte {
			return append(wire.RecordHeader{Type: wire.Handshake, Version: v, Length: 1}.Append(nil), 2)
		}
	}
	const sh, ee, fin = wire.TypeServerHello, wire.TypeEncryptedExtensions, wire.TypeFinished
	overflow, badMAC := shakedown.AlertRecordOverflow, shakedown.AlertBadRecordMAC
	faults := []fault13{
		{name: "unknown type", script: before(ee, plain(24, 1)), want: verdict{alert: unwanted, phase: atHello, text: "unknown type 24"}},
		{name: "version 2.0", script: before(sh, version(0x0200)), want: verdict{alert: shakedown.AlertProtocolVersion, phase: connected, text: "0x0200"}},
		{name: "data before ServerHello", script: before(sh, plain(wire.ApplicationData, 1)), want: verdict{alert: unwanted, phase: connected, text: "application data while ServerHello"}},
		{name: "empty records without end", script: before(sh, many(40, plain(wire.Handshake))), want: verdict{alert: unwanted, phase: atHello, text: "no further"}},
		{name: "change_cipher_spec without end", script: before(sh, many(40, plain(wire.ChangeCipherSpec, 1))), want: verdict{alert: unwanted, phase: connected, text: "no further"}},
		{name: "warnings without end", script: before(sh, many(40, plain(wire.AlertRecord, 1, byte(shakedown.AlertUnrecognizedName)))), want: verdict{alert: unwanted, phase: connected, text: "no further"}},
		{name: "change_cipher_spec of value 2", script: before(sh, plain(wire.ChangeCipherSpec, 2)), want: verdict{alert: unwanted, phase: connected, text: "malformed"}},
		{name: "change_cipher_spec of two bytes", script: before(sh, plain(wire.ChangeCipherSpec, 1, 1)), want: verdict{alert: unwanted, phase: connected, text: "malformed"}},
		{name: "plaintext too long", script: before(sh, plain(wire.Handshake, make([]byte, wire.MaxPlaintext+1)...)), want: verdict{alert: overflow, phase: connected, text: "limit is 16384"}},
		{name: "record too long", script: before(sh, plain(wire.Handshake, make([]byte, wire.MaxCiphertext12+1)...)), want: verdict{alert: overflow, phase: connected, text: "limit is 18432"}},
		{name: "message too long", script: before(sh, plain(wire.Handshake, 2, 0xFF, 0xFF, 0xFF)), want: verdict{alert: illegal, phase: atHello, text: "16777215 bytes"}},
		{name: "change_cipher_spec within ServerHello", script: within(sh, plain(wire.ChangeCipherSpec, 1)), want: verdict{alert: unwanted, phase: atHello, text: "in the middle of a handshake message"}},
		{name: "data within a message", script: within(ee, sealed(wire.ApplicationData, 1)), want: verdict{alert: unwanted, phase: atHello, text: "in the middle of a handshake message"}},
		{name: "change_cipher_spec within a message", script: within(wire.TypeCertificate, plain(wire.ChangeCipherSpec, 1)), want: verdict{alert: unwanted, phase: atHello, text: "in the middle of a handshake message"}},
		{name: "alert within a message", script: within(wire.TypeCertificate, sealed(wire.AlertRecord, 2, 80)), want: verdict{class: shakedown.ClassAlert, alert: shakedown.AlertInternalError, phase: atHello, text: "internal_error while Certificate"}},
		{name: "data before Finished", script: before(fin, sealed(wire.ApplicationData, 1)), want: verdict{alert: unwanted, phase: atHello, text: "application data while Finished"}},
		{name: "empty protected handshake record", script: before(ee, sealed(wire.Handshake)), want: verdict{alert: unwanted, phase: atHello, text: "does not open"}},
		{name: "protected change_cipher_spec", script: before(ee, sealed(wire.ChangeCipherSpec, 1)), want: verdict{alert: unwanted, phase: atHello, text: "protected change_cipher_spec"}},
		{name: "protected unknown type", script: before(ee, sealed(99, 1)), want: verdict{alert: unwanted, phase: atHello, text: "type 0x63"}},
		{name: "plaintext after ServerHello", script: before(ee, plain(wire.Handshake, 8, 0, 0, 2, 0, 0)), want: verdict{alert: unwanted, phase: atHello, text: "unprotected record"}},
		{name: "garbage after ServerHello", script: before(ee, plain(wire.ApplicationData, make([]byte, 32)...)), want: verdict{alert: badMAC, phase: atHello, text: "does not open"}},
		{name: "too short to open", script: before(ee, plain(wire.ApplicationData, 1)), want: verdict{alert: badMAC, phase: atHello, text: "does not open"}},
		{name: "more behind ServerHello", script: at(sh, func(p *peer, _ wire.HandshakeType, raw []byte) {
			p.feed(p.seal(wire.Handshake, append(bytes.Clone(raw), 8, 0, 0, 2, 0, 0)))
		}), want: verdict{alert: unwanted, phase: atHello, text: "in the record of its ServerHello"}},
		{name: "the start of more behind ServerHello", script: at(sh, func(p *peer, _ wire.HandshakeType, raw []byte) {
			p.feed(p.seal(wire.Handshake, append(bytes.Clone(raw), 8)))
		}), want: verdict{alert: unwanted, phase: atHello, text: "in the record of its ServerHello"}},
		{name: "more behind Finished", script: at(fin, func(p *peer, _ wire.HandshakeType, raw []byte) {
			p.feed(p.seal(wire.Handshake, append(bytes.Clone(raw), 4)))
		}), want: verdict{alert: unwanted, phase: atHello, text: "in the record of its Finished"}},
		{name: "KeyUpdate before Finished", script: before(fin, sealed(wire.Handshake, 24, 0, 0, 1, 0)), want: verdict{alert: unwanted, phase: atHello, text: "KeyUpdate while Finished"}},
		{name: "ticket before Finished", script: before(fin, sealed(wire.Handshake, 4, 0, 0, 1, 0)), want: verdict{alert: unwanted, phase: atHello, text: "NewSessionTicket while Finished"}},
		{name: "alert of one byte", script: before(sh, plain(wire.AlertRecord, 2)), want: verdict{alert: decode, phase: connected, text: "malformed Alert"}},
		{name: "fatal alert", script: before(sh, plain(wire.AlertRecord, 2, 40)), want: verdict{class: shakedown.ClassAlert, alert: shakedown.AlertHandshakeFailure, phase: connected, text: "handshake_failure while ServerHello"}},
		{name: "unknown alert", script: before(sh, plain(wire.AlertRecord, 2, 213)), want: verdict{class: shakedown.ClassAlert, alert: 213, phase: connected, text: "0xD5 while ServerHello"}},
		{name: "close_notify", script: before(sh, plain(wire.AlertRecord, 1, 0)), want: verdict{class: shakedown.ClassAlert, alert: shakedown.AlertCloseNotify, phase: connected, text: "close_notify while ServerHello"}},
		{name: "warning in TLS 1.3 is fatal", script: before(ee, sealed(wire.AlertRecord, 1, 90+22)), want: verdict{class: shakedown.ClassAlert, alert: shakedown.AlertUnrecognizedName, phase: atHello, text: "unrecognized_name while EncryptedExtensions"}},
		{name: "close_notify before Finished", script: before(fin, sealed(wire.AlertRecord, 1, 0)), want: verdict{class: shakedown.ClassAlert, alert: shakedown.AlertCloseNotify, phase: atHello, text: "close_notify while Finished"}},
	}
	runFaults13(t, faults)
}

// TestNoTLS recognises servers that speak something else, without an alert that
// they would not understand.
func TestNoTLS(t *testing.T) {
	for _, c := range []struct{ answer, hint string }{
		{"HTTP/1.1 400 Bad Request\r\n", "plain HTTP"},
		{"220 mail.example ESMTP\r\n", "STARTTLS"},
		{"* OK IMAP4 ready\r\n", "STARTTLS"},
		{"SSH-2.0-OpenSSH\r\n", "check the port"},
		{"\xC3\x5A", "check the port"},
		{"\x18\x03\x03\x00\x01\x00", "check the port"},
	} {
		p := newPeer(t, nil, config13(), nil)
		p.readHello()
		p.feed([]byte(c.answer))
		f := p.machine.Failure()
		if f == nil || f.Class != shakedown.ClassPeer || !bytes.Contains([]byte(f.Hint), []byte(c.hint)) || f.AlertSent || len(p.sent) > 0 {
			t.Errorf("%q: %+v, sent %x", c.answer, f, p.sent)
		}
	}
}

// TestBoundedMemory feeds as much of one message as a server may send, in the
// smallest records. It ends only if each piece costs little.
func TestBoundedMemory(t *testing.T) {
	p := newPeer(t, nil, config13(), nil)
	p.readHello()
	const size = 1 << 18
	p.feed(plainRecord(wire.Handshake, []byte{2, size >> 16, 0, 0}))
	one := plainRecord(wire.Handshake, []byte{0})
	for range size - 1 {
		p.feed(one)
	}
	if f := p.machine.Failure(); f != nil {
		t.Fatal(f)
	}
	p.feed(one)
	p.expect(verdict{alert: decode, phase: atHello, text: "malformed ServerHello"})
}
