package handshake

import (
	"cmp"
	"crypto"
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"

	"shakedown"
	"shakedown/internal/certificate"
	"shakedown/internal/suite"
	"shakedown/internal/wire"
)

// ClientCertificate is what the client shows when it is asked who it is.
type ClientCertificate struct {
	Chain  [][]byte // DER, the leaf first
	Signer crypto.Signer
}

// maxRSABits bounds the server's RSA key: the time that an operation takes grows
// with the square of its length, and one of a megabit would stall a load loop.
const maxRSABits = 16384

// takeChain takes the server's chain; in full work it is verified.
func (m *Machine) takeChain(list [][]byte) error {
	chain, err := m.ws.chains.Lookup(list)
	if err != nil {
		return misbehaved(shakedown.AlertDecodeError, "the server sent a bad certificate list: %v", err)
	}
	m.chain = chain
	m.observed.Chain = &chain.Chain
	if bits := rsaBits(chain.LeafKey); bits > maxRSABits {
		return incompatible(shakedown.AlertUnsupportedCertificate, "", "the server has an RSA key of %d bits, the limit is %d", bits, maxRSABits)
	}
	if m.config.Roots == nil {
		return nil
	}
	err = m.Verify(m.config.Roots)
	if m.observed.Verification != shakedown.VerificationFailed {
		return nil // ok, or of an algorithm that cannot be verified here
	}
	f := &shakedown.Failure{Class: shakedown.ClassVerification, AlertSent: true, Err: err, Text: "the server's certificate does not verify: " + err.Error()}
	alert := shakedown.AlertBadCertificate
	var ve *certificate.VerifyError
	if errors.As(err, &ve) {
		alert, f.Hint = ve.Alert, ve.Hint
	}
	f.Alert = &alert
	return f
}

// Verify verifies the chain that the server sent, which Config.Roots does in the
// midst of the handshake: for those who want to see the rest of it whatever the
// chain is. The outcome is in Observed; the error says why it is not good. A
// handshake in which no chain was sent stays unverified.
func (m *Machine) Verify(roots *x509.CertPool) error {
	if m.chain == nil {
		return nil
	}
	err := certificate.Verify(m.chain, roots, cmp.Or(m.config.VerifyName, m.config.ServerName), m.now())
	// A good chain does not make up for a signature that could not be verified.
	if outcome := certificate.Outcome(err); err != nil || m.observed.Verification != shakedown.VerificationNotSupported {
		m.observed.Verification = outcome
	}
	return err
}

// rsaBits returns the length of an RSA key's modulus, 0 for other keys.
func rsaBits(key crypto.PublicKey) int {
	switch key := key.(type) {
	case *rsa.PublicKey:
		return key.N.BitLen()
	case *suite.PSSPublicKey:
		return key.Key.N.BitLen()
	}
	return 0
}

// checkScheme checks that the server may sign with the scheme: it was offered,
// belongs to the version and goes with the key.
func (m *Machine) checkScheme(v shakedown.Version, scheme shakedown.SignatureScheme) error {
	m.observed.SignatureScheme = scheme
	if !slices.Contains(m.config.SignatureSchemes, scheme) {
		return misbehaved(shakedown.AlertIllegalParameter, "the server signed with %s, which was not offered", scheme)
	}
	if m.chain.LeafKey == nil {
		return nil
	}
	if err := suite.CheckKey(scheme, v, m.chain.LeafKey); err != nil {
		return misbehaved(shakedown.AlertIllegalParameter, "the server signed with %s, which does not go with its %s key in %s: %v", scheme, m.keyName(), v, err)
	}
	return nil
}

// verifySignature checks a signature of the server's key. What cannot be
// verified here is said to be so, not taken for good.
func (m *Machine) verifySignature(scheme shakedown.SignatureScheme, content, signature []byte) error {
	if m.chain.LeafKey == nil {
		m.observed.Verification = shakedown.VerificationNotSupported
		return nil
	}
	switch err := suite.Verify(scheme, m.chain.LeafKey, content, signature); {
	case errors.Is(err, suite.ErrNotSupported):
		m.observed.Verification = shakedown.VerificationNotSupported
	case err != nil:
		return misbehaved(shakedown.AlertDecryptError, "the server's signature does not verify: %v", err)
	}
	return nil
}

// decompress undoes RFC 8879.
func (m *Machine) decompress(body []byte) ([]byte, error) {
	var cc wire.CompressedCertificate
	if err := cc.Parse(body); err != nil {
		return nil, malformed(err)
	}
	if !slices.Contains(m.config.CompressCertificate, cc.Algorithm) {
		return nil, misbehaved(shakedown.AlertIllegalParameter, "the server compressed its certificate with algorithm %d, which was not offered", cc.Algorithm)
	}
	plain, err := certificate.Decompress(cc.Algorithm, cc.Data, cc.UncompressedLength)
	if err != nil {
		return nil, misbehaved(shakedown.AlertBadCertificate, "the server's compressed certificate does not unpack: %v", err)
	}
	m.observed.CertificateCompression = certificate.AlgorithmName(cc.Algorithm)
	return plain, nil
}

// acceptSCTs takes the list of RFC 6962 section 3.3.
func (m *Machine) acceptSCTs(data []byte) error {
	scts, err := wire.ParseSignedCertificateTimestamps(nil, data)
	if err != nil {
		return malformed(err)
	}
	m.observed.SCTs = len(scts)
	return nil
}

// Staple returns what the stapled OCSP response says, or nil when there is
// none. It verifies a signature, which costs time: load does without.
func (m *Machine) Staple() *shakedown.Staple {
	if len(m.staple) == 0 || m.chain == nil {
		return nil
	}
	if m.observed.Staple == nil {
		staple, _ := certificate.ParseStaple(m.staple, m.chain, m.now())
		m.observed.Staple = &staple
	}
	return m.observed.Staple
}

// StapleBytes returns the size of the stapled OCSP response, 0 for none.
func (m *Machine) StapleBytes() int { return len(m.staple) }

// sendCertificate13 answers a CertificateRequest (RFC 8446, section 4.4.2): with
// the client's certificate and proof, or with none.
func (m *Machine) sendCertificate13() error {
	var msg wire.CertificateTLS13
	cert := m.config.Certificate
	if cert != nil {
		for _, der := range cert.Chain {
			msg.Entries = append(msg.Entries, wire.CertificateEntry{DER: der})
		}
	}
	m.ws.message = msg.Append(m.ws.message[:0])
	m.sendHandshake(wire.TypeCertificate, m.ws.message)
	if cert == nil {
		return nil
	}
	scheme, err := m.clientScheme(shakedown.TLS13)
	if err != nil {
		return err
	}
	content := suite.Content13(nil, suite.ClientContext13, m.transcript.sum())
	return m.sendCertificateVerify(scheme, content)
}

func (m *Machine) sendCertificateVerify(scheme shakedown.SignatureScheme, content []byte) error {
	signature, err := suite.Sign(scheme, m.config.Certificate.Signer, m.rand, content)
	if err != nil {
		return ours(fmt.Errorf("signing with the client's key: %w", err))
	}
	m.ws.message = (&wire.CertificateVerify{Scheme: scheme, Signature: signature}).Append(m.ws.message[:0])
	m.sendHandshake(wire.TypeCertificateVerify, m.ws.message)
	return nil
}

// clientScheme picks the signature scheme for the client's key among those that
// the server accepts.
func (m *Machine) clientScheme(v shakedown.Version) (shakedown.SignatureScheme, error) {
	ours := suite.SchemesFor(v, m.config.Certificate.Signer.Public())
	for _, s := range ours {
		if slices.Contains(m.tls12.schemes, s) {
			return s, nil
		}
	}
	return 0, incompatible(shakedown.AlertHandshakeFailure, "use a client certificate of another kind",
		"the server accepts no signature scheme of the client's key: it takes %v, the key can do %v", m.tls12.schemes, ours)
}

// keyName returns the type of the server's key, or the empty string before its
// Certificate.
func (m *Machine) keyName() string { return m.observed.Chain.Key() }
