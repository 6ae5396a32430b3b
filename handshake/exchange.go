package handshake

import (
	"crypto/elliptic"
	"crypto/rsa"
	"slices"

	"shakedown"
	"shakedown/internal/suite"
)

// encryptPreMaster does static RSA key exchange (RFC 5246, section 7.4.7.1). In
// minimal work one ciphertext serves for each key of a server.
func (m *Machine) encryptPreMaster() ([]byte, error) {
	key, ok := m.chain.LeafKey.(*rsa.PublicKey)
	if !ok {
		return nil, misbehaved(shakedown.AlertUnsupportedCertificate, "the server chose %s with a certificate of key %s", m.info.ID, m.keyName())
	}
	preMaster, encrypted, err := m.ws.rsa.Encrypt(key, m.client.legacyVersion, m.config.Work, m.rand)
	if err != nil {
		return nil, ours(err)
	}
	m.tls12.preMaster = append(m.tls12.preMaster[:0], preMaster...)
	return encrypted, nil
}

// supportedGroup reports whether a key exchange with the group is possible here.
func supportedGroup(g shakedown.Group) bool {
	return slices.Contains(suite.Groups(shakedown.TLS13), g) || slices.Contains(suite.Groups(shakedown.TLS12), g)
}

// groupInTLS12 reports whether RFC 8422 or RFC 7919 lets TLS 1.2 use the group.
func groupInTLS12(g shakedown.Group) bool {
	return slices.Contains(suite.Groups(shakedown.TLS12), g)
}

// curveGroup returns the group on an ECDSA key's curve.
func curveGroup(c elliptic.Curve) (shakedown.Group, bool) {
	switch c {
	case elliptic.P256():
		return shakedown.Secp256r1, true
	case elliptic.P384():
		return shakedown.Secp384r1, true
	case elliptic.P521():
		return shakedown.Secp521r1, true
	}
	return 0, false
}

// certificateCurve reports whether the group is a curve of ECDSA certificates.
func certificateCurve(g shakedown.Group) bool {
	return g == shakedown.Secp256r1 || g == shakedown.Secp384r1 || g == shakedown.Secp521r1
}

// schemeInTLS13 reports whether the scheme may sign a TLS 1.3 handshake: neither
// PKCS #1 v1.5 nor SHA-1 may (RFC 8446, section 4.2.3).
func schemeInTLS13(s shakedown.SignatureScheme) bool {
	return s == shakedown.ECDSASecp256r1 || s == shakedown.ECDSASecp384r1 || s == shakedown.ECDSASecp521r1 ||
		s >= 0x0700 && s < 0x0A00
}

// schemeOfRSA reports whether the scheme is one of RSA keys.
func schemeOfRSA(s shakedown.SignatureScheme) bool {
	const pkcs1 = 1 // SignatureAlgorithm rsa of RFC 5246 section 7.4.1.4.1
	return s < 0x0700 && s&0xFF == pkcs1 ||
		s >= shakedown.RSAPSSRSAESHA256 && s <= shakedown.RSAPSSRSAESHA512 ||
		s >= shakedown.RSAPSSPSSSHA256 && s <= shakedown.RSAPSSPSSSHA512
}
