package suite

import (
	"bytes"
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"io"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"

	gmcipher "github.com/emmansun/gmsm/cipher"
	"golang.org/x/crypto/chacha20poly1305"

	"shakedown"
)

// wiretap records what is written to a connection.
type wiretap struct {
	net.Conn
	mu  sync.Mutex
	log bytes.Buffer
}

func (w *wiretap) Write(b []byte) (int, error) {
	w.mu.Lock()
	w.log.Write(b)
	w.mu.Unlock()
	return w.Conn.Write(b)
}

// overheard is one TLS 1.2 handshake of crypto/tls with itself, a request and an answer.
type overheard struct {
	client, server [][]byte          // records
	secrets        map[string][]byte // by the labels of SSLKEYLOGFILE
}

const request, response = "a request of some length", "and its response"

func listen(t *testing.T, id shakedown.CipherSuite, keys map[bool]crypto.Signer) overheard {
	t.Helper()
	var keylog bytes.Buffer
	a, b := net.Pipe()
	client, server := &wiretap{Conn: a}, &wiretap{Conn: b}
	config := func(isRSA bool) *tls.Config {
		key := keys[isRSA]
		template := &x509.Certificate{SerialNumber: big.NewInt(1)}
		der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
		if err != nil {
			t.Fatal(err)
		}
		return &tls.Config{
			Certificates:       []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
			InsecureSkipVerify: true, KeyLogWriter: &keylog, CipherSuites: []uint16{uint16(id)},
			MinVersion: tls.VersionTLS12, MaxVersion: tls.VersionTLS12, SessionTicketsDisabled: true,
		}
	}
	c := config(!strings.Contains(id.String(), "ECDSA"))
	serverSide := c.Clone()
	serverSide.KeyLogWriter = nil
	failed := make(chan error, 1)
	go func() {
		s := tls.Server(server, serverSide)
		got := make([]byte, len(request))
		if _, err := io.ReadFull(s, got); err != nil {
			failed <- err
			return
		}
		_, err := s.Write([]byte(response))
		failed <- err
	}()
	conn := tls.Client(client, c)
	if _, err := conn.Write([]byte(request)); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(response))
	if _, err := io.ReadFull(conn, got); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
	a.Close()
	b.Close()
	if state := conn.ConnectionState(); state.CipherSuite != uint16(id) {
		t.Fatalf("crypto/tls negotiated %v", shakedown.CipherSuite(state.CipherSuite))
	}
	o := overheard{records(t, client.log.Bytes()), records(t, server.log.Bytes()), map[string][]byte{}}
	for line := range strings.Lines(keylog.String()) {
		f := strings.Fields(line)
		secret, err := hex.DecodeString(f[2])
		if err != nil {
			t.Fatal(err)
		}
		o.secrets[f[0]] = secret
	}
	return o
}

func records(t *testing.T, log []byte) [][]byte {
	t.Helper()
	var all [][]byte
	for len(log) > 0 {
		n := headerSize + int(log[3])<<8 + int(log[4])
		all, log = append(all, log[:n:n]), log[n:]
	}
	return all
}

// plain returns the handshake messages that were sent before protection began.
func plain(records [][]byte) (messages []byte, rest [][]byte) {
	for i, r := range records {
		if r[0] != typeHandshake {
			return messages, records[i+1:] // after ChangeCipherSpec
		}
		messages = append(messages, r[headerSize:]...)
	}
	return messages, nil
}

// TestTLS12 opens what two ends of crypto/tls say to each other, with every TLS 1.2
// suite that they know, and checks their Finished messages.
func TestTLS12(t *testing.T) {
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	ecdsaKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	keys := map[bool]crypto.Signer{true: rsaKey, false: ecdsaKey}
	for _, s := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
		i, ok := Lookup(shakedown.CipherSuite(s.ID))
		if !ok || i.KeyExchange == KeyExchangeTLS13 {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			o := listen(t, i.ID, keys)
			clientPlain, clientRest := plain(o.client)
			serverPlain, serverRest := plain(o.server)
			// Random follows type, length and version (RFC 5246, section 7.4.1).
			clientRandom, serverRandom := clientPlain[6:38], serverPlain[6:38]
			m := NewKDF(i.Hash).LoadMaster12(o.secrets["CLIENT_RANDOM"])
			client, server := i.Protections12(m, clientRandom, serverRandom, false)

			// ClientHello, the server's flight, then the rest of the client's.
			hello := 4 + int(clientPlain[1])<<16 + int(clientPlain[2])<<8 + int(clientPlain[3])
			h := i.Hash.New()
			h.Write(clientPlain[:hello])
			h.Write(serverPlain)
			h.Write(clientPlain[hello:])
			finished := append([]byte{20, 0, 0, 12}, m.ClientFinished(nil, h.Sum(nil))...)
			expect(t, client, clientRest[0], typeHandshake, finished)
			h.Write(finished)
			expect(t, server, serverRest[0], typeHandshake, append([]byte{20, 0, 0, 12}, m.ServerFinished(nil, h.Sum(nil))...))
			expectData(t, client, clientRest[1:], request)
			expectData(t, server, serverRest[1:], response)
			if i.Cipher == CipherAESCBC {
				return // its IV is random there
			}
			again, _ := i.Protections12(m, clientRandom, serverRandom, false)
			if got := again.Seal(nil, typeHandshake, finished); !bytes.Equal(got, o.client[len(o.client)-len(clientRest)]) {
				t.Errorf("Finished sealed as %x", got)
			}
		})
	}
}

// expect opens a record and compares what it holds.
func expect(t *testing.T, p Protection, record []byte, typ uint8, want []byte) {
	t.Helper()
	gotType, got, err := p.Open(bytes.Clone(record))
	if err != nil || gotType != typ || !bytes.Equal(got, want) {
		t.Errorf("type %d, %x, error %v; want type %d, %x", gotType, got, err, typ, want)
	}
}

// expectData opens records and compares their data: crypto/tls sends several where the
// version asks for it.
func expectData(t *testing.T, p Protection, records [][]byte, want string) {
	t.Helper()
	var data []byte
	for _, r := range records {
		typ, got, err := p.Open(bytes.Clone(r))
		if err != nil || typ != typeApplicationData {
			t.Errorf("type %d, error %v", typ, err)
		}
		data = append(data, got...)
	}
	if string(data) != want {
		t.Errorf("data %q, want %q", data, want)
	}
}

// TestProtection13 seals the second record of each TLS 1.3 suite a second time, after
// RFC 8446, sections 5.2, 5.3 and 7.3, with crypto/hkdf.
func TestProtection13(t *testing.T) {
	for _, id := range Supported(shakedown.TLS13) {
		i, _ := Lookup(id)
		hash := pattern(i.Hash.Size(), 1)
		s := NewKDF(i.Hash).Early(nil).Handshake(hash).Server(hash)
		p := i.Protection13(s)
		p.Seal(nil, typeHandshake, hash)
		got := p.Seal(nil, typeHandshake, []byte("second record"))

		key := expandLabel(t, i.Hash, s.Bytes(), "key", nil, i.KeyLength)
		nonce := expandLabel(t, i.Hash, s.Bytes(), "iv", nil, 12)
		nonce[11] ^= 1
		var aead cipher.AEAD
		var err error
		switch id {
		case shakedown.TLS_CHACHA20_POLY1305_SHA256:
			aead, err = chacha20poly1305.New(key)
		default:
			block, blockErr := aes.NewCipher(key)
			if blockErr != nil {
				t.Fatal(blockErr)
			}
			switch id {
			case shakedown.TLS_AES_128_CCM_SHA256:
				aead, err = gmcipher.NewCCM(block)
			case shakedown.TLS_AES_128_CCM_8_SHA256:
				aead, err = gmcipher.NewCCMWithTagSize(block, 8)
			default:
				aead, err = cipher.NewGCM(block)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		inner := append([]byte("second record"), typeHandshake)
		header := []byte{typeApplicationData, 3, 3, 0, uint8(len(inner) + aead.Overhead())}
		if want := append(header, aead.Seal(nil, nonce, inner, header)...); !bytes.Equal(got, want) {
			t.Errorf("%v:\ngot  %x\nwant %x", id, got, want)
		}
	}
}
