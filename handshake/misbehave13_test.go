package handshake_test

import (
	"fmt"
	"testing"

	"shakedown"
	"shakedown/handshake"
	"shakedown/internal/wire"
)

// config13 is the client that the misbehaving TLS 1.3 servers meet. It offers
// both versions, so that extensions of TLS 1.2 were offered too.
func config13() handshake.Config {
	return handshake.Config{
		Versions:     []shakedown.Version{shakedown.TLS13, shakedown.TLS12},
		CipherSuites: []shakedown.CipherSuite{shakedown.TLS_AES_128_GCM_SHA256, shakedown.TLS_AES_256_GCM_SHA384, shakedown.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256},
		Groups:       []shakedown.Group{shakedown.X25519, shakedown.Secp256r1, shakedown.Secp384r1},
		KeyShares:    []shakedown.Group{shakedown.X25519},
		ServerName:   "peer", ALPN: []string{"h2", "http/1.1"}, StatusRequest: true,
	}
}

func config13Only() handshake.Config {
	cfg := config13()
	cfg.Versions, cfg.CipherSuites = cfg.Versions[:1], cfg.CipherSuites[:2]
	return cfg
}

func configPSK() handshake.Config {
	cfg := config13Only()
	cfg.Mode = shakedown.ModePSK
	return cfg
}

func configEarly() handshake.Config {
	cfg := config13Only()
	cfg.Mode, cfg.Request = shakedown.ModeEarlyData, earlyRequest
	return cfg
}

// fault13 is a TLS 1.3 server's fault and what the client has to make of it.
type fault13 struct {
	name    string
	config  func() handshake.Config // config13 when nil
	session shakedown.CipherSuite   // of the session offered, if any
	script  script13
	want    verdict
}

func runFaults13(t *testing.T, faults []fault13) {
	for _, f := range faults {
		for _, work := range []shakedown.Work{shakedown.WorkFull, shakedown.WorkMinimal} {
			t.Run(f.name+"/"+string(work), func(t *testing.T) {
				if f.config == nil {
					f.config = config13
				}
				cfg := f.config()
				cfg.Work = work
				var session *handshake.Session
				if f.session != 0 {
					session = session13(f.session)
				}
				play13(t, cfg, session, f.script).expect(f.want)
			})
		}
	}
}

// TestPeer13 proves that the server of these tests is a right one as long as it
// is not told otherwise.
func TestPeer13(t *testing.T) {
	const aes128 = shakedown.TLS_AES_128_GCM_SHA256
	retry := func(*wire.ServerHello) {}
	for _, c := range []struct {
		fault13
		mode shakedown.Mode
	}{
		{fault13{name: "full"}, shakedown.ModeFull},
		{fault13{name: "full rsa", script: script13{identity: "rsa", suite: shakedown.TLS_AES_256_GCM_SHA384}}, shakedown.ModeFull},
		{fault13{name: "retry", script: script13{retry: retry, retryGroup: shakedown.Secp384r1, group: shakedown.Secp384r1}}, shakedown.ModeFull},
		{fault13{name: "request", script: script13{request: certificateRequest()}}, shakedown.ModeFull},
		{fault13{name: "psk", config: configPSK, session: aes128, script: script13{psk: true}}, shakedown.ModePSK},
		{fault13{name: "psk refused", config: configPSK, session: aes128}, shakedown.ModeFull},
		{fault13{name: "psk refused for another hash", config: configPSK, session: aes128, script: script13{suite: shakedown.TLS_AES_256_GCM_SHA384}}, shakedown.ModeFull},
		{fault13{name: "psk retry", config: configPSK, session: aes128, script: script13{psk: true, retry: retry, retryGroup: shakedown.Secp256r1, group: shakedown.Secp256r1}}, shakedown.ModePSK},
		{fault13{name: "retry with another hash than the psk's", config: configPSK, session: aes128, script: script13{suite: shakedown.TLS_AES_256_GCM_SHA384, retry: retry, retryGroup: shakedown.Secp256r1, group: shakedown.Secp256r1}}, shakedown.ModeFull},
		{fault13{name: "early data", config: configEarly, session: aes128, script: script13{psk: true, early: true}}, shakedown.ModeEarlyData},
		{fault13{name: "early data rejected", config: configEarly, session: aes128, script: script13{psk: true}}, shakedown.ModePSK},
		{fault13{name: "early data refused", config: configEarly, session: aes128}, shakedown.ModeFull},
		{fault13{name: "early data retry", config: configEarly, session: aes128, script: script13{psk: true, retry: retry, retryGroup: shakedown.Secp256r1, group: shakedown.Secp256r1}}, shakedown.ModePSK},
	} {
		for _, work := range []shakedown.Work{shakedown.WorkFull, shakedown.WorkMinimal} {
			t.Run(c.name+"/"+string(work), func(t *testing.T) {
				if c.config == nil {
					c.config = config13
				}
				cfg := c.config()
				cfg.Work = work
				var session *handshake.Session
				if c.session != 0 {
					session = session13(c.session)
				}
				p := play13(t, cfg, session, c.script)
				if f := p.machine.Failure(); f != nil || !p.done {
					t.Fatalf("failure %v, done %v", f, p.done)
				}
				o := p.machine.Observed()
				if o.Mode != c.mode || o.HelloRetryRequest != (c.script.retry != nil) {
					t.Errorf("observed mode %s, retry %v", o.Mode, o.HelloRetryRequest)
				}
				want := shakedown.EarlyDataNone
				switch {
				case c.script.early:
					want = shakedown.EarlyDataAccepted
				case cfg.Mode == shakedown.ModeEarlyData:
					want = shakedown.EarlyDataRejected
				}
				if o.EarlyData != want {
					t.Errorf("early data %s, want %s", o.EarlyData, want)
				}
			})
		}
	}
}

func certificateRequest() *wire.CertificateRequestTLS13 {
	return &wire.CertificateRequestTLS13{Extensions: wire.Extensions{{
		Type: shakedown.ExtSignatureAlgorithms,
		Data: wire.AppendSignatureAlgorithms(nil, []shakedown.SignatureScheme{shakedown.ECDSASecp256r1}),
	}}}
}

const (
	connected = shakedown.PhaseConnected
	atHello   = shakedown.PhaseServerHello
	complete  = shakedown.PhaseComplete
	illegal   = shakedown.AlertIllegalParameter
	unwanted  = shakedown.AlertUnexpectedMessage
	decode    = shakedown.AlertDecodeError
	unasked   = shakedown.AlertUnsupportedExtension
)

// helloFault is a script with something changed in its ServerHello.
func helloFault(change func(*wire.ServerHello)) script13 { return script13{hello: change} }

func addToHello(e ...wire.Extension) script13 {
	return helloFault(func(sh *wire.ServerHello) { sh.Extensions = append(sh.Extensions, e...) })
}

// setInHello replaces the data of an extension, or leaves it out where data is
// nil.
func setInHello(t shakedown.Extension, data []byte) func(*wire.ServerHello) {
	return func(sh *wire.ServerHello) {
		var kept wire.Extensions
		for _, e := range sh.Extensions {
			if e.Type == t {
				if data == nil {
					continue
				}
				e.Data = data
			}
			kept = append(kept, e)
		}
		sh.Extensions = kept
	}
}

// TestMisbehavedServerHello is about the TLS 1.3 ServerHello.
func TestMisbehavedServerHello(t *testing.T) {
	share := func(g shakedown.Group, public []byte) []byte {
		return wire.AppendKeyShare(nil, wire.KeyShare{Group: g, Public: public})
	}
	var faults []fault13
	add := func(name string, s script13, alert shakedown.Alert, text string) {
		faults = append(faults, fault13{name: name, script: s, want: verdict{alert: alert, phase: atHello, text: text}})
	}
	add("suite not offered", helloFault(func(sh *wire.ServerHello) { sh.CipherSuite = shakedown.TLS_CHACHA20_POLY1305_SHA256 }), illegal, "which was not offered")
	add("suite of TLS 1.2", helloFault(func(sh *wire.ServerHello) { sh.CipherSuite = shakedown.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 }), illegal, "not one of TLS 1.3")
	add("compression", helloFault(func(sh *wire.ServerHello) { sh.Compression = 1 }), illegal, "compression method 1")
	add("session ID not echoed", helloFault(func(sh *wire.ServerHello) { sh.SessionID = nil }), illegal, "legacy_session_id")
	add("session ID changed", helloFault(func(sh *wire.ServerHello) { sh.SessionID = make([]byte, 32) }), illegal, "legacy_session_id")
	add("session ID too long", helloFault(func(sh *wire.ServerHello) { sh.SessionID = make([]byte, 33) }), decode, "malformed ServerHello")
	add("legacy version", helloFault(func(sh *wire.ServerHello) { sh.Version = shakedown.TLS13 }), illegal, "legacy_version")
	add("no supported_versions", helloFault(func(sh *wire.ServerHello) {
		sh.Version = shakedown.TLS13
		setInHello(shakedown.ExtSupportedVersions, nil)(sh)
	}), illegal, "without supported_versions")
	add("TLS 1.2 by supported_versions", helloFault(setInHello(shakedown.ExtSupportedVersions, wire.AppendSelectedVersion(nil, shakedown.TLS12))), illegal, "by supported_versions")
	add("version unheard of", helloFault(setInHello(shakedown.ExtSupportedVersions, wire.AppendSelectedVersion(nil, 0x7F1C))), illegal, "0x7F1C")
	add("supported_versions malformed", helloFault(setInHello(shakedown.ExtSupportedVersions, []byte{3})), decode, "malformed")
	add("extension unknown", addToHello(extension(0x1234)), unasked, "0x1234")
	add("extension twice", addToHello(extension(0x1234), extension(0x1234)), illegal, "twice")
	add("renegotiation_info", addToHello(extension(shakedown.ExtRenegotiationInfo, 0)), illegal, "renegotiation_info")
	add("extended_master_secret", addToHello(extension(shakedown.ExtExtendedMasterSecret)), illegal, "extended_master_secret")
	add("ALPN", addToHello(extension(shakedown.ExtALPN, 0, 3, 2, 'h', '2')), illegal, "may not stand")
	add("psk not offered", addToHello(extension(shakedown.ExtPreSharedKey, 0, 0)), unasked, "pre_shared_key")
	add("no key_share", helloFault(setInHello(shakedown.ExtKeyShare, nil)), shakedown.AlertMissingExtension, "no key_share")
	add("key_share of group 0", helloFault(setInHello(shakedown.ExtKeyShare, share(0, make([]byte, 32)))), illegal, "sent none")
	add("key_share of another group", helloFault(setInHello(shakedown.ExtKeyShare, share(shakedown.Secp384r1, make([]byte, 97)))), illegal, "sent none")
	add("key_share too short", helloFault(setInHello(shakedown.ExtKeyShare, share(shakedown.X25519, make([]byte, 31)))), illegal, "bad key share")
	add("key_share without a point", helloFault(setInHello(shakedown.ExtKeyShare, share(shakedown.X25519, nil))), decode, "malformed")
	add("key_share all zero", helloFault(setInHello(shakedown.ExtKeyShare, share(shakedown.X25519, make([]byte, 32)))), illegal, "bad key share")
	add("key_share with bytes behind it", helloFault(setInHello(shakedown.ExtKeyShare, append(share(shakedown.X25519, make([]byte, 32)), 0))), decode, "malformed")
	runFaults13(t, faults)

	t.Run("only TLS 1.3 offered", func(t *testing.T) {
		faults = nil
		add("renegotiation_info", addToHello(extension(shakedown.ExtRenegotiationInfo, 0)), unasked, "renegotiation_info")
		add("extended_master_secret", addToHello(extension(shakedown.ExtExtendedMasterSecret)), unasked, "extended_master_secret")
		for i := range faults {
			faults[i].config = config13Only
		}
		runFaults13(t, faults)
	})
}

// TestMisbehavedRetry is about HelloRetryRequest (RFC 8446, section 4.1.4).
func TestMisbehavedRetry(t *testing.T) {
	asIs := func(*wire.ServerHello) {}
	const p384, p521 = shakedown.Secp384r1, shakedown.Secp521r1
	again := func(p *peer, typ wire.HandshakeType, raw []byte) {
		p.feed(p.seal(wire.Handshake, raw))
		if !p.ended {
			p.readHello()
			p.feed(p.seal(wire.Handshake, raw))
		}
	}
	faults := []fault13{
		{name: "group unknown", script: script13{retry: asIs, retryGroup: 0x1234}, want: verdict{alert: illegal, text: "0x1234, which was not offered"}},
		{name: "group not offered", script: script13{retry: asIs, retryGroup: p521}, want: verdict{alert: illegal, text: "which was not offered"}},
		{name: "group already sent", script: script13{retry: asIs, retryGroup: shakedown.X25519}, want: verdict{alert: illegal, text: "which it was sent"}},
		{name: "empty", script: script13{retry: asIs}, want: verdict{alert: illegal, text: "changes nothing"}},
		{name: "key_share twice", script: script13{retryGroup: p384, retry: func(sh *wire.ServerHello) { sh.Extensions = append(sh.Extensions, sh.Extensions[1]) }}, want: verdict{alert: illegal, text: "twice"}},
		{name: "cookie twice", script: script13{retry: func(sh *wire.ServerHello) {
			c := wire.Extension{Type: shakedown.ExtCookie, Data: wire.AppendCookie(nil, []byte("c"))}
			sh.Extensions = append(sh.Extensions, c, c)
		}}, want: verdict{alert: illegal, text: "twice"}},
		{name: "cookie empty", script: script13{retry: func(sh *wire.ServerHello) {
			sh.Extensions = append(sh.Extensions, extension(shakedown.ExtCookie, 0, 0))
		}}, want: verdict{alert: decode, text: "malformed"}},
		{name: "extension not allowed", script: script13{retryGroup: p384, retry: func(sh *wire.ServerHello) {
			sh.Extensions = append(sh.Extensions, extension(shakedown.ExtALPN, 0, 3, 2, 'h', '2'))
		}}, want: verdict{alert: unasked, text: "HelloRetryRequest"}},
		{name: "without supported_versions", script: script13{retryGroup: p384, retry: setInHello(shakedown.ExtSupportedVersions, nil)}, want: verdict{alert: illegal, text: "without choosing TLS 1.3"}},
		{name: "session ID not echoed", script: script13{retryGroup: p384, retry: func(sh *wire.ServerHello) { sh.SessionID = nil }}, want: verdict{alert: illegal, text: "legacy_session_id"}},
		{name: "compression", script: script13{retryGroup: p384, retry: func(sh *wire.ServerHello) { sh.Compression = 1 }}, want: verdict{alert: illegal, text: "compression method 1"}},
		{name: "suite not offered", script: script13{retryGroup: p384, retry: func(sh *wire.ServerHello) { sh.CipherSuite = shakedown.TLS_CHACHA20_POLY1305_SHA256 }}, want: verdict{alert: illegal, text: "which was not offered"}},
		{name: "suite of TLS 1.2", script: script13{retryGroup: p384, retry: func(sh *wire.ServerHello) { sh.CipherSuite = shakedown.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 }}, want: verdict{alert: illegal, text: "not one of TLS 1.3"}},
		{name: "second", script: script13{retryGroup: p384, retry: asIs, deliver: again}, want: verdict{alert: unwanted, text: "second HelloRetryRequest"}},
		{name: "more behind it", script: script13{retryGroup: p384, retry: asIs, deliver: func(p *peer, _ wire.HandshakeType, raw []byte) {
			p.feed(p.seal(wire.Handshake, append(raw, 8, 0, 0, 2, 0, 0)))
		}}, want: verdict{alert: unwanted, text: "behind its HelloRetryRequest"}},
		{name: "another suite after it", script: script13{retryGroup: p384, group: p384, retry: asIs, hello: func(sh *wire.ServerHello) { sh.CipherSuite = shakedown.TLS_AES_256_GCM_SHA384 }}, want: verdict{alert: illegal, text: "after TLS_AES_128_GCM_SHA256"}},
		{name: "another group after it", script: script13{retryGroup: p384, group: shakedown.Secp256r1, retry: asIs}, want: verdict{alert: illegal, text: "sent none"}},
		{name: "the first group after it", script: script13{retryGroup: p384, group: shakedown.X25519, retry: asIs}, want: verdict{alert: illegal, text: "sent none"}},
		{name: "TLS 1.2 after it", script: script13{retryGroup: p384, group: p384, retry: asIs, hello: setInHello(shakedown.ExtSupportedVersions, nil)}, want: verdict{alert: illegal, text: "after a HelloRetryRequest"}},
	}
	for i := range faults {
		faults[i].want.phase = atHello
	}
	runFaults13(t, faults)
}

// TestMisbehavedPSK is about resumption and early data.
func TestMisbehavedPSK(t *testing.T) {
	const aes128, aes256 = shakedown.TLS_AES_128_GCM_SHA256, shakedown.TLS_AES_256_GCM_SHA384
	onlyPSK := func() handshake.Config {
		cfg := configPSK()
		cfg.PSKOnly = true
		return cfg
	}
	h2 := func(ee *wire.EncryptedExtensions) {
		ee.Extensions = append(ee.Extensions, extension(shakedown.ExtALPN, 0, 3, 2, 'h', '2'))
	}
	retry := func(*wire.ServerHello) {}
	faults := []fault13{
		{name: "index out of range", config: configPSK, session: aes128, script: script13{psk: true, hello: setInHello(shakedown.ExtPreSharedKey, []byte{0, 1})}, want: verdict{alert: illegal, text: "PSK number 1"}},
		{name: "index malformed", config: configPSK, session: aes128, script: script13{psk: true, hello: setInHello(shakedown.ExtPreSharedKey, []byte{0})}, want: verdict{alert: decode, text: "malformed"}},
		{name: "another hash", config: configPSK, session: aes128, script: script13{psk: true, suite: aes256}, want: verdict{alert: illegal, text: "another hash"}},
		{name: "no key_share", config: configPSK, session: aes128, script: script13{psk: true, hello: setInHello(shakedown.ExtKeyShare, nil)}, want: verdict{alert: shakedown.AlertMissingExtension, text: "no key_share"}},
		{name: "psk_ke with key_share", config: onlyPSK, session: aes128, script: script13{psk: true}, want: verdict{alert: illegal, text: "only psk_ke"}},
		{name: "certificate all the same", config: configPSK, session: aes128, script: script13{psk: true, request: certificateRequest()}, want: verdict{alert: unwanted, text: "CertificateRequest while Finished"}},
		{name: "early data not offered", script: script13{early: true}, want: verdict{alert: unasked, text: "early_data"}},
		{name: "early data not offered with psk", config: configPSK, session: aes128, script: script13{psk: true, early: true}, want: verdict{alert: unasked, text: "early_data"}},
		{name: "early data without its psk", config: configEarly, session: aes128, script: script13{early: true}, want: verdict{alert: illegal, text: "without the PSK"}},
		{name: "early data under another suite", config: func() handshake.Config {
			cfg := configEarly()
			cfg.CipherSuites = append(cfg.CipherSuites, shakedown.TLS_CHACHA20_POLY1305_SHA256)
			return cfg
		}, session: aes128, script: script13{psk: true, early: true, suite: shakedown.TLS_CHACHA20_POLY1305_SHA256}, want: verdict{alert: illegal, text: "another cipher suite"}},
		{name: "early data after a retry", config: configEarly, session: aes128, script: script13{psk: true, early: true, retry: retry, retryGroup: shakedown.Secp256r1, group: shakedown.Secp256r1}, want: verdict{alert: unasked, text: "early_data"}},
		{name: "early data under another protocol", config: configEarly, session: aes128, script: script13{psk: true, early: true, extensions: h2}, want: verdict{alert: illegal, text: `"h2"`}},
	}
	for i := range faults {
		faults[i].want.phase = atHello
	}
	runFaults13(t, faults)
}

// TestWrongPSK has the server go on with another secret than the ticket's.
func TestWrongPSK(t *testing.T) {
	session := session13(shakedown.TLS_AES_128_GCM_SHA256)
	p := play13(t, configPSK(), session, script13{psk: true, hello: func(*wire.ServerHello) { session.Secret[0]++ }})
	// Its keys being wrong, the server cannot read the alert.
	if f := p.machine.Failure(); f == nil || f.Alert == nil || *f.Alert != shakedown.AlertBadRecordMAC || f.Class != shakedown.ClassPeer {
		t.Errorf("failure %v", f)
	}
}

// TestTrailingBytes adds a byte to each message in turn, and takes one away.
func TestTrailingBytes(t *testing.T) {
	full := []wire.HandshakeType{wire.TypeServerHello, wire.TypeEncryptedExtensions, wire.TypeCertificateRequest, wire.TypeCertificate, wire.TypeCertificateVerify}
	var faults []fault13
	for _, message := range full {
		for _, delta := range []int{1, -1} {
			faults = append(faults, fault13{
				name: fmt.Sprintf("%s%+d", message, delta),
				script: script13{request: certificateRequest(), alter: func(t wire.HandshakeType, raw []byte) []byte {
					if t == message {
						return changeLength(raw, delta)
					}
					return raw
				}},
				want: verdict{alert: decode, phase: atHello, text: "malformed " + message.String()},
			})
		}
	}
	for _, delta := range []int{1, -1} {
		// A Finished has the length of the hash: another one does not verify.
		faults = append(faults, fault13{
			name: fmt.Sprintf("Finished%+d", delta),
			script: script13{alter: func(t wire.HandshakeType, raw []byte) []byte {
				if t == wire.TypeFinished {
					return changeLength(raw, delta)
				}
				return raw
			}},
			want: verdict{alert: decode, phase: atHello, text: "Finished"},
		})
	}
	runFaults13(t, faults)
}
