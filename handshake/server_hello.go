package handshake

import (
	"bytes"
	"slices"

	"shakedown"
	"shakedown/internal/suite"
	"shakedown/internal/wire"
)

// readServerHello takes the answer to the ClientHello, which decides the
// version (RFC 8446, section 4.1.3), or a HelloRetryRequest.
func (m *Machine) readServerHello(msg message) error {
	if msg.kind != wire.TypeServerHello {
		return m.unexpected(msg)
	}
	sh := &m.ws.serverHello
	if err := sh.Parse(msg.body); err != nil {
		return malformed(err)
	}
	if sh.IsHelloRetryRequest() {
		return m.readHelloRetryRequest(sh, msg)
	}
	version, err := m.selectedVersion(sh)
	if err != nil {
		return err
	}
	m.observed.Version, m.observed.CipherSuite = version, sh.CipherSuite
	if m.config.ProbeOnly {
		m.observeProbe(sh)
		m.state = stateDone
		m.push(Event{Kind: EventDone})
		return nil
	}
	info, err := m.selectedSuite(sh, version)
	if err != nil {
		return err
	}
	m.info, m.serverRandom = info, sh.Random
	m.transcript.start(info.Hash)
	m.transcript.add(msg.raw)
	if version == shakedown.TLS13 {
		return m.startTLS13(sh)
	}
	return m.startTLS12(sh)
}

// selectedVersion returns the version that the server chose, if it may.
func (m *Machine) selectedVersion(sh *wire.ServerHello) (shakedown.Version, error) {
	version := sh.Version
	data, has := sh.Extensions.Find(shakedown.ExtSupportedVersions)
	switch {
	case has && !m.offered.has(shakedown.ExtSupportedVersions):
		return 0, misbehaved(shakedown.AlertUnsupportedExtension, "the server answered supported_versions, which was not sent")
	case has:
		v, err := wire.ParseSelectedVersion(data)
		if err != nil {
			return 0, malformed(err)
		}
		// RFC 8446 section 4.2.1: nothing before TLS 1.3 is chosen this way.
		if v != shakedown.TLS13 || sh.Version != shakedown.TLS12 {
			return 0, misbehaved(shakedown.AlertIllegalParameter, "the server chose %s by supported_versions under legacy_version 0x%04X", v, uint16(sh.Version))
		}
		version = v
	case version == shakedown.TLS13:
		return 0, misbehaved(shakedown.AlertIllegalParameter, "the server chose TLS 1.3 without supported_versions (RFC 8446, section 4.1.3)")
	}
	if m.observed.HelloRetryRequest && version != shakedown.TLS13 {
		return 0, misbehaved(shakedown.AlertIllegalParameter, "the server chose %s after a HelloRetryRequest", version)
	}
	if !slices.Contains(m.config.Versions, version) {
		return 0, incompatible(shakedown.AlertProtocolVersion, "offer that version with --version, or enable another on the server",
			"the server chose %s, which was not offered", version)
	}
	if lower, marked := sh.Downgrade(); marked && m.client.offers13 && version != shakedown.TLS13 && !m.config.ProbeOnly {
		return 0, misbehaved(shakedown.AlertIllegalParameter, "the server chose %s but its random says that it speaks TLS 1.3: "+
			"something between changes the handshake (downgrade sentinel for %s, RFC 8446, section 4.1.3)", version, lower)
	}
	return version, nil
}

// selectedSuite returns the suite that the server chose, if it may. A
// compression method was never there to choose.
func (m *Machine) selectedSuite(sh *wire.ServerHello, version shakedown.Version) (*suite.Info, error) {
	if !slices.Contains(m.config.CipherSuites, sh.CipherSuite) {
		return nil, misbehaved(shakedown.AlertIllegalParameter, "the server chose cipher suite %s, which was not offered", sh.CipherSuite)
	}
	info, ok := suite.Lookup(sh.CipherSuite)
	if !ok || version < info.MinVersion || version > info.MaxVersion {
		return nil, misbehaved(shakedown.AlertIllegalParameter, "the server chose cipher suite %s, which is not one of %s", sh.CipherSuite, version)
	}
	if sh.Compression != 0 {
		return nil, misbehaved(shakedown.AlertIllegalParameter, "the server chose compression method %d (RFC 8446, section 4.1.3)", sh.Compression)
	}
	return info, nil
}

// observeProbe records what a ServerHello tells without going further.
func (m *Machine) observeProbe(sh *wire.ServerHello) {
	if data, ok := sh.Extensions.Find(shakedown.ExtKeyShare); ok {
		if share, err := wire.ParseKeyShare(data); err == nil {
			m.observed.Group = share.Group
		}
	}
	_, m.observed.ExtendedMasterSecret = sh.Extensions.Find(shakedown.ExtExtendedMasterSecret)
	_, m.observed.SecureRenegotiation = sh.Extensions.Find(shakedown.ExtRenegotiationInfo)
}

// readHelloRetryRequest answers a HelloRetryRequest with a second ClientHello
// (RFC 8446, section 4.1.4).
func (m *Machine) readHelloRetryRequest(sh *wire.ServerHello, msg message) error {
	version, err := m.selectedVersion(sh)
	switch {
	case err != nil:
		return err
	case version != shakedown.TLS13:
		return misbehaved(shakedown.AlertIllegalParameter, "the server sent a HelloRetryRequest without choosing TLS 1.3")
	case m.observed.HelloRetryRequest:
		return misbehaved(shakedown.AlertUnexpectedMessage, "the server sent a second HelloRetryRequest (RFC 8446, section 4.1.4)")
	case !bytes.Equal(sh.SessionID, m.sessionID):
		return misbehaved(shakedown.AlertIllegalParameter, "the server did not echo legacy_session_id in its HelloRetryRequest")
	case len(m.records.messages) > 0:
		return misbehaved(shakedown.AlertUnexpectedMessage, "the server sent more behind its HelloRetryRequest without waiting")
	}
	info, err := m.selectedSuite(sh, version)
	if err != nil {
		return err
	}
	if err := m.readRetryExtensions(sh); err != nil {
		return err
	}
	m.observed.HelloRetryRequest, m.retrySuite = true, sh.CipherSuite
	m.transcript.retry(info.Hash)
	m.transcript.add(msg.raw)
	if m.session != nil && m.pskHash() != info.Hash {
		// Its binder could not be computed over this transcript (RFC 8446,
		// section 4.1.4). The handshake becomes a full one, and is seen to.
		m.session = nil
	}
	m.records.write = nil // early data is over
	m.sendCompatibilityCCS()
	if err := m.writeClientHello(); err != nil {
		return err
	}
	m.flush()
	m.expect("ServerHello", (*Machine).readServerHello)
	return nil
}

// readRetryExtensions takes the group and the cookie that the server asks for.
func (m *Machine) readRetryExtensions(sh *wire.ServerHello) error {
	for _, e := range sh.Extensions {
		switch e.Type {
		case shakedown.ExtSupportedVersions:
		case shakedown.ExtCookie:
			cookie, err := wire.ParseCookie(e.Data)
			if err != nil {
				return malformed(err)
			}
			m.cookie = bytes.Clone(cookie)
		case shakedown.ExtKeyShare:
			g, err := wire.ParseSelectedGroup(e.Data)
			if err != nil {
				return malformed(err)
			}
			if !slices.Contains(m.config.Groups, g) {
				return misbehaved(shakedown.AlertIllegalParameter, "the server asks for a key share of group %s, which was not offered", g)
			}
			if slices.Contains(m.config.KeyShares, g) {
				return misbehaved(shakedown.AlertIllegalParameter, "the server asks for a key share of group %s, which it was sent (RFC 8446, section 4.2.8)", g)
			}
			m.retryGroup = g
			if err := m.makeShares([]shakedown.Group{g}); err != nil {
				return err
			}
		default:
			return misbehaved(shakedown.AlertUnsupportedExtension, "the server sent extension %s in a HelloRetryRequest", e.Type)
		}
	}
	if m.cookie == nil && m.retryGroup == 0 {
		return misbehaved(shakedown.AlertIllegalParameter, "the server sent a HelloRetryRequest that changes nothing (RFC 8446, section 4.1.4)")
	}
	return nil
}

// unexpected is the failure of a message that may not come now.
func (m *Machine) unexpected(msg message) error {
	return misbehaved(shakedown.AlertUnexpectedMessage, "the server sent %s while %s was awaited", msg.kind, m.awaiting)
}

// unoffered is the failure of an extension in answer to nothing.
func unoffered(e shakedown.Extension, where string) error {
	return misbehaved(shakedown.AlertUnsupportedExtension, "the server sent extension %s in %s, which may not stand there or was not offered", e, where)
}
