package handshake

import (
	"bytes"
	"slices"

	"shakedown"
	"shakedown/internal/suite"
	"shakedown/internal/wire"
)

// A TLS 1.3 handshake (RFC 8446, section 2) after ServerHello, step by step:
//
//	startTLS13               ServerHello: PSK, key share, handshake keys
//	readEncryptedExtensions  {EncryptedExtensions}
//	readCertificateRequest   {CertificateRequest}, optional; not when resuming
//	readCertificate13        {Certificate} or {CompressedCertificate}
//	readCertificateVerify13  {CertificateVerify}
//	readFinished13           {Finished}
//	sendClientFlight13       (EndOfEarlyData) {Certificate} {CertificateVerify} {Finished}
//	readPostHandshake13      [NewSessionTicket] [KeyUpdate]

// tls13State is what TLS 1.3 keeps from step to step.
type tls13State struct {
	early     suite.EarlySecret
	hasPSK    bool // early is that of the session offered
	ccsSent   bool
	handshake suite.HandshakeSecret
	client    suite.TrafficSecret // handshake, then application
	server    suite.TrafficSecret
	master    suite.MasterSecret
	requested bool // the server requested a certificate
	// atServerFinished is the transcript hash that the application secrets bind.
	atServerFinished [maxHashSize]byte
	writeReady       bool // the application write key is in use
}

func (m *Machine) startTLS13(sh *wire.ServerHello) error {
	if !bytes.Equal(sh.SessionID, m.sessionID) {
		return misbehaved(shakedown.AlertIllegalParameter, "the server did not echo legacy_session_id (RFC 8446, section 4.1.3)")
	}
	if m.observed.HelloRetryRequest && sh.CipherSuite != m.retrySuite {
		return misbehaved(shakedown.AlertIllegalParameter, "the server chose %s after %s in its HelloRetryRequest", sh.CipherSuite, m.retrySuite)
	}
	if len(m.records.messages) > 0 {
		return misbehaved(shakedown.AlertUnexpectedMessage, "the server sent more messages in the record of its ServerHello (RFC 8446, section 5.1)")
	}
	var peer wire.KeyShare
	for _, e := range sh.Extensions {
		switch {
		case !m.offered.has(e.Type):
			return unoffered(e.Type, "ServerHello")
		case e.Type == shakedown.ExtSupportedVersions:
		case e.Type == shakedown.ExtKeyShare:
			share, err := wire.ParseKeyShare(e.Data)
			if err != nil {
				return malformed(err)
			}
			peer = share
		case e.Type == shakedown.ExtPreSharedKey:
			if err := m.acceptPSK(e.Data); err != nil {
				return err
			}
		default:
			return misbehaved(shakedown.AlertIllegalParameter, "the server sent extension %s in ServerHello, where it may not stand", e.Type)
		}
	}
	shared, err := m.sharedSecret(peer)
	if err != nil {
		return err
	}
	early := m.tls13.early
	if !m.resumed {
		early = m.ws.kdf(m.info.Hash).Early(nil)
	}
	m.tls13.handshake = early.Handshake(shared)
	return m.useHandshakeKeys()
}

// acceptPSK takes the server's choice of the PSK offered (RFC 8446, section
// 4.2.11): there is one, so it is number 0.
func (m *Machine) acceptPSK(data []byte) error {
	index, err := wire.ParseSelectedIdentity(data)
	switch {
	case err != nil:
		return malformed(err)
	case m.session == nil || index != 0:
		return misbehaved(shakedown.AlertIllegalParameter, "the server chose PSK number %d, which was not offered", index)
	case m.pskHash() != m.info.Hash:
		return misbehaved(shakedown.AlertIllegalParameter, "the server chose %s with a PSK of another hash (RFC 8446, section 4.2.11)", m.info.ID)
	}
	m.resumed = true
	m.observed.Mode = shakedown.ModePSK
	return nil
}

// sharedSecret computes the (EC)DHE secret with the server's key share. It is
// nil for psk_ke alone.
func (m *Machine) sharedSecret(peer wire.KeyShare) ([]byte, error) {
	if len(peer.Public) == 0 {
		if m.resumed && m.config.PSKOnly {
			return nil, nil
		}
		return nil, misbehaved(shakedown.AlertMissingExtension, "the server sent no key_share (RFC 8446, section 9.2)")
	}
	if m.resumed && m.config.PSKOnly {
		return nil, misbehaved(shakedown.AlertIllegalParameter, "the server sent a key_share though only psk_ke was offered")
	}
	for i := range m.shares {
		if m.shares[i].Group() != peer.Group {
			continue
		}
		m.observed.Group = peer.Group
		shared, err := m.shares[i].Secret(m.ws.block[:0], peer.Public)
		if err != nil {
			return nil, misbehaved(shakedown.AlertIllegalParameter, "the server sent a bad key share: %v", err)
		}
		return shared, nil
	}
	return nil, misbehaved(shakedown.AlertIllegalParameter, "the server sent a key share of group %s, for which it was sent none", peer.Group)
}

func (m *Machine) useHandshakeKeys() error {
	digest := m.transcript.sum()
	t := &m.tls13
	t.client, t.server = t.handshake.Client(digest), t.handshake.Server(digest)
	m.records.read = m.info.Protection13(t.server)
	m.records.limit, m.records.inner = wire.MaxCiphertext13, true
	if !m.early.offered {
		m.records.write = m.info.Protection13(t.client)
	}
	if err := m.logSecret("CLIENT_HANDSHAKE_TRAFFIC_SECRET", t.client.Bytes()); err != nil {
		return err
	}
	if err := m.logSecret("SERVER_HANDSHAKE_TRAFFIC_SECRET", t.server.Bytes()); err != nil {
		return err
	}
	m.expect("EncryptedExtensions", (*Machine).readEncryptedExtensions)
	return nil
}

func (m *Machine) readEncryptedExtensions(msg message) error {
	if msg.kind != wire.TypeEncryptedExtensions {
		return m.unexpected(msg)
	}
	ee := &m.ws.encryptedExtensions
	if err := ee.Parse(msg.body); err != nil {
		return malformed(err)
	}
	m.transcript.add(msg.raw)
	for _, e := range ee.Extensions {
		if !m.offered.has(e.Type) {
			return unoffered(e.Type, "EncryptedExtensions")
		}
		if err := m.readEncryptedExtension(e); err != nil {
			return err
		}
	}
	switch {
	case !m.early.offered:
	case m.observed.EarlyData != shakedown.EarlyDataAccepted:
		m.records.write = m.info.Protection13(m.tls13.client)
	case m.observed.ALPN != m.session.ALPN:
		return misbehaved(shakedown.AlertIllegalParameter, "the server accepted early data sent for ALPN protocol %q and chose %q (RFC 8446, section 4.2.10)",
			m.session.ALPN, m.observed.ALPN)
	}
	if m.resumed {
		m.expect("Finished", (*Machine).readFinished13)
	} else {
		m.expect("Certificate or CertificateRequest", (*Machine).readCertificateRequest13)
	}
	return nil
}

func (m *Machine) readEncryptedExtension(e wire.Extension) (err error) {
	switch e.Type {
	case shakedown.ExtServerName:
		m.observed.ServerNameAcknowledged = true
		err = wire.ParseEmpty(e.Type, e.Data)
	case shakedown.ExtALPN:
		return m.acceptALPN(e.Data)
	case shakedown.ExtSupportedGroups: // what the server would rather have
	case shakedown.ExtMaxFragmentLength:
		return m.acceptFragmentLength(e.Data)
	case shakedown.ExtRecordSizeLimit:
		return m.acceptRecordSizeLimit(e.Data)
	case shakedown.ExtEarlyData:
		if !m.early.offered || !m.resumed {
			return misbehaved(shakedown.AlertIllegalParameter, "the server accepted early data without the PSK it was sent under (RFC 8446, section 4.2.10)")
		}
		if m.info.ID != m.session.CipherSuite {
			return misbehaved(shakedown.AlertIllegalParameter, "the server accepted early data under another cipher suite (RFC 8446, section 4.2.10)")
		}
		m.observed.Mode, m.observed.EarlyData = shakedown.ModeEarlyData, shakedown.EarlyDataAccepted
		err = wire.ParseEmpty(e.Type, e.Data)
	default:
		return misbehaved(shakedown.AlertIllegalParameter, "the server sent extension %s in EncryptedExtensions, where it may not stand", e.Type)
	}
	if err != nil {
		return malformed(err)
	}
	return nil
}

func (m *Machine) acceptALPN(data []byte) error {
	protocol, err := wire.ParseSelectedALPN(data)
	if err != nil {
		return malformed(err)
	}
	i := slices.Index(m.config.ALPN, protocol)
	if i < 0 {
		return misbehaved(shakedown.AlertIllegalParameter, "the server chose ALPN protocol %q, which was not offered", protocol)
	}
	m.observed.ALPN = m.config.ALPN[i]
	return nil
}

func (m *Machine) acceptFragmentLength(data []byte) error {
	code, err := wire.ParseMaxFragmentLength(data)
	if err != nil {
		return malformed(err)
	}
	if uint8(code) != m.config.MaxFragmentLength {
		return misbehaved(shakedown.AlertIllegalParameter, "the server answered max_fragment_length %d to %d (RFC 6066, section 4)", code, m.config.MaxFragmentLength)
	}
	m.records.contents = contentLimits{send: code.Bytes(), receive: code.Bytes(), plaintext: true}
	return nil
}

// acceptRecordSizeLimit takes the server's limit and puts ours in force; in TLS
// 1.3 both count the content type (RFC 8449, section 4).
func (m *Machine) acceptRecordSizeLimit(data []byte) error {
	limit, err := wire.ParseRecordSizeLimit(data)
	if err != nil {
		return malformed(err)
	}
	typ := 0
	if m.observed.Version == shakedown.TLS13 {
		typ = 1
	}
	m.records.contents = contentLimits{
		send:    min(int(limit)-typ, wire.MaxPlaintext),
		receive: min(int(m.config.RecordSizeLimit)-typ, wire.MaxPlaintext),
	}
	return nil
}

func (m *Machine) readCertificateRequest13(msg message) error {
	if msg.kind != wire.TypeCertificateRequest {
		m.awaiting = "Certificate"
		return m.readCertificate13(msg)
	}
	request := &m.ws.request13
	if err := request.Parse(msg.body); err != nil {
		return malformed(err)
	}
	if len(request.Context) > 0 {
		return misbehaved(shakedown.AlertIllegalParameter, "the server sent a CertificateRequest with a context during the handshake (RFC 8446, section 4.3.2)")
	}
	data, ok := request.Extensions.Find(shakedown.ExtSignatureAlgorithms)
	if !ok {
		return misbehaved(shakedown.AlertMissingExtension, "the server sent a CertificateRequest without signature_algorithms (RFC 8446, section 4.3.2)")
	}
	var err error
	if m.tls12.schemes, err = wire.ParseSignatureAlgorithms(m.tls12.schemes[:0], data); err != nil {
		return malformed(err)
	}
	m.transcript.add(msg.raw)
	m.observed.CertificateRequested, m.tls13.requested = true, true
	m.expect("Certificate", (*Machine).readCertificate13)
	return nil
}

func (m *Machine) readCertificate13(msg message) error {
	body := msg.body
	switch {
	case msg.kind == wire.TypeCertificate:
	case msg.kind == wire.TypeCompressedCertificate && len(m.config.CompressCertificate) > 0:
		var err error
		if body, err = m.decompress(msg.body); err != nil {
			return err
		}
	default:
		return m.unexpected(msg)
	}
	cert := &m.ws.certificate13
	if err := cert.Parse(body); err != nil {
		return malformed(err)
	}
	switch {
	case len(cert.Context) > 0:
		return misbehaved(shakedown.AlertIllegalParameter, "the server sent a Certificate with a context (RFC 8446, section 4.4.2)")
	case len(cert.Entries) == 0:
		return misbehaved(shakedown.AlertDecodeError, "the server sent no certificate (RFC 8446, section 4.4.2.4)")
	}
	m.transcript.add(msg.raw)
	list := m.ws.list[:0]
	for i, entry := range cert.Entries {
		list = append(list, entry.DER)
		for _, e := range entry.Extensions {
			if !m.offered.has(e.Type) {
				return unoffered(e.Type, "Certificate")
			}
			if i > 0 {
				continue
			}
			if err := m.readCertificateExtension(e); err != nil {
				return err
			}
		}
	}
	m.ws.list = list
	if err := m.takeChain(list); err != nil {
		return err
	}
	m.expect("CertificateVerify", (*Machine).readCertificateVerify13)
	return nil
}

// readCertificateExtension takes an extension of the leaf's entry.
func (m *Machine) readCertificateExtension(e wire.Extension) error {
	switch e.Type {
	case shakedown.ExtStatusRequest:
		response, err := wire.ParseCertificateStatusBody(e.Data)
		if err != nil {
			return malformed(err)
		}
		m.staple = append(m.staple[:0], response...)
	case shakedown.ExtSignedCertificateTimestamp:
		return m.acceptSCTs(e.Data)
	default:
		return misbehaved(shakedown.AlertIllegalParameter, "the server sent extension %s in Certificate, where it may not stand", e.Type)
	}
	return nil
}

func (m *Machine) readCertificateVerify13(msg message) error {
	if msg.kind != wire.TypeCertificateVerify {
		return m.unexpected(msg)
	}
	cv := &m.ws.verify
	if err := cv.Parse(msg.body); err != nil {
		return malformed(err)
	}
	if err := m.checkScheme(shakedown.TLS13, cv.Scheme); err != nil {
		return err
	}
	if m.config.Work == shakedown.WorkFull {
		content := suite.Content13(m.ws.message[:0], suite.ServerContext13, m.transcript.sum())
		if err := m.verifySignature(cv.Scheme, content, cv.Signature); err != nil {
			return err
		}
	}
	m.transcript.add(msg.raw)
	m.expect("Finished", (*Machine).readFinished13)
	return nil
}

func (m *Machine) readFinished13(msg message) error {
	if msg.kind != wire.TypeFinished {
		return m.unexpected(msg)
	}
	var finished [maxHashSize]byte
	want := m.tls13.server.Finished(finished[:0], m.transcript.sum())
	if err := m.checkFinished(msg, want); err != nil {
		return err
	}
	if len(m.records.messages) > 0 {
		return misbehaved(shakedown.AlertUnexpectedMessage, "the server sent more messages in the record of its Finished (RFC 8446, section 5.1)")
	}
	m.transcript.add(msg.raw)
	copy(m.tls13.atServerFinished[:], m.transcript.sum())
	m.reach(shakedown.PhaseServerFlight)
	return m.sendClientFlight13()
}

// checkFinished compares a Finished with the value it has to have.
func (m *Machine) checkFinished(msg message, want []byte) error {
	finished := &m.ws.finished
	if err := finished.Parse(msg.body); err != nil {
		return malformed(err)
	}
	if len(finished.VerifyData) != len(want) {
		return misbehaved(shakedown.AlertDecodeError, "the server's Finished has %d bytes, not %d", len(finished.VerifyData), len(want))
	}
	if !bytes.Equal(finished.VerifyData, want) {
		return misbehaved(shakedown.AlertDecryptError, "the server's Finished does not verify")
	}
	return nil
}

// sendClientFlight13 ends the handshake with the client's second flight.
func (m *Machine) sendClientFlight13() error {
	t := &m.tls13
	if m.observed.EarlyData == shakedown.EarlyDataAccepted {
		m.ws.message = (&wire.EndOfEarlyData{}).Append(m.ws.message[:0])
		m.sendHandshake(wire.TypeEndOfEarlyData, m.ws.message)
		m.records.write = m.info.Protection13(t.client)
	}
	m.sendCompatibilityCCS()
	if t.requested {
		if err := m.sendCertificate13(); err != nil {
			return err
		}
	}
	b := wire.AppendHandshakeHeader(m.ws.message[:0], wire.TypeFinished, m.info.Hash.Size())
	b = t.client.Finished(b, m.transcript.sum())
	m.ws.message = b
	m.sendHandshake(wire.TypeFinished, b)
	m.flush()
	m.reach(shakedown.PhaseFinished)
	if err := m.useApplicationKeys(); err != nil {
		return err
	}
	m.expect("NewSessionTicket or application data", (*Machine).readPostHandshake13)
	m.complete()
	return nil
}

// useApplicationKeys derives the application secrets and, since most handshakes
// in load need neither, leaves the keys themselves until they are used.
func (m *Machine) useApplicationKeys() error {
	t := &m.tls13
	t.master = t.handshake.Master()
	digest := t.atServerFinished[:m.info.Hash.Size()]
	m.lazyRead, m.lazyWrite = lazyProtection{m, true}, lazyProtection{m, false}
	m.records.read, m.records.write = &m.lazyRead, &m.lazyWrite
	if m.config.KeyLog == nil {
		return nil
	}
	client, server, exporter := t.master.Client(digest), t.master.Server(digest), t.master.Exporter(digest)
	if err := m.logSecret("CLIENT_TRAFFIC_SECRET_0", client.Bytes()); err != nil {
		return err
	}
	if err := m.logSecret("SERVER_TRAFFIC_SECRET_0", server.Bytes()); err != nil {
		return err
	}
	return m.logSecret("EXPORTER_SECRET", exporter.Bytes())
}
