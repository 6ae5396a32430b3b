package suite

// The stages of TLS 1.3's key schedule (RFC 8446, section 7.1), in their order:
//
//	KDF.Early -> EarlySecret.Handshake -> HandshakeSecret.Master -> MasterSecret
//
// Arguments named transcript are Transcript-Hash values, not messages.

// secret is a value of the key schedule: as many bytes as its KDF's hash has.
type secret struct {
	kdf   *KDF
	bytes [maxHashSize]byte
}

func (s *secret) slice() []byte { return s.bytes[:s.kdf.hash.Size()] }

// derive is Derive-Secret with the transcript already hashed.
func (s *secret) derive(label string, transcript []byte) (d secret) {
	d.kdf = s.kdf
	s.kdf.expand(d.slice(), s.slice(), label, transcript)
	return d
}

// extract is HKDF-Extract with s as the salt. A nil input stands for as many
// zeros as the hash is long.
func (s *secret) extract(input []byte) (d secret) {
	d.kdf = s.kdf
	if input == nil {
		input = s.kdf.zero[:s.kdf.hash.Size()]
	}
	s.kdf.hmac(d.slice(), s.slice(), input)
	return d
}

// next derives the salt of the following stage and extracts input with it.
func (s *secret) next(input []byte) secret {
	salt := s.derive("derived", s.kdf.empty[:s.kdf.hash.Size()])
	return salt.extract(input)
}

// EarlySecret is the first stage.
type EarlySecret struct {
	s     secret
	noPSK bool
}

// Early begins the schedule with a PSK, or with nil for none.
func (k *KDF) Early(psk []byte) EarlySecret {
	e := EarlySecret{s: secret{kdf: k}, noPSK: psk == nil}
	if e.noPSK {
		e.s.bytes = k.early0
		return e
	}
	k.hmac(e.s.slice(), k.zero[:k.hash.Size()], psk)
	return e
}

// Binder appends the binder of a resumption PSK to dst, given the hash of the
// ClientHello up to its binders (RFC 8446, section 4.2.11.2).
func (e EarlySecret) Binder(dst, truncatedTranscript []byte) []byte {
	key := TrafficSecret{e.s.derive("res binder", e.s.kdf.empty[:e.s.kdf.hash.Size()])}
	return key.Finished(dst, truncatedTranscript)
}

// ClientEarlyTraffic returns client_early_traffic_secret, for 0-RTT data;
// transcript is that of the ClientHello.
func (e EarlySecret) ClientEarlyTraffic(transcript []byte) TrafficSecret {
	return TrafficSecret{e.s.derive("c e traffic", transcript)}
}

// Exporter returns early_exporter_master_secret; transcript is that of the
// ClientHello.
func (e EarlySecret) Exporter(transcript []byte) ExporterSecret {
	return ExporterSecret{e.s.derive("e exp master", transcript)}
}

// Handshake goes on with the secret of the key exchange, or with nil when there was
// none (psk_ke).
func (e EarlySecret) Handshake(shared []byte) HandshakeSecret {
	if e.noPSK {
		salt := secret{e.s.kdf, e.s.kdf.salt0}
		return HandshakeSecret{salt.extract(shared)}
	}
	return HandshakeSecret{e.s.next(shared)}
}

// HandshakeSecret is the second stage.
type HandshakeSecret struct{ s secret }

// Client returns client_handshake_traffic_secret; transcript ends with ServerHello.
func (h HandshakeSecret) Client(transcript []byte) TrafficSecret {
	return TrafficSecret{h.s.derive("c hs traffic", transcript)}
}

// Server returns server_handshake_traffic_secret; transcript ends with ServerHello.
func (h HandshakeSecret) Server(transcript []byte) TrafficSecret {
	return TrafficSecret{h.s.derive("s hs traffic", transcript)}
}

// Master goes on to the last stage.
func (h HandshakeSecret) Master() MasterSecret { return MasterSecret{h.s.next(nil)} }

// MasterSecret is the last stage.
type MasterSecret struct{ s secret }

// Client returns client_application_traffic_secret_0; transcript ends with the
// server's Finished.
func (m MasterSecret) Client(transcript []byte) TrafficSecret {
	return TrafficSecret{m.s.derive("c ap traffic", transcript)}
}

// Server returns server_application_traffic_secret_0; transcript ends with the
// server's Finished.
func (m MasterSecret) Server(transcript []byte) TrafficSecret {
	return TrafficSecret{m.s.derive("s ap traffic", transcript)}
}

// Exporter returns exporter_master_secret; transcript ends with the server's
// Finished.
func (m MasterSecret) Exporter(transcript []byte) ExporterSecret {
	return ExporterSecret{m.s.derive("exp master", transcript)}
}

// Resumption returns resumption_master_secret; transcript ends with the client's
// Finished.
func (m MasterSecret) Resumption(transcript []byte) ResumptionSecret {
	return ResumptionSecret{m.s.derive("res master", transcript)}
}

// TrafficSecret protects one direction for a time; see [Info.Protection13].
type TrafficSecret struct{ s secret }

// Finished appends the verify_data of a Finished message under this secret to dst
// (RFC 8446, section 4.4.4).
func (t TrafficSecret) Finished(dst, transcript []byte) []byte {
	key := t.s.derive("finished", nil)
	var mac [maxHashSize]byte
	n := key.kdf.hash.Size()
	key.kdf.hmac(mac[:n], key.slice(), transcript)
	return append(dst, mac[:n]...)
}

// Next returns the secret that follows after a KeyUpdate (RFC 8446, section 7.2).
func (t TrafficSecret) Next() TrafficSecret { return TrafficSecret{t.s.derive("traffic upd", nil)} }

// Bytes returns a copy of the secret, for key logs.
func (t TrafficSecret) Bytes() []byte { return t.s.slice() }

// ExporterSecret is what exporters (RFC 8446, section 7.5) would be made from; it is
// here for key logs.
type ExporterSecret struct{ s secret }

// Bytes returns a copy of the secret, for key logs.
func (e ExporterSecret) Bytes() []byte { return e.s.slice() }

// ResumptionSecret is what the PSKs of session tickets are made from.
type ResumptionSecret struct{ s secret }

// PSK appends the PSK of a ticket with this nonce to dst (RFC 8446, section 4.6.1).
func (r ResumptionSecret) PSK(dst, nonce []byte) []byte {
	var psk [maxHashSize]byte
	n := r.s.kdf.hash.Size()
	r.s.kdf.expand(psk[:n], r.s.slice(), "resumption", nonce)
	return append(dst, psk[:n]...)
}

// Bytes returns a copy of the secret.
func (r ResumptionSecret) Bytes() []byte { return r.s.slice() }
