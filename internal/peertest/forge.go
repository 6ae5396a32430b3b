package peertest

import (
	"bytes"
	"context"
	"crypto/cipher"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"testing"
	"time"

	"shakedown"
)

// Forge is a small TLS server that holds real keys, so that a test can change
// any handshake message before it is protected and sent: a wrong Finished, an
// unknown extension in EncryptedExtensions, messages in another order.
//
// What was sent is what enters the transcript, so a client that does not notice
// the change completes its handshake. It speaks one suite: TLS 1.3 with
// TLS_AES_128_GCM_SHA256, or TLS 1.2 with TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
// both over X25519 with a P-256 certificate.
type Forge struct {
	Version shakedown.Version // TLS12 or TLS13

	// Change is called with each message before it is sent and returns what is
	// sent in its place: the message, others (each with its header), or none.
	// Nil changes nothing.
	Change func(name MessageName, message []byte) [][]byte
	// Fragment is the number of handshake bytes in a record; 0: a record for
	// each message.
	Fragment int
	// Coalesce puts a flight's messages behind one another into records.
	Coalesce bool
	// Before is written raw before the message it names, outside of all
	// protection.
	Before map[MessageName][]byte
	// Retry has a HelloRetryRequest sent for each of these groups in turn
	// before the ServerHello (TLS 1.3 only).
	Retry []shakedown.Group
	// Tickets is the number of NewSessionTicket messages (TLS 1.3 only).
	Tickets int
	// Data is sent as application data after the handshake.
	Data []byte

	// Roots verify the server's certificate for the name "peer.test".
	Roots *x509.CertPool
	// Outcomes holds one value for each connection when it is over.
	Outcomes chan Outcome

	chain []byte // the certificate, DER
	key   *ecdsa.PrivateKey
}

// MessageName names a message of the server's, in TLS 1.3 or 1.2.
type MessageName string

// The messages, in the order in which they are sent.
const (
	HelloRetryRequest   MessageName = "HelloRetryRequest"
	ServerHello         MessageName = "ServerHello"
	EncryptedExtensions MessageName = "EncryptedExtensions"
	Certificate         MessageName = "Certificate"
	CertificateVerify   MessageName = "CertificateVerify"
	ServerKeyExchange   MessageName = "ServerKeyExchange"
	ServerHelloDone     MessageName = "ServerHelloDone"
	Finished            MessageName = "Finished"
	NewSessionTicket    MessageName = "NewSessionTicket"
)

// Outcome is how a connection ended, seen from the server.
type Outcome struct {
	// Finished says that the client's Finished came and was right.
	Finished bool
	// Alert is the description in the last alert the client sent, close_notify
	// included; -1 if it sent none.
	Alert int
	// Err is why the server gave up, nil if the client ended the connection.
	Err error
}

// String returns the outcome in words.
func (o Outcome) String() string {
	alert := "no alert"
	if o.Alert >= 0 {
		alert = "alert " + shakedown.Alert(o.Alert).String()
	}
	return fmt.Sprintf("finished %t, %s, %v", o.Finished, alert, o.Err)
}

// NewForge returns a forge with a fresh certificate.
func NewForge(t testing.TB, version shakedown.Version) *Forge {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"peer.test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	f := &Forge{Version: version, Roots: x509.NewCertPool(), Outcomes: make(chan Outcome, 64), chain: der, key: key}
	f.Roots.AddCert(cert)
	return f
}

// Behaviour is the forge's, for [Serve] or [Pipe]. The forge must not be
// changed any more.
func (f *Forge) Behaviour(ctx context.Context, conn net.Conn) {
	p := &forgePeer{forge: f, conn: conn, outcome: Outcome{Alert: -1}}
	var err error
	if f.Version == shakedown.TLS13 {
		err = p.serve13()
	} else {
		err = p.serve12()
	}
	// A client that has refused something is gone while the rest of the flight is
	// written; its alert is waiting to be read.
	for err != nil && p.outcome.Alert < 0 {
		if _, _, readErr := p.readRecord(); readErr != nil {
			break
		}
	}
	if p.outcome.Alert >= 0 || errors.Is(err, io.EOF) {
		err = nil
	}
	p.outcome.Err = err
	select {
	case f.Outcomes <- p.outcome:
	case <-ctx.Done(): // nobody wants to know
	}
}

// errAlert says that the client sent an alert; it is in the outcome.
var errAlert = errors.New("the client sent an alert")

// forgePeer is one connection.
type forgePeer struct {
	forge   *Forge
	conn    net.Conn
	outcome Outcome

	transcript []byte
	in, out    *protection // nil: none yet
	received   []byte      // handshake bytes not yet taken
	pending    []byte      // handshake bytes to be sent with the flight
}

// hash is the transcript's.
func (p *forgePeer) hash() []byte {
	sum := sha256.Sum256(p.transcript)
	return sum[:]
}

// send sends a message, or what the test makes of it.
func (p *forgePeer) send(name MessageName, message []byte) error {
	if raw := p.forge.Before[name]; len(raw) > 0 {
		if err := p.flush(); err != nil {
			return err
		}
		if _, err := p.conn.Write(raw); err != nil {
			return err
		}
	}
	messages := [][]byte{message}
	if p.forge.Change != nil {
		messages = p.forge.Change(name, message)
	}
	for _, m := range messages {
		if name != NewSessionTicket {
			p.transcript = append(p.transcript, m...)
		}
		p.pending = append(p.pending, m...)
		if !p.forge.Coalesce {
			if err := p.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// flush writes what is pending, in records.
func (p *forgePeer) flush() error {
	size := p.forge.Fragment
	if size == 0 {
		size = 1 << 14
	}
	var out bytes.Buffer
	for len(p.pending) > 0 {
		n := min(size, len(p.pending))
		out.Write(p.out.seal(TypeHandshake, p.pending[:n]))
		p.pending = p.pending[n:]
	}
	if out.Len() == 0 {
		return nil
	}
	_, err := p.conn.Write(out.Bytes())
	return err
}

// readRecord reads and opens one record; alerts end it.
func (p *forgePeer) readRecord() (byte, []byte, error) {
	record, err := ReadRecord(p.conn)
	if err != nil {
		return 0, nil, err
	}
	contentType, body := record[0], record[5:]
	// Protected records of TLS 1.3 all bear the type of application data. Others
	// are change_cipher_spec, or an alert from before the client had keys.
	if p.in == nil || !p.in.tls13 || contentType == TypeApplicationData {
		if contentType, body, err = p.in.open(record); err != nil {
			return 0, nil, err
		}
	}
	if contentType == TypeAlert && len(body) == 2 {
		p.outcome.Alert = int(body[1])
		return 0, nil, errAlert
	}
	return contentType, body, nil
}

// readMessage reads the client's next handshake message into the transcript,
// over change_cipher_spec.
func (p *forgePeer) readMessage(messageType byte) ([]byte, error) {
	for {
		if len(p.received) >= 4 {
			n := 4 + int(p.received[1])<<16 + int(p.received[2])<<8 + int(p.received[3])
			if len(p.received) >= n {
				m := p.received[:n]
				p.received = p.received[n:]
				if m[0] != messageType {
					return nil, fmt.Errorf("the client sent a message of type %d, not %d", m[0], messageType)
				}
				p.transcript = append(p.transcript, m...)
				return m, nil
			}
		}
		contentType, body, err := p.readRecord()
		if err != nil {
			return nil, err
		}
		switch contentType {
		case TypeHandshake:
			p.received = append(p.received, body...)
		case TypeChangeCipherSpec:
		default:
			return nil, fmt.Errorf("the client sent a record of type %d during the handshake", contentType)
		}
	}
}

// finish sends the data and reads until the client ends the connection.
func (p *forgePeer) finish() error {
	p.outcome.Finished = true
	if len(p.forge.Data) > 0 {
		if _, err := p.conn.Write(p.out.seal(TypeApplicationData, p.forge.Data)); err != nil {
			return err
		}
	}
	for {
		if _, _, err := p.readRecord(); err != nil {
			return err
		}
	}
}

// protection seals or opens records of one direction. A nil one leaves them as
// they are.
type protection struct {
	aead  cipher.AEAD
	iv    []byte // 12 bytes in TLS 1.3, 4 in TLS 1.2
	seq   uint64
	tls13 bool
}

// nonce is the next nonce of TLS 1.3 (RFC 8446, section 5.3).
func (p *protection) nonce() []byte {
	nonce := bytes.Clone(p.iv)
	var seq [8]byte
	binary.BigEndian.PutUint64(seq[:], p.seq)
	for i := range seq {
		nonce[len(nonce)-8+i] ^= seq[i]
	}
	p.seq++
	return nonce
}

// seal returns a record.
func (p *protection) seal(contentType byte, body []byte) []byte {
	switch {
	case p == nil:
		return Record(contentType, shakedown.TLS12, body)
	case p.tls13:
		inner := append(bytes.Clone(body), contentType)
		record := Record(TypeApplicationData, shakedown.TLS12, make([]byte, len(inner)+p.aead.Overhead()))
		return p.aead.Seal(record[:5], p.nonce(), inner, record[:5])
	}
	// RFC 5288, section 3: explicit nonce in front, here the sequence number.
	explicit := binary.BigEndian.AppendUint64(nil, p.seq)
	additional := append(bytes.Clone(explicit), Record(contentType, shakedown.TLS12, body)[:5]...)
	p.seq++
	sealed := p.aead.Seal(bytes.Clone(explicit), append(bytes.Clone(p.iv), explicit...), body, additional)
	return Record(contentType, shakedown.TLS12, sealed)
}

// open returns content type and body of a record.
func (p *protection) open(record []byte) (byte, []byte, error) {
	switch {
	case p == nil:
		return record[0], record[5:], nil
	case p.tls13:
		inner, err := p.aead.Open(nil, p.nonce(), record[5:], record[:5])
		if err != nil {
			return 0, nil, err
		}
		inner = bytes.TrimRight(inner, "\x00")
		if len(inner) == 0 {
			return 0, nil, errors.New("the client sent a record of padding alone")
		}
		return inner[len(inner)-1], inner[:len(inner)-1], nil
	}
	if len(record) < 5+8+p.aead.Overhead() {
		return 0, nil, errors.New("the client sent a record too short to be protected")
	}
	explicit, sealed := record[5:13], record[13:]
	additional := binary.BigEndian.AppendUint64(nil, p.seq)
	additional = append(additional, record[:3]...)
	additional = binary.BigEndian.AppendUint16(additional, uint16(len(sealed)-p.aead.Overhead()))
	p.seq++
	body, err := p.aead.Open(nil, append(bytes.Clone(p.iv), explicit...), sealed, additional)
	return record[0], body, err
}
