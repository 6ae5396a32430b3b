package peertest

import (
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
)

// serve12 is the server's side of RFC 5246, section 7.3, with the key exchange
// of RFC 8422.
func (p *forgePeer) serve12() error {
	message, err := p.readMessage(1)
	if err != nil {
		return err
	}
	hello, err := parseClientHello(message)
	if err != nil {
		return err
	}
	ours, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	random := make([]byte, 32)
	rand.Read(random)
	_, extended := hello.extensions[extensionExtendedMasterSecret]
	if err := p.serverFlight12(hello, random, ours, extended); err != nil {
		return err
	}
	exchange, err := p.readMessage(16)
	if err != nil {
		return err
	}
	if len(exchange) != 4+1+32 {
		return errors.New("the client's share is not one of X25519")
	}
	theirs, err := ecdh.X25519().NewPublicKey(exchange[5:])
	if err != nil {
		return err
	}
	premaster, err := ours.ECDH(theirs)
	if err != nil {
		return err
	}
	master := prf(premaster, "master secret", concat(hello.random, random), 48)
	if extended {
		master = prf(premaster, "extended master secret", p.hash(), 48) // RFC 7627
	}
	keys := reader(prf(master, "key expansion", concat(random, hello.random), 2*16+2*4))
	clientKey, serverKey := keys.take(16), keys.take(16)
	clientIV, serverIV := keys.take(4), keys.take(4)

	contentType, _, err := p.readRecord()
	if err != nil {
		return err
	}
	if contentType != TypeChangeCipherSpec {
		return fmt.Errorf("the client sent a record of type %d before its ChangeCipherSpec", contentType)
	}
	p.in = &protection{aead: gcm(clientKey), iv: clientIV}
	want := prf(master, "client finished", p.hash(), 12)
	finished, err := p.readMessage(20)
	if err != nil {
		return err
	}
	if !hmac.Equal(finished[4:], want) {
		return errors.New("the client's Finished is wrong")
	}
	if err := p.changeCipherSpec(); err != nil {
		return err
	}
	p.out = &protection{aead: gcm(serverKey), iv: serverIV}
	if err := p.send(Finished, Message(20, prf(master, "server finished", p.hash(), 12))); err != nil {
		return err
	}
	if err := p.flush(); err != nil {
		return err
	}
	return p.finish()
}

// serverFlight12 sends the messages from ServerHello to ServerHelloDone.
func (p *forgePeer) serverFlight12(hello *clientHello, random []byte, ours *ecdh.PrivateKey, extended bool) error {
	extensions := Extension(extensionRenegotiationInfo, vector(1, nil))
	if extended {
		extensions = append(extensions, Extension(extensionExtendedMasterSecret, nil)...)
	}
	body := concat([]byte{3, 3}, random, vector(1, nil), []byte{0xC0, 0x2B, 0}, vector(2, extensions))
	if err := p.send(ServerHello, Message(2, body)); err != nil {
		return err
	}
	if err := p.send(Certificate, Message(11, vector(3, vector(3, p.forge.chain)))); err != nil {
		return err
	}
	// RFC 8422, section 5.4: named curve, X25519, public key.
	parameters := concat([]byte{3, 0, 29}, vector(1, ours.PublicKey().Bytes()))
	signed := sha256.Sum256(concat(hello.random, random, parameters))
	signature, err := ecdsa.SignASN1(rand.Reader, p.forge.key, signed[:])
	if err != nil {
		return err
	}
	if err := p.send(ServerKeyExchange, Message(12, concat(parameters, []byte{4, 3}, vector(2, signature)))); err != nil {
		return err
	}
	if err := p.send(ServerHelloDone, Message(14, nil)); err != nil {
		return err
	}
	return p.flush()
}

// prf is the pseudorandom function of TLS 1.2 with SHA-256 (RFC 5246, section 5).
func prf(secret []byte, label string, seed []byte, length int) []byte {
	seed = concat([]byte(label), seed)
	mac := func(parts ...[]byte) []byte {
		h := hmac.New(sha256.New, secret)
		h.Write(concat(parts...))
		return h.Sum(nil)
	}
	var out []byte
	for a := mac(seed); len(out) < length; a = mac(a) {
		out = append(out, mac(a, seed)...)
	}
	return out[:length]
}
