package suite

// MasterSize12 is the length of a TLS 1.2 master secret in bytes (RFC 5246,
// section 8.1).
const MasterSize12 = 48

// finishedSize12 is the length of verify_data in bytes (RFC 5246, section 7.4.9).
const finishedSize12 = 12

// Master12 is the master secret of a TLS 1.2 session.
type Master12 struct {
	kdf   *KDF
	bytes [MasterSize12]byte
}

// Master12 derives the master secret from the premaster secret and both hellos'
// randoms (RFC 5246, section 8.1).
func (k *KDF) Master12(pre, clientRandom, serverRandom []byte) Master12 {
	m := Master12{kdf: k}
	k.prf(m.bytes[:], pre, "master secret", clientRandom, serverRandom)
	return m
}

// ExtendedMaster12 derives the master secret from the premaster secret and the hash
// of the transcript up to and including ClientKeyExchange (RFC 7627, section 4).
func (k *KDF) ExtendedMaster12(pre, sessionHash []byte) Master12 {
	m := Master12{kdf: k}
	k.prf(m.bytes[:], pre, "extended master secret", sessionHash, nil)
	return m
}

// LoadMaster12 takes up the master secret of an earlier session, MasterSize12 bytes.
func (k *KDF) LoadMaster12(secret []byte) Master12 {
	m := Master12{kdf: k}
	copy(m.bytes[:], secret)
	return m
}

// KeyBlock fills dst with the session's key block (RFC 5246, section 6.3).
func (m Master12) KeyBlock(dst, clientRandom, serverRandom []byte) {
	m.kdf.prf(dst, m.bytes[:], "key expansion", serverRandom, clientRandom)
}

// ClientFinished appends the client's verify_data to dst.
func (m Master12) ClientFinished(dst, transcript []byte) []byte {
	return m.finished(dst, "client finished", transcript)
}

// ServerFinished appends the server's verify_data to dst.
func (m Master12) ServerFinished(dst, transcript []byte) []byte {
	return m.finished(dst, "server finished", transcript)
}

func (m *Master12) finished(dst []byte, label string, transcript []byte) []byte {
	var data [finishedSize12]byte
	m.kdf.prf(data[:], m.bytes[:], label, transcript, nil)
	return append(dst, data[:]...)
}

// Bytes returns a copy of the secret, for key logs and saved sessions.
func (m Master12) Bytes() []byte { return m.bytes[:] }
