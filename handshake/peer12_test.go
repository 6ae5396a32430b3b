package handshake_test

import (
	"crypto/rand"
	"testing"
	"time"

	"shakedown"
	"shakedown/handshake"
	"shakedown/internal/suite"
	"shakedown/internal/wire"
)

// script12 is a TLS 1.2 handshake as the server plays it. The zero value is a
// right and full one; each field makes one thing otherwise.
type script12 struct {
	machine  *handshake.Machine // the client's; nil for a new one
	identity string
	suite    shakedown.CipherSuite
	group    shakedown.Group
	resume   bool // the session offered
	staple   []byte
	ticket   []byte

	hello       func(*wire.ServerHello)
	certificate func(*wire.CertificateTLS12)
	exchange    func(*wire.ServerKeyExchangeECDHE)
	request     *wire.CertificateRequestTLS12
	finished    func(*wire.Finished)

	alter   func(t wire.HandshakeType, raw []byte) []byte
	deliver func(p *peer, t wire.HandshakeType, raw []byte)
	ccs     func(p *peer) // instead of ChangeCipherSpec
	after   func(p *peer)
	stop    bool // once the client answers
}

// peer12 is the state of a script12 under way.
type peer12 struct {
	*peer
	script      *script12
	serverHello wire.ServerHello
	share       suite.Share
	master      suite.Master12
	nextWrite   suite.Protection
	nextRead    suite.Protection
}

func (p *peer12) send(t wire.HandshakeType, raw []byte) {
	p.t.Helper()
	if p.ended {
		return
	}
	if p.script.alter != nil {
		raw = p.script.alter(t, raw)
	}
	p.transcript = append(p.transcript, raw...)
	if p.script.deliver != nil {
		p.script.deliver(p.peer, t, raw)
		return
	}
	p.feed(p.seal(wire.Handshake, raw))
}

// play12 plays the script against a client of cfg that offers session. It ends
// where the client does.
func play12(t testing.TB, cfg handshake.Config, session *handshake.Session, s script12) *peer {
	t.Helper()
	if s.suite == 0 {
		s.suite = shakedown.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256
	}
	if s.group == 0 {
		s.group = shakedown.X25519
	}
	if s.identity == "" {
		s.identity = "p256"
	}
	p := &peer12{peer: newPeer(t, s.machine, cfg, session), script: &s}
	id := identities[s.identity]()
	p.chain, p.key = id.chain, id.key
	p.info, _ = suite.Lookup(s.suite)
	p.readHello()
	p.sendServerHello()
	if p.ended {
		return p.peer
	}
	if s.resume {
		p.master = suite.NewKDF(p.info.Hash).LoadMaster12(session.Secret)
		p.changeKeys()
		p.sendFinished()
		if !p.ended && !s.stop {
			p.readFinished()
		}
	} else {
		p.sendFlight()
		if p.ended || s.stop {
			return p.peer
		}
		p.readClientFlight()
		p.sendFinished()
	}
	if s.after != nil && !p.ended {
		s.after(p.peer)
	}
	return p.peer
}

func (p *peer12) sendServerHello() {
	p.t.Helper()
	s := p.script
	sh := &p.serverHello
	*sh = wire.ServerHello{Version: shakedown.TLS12, CipherSuite: s.suite}
	rand.Read(sh.Random[:])
	sh.Extensions = wire.Extensions{extension(shakedown.ExtRenegotiationInfo, 0), extension(shakedown.ExtExtendedMasterSecret)}
	if s.resume {
		sh.SessionID = p.hello.SessionID
	}
	if s.ticket != nil {
		sh.Extensions = append(sh.Extensions, extension(shakedown.ExtSessionTicket))
	}
	if s.staple != nil {
		sh.Extensions = append(sh.Extensions, extension(shakedown.ExtStatusRequest))
	}
	if s.hello != nil {
		s.hello(sh)
	}
	p.send(wire.TypeServerHello, sh.Append(nil))
}

// sendFlight sends Certificate to ServerHelloDone.
func (p *peer12) sendFlight() {
	p.t.Helper()
	s := p.script
	cert := wire.CertificateTLS12{List: p.chain}
	if s.certificate != nil {
		s.certificate(&cert)
	}
	p.send(wire.TypeCertificate, cert.Append(nil))
	if len(s.staple) > 0 {
		p.send(wire.TypeCertificateStatus, (&wire.CertificateStatus{Response: s.staple}).Append(nil))
	}
	p.sendKeyExchange()
	if s.request != nil {
		p.send(wire.TypeCertificateRequest, s.request.Append(nil))
	}
	p.send(wire.TypeServerHelloDone, (&wire.ServerHelloDone{}).Append(nil))
}

func (p *peer12) sendKeyExchange() {
	p.t.Helper()
	if err := p.share.Generate(p.script.group, shakedown.WorkFull, rand.Reader); err != nil {
		p.t.Fatal(err)
	}
	kx := wire.ServerKeyExchangeECDHE{Group: p.script.group, Public: p.share.Public()}
	kx.Scheme = suite.SchemesFor(shakedown.TLS12, p.key.Public())[0]
	signed := append(append([]byte(nil), p.hello.Random[:]...), p.serverHello.Random[:]...)
	var err error
	if kx.Signature, err = suite.Sign(kx.Scheme, p.key, rand.Reader, kx.AppendParams(signed)); err != nil {
		p.t.Fatal(err)
	}
	if p.script.exchange != nil {
		p.script.exchange(&kx)
	}
	p.send(wire.TypeServerKeyExchange, kx.Append(nil))
}

// readClientFlight reads the client's share and its Finished.
func (p *peer12) readClientFlight() {
	p.t.Helper()
	if p.script.request != nil {
		p.message(wire.TypeCertificate)
	}
	var kx wire.ClientKeyExchangeECDHE
	if err := kx.Parse(p.message(wire.TypeClientKeyExchange)); err != nil {
		p.t.Fatal(err)
	}
	secret, err := p.share.Secret(nil, kx.Public)
	if err != nil {
		p.t.Fatal(err)
	}
	p.master = suite.NewKDF(p.info.Hash).ExtendedMaster12(secret, p.digest())
	p.changeKeys()
	p.readFinished()
}

// changeKeys makes the keys; reading begins with them at once, writing with
// ChangeCipherSpec.
func (p *peer12) changeKeys() {
	p.nextRead, p.nextWrite = p.info.Protections12(p.master, p.hello.Random[:], p.serverHello.Random[:], false)
}

func (p *peer12) readFinished() {
	p.t.Helper()
	p.read = p.nextRead
	want := p.master.ClientFinished(nil, p.digest())
	if got := p.message(wire.TypeFinished); string(got) != string(want) {
		p.t.Fatalf("the client's Finished is %x, want %x", got, want)
	}
}

// sendFinished sends the server's last messages.
func (p *peer12) sendFinished() {
	p.t.Helper()
	s := p.script
	if len(s.ticket) > 0 {
		p.send(wire.TypeNewSessionTicket, (&wire.NewSessionTicketTLS12{LifetimeHint: 300, Ticket: s.ticket}).Append(nil))
	}
	if s.ccs != nil {
		s.ccs(p.peer)
	} else {
		p.feed(plainRecord(wire.ChangeCipherSpec, []byte{1}))
	}
	p.write = p.nextWrite
	fin := wire.Finished{VerifyData: p.master.ServerFinished(nil, p.digest())}
	if s.finished != nil {
		s.finished(&fin)
	}
	p.send(wire.TypeFinished, fin.Append(nil))
}

// session12 is a session of TLS 1.2 with a ticket and a session ID.
func session12() *handshake.Session {
	return &handshake.Session{
		Version: shakedown.TLS12, CipherSuite: shakedown.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
		Secret: make([]byte, suite.MasterSize12), Ticket: []byte("a ticket"), SessionID: []byte("an ID"),
		Received: time.Now(), ExtendedMasterSecret: true,
	}
}
