package handshake_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"testing"

	"shakedown"
	"shakedown/handshake"
	"shakedown/internal/wire"
)

// judge holds what any peer may bring a Machine to: it is done, or waits, or has
// failed for a reason that is not its own. The end of the connection ends it.
func judge(t *testing.T, p *peer) {
	t.Helper()
	f := p.machine.Failure()
	if f == nil {
		if f = p.machine.Close(io.EOF); f == nil && !p.done && !p.ended {
			t.Fatal("neither done nor failed when the connection was over")
		}
	}
	if f == nil {
		return
	}
	if f.Class == shakedown.ClassOurs || f.Class == shakedown.ClassLocal || f.Text == "" {
		t.Errorf("failure of class %s: %q", f.Class, f.Text)
	}
	if f.AlertSent && f.Alert != nil && *f.Alert == shakedown.AlertInternalError {
		t.Errorf("internal_error was sent to a peer: %q", f.Text)
	}
	p.machine.Feed([]byte{22, 3, 3, 0, 1, 2})
	if e := p.machine.Next(); e.Kind != handshake.EventWait {
		t.Errorf("event %d after the failure", e.Kind)
	}
	if o := p.machine.Observed(); len(o.Tickets) > 1024 || len(o.Flights) > 100_000 {
		t.Errorf("%d tickets, %d flights", len(o.Tickets), len(o.Flights))
	}
}

// fuzzConfigs are the clients that fuzzed servers meet.
func fuzzConfigs() []handshake.Config {
	tls12 := config12()
	tls12.CipherSuites = append(tls12.CipherSuites, shakedown.TLS_RSA_WITH_AES_128_GCM_SHA256, shakedown.TLS_DHE_RSA_WITH_AES_128_GCM_SHA256)
	tls12.CompressCertificate, tls12.SCTs, tls12.RecordSizeLimit = []uint16{1, 2, 3}, true, 600
	all := config13()
	all.CompressCertificate, all.SCTs, all.MaxFragmentLength, all.GREASE = []uint16{1, 2, 3}, true, 2, true
	probe := config13()
	probe.ProbeOnly = true
	return []handshake.Config{config13Only(), all, tls12, probe}
}

// FuzzMachine feeds any bytes in any division after the ClientHello.
func FuzzMachine(f *testing.F) {
	sh := wire.ServerHello{Version: shakedown.TLS12, CipherSuite: shakedown.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256}
	flight := plainRecord(wire.Handshake, sh.Append(nil))
	flight = append(flight, plainRecord(wire.Handshake, (&wire.CertificateTLS12{List: identities["p256"]().chain}).Append(nil))...)
	flight = append(flight, plainRecord(wire.Handshake, (&wire.ServerKeyExchangeECDHE{Group: shakedown.X25519, Public: bytes.Repeat([]byte{9}, 32), Scheme: shakedown.ECDSASecp256r1, Signature: []byte{1}}).Append(nil))...)
	flight = append(flight, plainRecord(wire.Handshake, (&wire.ServerHelloDone{}).Append(nil))...)
	sh.CipherSuite = shakedown.TLS_AES_128_GCM_SHA256
	sh.Random = wire.HelloRetryRequestRandom
	sh.Extensions = wire.Extensions{
		{Type: shakedown.ExtSupportedVersions, Data: wire.AppendSelectedVersion(nil, shakedown.TLS13)},
		{Type: shakedown.ExtKeyShare, Data: wire.AppendSelectedGroup(nil, shakedown.Secp384r1)},
	}
	retry := plainRecord(wire.Handshake, sh.Append(nil))
	for config := range fuzzConfigs() {
		for _, split := range []uint64{0, 1, 0x0101010101010101, 0x0503} {
			f.Add(flight, split, uint8(config))
			f.Add(retry, split, uint8(config))
		}
	}
	f.Add([]byte("HTTP/1.1 400 Bad Request\r\n"), uint64(3), uint8(0))
	f.Add(plainRecord(wire.AlertRecord, []byte{1, 112}), uint64(0), uint8(1))
	f.Fuzz(func(t *testing.T, input []byte, split uint64, which uint8) {
		configs := fuzzConfigs()
		cfg := configs[int(which)%len(configs)]
		if which&0x80 != 0 {
			cfg.Work = shakedown.WorkMinimal
		}
		p := newPeer(t, nil, cfg, nil)
		sizes := binary.LittleEndian.AppendUint64(nil, split)
		for i := 0; len(input) > 0; i++ {
			n := int(sizes[i%len(sizes)])
			if n == 0 || n > len(input) {
				n = len(input)
			}
			p.feed(input[:n])
			input = input[n:]
		}
		judge(t, p)
	})
}

// FuzzReplay takes a handshake in which one message of the server is replaced by
// any bytes, protected as it would be, or has them before it as a record of any
// type.
func FuzzReplay(f *testing.F) {
	const replaced, body, before = 0, 1, 2
	for message := range uint8(8) {
		for flow := range uint8(6) {
			f.Add(flow, message, uint8(body), []byte{0, 0, 0})
			f.Add(flow, message, uint8(before), []byte{byte(wire.AlertRecord), 1, 0})
			f.Add(flow, message, uint8(replaced), []byte{byte(wire.TypeNewSessionTicket), 0, 0, 0})
		}
	}
	f.Add(uint8(0), uint8(1), uint8(body), []byte{0, 6, 0, 16, 0, 2, 0, 0})
	f.Add(uint8(1), uint8(4), uint8(before), []byte{byte(wire.ChangeCipherSpec), 1})
	f.Fuzz(func(t *testing.T, flow, message, how uint8, data []byte) {
		count := uint8(0)
		deliver := func(p *peer, typ wire.HandshakeType, raw []byte) {
			at := count == message
			count++
			switch {
			case at && how%3 == before && len(data) > 0 && len(data) < wire.MaxPlaintext:
				p.feed(p.seal(wire.ContentType(data[0]), data[1:]))
				p.feed(p.seal(wire.Handshake, raw))
			default:
				p.feed(p.seal(wire.Handshake, raw))
			}
		}
		sent := uint8(0)
		alter := func(typ wire.HandshakeType, raw []byte) []byte {
			at := sent == message
			sent++
			switch {
			case at && how%3 == replaced:
				return data
			case at && how%3 == body:
				return append(wire.AppendHandshakeHeader(nil, typ, len(data)), data...)
			}
			return raw
		}
		work := shakedown.WorkFull
		if how&0x80 != 0 {
			work = shakedown.WorkMinimal
		}
		p := playFuzzed(t, flow, work, alter, deliver)
		judge(t, p)
	})
}

// playFuzzed plays one of the flows up to the server's last message.
func playFuzzed(t *testing.T, flow uint8, work shakedown.Work, alter func(wire.HandshakeType, []byte) []byte, deliver func(*peer, wire.HandshakeType, []byte)) *peer {
	const aes128 = shakedown.TLS_AES_128_GCM_SHA256
	s13 := script13{alter: alter, deliver: deliver, stop: true}
	s12 := script12{alter: alter, deliver: deliver, stop: true}
	cfg12, cfg13 := fuzzConfigs()[2], fuzzConfigs()[1]
	var session *handshake.Session
	switch flow % 6 {
	case 0:
		s13.request = certificateRequest()
	case 1:
		s13.retry, s13.retryGroup, s13.group = func(*wire.ServerHello) {}, shakedown.Secp384r1, shakedown.Secp384r1
	case 2:
		cfg13, session = configEarly(), session13(aes128)
		s13.psk, s13.early = true, true
	case 3:
		cfg12.Work = work
		s12.staple, s12.ticket = []byte("staple"), []byte("ticket")
		return play12(t, cfg12, nil, s12)
	case 4:
		cfg12.Mode, cfg12.Work = shakedown.ModeTicket, work
		s12.resume, s12.ticket = true, []byte("ticket")
		return play12(t, cfg12, session12(), s12)
	case 5:
		cfg13, session = configPSK(), session13(aes128)
		s13.psk = true
	}
	cfg13.Work = work
	return play13(t, cfg13, session, s13)
}
