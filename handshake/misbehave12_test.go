package handshake_test

import (
	"fmt"
	"testing"

	"shakedown"
	"shakedown/handshake"
	"shakedown/internal/wire"
)

// config12 is the client that the misbehaving TLS 1.2 servers meet.
func config12() handshake.Config {
	return handshake.Config{
		Versions: []shakedown.Version{shakedown.TLS12},
		CipherSuites: []shakedown.CipherSuite{
			shakedown.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, shakedown.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
			shakedown.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, shakedown.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA,
		},
		Groups:     []shakedown.Group{shakedown.X25519, shakedown.Secp256r1},
		ServerName: "peer", ALPN: []string{"h2", "http/1.1"}, StatusRequest: true,
	}
}

func configMode12(m shakedown.Mode) func() handshake.Config {
	return func() handshake.Config {
		cfg := config12()
		cfg.Mode = m
		return cfg
	}
}

// fault12 is a TLS 1.2 server's fault and what the client has to make of it.
type fault12 struct {
	name   string
	config func() handshake.Config // config12 when nil
	offer  bool                    // a session
	script script12
	want   verdict
}

func (f fault12) play(t *testing.T, work shakedown.Work) *peer {
	t.Helper()
	if f.config == nil {
		f.config = config12
	}
	cfg := f.config()
	cfg.Work = work
	var session *handshake.Session
	if f.offer {
		session = session12()
	}
	return play12(t, cfg, session, f.script)
}

func runFaults12(t *testing.T, faults []fault12) {
	for _, f := range faults {
		for _, work := range []shakedown.Work{shakedown.WorkFull, shakedown.WorkMinimal} {
			t.Run(f.name+"/"+string(work), func(t *testing.T) { f.play(t, work).expect(f.want) })
		}
	}
}

// TestPeer12 proves that the server of these tests is a right one as long as it
// is not told otherwise.
func TestPeer12(t *testing.T) {
	ticket, id := configMode12(shakedown.ModeTicket), configMode12(shakedown.ModeSessionID)
	phases := []shakedown.Phase{shakedown.PhaseServerHello, shakedown.PhaseServerFlight, shakedown.PhaseFinished, shakedown.PhaseComplete}
	helloRequests := func(p *peer, typ wire.HandshakeType, raw []byte) {
		if typ != wire.TypeFinished {
			raw = append([]byte{0, 0, 0, 0}, raw...) // ignored, and in no transcript
		}
		p.feed(p.seal(wire.Handshake, raw))
	}
	for _, c := range []struct {
		fault12
		mode shakedown.Mode
	}{
		{fault12{name: "full"}, shakedown.ModeFull},
		{fault12{name: "full rsa", script: script12{identity: "rsa", suite: shakedown.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, group: shakedown.Secp256r1}}, shakedown.ModeFull},
		{fault12{name: "full with all", script: script12{staple: []byte("staple"), ticket: []byte("ticket"), request: &wire.CertificateRequestTLS12{Types: []byte{64}, SignatureSchemes: []shakedown.SignatureScheme{shakedown.ECDSASecp256r1}}}}, shakedown.ModeFull},
		{fault12{name: "staple promised and left out", script: script12{staple: []byte{}}}, shakedown.ModeFull},
		{fault12{name: "both versions offered", config: config13}, shakedown.ModeFull},
		{fault12{name: "ticket", config: ticket, offer: true, script: script12{resume: true}}, shakedown.ModeTicket},
		{fault12{name: "ticket renewed", config: ticket, offer: true, script: script12{resume: true, ticket: []byte("new")}}, shakedown.ModeTicket},
		{fault12{name: "ticket refused", config: ticket, offer: true}, shakedown.ModeFull},
		{fault12{name: "session ID", config: id, offer: true, script: script12{resume: true}}, shakedown.ModeSessionID},
		{fault12{name: "session ID refused", config: id, offer: true, script: script12{hello: func(sh *wire.ServerHello) { sh.SessionID = []byte("another") }}}, shakedown.ModeFull},
		{fault12{name: "HelloRequests", script: script12{deliver: helloRequests}}, shakedown.ModeFull},
	} {
		for _, work := range []shakedown.Work{shakedown.WorkFull, shakedown.WorkMinimal} {
			t.Run(c.name+"/"+string(work), func(t *testing.T) {
				p := c.play(t, work)
				if f := p.machine.Failure(); f != nil || !p.done {
					t.Fatalf("failure %v, done %v", f, p.done)
				}
				if o := p.machine.Observed(); o.Mode != c.mode {
					t.Errorf("observed mode %s", o.Mode)
				}
				for _, phase := range phases {
					if n := p.told(phase); n != 1 {
						t.Errorf("phase %s was told %d times", phase, n)
					}
				}
			})
		}
	}
}

func hello12(change func(*wire.ServerHello)) script12 { return script12{hello: change} }

func addToHello12(e ...wire.Extension) script12 {
	return hello12(func(sh *wire.ServerHello) { sh.Extensions = append(sh.Extensions, e...) })
}

// downgraded marks the random as of a server that could do better (RFC 8446,
// section 4.1.3).
func downgraded(last byte) func(*wire.ServerHello) {
	return func(sh *wire.ServerHello) { copy(sh.Random[24:], "DOWNGRD"+string(rune(last))) }
}

// TestMisbehavedServerHello12 is about the TLS 1.2 ServerHello.
func TestMisbehavedServerHello12(t *testing.T) {
	ticket, id := configMode12(shakedown.ModeTicket), configMode12(shakedown.ModeSessionID)
	incompatible := shakedown.ClassIncompatible
	faults := []fault12{
		{name: "downgrade from 1.3", config: config13, script: hello12(downgraded(1)), want: verdict{alert: illegal, text: "downgrade sentinel"}},
		{name: "downgrade from 1.3 marked 1.1", config: config13, script: hello12(downgraded(0)), want: verdict{alert: illegal, text: "downgrade sentinel"}},
		{name: "session ID echoed by both versions' client", config: config13, script: script12{resume: true}, want: verdict{alert: illegal, text: "was not offered (it echoed legacy_session_id"}},
		{name: "suite not offered", script: hello12(func(sh *wire.ServerHello) { sh.CipherSuite = shakedown.TLS_RSA_WITH_AES_128_GCM_SHA256 }), want: verdict{alert: illegal, text: "which was not offered"}},
		{name: "suite of TLS 1.3", config: config13, script: hello12(func(sh *wire.ServerHello) { sh.CipherSuite = shakedown.TLS_AES_128_GCM_SHA256 }), want: verdict{alert: illegal, text: "not one of TLS 1.2"}},
		{name: "version 1.1", script: hello12(func(sh *wire.ServerHello) { sh.Version = shakedown.TLS11 }), want: verdict{class: incompatible, alert: shakedown.AlertProtocolVersion, text: "TLS 1.1, which was not offered"}},
		{name: "version 1.3 without supported_versions", script: hello12(func(sh *wire.ServerHello) { sh.Version = shakedown.TLS13 }), want: verdict{alert: illegal, text: "without supported_versions"}},
		{name: "supported_versions not asked for", script: addToHello12(extension(shakedown.ExtSupportedVersions, 3, 4)), want: verdict{alert: unasked, text: "supported_versions, which was not sent"}},
		{name: "compression", script: hello12(func(sh *wire.ServerHello) { sh.Compression = 1 }), want: verdict{alert: illegal, text: "compression method 1"}},
		{name: "session ID too long", script: hello12(func(sh *wire.ServerHello) { sh.SessionID = make([]byte, 33) }), want: verdict{alert: decode, text: "malformed ServerHello"}},
		{name: "extension unknown", script: addToHello12(extension(0x1234)), want: verdict{alert: unasked, text: "0x1234 in ServerHello"}},
		{name: "key_share", config: config13, script: addToHello12(extension(shakedown.ExtKeyShare, 0, 29, 0, 1, 0)), want: verdict{alert: illegal, text: "may not stand"}},
		{name: "renegotiation_info with data", script: hello12(func(sh *wire.ServerHello) { sh.Extensions[0] = extension(shakedown.ExtRenegotiationInfo, 1, 0) }), want: verdict{alert: shakedown.AlertHandshakeFailure, text: "renegotiation_info with data"}},
		{name: "extended_master_secret with data", script: hello12(func(sh *wire.ServerHello) { sh.Extensions[1] = extension(shakedown.ExtExtendedMasterSecret, 0) }), want: verdict{alert: decode, text: "malformed"}},
		{name: "encrypt_then_mac with an AEAD", script: addToHello12(extension(shakedown.ExtEncryptThenMAC)), want: verdict{alert: illegal, text: "has no MAC"}},
		{name: "point formats without uncompressed", script: addToHello12(extension(shakedown.ExtECPointFormats, 1, 1)), want: verdict{alert: illegal, text: "uncompressed points"}},
		{name: "SCT not asked for", script: addToHello12(extension(shakedown.ExtSignedCertificateTimestamp, 0, 3, 0, 1, 0)), want: verdict{alert: unasked, text: "signed_certificate_timestamp"}},
		{name: "ticket not asked for", config: id, script: addToHello12(extension(shakedown.ExtSessionTicket)), want: verdict{alert: unasked, text: "session_ticket"}},
		{name: "ALPN not offered", script: addToHello12(extension(shakedown.ExtALPN, 0, 3, 2, 'h', '3')), want: verdict{alert: illegal, text: `"h3", which was not offered`}},
		{name: "HelloRetryRequest", script: hello12(func(sh *wire.ServerHello) { sh.Random = wire.HelloRetryRequestRandom }), want: verdict{alert: illegal, text: "without choosing TLS 1.3"}},
		{name: "resumed with another suite", config: ticket, offer: true, script: script12{resume: true, suite: shakedown.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384}, want: verdict{alert: illegal, text: "resumed a session of"}},
		{name: "resumed without extended_master_secret", config: ticket, offer: true, script: script12{resume: true, hello: func(sh *wire.ServerHello) { sh.Extensions = sh.Extensions[:1] }}, want: verdict{alert: shakedown.AlertHandshakeFailure, text: "another extended_master_secret"}},
	}
	for i := range faults {
		faults[i].want.phase = atHello
	}
	runFaults12(t, faults)
}

// TestMisbehavedFlight12 is about the server's other messages.
func TestMisbehavedFlight12(t *testing.T) {
	const finished, ticketed = shakedown.PhaseFinished, shakedown.PhaseTicket
	ticket := configMode12(shakedown.ModeTicket)
	skip := func(message wire.HandshakeType) script12 {
		return script12{ticket: []byte("ticket"), deliver: func(p *peer, t wire.HandshakeType, raw []byte) {
			if t != message {
				p.feed(p.seal(wire.Handshake, raw))
			}
		}}
	}
	exchange := func(change func(*wire.ServerKeyExchangeECDHE)) script12 { return script12{exchange: change} }
	beforeDone := func(record []byte) script12 {
		return script12{deliver: func(p *peer, t wire.HandshakeType, raw []byte) {
			if t == wire.TypeServerHelloDone {
				raw = append(record, plainRecord(wire.Handshake, raw)...)
				p.feed(raw)
				return
			}
			p.feed(p.seal(wire.Handshake, raw))
		}}
	}
	onlyX25519 := func() handshake.Config {
		cfg := config12()
		cfg.Groups = cfg.Groups[:1] // TLS_ECDHE_RSA is offered too
		return cfg
	}
	faults := []fault12{
		{name: "no certificate", script: script12{certificate: func(c *wire.CertificateTLS12) { c.List = nil }}, want: verdict{alert: decode, phase: atHello, text: "no certificate"}},
		{name: "RSA key for an ECDSA suite", script: script12{identity: "rsa", suite: shakedown.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256}, want: verdict{alert: illegal, phase: atHello, text: "with a certificate of key RSA-2048"}},
		{name: "ECDSA key for an RSA suite", script: script12{suite: shakedown.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256}, want: verdict{alert: illegal, phase: atHello, text: "with a certificate of key ECDSA-P256"}},
		{name: "leaf on a curve not offered", script: script12{identity: "p384"}, want: verdict{alert: illegal, phase: atHello, text: "curve secp384r1, which was not offered"}},
		{name: "leaf on a curve not offered either", config: onlyX25519, want: verdict{alert: illegal, phase: atHello, text: "curve secp256r1, which was not offered"}},
		{name: "staple not promised", script: script12{staple: []byte("staple"), hello: func(sh *wire.ServerHello) { sh.Extensions = sh.Extensions[:2] }}, want: verdict{alert: unwanted, phase: atHello, text: "CertificateStatus while ServerKeyExchange"}},
		{name: "group not offered", script: exchange(func(kx *wire.ServerKeyExchangeECDHE) { kx.Group = shakedown.Secp521r1 }), want: verdict{alert: illegal, phase: atHello, text: "secp521r1, which was not offered"}},
		{name: "point too short", script: exchange(func(kx *wire.ServerKeyExchangeECDHE) { kx.Public = kx.Public[:31] }), want: verdict{alert: illegal, phase: atHello, text: "bad key share"}},
		{name: "point all zero", script: exchange(func(kx *wire.ServerKeyExchangeECDHE) { kx.Public = make([]byte, 32) }), want: verdict{alert: illegal, phase: atHello, text: "bad key share"}},
		{name: "scheme not offered", script: exchange(func(kx *wire.ServerKeyExchangeECDHE) { kx.Scheme = shakedown.ECDSASHA1 }), want: verdict{alert: illegal, phase: atHello, text: "which was not offered"}},
		{name: "scheme of another key", script: exchange(func(kx *wire.ServerKeyExchangeECDHE) { kx.Scheme = shakedown.RSAPKCS1SHA256 }), want: verdict{alert: illegal, phase: atHello, text: "does not go with"}},
		{name: "Certificate missing", script: skip(wire.TypeCertificate), want: verdict{alert: unwanted, phase: atHello, text: "ServerKeyExchange while Certificate"}},
		{name: "ServerKeyExchange missing", script: skip(wire.TypeServerKeyExchange), want: verdict{alert: unwanted, phase: atHello, text: "ServerHelloDone while ServerKeyExchange"}},
		{name: "ticket missing", script: skip(wire.TypeNewSessionTicket), want: verdict{alert: unwanted, phase: finished, text: "Finished while NewSessionTicket"}},
		{name: "ChangeCipherSpec early", script: beforeDone(plainRecord(wire.ChangeCipherSpec, []byte{1})), want: verdict{alert: unwanted, phase: atHello, text: "ChangeCipherSpec while ServerHelloDone"}},
		{name: "data early", script: beforeDone(plainRecord(wire.ApplicationData, []byte{1})), want: verdict{alert: unwanted, phase: atHello, text: "application data while ServerHelloDone"}},
		{name: "ChangeCipherSpec twice", script: script12{ccs: func(p *peer) {
			ccs := plainRecord(wire.ChangeCipherSpec, []byte{1})
			p.feed(append(ccs, ccs...))
		}}, want: verdict{alert: unwanted, phase: finished, text: "ChangeCipherSpec while Finished"}},
		{name: "Finished before ChangeCipherSpec", script: script12{ccs: func(*peer) {}, deliver: func(p *peer, _ wire.HandshakeType, raw []byte) {
			p.write = nil
			p.feed(p.seal(wire.Handshake, raw))
		}}, want: verdict{alert: unwanted, phase: finished, text: "Finished before ChangeCipherSpec"}},
		{name: "ticket behind ChangeCipherSpec", script: script12{
			hello: func(sh *wire.ServerHello) {
				sh.Extensions = append(sh.Extensions, extension(shakedown.ExtSessionTicket))
			},
			deliver: func(p *peer, t wire.HandshakeType, raw []byte) {
				if t == wire.TypeFinished {
					raw = append((&wire.NewSessionTicketTLS12{Ticket: []byte("ticket")}).Append(nil), raw...)
				}
				p.feed(p.seal(wire.Handshake, raw))
			}}, want: verdict{alert: unwanted, phase: finished, text: "behind ChangeCipherSpec"}},
		{name: "ChangeCipherSpec within a message", script: script12{ticket: []byte("ticket"), ccs: func(p *peer) {
			p.feed(append(plainRecord(wire.Handshake, []byte{20, 0}), plainRecord(wire.ChangeCipherSpec, []byte{1})...))
		}}, want: verdict{alert: unwanted, phase: ticketed, text: "in the middle of a handshake message"}},
		{name: "Finished wrong", script: script12{finished: func(f *wire.Finished) { f.VerifyData[0] ^= 1 }}, want: verdict{alert: shakedown.AlertDecryptError, phase: finished, text: "Finished does not verify"}},
		{name: "Finished wrong in a resumption", config: ticket, offer: true, script: script12{resume: true, finished: func(f *wire.Finished) { f.VerifyData[0] ^= 1 }}, want: verdict{alert: shakedown.AlertDecryptError, phase: atHello, text: "Finished does not verify"}},
		{name: "certificate in a resumption", config: ticket, offer: true, script: script12{resume: true, ccs: func(p *peer) {
			p.feed(plainRecord(wire.Handshake, (&wire.CertificateTLS12{List: p.chain}).Append(nil)))
		}}, want: verdict{alert: unwanted, phase: atHello, text: "Certificate while Finished"}},
		{name: "garbage for Finished", script: script12{ccs: func(p *peer) {
			p.feed(append(plainRecord(wire.ChangeCipherSpec, []byte{1}), plainRecord(wire.Handshake, make([]byte, 40))...))
		}}, want: verdict{alert: shakedown.AlertBadRecordMAC, phase: finished, text: "does not open"}},
		{name: "alert", script: script12{ccs: func(p *peer) { p.feed(plainRecord(wire.AlertRecord, []byte{2, 51})) }}, want: verdict{class: shakedown.ClassAlert, alert: shakedown.AlertDecryptError, phase: finished, text: "decrypt_error while Finished"}},
		{name: "second hello after it", script: script12{after: func(p *peer) { p.feed(p.seal(wire.Handshake, []byte{2, 0, 0, 0})) }}, want: verdict{alert: unwanted, phase: complete, text: "ServerHello while application data"}},
		{name: "ticket over max", script: script12{alter: func(t wire.HandshakeType, raw []byte) []byte {
			if t == wire.TypeServerKeyExchange {
				raw[1] = 0xFF
			}
			return raw
		}}, want: verdict{alert: illegal, phase: atHello, text: "the limit is 262144"}},
	}
	for _, message := range []wire.HandshakeType{wire.TypeServerHello, wire.TypeCertificate, wire.TypeCertificateStatus, wire.TypeServerKeyExchange, wire.TypeCertificateRequest, wire.TypeServerHelloDone, wire.TypeNewSessionTicket, wire.TypeFinished} {
		f := fault12{name: fmt.Sprintf("%s with a byte behind it", message), want: verdict{alert: decode, phase: atHello, text: message.String()}}
		switch message {
		case wire.TypeNewSessionTicket:
			f.want.phase = finished
		case wire.TypeFinished:
			f.want.phase = ticketed
		}
		f.script = script12{
			staple: []byte("staple"), ticket: []byte("ticket"),
			request: &wire.CertificateRequestTLS12{Types: []byte{64}, SignatureSchemes: []shakedown.SignatureScheme{shakedown.ECDSASecp256r1}},
			alter: func(t wire.HandshakeType, raw []byte) []byte {
				if t == message {
					return changeLength(raw, 1)
				}
				return raw
			},
		}
		faults = append(faults, f)
	}
	runFaults12(t, faults)

	t.Run("signature wrong", func(t *testing.T) {
		play12(t, config12(), nil, exchange(func(kx *wire.ServerKeyExchangeECDHE) { kx.Signature[len(kx.Signature)-1] ^= 1 })).
			expect(verdict{alert: shakedown.AlertDecryptError, phase: atHello, text: "signature does not verify"})
	})
}

// TestRenegotiation refuses every HelloRequest with a warning, up to a number
// that no honest server reaches (RFC 5246, section 7.4.1.1; RFC 5746).
func TestRenegotiation(t *testing.T) {
	p := play12(t, config12(), nil, script12{})
	request := func() { p.feed(p.seal(wire.Handshake, []byte{0, 0, 0, 0})) }
	request()
	want := wire.AlertMessage{Level: 1, Description: shakedown.AlertNoRenegotiation}
	if a := p.alerts(); len(a) != 1 || a[0] != want || p.ended {
		t.Fatalf("alerts %v, ended %v", a, p.ended)
	}
	p.feed(p.seal(wire.ApplicationData, []byte("still here")))
	if string(p.data) != "still here" {
		t.Errorf("data %q", p.data)
	}
	for range 40 {
		request()
	}
	if f := p.machine.Failure(); f == nil || f.Class != shakedown.ClassPeer {
		t.Errorf("failure %v", f)
	}
}
