package handshake

import (
	"bytes"
	"crypto/ecdsa"
	"slices"
	"time"

	"shakedown"
	"shakedown/internal/suite"
	"shakedown/internal/wire"
)

// A TLS 1.2 handshake (RFC 5246, section 7.3) after ServerHello, step by step:
//
//	startTLS12               ServerHello: full or resumed
//	full:
//	readCertificate12        Certificate
//	readCertificateStatus    CertificateStatus, optional
//	readServerKeyExchange    ServerKeyExchange, but for static RSA
//	readCertificateRequest12 CertificateRequest, optional
//	readServerHelloDone      ServerHelloDone
//	sendClientFlight12       [Certificate] ClientKeyExchange [CertificateVerify] CCS {Finished}
//	readTicket12             [NewSessionTicket] CCS
//	readFinished12           {Finished}
//	resumed:
//	readTicket12, readFinished12, sendFinished12

// tls12State is what TLS 1.2 keeps from step to step.
type tls12State struct {
	master       suite.Master12
	pendingRead  suite.Protection // from ChangeCipherSpec on
	willStaple   bool
	willTicket   bool
	requested    bool
	schemes      []shakedown.SignatureScheme // of the CertificateRequest, TLS 1.3's too
	idBuffer     [32]byte
	sessionID    []byte // the server's
	preMaster    []byte
	pendingWrite suite.Protection
}

func (m *Machine) startTLS12(sh *wire.ServerHello) error {
	if err := m.readHelloExtensions12(sh); err != nil {
		return err
	}
	t := &m.tls12
	t.sessionID = append(t.idBuffer[:0], sh.SessionID...)
	echoed := len(m.sessionID) > 0 && bytes.Equal(sh.SessionID, m.sessionID)
	if !echoed {
		m.expect("Certificate", (*Machine).readCertificate12)
		return nil
	}
	if m.session == nil {
		return misbehaved(shakedown.AlertIllegalParameter, "the server resumes a session that was not offered (it echoed legacy_session_id in %s)", m.observed.Version)
	}
	return m.resume12(sh)
}

// readHelloExtensions12 takes the extensions of a TLS 1.2 ServerHello.
func (m *Machine) readHelloExtensions12(sh *wire.ServerHello) (err error) {
	for _, e := range sh.Extensions {
		if !m.offered.has(e.Type) {
			return unoffered(e.Type, "ServerHello")
		}
		switch e.Type {
		case shakedown.ExtServerName:
			m.observed.ServerNameAcknowledged = true
			err = wire.ParseEmpty(e.Type, e.Data)
		case shakedown.ExtExtendedMasterSecret:
			m.observed.ExtendedMasterSecret = true
			err = wire.ParseEmpty(e.Type, e.Data)
		case shakedown.ExtEncryptThenMAC:
			if m.info.MAC == suite.MACNone {
				return misbehaved(shakedown.AlertIllegalParameter, "the server answered encrypt_then_mac with %s, which has no MAC (RFC 7366, section 3)", m.info.ID)
			}
			m.observed.EncryptThenMAC = true
			err = wire.ParseEmpty(e.Type, e.Data)
		case shakedown.ExtRenegotiationInfo:
			var data []byte
			if data, err = wire.ParseRenegotiationInfo(e.Data); err == nil && len(data) > 0 {
				return misbehaved(shakedown.AlertHandshakeFailure, "the server sent renegotiation_info with data in a first handshake (RFC 5746, section 3.4)")
			}
			m.observed.SecureRenegotiation = true
		case shakedown.ExtECPointFormats:
			var formats []byte
			if formats, err = wire.ParseECPointFormats(e.Data); err == nil && !slices.Contains(formats, wire.PointUncompressed) {
				return misbehaved(shakedown.AlertIllegalParameter, "the server does not take uncompressed points (RFC 8422, section 5.1.2)")
			}
		case shakedown.ExtSessionTicket:
			m.tls12.willTicket = true
			err = wire.ParseEmpty(e.Type, e.Data)
		case shakedown.ExtStatusRequest:
			m.tls12.willStaple = true
			err = wire.ParseEmpty(e.Type, e.Data)
		case shakedown.ExtALPN:
			if err := m.acceptALPN(e.Data); err != nil {
				return err
			}
		case shakedown.ExtMaxFragmentLength:
			if err := m.acceptFragmentLength(e.Data); err != nil {
				return err
			}
		case shakedown.ExtRecordSizeLimit:
			if err := m.acceptRecordSizeLimit(e.Data); err != nil {
				return err
			}
		case shakedown.ExtSignedCertificateTimestamp:
			if err := m.acceptSCTs(e.Data); err != nil {
				return err
			}
		case shakedown.ExtSupportedGroups: // some servers send it; RFC 8422 section 5.1 lets it be
		default:
			return misbehaved(shakedown.AlertIllegalParameter, "the server sent extension %s in a %s ServerHello, where it may not stand", e.Type, m.observed.Version)
		}
		if err != nil {
			return malformed(err)
		}
	}
	return nil
}

// resume12 checks that the server resumes what was offered.
func (m *Machine) resume12(sh *wire.ServerHello) error {
	s := m.session
	switch {
	case s.Version != m.observed.Version || s.CipherSuite != sh.CipherSuite:
		return misbehaved(shakedown.AlertIllegalParameter, "the server resumed a session of %s %s with %s %s (RFC 5246, section 7.4.1.3)",
			s.Version, s.CipherSuite, m.observed.Version, sh.CipherSuite)
	case s.ExtendedMasterSecret != m.observed.ExtendedMasterSecret:
		return misbehaved(shakedown.AlertHandshakeFailure, "the server resumed with another extended_master_secret than the session's (RFC 7627, section 5.3)")
	}
	m.resumed = true
	m.observed.Mode = shakedown.ModeTicket
	if m.config.Mode == shakedown.ModeSessionID {
		m.observed.Mode = shakedown.ModeSessionID
	}
	m.tls12.master = m.ws.kdf(m.info.Hash).LoadMaster12(s.Secret)
	if err := m.logSecret("CLIENT_RANDOM", m.tls12.master.Bytes()); err != nil {
		return err
	}
	m.prepareKeys12()
	m.expectFinished12()
	return nil
}

func (m *Machine) readCertificate12(msg message) error {
	if msg.kind != wire.TypeCertificate {
		return m.unexpected(msg)
	}
	cert := &m.ws.certificate12
	if err := cert.Parse(msg.body); err != nil {
		return malformed(err)
	}
	if len(cert.List) == 0 {
		return misbehaved(shakedown.AlertDecodeError, "the server sent no certificate (RFC 5246, section 7.4.2)")
	}
	m.transcript.add(msg.raw)
	if err := m.takeChain(cert.List); err != nil {
		return err
	}
	if err := m.checkKey12(); err != nil {
		return err
	}
	if m.tls12.willStaple {
		m.expect("CertificateStatus", (*Machine).readCertificateStatus)
		return nil
	}
	m.expectKeyExchange()
	return nil
}

// checkKey12 checks that the server's key goes with its suite and, on a curve,
// with the groups offered (RFC 8422, sections 5.1 and 5.3).
func (m *Machine) checkKey12() error {
	key := m.chain.LeafKey
	if key != nil && !m.info.AcceptsKey(key) {
		return misbehaved(shakedown.AlertIllegalParameter, "the server chose %s with a certificate of key %s", m.info.ID, m.keyName())
	}
	if ec, ok := key.(*ecdsa.PublicKey); ok {
		if g, known := curveGroup(ec.Curve); known && !slices.Contains(m.config.Groups, g) {
			f := misbehaved(shakedown.AlertIllegalParameter, "the server sent a certificate on curve %s, which was not offered (RFC 8422, section 5.3)", g)
			f.Hint = "add --group " + g.String()
			if !m.client.offers13 {
				f.Hint += orTLS13
			}
			return f
		}
	}
	return nil
}

// readCertificateStatus takes the staple, which a server may still leave out
// (RFC 6066, section 8).
func (m *Machine) readCertificateStatus(msg message) error {
	m.expectKeyExchange()
	if msg.kind != wire.TypeCertificateStatus {
		return m.step(m, msg)
	}
	var status wire.CertificateStatus
	if err := status.Parse(msg.body); err != nil {
		return malformed(err)
	}
	m.transcript.add(msg.raw)
	m.staple = append(m.staple[:0], status.Response...)
	return nil
}

func (m *Machine) expectKeyExchange() {
	if m.info.KeyExchange == suite.KeyExchangeRSA {
		m.expect("ServerHelloDone", (*Machine).readCertificateRequest12)
	} else {
		m.expect("ServerKeyExchange", (*Machine).readServerKeyExchange)
	}
}

// readServerKeyExchange takes the server's share and its signature (RFC 8422,
// section 5.4; RFC 5246, section 7.4.3).
func (m *Machine) readServerKeyExchange(msg message) error {
	if msg.kind != wire.TypeServerKeyExchange {
		return m.unexpected(msg)
	}
	var scheme shakedown.SignatureScheme
	var params, signature []byte
	if m.info.KeyExchange == suite.KeyExchangeECDHE {
		kx := &m.ws.exchangeECDHE
		if err := kx.Parse(msg.body); err != nil {
			return malformed(err)
		}
		scheme, params, signature = kx.Scheme, kx.Params, kx.Signature
		if err := m.takeECDHE(kx.Group, kx.Public); err != nil {
			return err
		}
	} else {
		kx := &m.ws.exchangeDHE
		if err := kx.Parse(msg.body); err != nil {
			return malformed(err)
		}
		scheme, params, signature = kx.Scheme, kx.Params, kx.Signature
		if err := m.takeDHE(kx.P, kx.G, kx.Y); err != nil {
			return err
		}
	}
	if err := m.checkScheme(shakedown.TLS12, scheme); err != nil {
		return err
	}
	if m.config.Work == shakedown.WorkFull {
		content := append(append(append(m.ws.message[:0], m.random[:]...), m.serverRandom[:]...), params...)
		if err := m.verifySignature(scheme, content, signature); err != nil {
			return err
		}
	}
	m.transcript.add(msg.raw)
	m.expect("ServerHelloDone", (*Machine).readCertificateRequest12)
	return nil
}

// takeECDHE makes our share in the server's group and the secret of both.
func (m *Machine) takeECDHE(g shakedown.Group, public []byte) error {
	if !slices.Contains(m.config.Groups, g) {
		return misbehaved(shakedown.AlertIllegalParameter, "the server chose group %s, which was not offered", g)
	}
	if !groupInTLS12(g) {
		return misbehaved(shakedown.AlertIllegalParameter, "the server chose group %s, which is not one of TLS 1.2", g)
	}
	m.observed.Group = g
	if err := m.makeShares([]shakedown.Group{g}); err != nil {
		return ours(err)
	}
	return m.agree(public)
}

// takeDHE does the same over the server's finite field.
func (m *Machine) takeDHE(p, g, y []byte) error {
	m.shares = append(m.shares[:0], suite.Share{})
	if err := m.shares[0].GenerateDH(p, g, m.config.Work, m.rand); err != nil {
		return misbehaved(shakedown.AlertIllegalParameter, "the server sent Diffie-Hellman parameters that cannot be used: %v", err)
	}
	m.observed.DHBits = m.shares[0].Bits()
	return m.agree(y)
}

func (m *Machine) agree(public []byte) error {
	secret, err := m.shares[0].Secret(m.ws.block[:0], public)
	if err != nil {
		return misbehaved(shakedown.AlertIllegalParameter, "the server sent a bad key share: %v", err)
	}
	m.tls12.preMaster = append(m.tls12.preMaster[:0], secret...)
	return nil
}

func (m *Machine) readCertificateRequest12(msg message) error {
	if msg.kind != wire.TypeCertificateRequest {
		return m.readServerHelloDone(msg)
	}
	request := &m.ws.request12
	if err := request.Parse(msg.body); err != nil {
		return malformed(err)
	}
	m.transcript.add(msg.raw)
	m.tls12.schemes = append(m.tls12.schemes[:0], request.SignatureSchemes...)
	m.observed.CertificateRequested, m.tls12.requested = true, true
	m.expect("ServerHelloDone", (*Machine).readServerHelloDone)
	return nil
}

func (m *Machine) readServerHelloDone(msg message) error {
	if msg.kind != wire.TypeServerHelloDone {
		return m.unexpected(msg)
	}
	if err := (&wire.ServerHelloDone{}).Parse(msg.body); err != nil {
		return malformed(err)
	}
	m.transcript.add(msg.raw)
	m.reach(shakedown.PhaseServerFlight)
	return m.sendClientFlight12()
}

// sendClientFlight12 sends our share, proves who we are when asked to, and
// changes keys.
func (m *Machine) sendClientFlight12() error {
	t := &m.tls12
	if t.requested {
		msg := wire.CertificateTLS12{}
		if m.config.Certificate != nil {
			msg.List = m.config.Certificate.Chain
		}
		m.ws.message = msg.Append(m.ws.message[:0])
		m.sendHandshake(wire.TypeCertificate, m.ws.message)
	}
	if err := m.sendClientKeyExchange(); err != nil {
		return err
	}
	kdf := m.ws.kdf(m.info.Hash)
	if m.observed.ExtendedMasterSecret {
		t.master = kdf.ExtendedMaster12(t.preMaster, m.transcript.sum())
	} else {
		t.master = kdf.Master12(t.preMaster, m.random[:], m.serverRandom[:])
	}
	if err := m.logSecret("CLIENT_RANDOM", t.master.Bytes()); err != nil {
		return err
	}
	if t.requested && m.config.Certificate != nil {
		scheme, err := m.clientScheme(shakedown.TLS12)
		if err != nil {
			return err
		}
		// It signs all messages so far themselves, not their hash (RFC 5246,
		// section 7.4.8); the transcript has kept them.
		if err := m.sendCertificateVerify(scheme, m.transcript.messages); err != nil {
			return err
		}
	}
	m.prepareKeys12()
	m.sendFinished12()
	m.expectFinished12()
	return nil
}

func (m *Machine) sendClientKeyExchange() error {
	b := m.ws.message[:0]
	switch m.info.KeyExchange {
	case suite.KeyExchangeECDHE:
		b = (&wire.ClientKeyExchangeECDHE{Public: m.shares[0].Public()}).Append(b)
	case suite.KeyExchangeDHE:
		b = (&wire.ClientKeyExchangeDHE{Y: m.shares[0].Public()}).Append(b)
	default:
		encrypted, err := m.encryptPreMaster()
		if err != nil {
			return err
		}
		b = (&wire.ClientKeyExchangeRSA{Encrypted: encrypted}).Append(b)
	}
	m.ws.message = b
	m.sendHandshake(wire.TypeClientKeyExchange, b)
	return nil
}

// prepareKeys12 makes both directions' keys; each is used from its
// ChangeCipherSpec on.
func (m *Machine) prepareKeys12() {
	t := &m.tls12
	t.pendingWrite, t.pendingRead = m.info.Protections12(t.master, m.random[:], m.serverRandom[:], m.observed.EncryptThenMAC)
}

func (m *Machine) sendFinished12() {
	t := &m.tls12
	m.sendChangeCipherSpec()
	m.records.write = t.pendingWrite
	b := wire.AppendHandshakeHeader(m.ws.message[:0], wire.TypeFinished, 12)
	b = t.master.ClientFinished(b, m.transcript.sum())
	m.ws.message = b
	m.sendHandshake(wire.TypeFinished, b)
	m.flush()
	m.reach(shakedown.PhaseFinished)
}

func (m *Machine) expectFinished12() {
	if m.tls12.willTicket {
		m.expect("NewSessionTicket", (*Machine).readTicket12)
	} else {
		m.expect("Finished", (*Machine).readFinished12)
	}
}

// readTicket12 takes a NewSessionTicket (RFC 5077, section 3.3). An empty one
// says that there is none after all.
func (m *Machine) readTicket12(msg message) error {
	if msg.kind != wire.TypeNewSessionTicket {
		return m.unexpected(msg)
	}
	if m.tls12.pendingRead == nil {
		return misbehaved(shakedown.AlertUnexpectedMessage, "the server sent NewSessionTicket behind ChangeCipherSpec (RFC 5077, section 3.3)")
	}
	t := &m.ws.ticket12
	if err := t.Parse(msg.body); err != nil {
		return malformed(err)
	}
	m.transcript.add(msg.raw)
	m.expect("Finished", (*Machine).readFinished12)
	if len(t.Ticket) > 0 {
		m.ticket.set(t.Ticket, nil, 0)
		return m.addTicket(shakedown.Ticket{Bytes: len(t.Ticket), Lifetime: time.Duration(t.LifetimeHint) * time.Second}, t.Ticket)
	}
	return nil
}

func (m *Machine) readFinished12(msg message) error {
	if msg.kind != wire.TypeFinished {
		return m.unexpected(msg)
	}
	t := &m.tls12
	if t.pendingRead != nil {
		return misbehaved(shakedown.AlertUnexpectedMessage, "the server sent Finished before ChangeCipherSpec")
	}
	var finished [12]byte
	if err := m.checkFinished(msg, t.master.ServerFinished(finished[:0], m.transcript.sum())); err != nil {
		return err
	}
	m.transcript.add(msg.raw)
	if m.resumed {
		m.reach(shakedown.PhaseServerFlight)
		m.sendFinished12()
	}
	m.expect("application data", (*Machine).readPostHandshake12)
	if m.config.Complete == shakedown.CompleteTicket && len(m.observed.Tickets) == 0 {
		return incompatible(shakedown.AlertCloseNotify, "the server issues no tickets in TLS 1.2: use --complete finished",
			"the server finished without the NewSessionTicket that was to complete the handshake")
	}
	m.complete()
	return nil
}

// readPostHandshake12 refuses renegotiation, politely (RFC 5746).
func (m *Machine) readPostHandshake12(msg message) error {
	if msg.kind != wire.TypeHelloRequest {
		return m.unexpected(msg)
	}
	if err := m.countUseless(msg); err != nil {
		return err
	}
	m.sendAlert(shakedown.AlertNoRenegotiation)
	m.flush()
	return nil
}

// session12 makes a session of the ticket or of the session ID.
func (m *Machine) session12(s *Session) *Session {
	s.Secret = bytes.Clone(m.tls12.master.Bytes())
	s.SessionID = bytes.Clone(m.tls12.sessionID)
	switch {
	case len(s.Ticket) > 0:
	case m.resumed && m.config.Mode == shakedown.ModeTicket:
		// Resumed without a new ticket: the old one stays good.
		s.Ticket, s.Lifetime, s.Received = m.session.Ticket, m.session.Lifetime, m.session.Received
	case len(s.SessionID) == 0:
		return nil
	}
	return s
}
