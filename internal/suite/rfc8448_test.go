package suite

import (
	"bytes"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"shakedown"
)

// trace has the values of testdata/rfc8448.txt by name.
type trace struct {
	t      *testing.T
	values map[string][]byte
}

func loadTrace(t *testing.T) trace {
	t.Helper()
	text, err := os.ReadFile("testdata/rfc8448.txt")
	if err != nil {
		t.Fatal(err)
	}
	digits := map[string]string{}
	name := ""
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		if n, rest, ok := strings.Cut(line, ":"); ok {
			name, line = n, rest
		}
		digits[name] += strings.Join(strings.Fields(line), "")
	}
	tr := trace{t, map[string][]byte{}}
	for name, d := range digits {
		if tr.values[name], err = hex.DecodeString(d); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	return tr
}

func (tr trace) get(name string) []byte {
	tr.t.Helper()
	if len(tr.values[name]) == 0 {
		tr.t.Fatalf("no value %q", name)
	}
	return bytes.Clone(tr.values[name])
}

func (tr trace) want(name string, got []byte) {
	tr.t.Helper()
	if want := tr.get(name); !bytes.Equal(got, want) {
		tr.t.Errorf("%s:\ngot  %x\nwant %x", name, got, want)
	}
}

// transcript hashes the messages seen so far.
func transcript(messages ...[]byte) []byte {
	h := sha256.Sum256(bytes.Join(messages, nil))
	return h[:]
}

// TestRFC8448Section3 is the whole simple handshake, seen from both sides: shares,
// secrets, and every protected record opened or sealed byte for byte.
func TestRFC8448Section3(t *testing.T) {
	tr := loadTrace(t)
	var client Share
	if err := client.Generate(shakedown.X25519, shakedown.WorkFull, bytes.NewReader(tr.get("3 client private key"))); err != nil {
		t.Fatal(err)
	}
	tr.want("3 client public key", client.Public())
	shared, err := client.Secret(nil, tr.get("3 server public key"))
	if err != nil {
		t.Fatal(err)
	}
	tr.want("3 shared", shared)
	var server Share
	if err := server.Generate(shakedown.X25519, shakedown.WorkFull, bytes.NewReader(tr.get("3 server private key"))); err != nil {
		t.Fatal(err)
	}
	tr.want("3 server public key", server.Public())

	early := NewKDF(SHA256).Early(nil)
	tr.want("3 early", early.s.slice())
	handshake := early.Handshake(shared)
	tr.want("3 handshake", handshake.s.slice())
	clientHello, serverHello := tr.get("3 ClientHello"), tr.get("3 ServerHello")
	hellos := transcript(clientHello, serverHello)
	clientHS, serverHS := handshake.Client(hellos), handshake.Server(hellos)
	tr.want("3 c hs traffic", clientHS.Bytes())
	tr.want("3 s hs traffic", serverHS.Bytes())
	master := handshake.Master()
	tr.want("3 master", master.s.slice())

	info, _ := Lookup(shakedown.TLS_AES_128_GCM_SHA256)
	typ, flight, err := info.Protection13(serverHS).Open(tr.get("3 server flight record"))
	if err != nil || typ != typeHandshake {
		t.Fatalf("server's flight: type %d, error %v", typ, err)
	}
	messages := splitMessages(t, flight)
	if len(messages) != 4 {
		t.Fatalf("server's flight has %d messages", len(messages))
	}
	upToCertificate := append(append(append(bytes.Clone(clientHello), serverHello...), messages[0]...), messages[1]...)
	upToVerify := append(bytes.Clone(upToCertificate), messages[2]...)
	checkCertificateVerify(t, messages[1], messages[2], transcript(upToCertificate))
	tr.want("3 server finished", serverHS.Finished(nil, transcript(upToVerify)))
	tr.want("3 server finished", messages[3][4:])

	upToServer := append(upToVerify, messages[3]...)
	hash := transcript(upToServer)
	clientAP, serverAP := master.Client(hash), master.Server(hash)
	tr.want("3 c ap traffic", clientAP.Bytes())
	tr.want("3 s ap traffic", serverAP.Bytes())
	tr.want("3 exp master", master.Exporter(hash).Bytes())
	verify := clientHS.Finished(nil, hash)
	tr.want("3 client finished", verify)
	finished := append([]byte{20, 0, 0, 32}, verify...)
	tr.want("3 client finished record", info.Protection13(clientHS).Seal(nil, typeHandshake, finished))
	resumption := master.Resumption(transcript(upToServer, finished))
	tr.want("3 res master", resumption.Bytes())
	tr.want("3 psk", resumption.PSK(nil, []byte{0, 0}))

	data := make([]byte, 50)
	for i := range data {
		data[i] = byte(i)
	}
	write, read := info.Protection13(clientAP), info.Protection13(serverAP)
	tr.want("3 client data record", write.Seal(nil, typeApplicationData, data))
	tr.want("3 client alert record", write.Seal(nil, typeAlert, []byte{1, 0}))
	for _, r := range []struct {
		name string
		typ  uint8
		data []byte
	}{
		{"3 ticket record", typeHandshake, tr.get("3 NewSessionTicket")},
		{"3 server data record", typeApplicationData, data},
		{"3 server alert record", typeAlert, []byte{1, 0}},
	} {
		typ, got, err := read.Open(tr.get(r.name))
		if err != nil || typ != r.typ || !bytes.Equal(got, r.data) {
			t.Errorf("%s: type %d, %x, error %v", r.name, typ, got, err)
		}
	}
}

// TestRFC8448Section4 is the key schedule with a PSK: binder and early secrets.
func TestRFC8448Section4(t *testing.T) {
	tr := loadTrace(t)
	var client Share
	if err := client.Generate(shakedown.X25519, shakedown.WorkFull, bytes.NewReader(tr.get("4 client private key"))); err != nil {
		t.Fatal(err)
	}
	shared, err := client.Secret(nil, tr.get("4 server public key"))
	if err != nil {
		t.Fatal(err)
	}
	tr.want("4 shared", shared)

	early := NewKDF(SHA256).Early(tr.get("3 psk"))
	tr.want("4 early", early.s.slice())
	clientHello := tr.get("4 ClientHello prefix")
	binder := early.Binder(nil, transcript(clientHello))
	tr.want("4 binder", binder)
	clientHello = append(append(clientHello, 0, 33, 32), binder...)
	tr.want("4 c e traffic", early.ClientEarlyTraffic(transcript(clientHello)).Bytes())
	tr.want("4 e exp master", early.Exporter(transcript(clientHello)).Bytes())

	handshake := early.Handshake(shared)
	tr.want("4 handshake", handshake.s.slice())
	messages := append(clientHello, tr.get("4 ServerHello")...)
	clientHS, serverHS := handshake.Client(transcript(messages)), handshake.Server(transcript(messages))
	tr.want("4 c hs traffic", clientHS.Bytes())
	tr.want("4 s hs traffic", serverHS.Bytes())
	master := handshake.Master()
	tr.want("4 master", master.s.slice())
	messages = append(messages, tr.get("4 EncryptedExtensions")...)
	verify := serverHS.Finished(nil, transcript(messages))
	tr.want("4 server finished", verify)
	messages = append(append(messages, 20, 0, 0, 32), verify...)
	tr.want("4 c ap traffic", master.Client(transcript(messages)).Bytes())
	tr.want("4 s ap traffic", master.Server(transcript(messages)).Bytes())
	tr.want("4 exp master", master.Exporter(transcript(messages)).Bytes())
	messages = append(messages, tr.get("4 EndOfEarlyData")...)
	verify = clientHS.Finished(nil, transcript(messages))
	tr.want("4 client finished", verify)
	messages = append(append(messages, 20, 0, 0, 32), verify...)
	tr.want("4 res master", master.Resumption(transcript(messages)).Bytes())
}

// TestRFC8448Section5 has another group and a transcript that begins with a hash.
func TestRFC8448Section5(t *testing.T) {
	tr := loadTrace(t)
	handshake := NewKDF(SHA256).Early(nil).Handshake(tr.get("5 shared"))
	tr.want("5 handshake", handshake.s.slice())
	tr.want("5 c hs traffic", handshake.Client(tr.get("5 transcript")).Bytes())
	tr.want("5 s hs traffic", handshake.Server(tr.get("5 transcript")).Bytes())
}

// splitMessages cuts a flight into its handshake messages.
func splitMessages(t *testing.T, flight []byte) [][]byte {
	t.Helper()
	var messages [][]byte
	for len(flight) > 0 {
		n := 4 + int(flight[1])<<16 + int(flight[2])<<8 + int(flight[3])
		if n > len(flight) {
			t.Fatalf("message of %d bytes in %d", n, len(flight))
		}
		messages, flight = append(messages, flight[:n]), flight[n:]
	}
	return messages
}

// checkCertificateVerify verifies the signature of section 3, by RSA-PSS with the
// 1024 bit key of its certificate.
func checkCertificateVerify(t *testing.T, certificate, verify, hash []byte) {
	t.Helper()
	// Header 4, context 1, list length 3, certificate length 3; extensions 2 at the end.
	cert, err := x509.ParseCertificate(certificate[11 : len(certificate)-2])
	if err != nil {
		t.Fatal(err)
	}
	key, err := ParsePublicKey(cert.RawSubjectPublicKeyInfo)
	if err != nil {
		t.Fatal(err)
	}
	if name := KeyName(key); name != "RSA-1024" || key.(*rsa.PublicKey).Size() != 128 {
		t.Errorf("KeyName = %q", name)
	}
	scheme := shakedown.SignatureScheme(uint16(verify[4])<<8 | uint16(verify[5]))
	if err := CheckKey(scheme, shakedown.TLS13, key); err != nil {
		t.Error(err)
	}
	content := Content13(nil, ServerContext13, hash)
	if err := Verify(scheme, key, content, verify[8:]); err != nil {
		t.Error(err)
	}
	if err := Verify(scheme, key, Content13(nil, ClientContext13, hash), verify[8:]); err == nil {
		t.Error("signature verifies in the client's context")
	}
}
