package peertest

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"strings"

	"shakedown"
)

// helloRetryRandom marks a ServerHello as a HelloRetryRequest (RFC 8446, section
// 4.1.3): the SHA-256 of "HelloRetryRequest".
var helloRetryRandom = sha256.Sum256([]byte("HelloRetryRequest"))

// serve13 is the server's side of RFC 8446, section 2.
func (p *forgePeer) serve13() error {
	message, err := p.readMessage(1)
	if err != nil {
		return err
	}
	hello, err := parseClientHello(message)
	if err != nil {
		return err
	}
	for i, group := range p.forge.Retry {
		if i == 0 {
			// Section 4.4.1: the first ClientHello is replaced by its hash.
			p.transcript = Message(254, p.hash())
		}
		share := Extension(extensionKeyShare, binary.BigEndian.AppendUint16(nil, uint16(group)))
		if err := p.send(HelloRetryRequest, serverHello13(helloRetryRandom[:], hello.sessionID, share)); err != nil {
			return err
		}
		if err := p.changeCipherSpec(); err != nil {
			return err
		}
		if message, err = p.readMessage(1); err != nil {
			return err
		}
		if hello, err = parseClientHello(message); err != nil {
			return err
		}
	}
	secret, err := p.serverHello13(hello)
	if err != nil {
		return err
	}
	// Section 7.1, from the early secret without PSK to the handshake secrets.
	zeros := make([]byte, sha256.Size)
	early := extract(nil, zeros)
	handshake := extract(derive(early, "derived", hashOf(nil)), secret)
	client, server := derive(handshake, "c hs traffic", p.hash()), derive(handshake, "s hs traffic", p.hash())
	p.out, p.in = protect13(server), protect13(client)

	if err := p.serverFlight13(server); err != nil {
		return err
	}
	master := extract(derive(handshake, "derived", hashOf(nil)), zeros)
	clientData, serverData := derive(master, "c ap traffic", p.hash()), derive(master, "s ap traffic", p.hash())

	want := finished13(client, p.hash())
	message, err = p.readMessage(20)
	if err != nil {
		return err
	}
	if !hmac.Equal(message[4:], want) {
		return errors.New("the client's Finished is wrong")
	}
	p.out, p.in = protect13(serverData), protect13(clientData)
	for i := range p.forge.Tickets {
		ticket := concat([]byte{0, 0, 1, 0, 0, 0, 0, byte(i)}, vector(1, []byte{byte(i)}), vector(2, []byte("a ticket that nobody can redeem")), vector(2, nil))
		if err := p.send(NewSessionTicket, Message(4, ticket)); err != nil {
			return err
		}
	}
	if err := p.flush(); err != nil {
		return err
	}
	return p.finish()
}

// serverHello13 sends the ServerHello and returns the shared secret.
func (p *forgePeer) serverHello13(hello *clientHello) ([]byte, error) {
	share, err := hello.x25519Share()
	if err != nil {
		return nil, err
	}
	theirs, err := ecdh.X25519().NewPublicKey(share)
	if err != nil {
		return nil, err
	}
	ours, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	random := make([]byte, 32)
	rand.Read(random)
	entry := Extension(extensionKeyShare, concat([]byte{0, 29}, vector(2, ours.PublicKey().Bytes())))
	if err := p.send(ServerHello, serverHello13(random, hello.sessionID, entry)); err != nil {
		return nil, err
	}
	if err := p.flush(); err != nil {
		return nil, err
	}
	if len(p.forge.Retry) == 0 {
		if err := p.changeCipherSpec(); err != nil {
			return nil, err
		}
	}
	return ours.ECDH(theirs)
}

// serverFlight13 sends the protected messages.
func (p *forgePeer) serverFlight13(secret []byte) error {
	if err := p.send(EncryptedExtensions, Message(8, vector(2, nil))); err != nil {
		return err
	}
	entry := concat(vector(3, p.forge.chain), vector(2, nil))
	if err := p.send(Certificate, Message(11, concat(vector(1, nil), vector(3, entry)))); err != nil {
		return err
	}
	// Section 4.4.3.
	signed := sha256.Sum256(concat([]byte(strings.Repeat(" ", 64)+"TLS 1.3, server CertificateVerify\x00"), p.hash()))
	signature, err := ecdsa.SignASN1(rand.Reader, p.forge.key, signed[:])
	if err != nil {
		return err
	}
	if err := p.send(CertificateVerify, Message(15, concat([]byte{4, 3}, vector(2, signature)))); err != nil {
		return err
	}
	if err := p.send(Finished, Message(20, finished13(secret, p.hash()))); err != nil {
		return err
	}
	return p.flush()
}

// changeCipherSpec sends the record of middlebox compatibility (appendix D.4).
func (p *forgePeer) changeCipherSpec() error {
	if err := p.flush(); err != nil {
		return err
	}
	_, err := p.conn.Write(Record(TypeChangeCipherSpec, shakedown.TLS12, []byte{1}))
	return err
}

// serverHello13 is a ServerHello or HelloRetryRequest with one more extension
// behind supported_versions.
func serverHello13(random, sessionID, extension []byte) []byte {
	extensions := concat(Extension(extensionSupportedVersions, []byte{3, 4}), extension)
	return Message(2, concat([]byte{3, 3}, random, vector(1, sessionID), []byte{0x13, 0x01, 0}, vector(2, extensions)))
}

// hashOf is the hash of the suite.
func hashOf(b []byte) []byte {
	sum := sha256.Sum256(b)
	return sum[:]
}

// extract is HKDF-Extract; the salt of the early secret is empty.
func extract(salt, secret []byte) []byte {
	key, err := hkdf.Extract(sha256.New, secret, salt)
	if err != nil {
		panic(err) // only in FIPS mode, for short keys
	}
	return key
}

// derive is Derive-Secret, with the transcript's hash.
func derive(secret []byte, label string, transcript []byte) []byte {
	return expandLabel(secret, label, transcript, sha256.Size)
}

// expandLabel is HKDF-Expand-Label (section 7.1).
func expandLabel(secret []byte, label string, context []byte, length int) []byte {
	info := concat(binary.BigEndian.AppendUint16(nil, uint16(length)), vector(1, []byte("tls13 "+label)), vector(1, context))
	key, err := hkdf.Expand(sha256.New, secret, string(info), length)
	if err != nil {
		panic(err) // only for lengths beyond 255 hashes
	}
	return key
}

// finished13 is the verify_data of Finished (section 4.4.4).
func finished13(secret, transcript []byte) []byte {
	mac := hmac.New(sha256.New, expandLabel(secret, "finished", nil, sha256.Size))
	mac.Write(transcript)
	return mac.Sum(nil)
}

// protect13 turns a traffic secret into keys (section 7.3).
func protect13(secret []byte) *protection {
	return &protection{aead: gcm(expandLabel(secret, "key", nil, 16)), iv: expandLabel(secret, "iv", nil, 12), tls13: true}
}

// gcm is AES-GCM with a key of 16 bytes.
func gcm(key []byte) cipher.AEAD {
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err) // the key has 16 bytes
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err) // AES has the block size of GCM
	}
	return aead
}
