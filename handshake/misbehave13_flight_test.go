package handshake_test

import (
	"testing"

	"shakedown"
	"shakedown/handshake"
	"shakedown/internal/wire"
)

// addToExtensions is a script with more in its EncryptedExtensions.
func addToExtensions(e ...wire.Extension) script13 {
	return script13{extensions: func(ee *wire.EncryptedExtensions) { ee.Extensions = append(ee.Extensions, e...) }}
}

// addToLeaf is a script with more at its leaf.
func addToLeaf(e ...wire.Extension) script13 {
	return script13{certificate: func(c *wire.CertificateTLS13) { c.Entries[0].Extensions = append(c.Entries[0].Extensions, e...) }}
}

// TestMisbehavedFlight is about the server's protected flight.
func TestMisbehavedFlight(t *testing.T) {
	const badCertificate, decrypt = shakedown.AlertBadCertificate, shakedown.AlertDecryptError
	staple := extension(shakedown.ExtStatusRequest, wire.AppendCertificateStatusBody(nil, []byte("staple"))...)
	sct := extension(shakedown.ExtSignedCertificateTimestamp, wire.AppendSignedCertificateTimestamps(nil, [][]byte{{1}})...)
	noStaple := func() handshake.Config {
		cfg := config13()
		cfg.StatusRequest = false
		return cfg
	}
	sized := func(set func(*handshake.Config)) func() handshake.Config {
		return func() handshake.Config {
			cfg := config13()
			set(&cfg)
			return cfg
		}
	}
	compressing := sized(func(c *handshake.Config) { c.CompressCertificate = []uint16{1} })
	skip := func(message wire.HandshakeType) script13 {
		return script13{deliver: func(p *peer, t wire.HandshakeType, raw []byte) {
			if t != message {
				p.feed(p.seal(wire.Handshake, raw))
			}
		}}
	}
	scheme := func(s shakedown.SignatureScheme) script13 {
		return script13{verify: func(cv *wire.CertificateVerify) { cv.Scheme = s }}
	}
	faults := []fault13{
		{name: "extension unknown", script: addToExtensions(extension(0x1234)), want: verdict{alert: unasked, text: "0x1234 in EncryptedExtensions"}},
		{name: "extension twice", script: addToExtensions(extension(shakedown.ExtServerName), extension(shakedown.ExtServerName)), want: verdict{alert: illegal, text: "twice"}},
		{name: "key_share in EncryptedExtensions", script: addToExtensions(extension(shakedown.ExtKeyShare, 0, 29)), want: verdict{alert: illegal, text: "may not stand"}},
		{name: "supported_versions in EncryptedExtensions", script: addToExtensions(extension(shakedown.ExtSupportedVersions, 3, 4)), want: verdict{alert: illegal, text: "may not stand"}},
		{name: "extended_master_secret in EncryptedExtensions", script: addToExtensions(extension(shakedown.ExtExtendedMasterSecret)), want: verdict{alert: illegal, text: "may not stand"}},
		{name: "renegotiation_info in EncryptedExtensions", script: addToExtensions(extension(shakedown.ExtRenegotiationInfo, 0)), want: verdict{alert: illegal, text: "may not stand"}},
		{name: "session_ticket in EncryptedExtensions", script: addToExtensions(extension(shakedown.ExtSessionTicket)), want: verdict{alert: illegal, text: "may not stand"}},
		{name: "status_request in EncryptedExtensions", script: addToExtensions(extension(shakedown.ExtStatusRequest)), want: verdict{alert: illegal, text: "may not stand"}},
		{name: "server_name with data", script: addToExtensions(extension(shakedown.ExtServerName, 1)), want: verdict{alert: decode, text: "malformed"}},
		{name: "ALPN not offered", script: addToExtensions(extension(shakedown.ExtALPN, 0, 3, 2, 'h', '3')), want: verdict{alert: illegal, text: `"h3", which was not offered`}},
		{name: "ALPN with two protocols", script: addToExtensions(extension(shakedown.ExtALPN, 0, 6, 2, 'h', '2', 2, 'h', '2')), want: verdict{alert: illegal, text: "malformed"}},
		{name: "ALPN empty", script: addToExtensions(extension(shakedown.ExtALPN, 0, 1, 0)), want: verdict{alert: decode, text: "malformed"}},
		{name: "max_fragment_length not offered", script: addToExtensions(extension(shakedown.ExtMaxFragmentLength, 1)), want: verdict{alert: unasked, text: "max_fragment_length"}},
		{name: "max_fragment_length another", config: sized(func(c *handshake.Config) { c.MaxFragmentLength = 2 }), script: addToExtensions(extension(shakedown.ExtMaxFragmentLength, 1)), want: verdict{alert: illegal, text: "max_fragment_length 1 to 2"}},
		{name: "max_fragment_length not kept", config: sized(func(c *handshake.Config) { c.MaxFragmentLength = 1 }), script: script13{
			extensions: addToExtensions(extension(shakedown.ExtMaxFragmentLength, 1)).extensions,
			alter:      fillCertificate(600),
		}, want: verdict{alert: shakedown.AlertRecordOverflow, text: "limit is 512"}},
		{name: "record_size_limit not kept", config: sized(func(c *handshake.Config) { c.RecordSizeLimit = 201 }), script: addToExtensions(extension(shakedown.ExtRecordSizeLimit, 0x40, 0)), want: verdict{alert: shakedown.AlertRecordOverflow, text: "limit is 200"}},
		{name: "record_size_limit too small", config: sized(func(c *handshake.Config) { c.RecordSizeLimit = 201 }), script: addToExtensions(extension(shakedown.ExtRecordSizeLimit, 0, 63)), want: verdict{alert: illegal, text: "malformed"}},

		{name: "CertificateRequest with context", script: script13{request: &wire.CertificateRequestTLS13{Context: []byte{1}, Extensions: certificateRequest().Extensions}}, want: verdict{alert: illegal, text: "with a context"}},
		{name: "CertificateRequest without schemes", script: script13{request: &wire.CertificateRequestTLS13{Extensions: wire.Extensions{extension(shakedown.ExtStatusRequest)}}}, want: verdict{alert: shakedown.AlertMissingExtension, text: "without signature_algorithms"}},
		{name: "no certificate", script: script13{certificate: func(c *wire.CertificateTLS13) { c.Entries = nil }}, want: verdict{alert: decode, text: "no certificate"}},
		{name: "certificate with context", script: script13{certificate: func(c *wire.CertificateTLS13) { c.Context = []byte{1} }}, want: verdict{alert: illegal, text: "with a context"}},
		{name: "staple not asked for", config: noStaple, script: addToLeaf(staple), want: verdict{alert: unasked, text: "status_request"}},
		{name: "staple malformed", script: addToLeaf(extension(shakedown.ExtStatusRequest)), want: verdict{alert: decode, text: "malformed"}},
		{name: "SCT not asked for", script: addToLeaf(sct), want: verdict{alert: unasked, text: "signed_certificate_timestamp"}},
		{name: "extension unknown at the leaf", script: addToLeaf(extension(0x1234)), want: verdict{alert: unasked, text: "0x1234 in Certificate"}},
		{name: "ALPN at the leaf", script: addToLeaf(extension(shakedown.ExtALPN, 0, 3, 2, 'h', '2')), want: verdict{alert: illegal, text: "may not stand"}},
		{name: "extension unknown further up", script: script13{certificate: func(c *wire.CertificateTLS13) {
			c.Entries = append(c.Entries, wire.CertificateEntry{DER: c.Entries[0].DER, Extensions: wire.Extensions{extension(0x1234)}})
		}}, want: verdict{alert: unasked, text: "0x1234 in Certificate"}},
		{name: "compression not offered", script: script13{compress: &wire.CompressedCertificate{Algorithm: 1, UncompressedLength: 9, Data: []byte{1}}}, want: verdict{alert: unwanted, text: "CompressedCertificate"}},
		{name: "compression by another algorithm", config: compressing, script: script13{compress: &wire.CompressedCertificate{Algorithm: 2, UncompressedLength: 9, Data: []byte{1}}}, want: verdict{alert: illegal, text: "algorithm 2"}},
		{name: "compression that does not unpack", config: compressing, script: script13{compress: &wire.CompressedCertificate{Algorithm: 1, UncompressedLength: 9, Data: []byte{1}}}, want: verdict{alert: badCertificate, text: "does not unpack"}},

		{name: "scheme not offered", script: scheme(shakedown.RSAPKCS1SHA1), want: verdict{alert: illegal, text: "which was not offered"}},
		{name: "scheme of another key", script: scheme(shakedown.RSAPSSRSAESHA256), want: verdict{alert: illegal, text: "does not go with"}},
		{name: "scheme of another curve", script: scheme(shakedown.ECDSASecp384r1), want: verdict{alert: illegal, text: "does not go with"}},
		{name: "scheme of TLS 1.2", script: script13{identity: "rsa", verify: scheme(shakedown.RSAPKCS1SHA256).verify}, want: verdict{alert: illegal, text: "does not go with"}},
		{name: "Finished wrong", script: script13{finished: func(f *wire.Finished) { f.VerifyData[0] ^= 1 }}, want: verdict{alert: decrypt, text: "Finished does not verify"}},
		{name: "EncryptedExtensions missing", script: skip(wire.TypeEncryptedExtensions), want: verdict{alert: unwanted, text: "Certificate while EncryptedExtensions"}},
		{name: "Certificate missing", script: skip(wire.TypeCertificate), want: verdict{alert: unwanted, text: "CertificateVerify while Certificate"}},
		{name: "CertificateVerify missing", script: skip(wire.TypeCertificateVerify), want: verdict{alert: unwanted, text: "Finished while CertificateVerify"}},
	}
	for i := range faults {
		faults[i].want.phase = atHello
	}
	runFaults13(t, faults)

	t.Run("signature wrong", func(t *testing.T) {
		// Minimal work does not verify it, and says so by Verification.
		play13(t, config13(), nil, script13{verify: func(cv *wire.CertificateVerify) { cv.Signature[len(cv.Signature)-1] ^= 1 }}).
			expect(verdict{alert: decrypt, phase: atHello, text: "signature does not verify"})
	})
}

// fillCertificate makes the Certificate a message of n bytes, malformed, in one
// record.
func fillCertificate(n int) func(wire.HandshakeType, []byte) []byte {
	return func(t wire.HandshakeType, raw []byte) []byte {
		if t == wire.TypeCertificate {
			return changeLength(raw, n-len(raw))
		}
		return raw
	}
}

// TestMisbehavedAfter is about what a server may not do once the handshake is
// complete.
func TestMisbehavedAfter(t *testing.T) {
	ticket := func(change func(*wire.NewSessionTicketTLS13)) func(*peer) {
		return func(p *peer) {
			nst := wire.NewSessionTicketTLS13{Lifetime: 3600, Nonce: []byte{0}, Ticket: []byte("ticket")}
			change(&nst)
			p.feed(p.seal(wire.Handshake, nst.Append(nil)))
		}
	}
	message := func(raw ...byte) func(*peer) {
		return func(p *peer) { p.feed(p.seal(wire.Handshake, raw)) }
	}
	faults := []fault13{
		{name: "ticket over seven days", script: script13{after: ticket(func(n *wire.NewSessionTicketTLS13) { n.Lifetime = 604801 })}, want: verdict{alert: illegal, text: "over seven days"}},
		{name: "ticket empty", script: script13{after: ticket(func(n *wire.NewSessionTicketTLS13) { n.Ticket = nil })}, want: verdict{alert: decode, text: "malformed NewSessionTicket"}},
		{name: "ticket's early_data malformed", script: script13{after: ticket(func(n *wire.NewSessionTicketTLS13) {
			n.Extensions = wire.Extensions{extension(shakedown.ExtEarlyData, 1)}
		})}, want: verdict{alert: decode, text: "malformed"}},
		{name: "ticket with bytes behind it", script: script13{after: func(p *peer) {
			nst := wire.NewSessionTicketTLS13{Lifetime: 3600, Nonce: []byte{0}, Ticket: []byte("ticket")}
			p.feed(p.seal(wire.Handshake, changeLength(nst.Append(nil), 1)))
		}}, want: verdict{alert: decode, text: "malformed NewSessionTicket"}},
		{name: "CertificateRequest", script: script13{after: func(p *peer) { p.feed(p.seal(wire.Handshake, certificateRequest().Append(nil))) }}, want: verdict{alert: unwanted, text: "CertificateRequest"}},
		{name: "second Finished", script: script13{after: message(20, 0, 0, 1, 0)}, want: verdict{alert: unwanted, text: "Finished"}},
		{name: "HelloRequest", script: script13{after: message(0, 0, 0, 0)}, want: verdict{alert: unwanted, text: "HelloRequest"}},
		{name: "ServerHello", script: script13{after: message(2, 0, 0, 0)}, want: verdict{alert: unwanted, text: "ServerHello"}},
		{name: "KeyUpdate of value 2", script: script13{after: message(24, 0, 0, 1, 2)}, want: verdict{alert: illegal, text: "malformed KeyUpdate"}},
		{name: "KeyUpdate empty", script: script13{after: message(24, 0, 0, 0)}, want: verdict{alert: decode, text: "malformed KeyUpdate"}},
		{name: "KeyUpdate with another behind it", script: script13{after: message(24, 0, 0, 1, 0, 24, 0, 0, 1, 0)}, want: verdict{alert: unwanted, text: "in the record of its KeyUpdate"}},
		{name: "change_cipher_spec", script: script13{after: func(p *peer) { p.feed(plainRecord(wire.ChangeCipherSpec, []byte{1})) }}, want: verdict{alert: unwanted, text: "ChangeCipherSpec"}},
		{name: "plaintext alert", script: script13{after: func(p *peer) { p.feed(plainRecord(wire.AlertRecord, []byte{2, 40})) }}, want: verdict{alert: unwanted, text: "unprotected record of type alert"}},
		{name: "alert of one byte", script: script13{after: func(p *peer) { p.feed(p.seal(wire.AlertRecord, []byte{2})) }}, want: verdict{alert: decode, text: "malformed Alert"}},
		{name: "records that do not open", script: script13{after: func(p *peer) { p.feed(plainRecord(wire.ApplicationData, make([]byte, 40))) }}, want: verdict{alert: shakedown.AlertBadRecordMAC, text: "does not open"}},
		{name: "record overflow", script: script13{after: func(p *peer) { p.feed(plainRecord(wire.ApplicationData, make([]byte, wire.MaxCiphertext13+1))) }}, want: verdict{alert: shakedown.AlertRecordOverflow, text: "limit is 16640"}},
		{name: "empty data without end", script: script13{after: func(p *peer) {
			for range 40 {
				p.feed(p.seal(wire.ApplicationData, nil))
			}
		}}, want: verdict{alert: unwanted, text: "no further"}},
	}
	for i := range faults {
		faults[i].want.phase = complete
	}
	flood := func(name string, want verdict, send func(p *peer)) {
		faults = append(faults, fault13{name: name, script: script13{after: send}, want: want})
	}
	flood("tickets without end", verdict{alert: unwanted, phase: shakedown.PhaseTicket, text: "more than 1024 tickets"}, func(p *peer) {
		for range 1100 {
			ticket(func(*wire.NewSessionTicketTLS13) {})(p)
		}
	})
	runFaults13(t, faults)
}

// TestKeyUpdate has the server change its keys, again and again, and ask for
// ours to be changed.
func TestKeyUpdate(t *testing.T) {
	for _, requested := range []bool{false, true} {
		for _, updates := range []int{1, 3, 40} {
			p := play13(t, config13(), nil, script13{})
			answers := 0
			for range updates {
				p.feed(p.seal(wire.Handshake, (&wire.KeyUpdate{Requested: requested}).Append(nil)))
				if p.ended {
					break
				}
				p.keys.nextServer()
				if requested {
					if kind, content, ok := p.next(); !ok || kind != wire.Handshake || string(content) != "\x18\x00\x00\x01\x00" {
						t.Fatalf("the answer to update_requested is %v %s %x", ok, kind, content)
					}
					answers++
					p.keys.nextClient()
				}
			}
			if updates > 32 {
				p.expect(verdict{alert: unwanted, phase: complete, text: "KeyUpdate 33 times in a row"})
				continue
			}
			if len(p.sent) > 0 {
				t.Errorf("the client sent more than %d answers", answers)
			}
			p.feed(p.seal(wire.ApplicationData, []byte("hello")))
			p.machine.SendData([]byte("world"))
			p.drain()
			if kind, content, ok := p.next(); string(p.data) != "hello" || !ok || kind != wire.ApplicationData || string(content) != "world" {
				t.Errorf("after %d updates, requested %v: the client read %q and sent %q (%v)", updates, requested, p.data, content, p.machine.Failure())
			}
		}
	}
}
