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

// script13 is a TLS 1.3 handshake as the server plays it. The zero value is a
// right and full one; each field makes one thing otherwise.
type script13 struct {
	machine  *handshake.Machine // the client's; nil for a new one
	identity string             // of identities; "" is p256
	suite    shakedown.CipherSuite
	group    shakedown.Group // "" is x25519

	retry       func(*wire.ServerHello) // send a HelloRetryRequest first
	retryGroup  shakedown.Group         // that it asks for
	hello       func(*wire.ServerHello)
	psk         bool // take the session offered
	early       bool // and its early data
	extensions  func(*wire.EncryptedExtensions)
	request     *wire.CertificateRequestTLS13
	certificate func(*wire.CertificateTLS13)
	compress    *wire.CompressedCertificate // instead of the certificate
	verify      func(*wire.CertificateVerify)
	finished    func(*wire.Finished)

	// alter changes a message before it is sent and hashed.
	alter func(t wire.HandshakeType, raw []byte) []byte
	// deliver sends a message; nil sends it as a record of its own.
	deliver func(p *peer, t wire.HandshakeType, raw []byte)
	// after goes on once the server has the client's Finished.
	after func(p *peer)
	// stop ends with the server's last message: what the client answers is not
	// looked at.
	stop bool
}

// peer13 is the state of a script13 under way.
type peer13 struct {
	*peer
	script         *script13
	client, server suite.TrafficSecret
	master         suite.MasterSecret
}

// keys13 are the application secrets of both sides.
type keys13 struct {
	p              *peer
	client, server suite.TrafficSecret
	resumption     suite.ResumptionSecret
}

func (k *keys13) nextServer() {
	k.server = k.server.Next()
	k.p.write = k.p.info.Protection13(k.server)
}

func (k *keys13) nextClient() {
	k.client = k.client.Next()
	k.p.read = k.p.info.Protection13(k.client)
}

// send takes the message through the script's hooks.
func (p *peer13) send(t wire.HandshakeType, raw []byte) {
	p.t.Helper()
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

// play13 plays the script against a client of cfg that offers session. It ends
// where the client does.
func play13(t testing.TB, cfg handshake.Config, session *handshake.Session, s script13) *peer {
	t.Helper()
	if s.suite == 0 {
		s.suite = shakedown.TLS_AES_128_GCM_SHA256
	}
	if s.group == 0 {
		s.group = shakedown.X25519
	}
	if s.identity == "" {
		s.identity = "p256"
	}
	p := &peer13{peer: newPeer(t, s.machine, cfg, session), script: &s}
	id := identities[s.identity]()
	p.chain, p.key = id.chain, id.key
	p.info, _ = suite.Lookup(s.suite)
	p.readHello()
	early := p.readEarlyData()
	if s.retry != nil {
		if !p.sendRetry() {
			return p.peer
		}
		early = nil
	}
	if !p.sendServerHello(early) {
		return p.peer
	}
	for _, step := range []func(){p.sendEncryptedExtensions, p.sendCertificate, p.sendFinished} {
		if step(); p.ended {
			return p.peer
		}
	}
	if s.stop {
		return p.peer
	}
	p.readClientFlight()
	if s.after != nil {
		s.after(p.peer)
	}
	return p.peer
}

// readEarlyData reads early data behind the ClientHello, if there is any, and
// returns the keys of what follows it.
func (p *peer13) readEarlyData() suite.Protection {
	p.t.Helper()
	if _, ok := p.hello.Extensions.Find(shakedown.ExtEarlyData); !ok {
		return nil
	}
	info, _ := suite.Lookup(p.session.CipherSuite)
	h := info.Hash.New()
	h.Write(p.transcript)
	p.read = info.Protection13(suite.NewKDF(info.Hash).Early(p.session.Secret).ClientEarlyTraffic(h.Sum(nil)))
	for {
		kind, content, ok := p.next()
		switch {
		case ok && kind == wire.ChangeCipherSpec:
			continue
		case !ok || kind != wire.ApplicationData || string(content) != string(earlyRequest):
			p.t.Fatalf("early data %s %q", kind, content)
		}
		return p.read
	}
}

// sendRetry sends a HelloRetryRequest and reads the second ClientHello.
func (p *peer13) sendRetry() bool {
	p.t.Helper()
	p.transcript = wire.AppendMessageHash(nil, p.digest())
	hrr := wire.ServerHello{Version: shakedown.TLS12, Random: wire.HelloRetryRequestRandom, SessionID: p.hello.SessionID, CipherSuite: p.info.ID}
	hrr.Extensions = wire.Extensions{{Type: shakedown.ExtSupportedVersions, Data: wire.AppendSelectedVersion(nil, shakedown.TLS13)}}
	if p.script.retryGroup != 0 {
		hrr.Extensions = append(hrr.Extensions, wire.Extension{Type: shakedown.ExtKeyShare, Data: wire.AppendSelectedGroup(nil, p.script.retryGroup)})
	}
	p.script.retry(&hrr)
	p.read = nil
	p.send(wire.TypeServerHello, hrr.Append(nil))
	if p.ended || p.script.stop && len(p.sent) == 0 {
		return false
	}
	p.readHello()
	return true
}

// sendServerHello sends the ServerHello and changes to the handshake keys; early
// are those of early data under way.
func (p *peer13) sendServerHello(early suite.Protection) bool {
	p.t.Helper()
	s := p.script
	sh := wire.ServerHello{Version: shakedown.TLS12, SessionID: p.hello.SessionID, CipherSuite: s.suite}
	rand.Read(sh.Random[:])
	var share suite.Share
	if err := share.Generate(s.group, shakedown.WorkFull, rand.Reader); err != nil {
		p.t.Fatal(err)
	}
	sh.Extensions = wire.Extensions{
		{Type: shakedown.ExtSupportedVersions, Data: wire.AppendSelectedVersion(nil, shakedown.TLS13)},
		{Type: shakedown.ExtKeyShare, Data: wire.AppendKeyShare(nil, wire.KeyShare{Group: s.group, Public: share.Public()})},
	}
	var psk []byte
	if s.psk {
		psk = p.session.Secret
		sh.Extensions = append(sh.Extensions, wire.Extension{Type: shakedown.ExtPreSharedKey, Data: wire.AppendSelectedIdentity(nil, 0)})
	}
	if s.hello != nil {
		s.hello(&sh)
	}
	p.read = nil // should it fail, the alert comes in plaintext, or
	if early != nil {
		p.read = early // behind early data
	}
	p.send(wire.TypeServerHello, sh.Append(nil))
	if p.ended {
		return false
	}
	var shared []byte
	if public := p.share(s.group); public != nil {
		var err error
		if shared, err = share.Secret(nil, public); err != nil {
			p.t.Fatal(err)
		}
	}
	secret := suite.NewKDF(p.info.Hash).Early(psk).Handshake(shared)
	p.client, p.server, p.master = secret.Client(p.digest()), secret.Server(p.digest()), secret.Master()
	p.write = p.info.Protection13(p.server)
	if early == nil {
		p.read = p.info.Protection13(p.client)
	}
	return true
}

func (p *peer13) sendEncryptedExtensions() {
	p.t.Helper()
	var ee wire.EncryptedExtensions
	if p.script.early {
		ee.Extensions = append(ee.Extensions, wire.Extension{Type: shakedown.ExtEarlyData})
	}
	if p.script.extensions != nil {
		p.script.extensions(&ee)
	}
	before := p.read
	p.send(wire.TypeEncryptedExtensions, ee.Append(nil))
	if _, offered := p.hello.Extensions.Find(shakedown.ExtEarlyData); offered && !p.script.early && !p.ended {
		p.read = p.info.Protection13(p.client)
	} else {
		p.read = before
	}
}

func (p *peer13) sendCertificate() {
	p.t.Helper()
	s := p.script
	if s.request != nil {
		p.send(wire.TypeCertificateRequest, s.request.Append(nil))
	}
	if s.psk || p.ended {
		return
	}
	cert := wire.CertificateTLS13{}
	for _, der := range p.chain {
		cert.Entries = append(cert.Entries, wire.CertificateEntry{DER: der})
	}
	if s.certificate != nil {
		s.certificate(&cert)
	}
	if s.compress != nil {
		p.send(wire.TypeCompressedCertificate, s.compress.Append(nil))
	} else {
		p.send(wire.TypeCertificate, cert.Append(nil))
	}
	if p.ended {
		return
	}
	scheme := suite.SchemesFor(shakedown.TLS13, p.key.Public())[0]
	signature, err := suite.Sign(scheme, p.key, rand.Reader, suite.Content13(nil, suite.ServerContext13, p.digest()))
	if err != nil {
		p.t.Fatal(err)
	}
	cv := wire.CertificateVerify{Scheme: scheme, Signature: signature}
	if s.verify != nil {
		s.verify(&cv)
	}
	p.send(wire.TypeCertificateVerify, cv.Append(nil))
}

func (p *peer13) sendFinished() {
	p.t.Helper()
	fin := wire.Finished{VerifyData: p.server.Finished(nil, p.digest())}
	if p.script.finished != nil {
		p.script.finished(&fin)
	}
	p.send(wire.TypeFinished, fin.Append(nil))
	if !p.ended {
		p.write = p.info.Protection13(p.master.Server(p.digest()))
	}
}

// readClientFlight reads the client's second flight, verifies its Finished and
// changes to the application keys.
func (p *peer13) readClientFlight() {
	p.t.Helper()
	atServerFinished := p.digest()
	if p.script.early {
		p.message(wire.TypeEndOfEarlyData)
		p.read = p.info.Protection13(p.client)
	}
	if p.script.request != nil {
		p.message(wire.TypeCertificate)
	}
	want := p.client.Finished(nil, p.digest())
	if got := p.message(wire.TypeFinished); string(got) != string(want) {
		p.t.Fatalf("the client's Finished is %x, want %x", got, want)
	}
	p.keys = &keys13{p.peer, p.master.Client(atServerFinished), p.master.Server(atServerFinished), p.master.Resumption(p.digest())}
	p.read = p.info.Protection13(p.keys.client)
}

var earlyRequest = []byte("GET /early HTTP/1.1\r\n\r\n")

// session13 is a session of TLS 1.3 as a handshake with the suite leaves it.
func session13(id shakedown.CipherSuite) *handshake.Session {
	info, _ := suite.Lookup(id)
	return &handshake.Session{
		Version: shakedown.TLS13, CipherSuite: id, Secret: make([]byte, info.Hash.Size()), Ticket: []byte("a ticket"),
		Lifetime: time.Hour, Received: time.Now(), MaxEarlyData: 1 << 14,
	}
}
