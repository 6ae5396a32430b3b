package wire

import (
	"bytes"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"shakedown"
)

// message is what every handshake message does.
type message[T any] interface {
	*T
	Parse(body []byte) error
	Append(b []byte) []byte
}

// A sample is a well-formed body and how to take it apart and put it together.
type sample struct {
	name string
	body []byte
	// parse reads a body into a value of the sample's type. The value is a new
	// one at the first call and the same one after that.
	parse func(body []byte) (any, error)
	again func(body []byte) ([]byte, error) // a new value's parse, then its append
	want  any                               // of parsing body, or nil
	// whole lists the lengths at which a prefix of body is itself well-formed.
	whole []int
	// open bodies go on to the end of the message, so that no byte is too many.
	open bool
	// loose bodies can be written in more than one way.
	loose bool
}

// of returns the sample of a handshake message.
func of[T any, P message[T]](name string, m P, whole ...int) sample {
	return legacy(name, m, P.Parse, P.Append, whole...)
}

// legacy returns the sample of a message that has more than one form.
func legacy[T any, P message[T]](name string, m P, parse func(P, []byte) error, write func(P, []byte) []byte, whole ...int) sample {
	var reused T
	return sample{
		name:  name,
		body:  write(m, nil)[HandshakeHeaderLen:],
		want:  m,
		whole: whole,
		parse: func(body []byte) (any, error) { return P(&reused), parse(&reused, body) },
		again: func(body []byte) ([]byte, error) {
			var fresh T
			if err := parse(&fresh, body); err != nil {
				return nil, err
			}
			return write(&fresh, nil)[HandshakeHeaderLen:], nil
		},
	}
}

var sampleExtensions = Extensions{
	{Type: shakedown.ExtSupportedVersions, Data: []byte{3, 4}},
	{Type: shakedown.ExtServerName},
	{Type: 0x0A0A, Data: []byte("grease")},
}

func helloSamples() []sample {
	hello := ClientHello{
		Version: shakedown.TLS12, Random: [32]byte{1, 31: 2}, SessionID: bytes.Repeat([]byte{7}, 32),
		CipherSuites:       []shakedown.CipherSuite{shakedown.TLS_AES_128_GCM_SHA256, 0x0A0A},
		CompressionMethods: []byte{0}, Extensions: sampleExtensions,
	}
	bare := hello
	bare.Extensions = nil
	answer := ServerHello{
		Version: shakedown.TLS10, Random: [32]byte{31: 9}, SessionID: []byte{5},
		CipherSuite: shakedown.TLS_RSA_WITH_AES_128_CBC_SHA, Compression: 1, Extensions: sampleExtensions,
	}
	old := answer
	old.Extensions = nil
	const clientBare, serverBare = 2 + 32 + 33 + 6 + 2, 2 + 32 + 2 + 2 + 1
	samples := []sample{
		of("ClientHello", &hello, clientBare),
		of("ClientHello without extensions", &bare),
		of("ServerHello", &answer, serverBare),
		of("ServerHello without extensions", &old),
		of("EncryptedExtensions", &EncryptedExtensions{sampleExtensions}),
		of("EncryptedExtensions without any", &EncryptedExtensions{}),
	}
	for i := range 4 {
		samples[i].loose = true // an empty block of extensions, or none
	}
	return samples
}

func certificateSamples() []sample {
	request := CertificateRequestTLS12{
		Types: []byte{1, 64}, SignatureSchemes: []shakedown.SignatureScheme{shakedown.ECDSASecp256r1, shakedown.Ed25519},
		Authorities: [][]byte{{0x30, 0}, {0x30, 1, 0}},
	}
	older := request
	older.SignatureSchemes = nil
	verify := &CertificateVerify{shakedown.RSAPSSRSAESHA256, []byte("signature")}
	return []sample{
		of("CertificateTLS12", &CertificateTLS12{[][]byte{[]byte("leaf"), []byte("root")}}),
		of("CertificateTLS12 without any", &CertificateTLS12{}),
		of("CertificateTLS13", &CertificateTLS13{[]byte("context"), []CertificateEntry{
			{[]byte("leaf"), sampleExtensions}, {[]byte("intermediate"), nil}, {[]byte("root"), sampleExtensions[:1]},
		}}),
		of("CertificateTLS13 of one", &CertificateTLS13{nil, []CertificateEntry{{[]byte("leaf"), nil}}}),
		of("CompressedCertificate", &CompressedCertificate{CompressionZstd, 0xABCDEF, []byte("compressed")}),
		of("CertificateRequestTLS12", &request),
		legacy("CertificateRequestTLS12 legacy", &older, (*CertificateRequestTLS12).ParseLegacy, (*CertificateRequestTLS12).AppendLegacy),
		of("CertificateRequestTLS13", &CertificateRequestTLS13{[]byte("context"), sampleExtensions}),
		of("CertificateVerify", verify),
		legacy("CertificateVerify legacy", &CertificateVerify{Signature: []byte("signature")},
			(*CertificateVerify).ParseLegacy, (*CertificateVerify).AppendLegacy),
		of("CertificateStatus", &CertificateStatus{[]byte("response")}),
	}
}

func keyExchangeSamples() []sample {
	ecdhe := ServerKeyExchangeECDHE{
		Group: shakedown.X25519, Public: bytes.Repeat([]byte{9}, 32),
		Scheme: shakedown.RSAPKCS1SHA256, Signature: []byte("signature"),
	}
	ecdhe.Params = ecdhe.AppendParams(nil)
	dhe := ServerKeyExchangeDHE{
		P: []byte{0, 23}, G: []byte{5}, Y: []byte{8, 8, 8},
		Scheme: shakedown.RSAPKCS1SHA1, Signature: []byte("signature"),
	}
	dhe.Params = dhe.AppendParams(nil)
	ecdheOld, dheOld := ecdhe, dhe
	ecdheOld.Scheme, dheOld.Scheme = 0, 0
	ecdheAnon, dheAnon := ecdheOld, dheOld
	ecdheAnon.Signature, dheAnon.Signature = nil, nil
	return []sample{
		of("ServerKeyExchangeECDHE", &ecdhe),
		legacy("ServerKeyExchangeECDHE legacy", &ecdheOld, (*ServerKeyExchangeECDHE).ParseLegacy, (*ServerKeyExchangeECDHE).AppendLegacy),
		legacy("ServerKeyExchangeECDHE anonymous", &ecdheAnon, (*ServerKeyExchangeECDHE).ParseAnonymous, (*ServerKeyExchangeECDHE).AppendAnonymous),
		of("ServerKeyExchangeDHE", &dhe),
		legacy("ServerKeyExchangeDHE legacy", &dheOld, (*ServerKeyExchangeDHE).ParseLegacy, (*ServerKeyExchangeDHE).AppendLegacy),
		legacy("ServerKeyExchangeDHE anonymous", &dheAnon, (*ServerKeyExchangeDHE).ParseAnonymous, (*ServerKeyExchangeDHE).AppendAnonymous),
		of("ClientKeyExchangeECDHE", &ClientKeyExchangeECDHE{[]byte("point")}),
		of("ClientKeyExchangeDHE", &ClientKeyExchangeDHE{[]byte("number")}),
		of("ClientKeyExchangeRSA", &ClientKeyExchangeRSA{[]byte("encrypted")}),
	}
}

func closingSamples() []sample {
	finished := of("Finished", &Finished{bytes.Repeat([]byte{3}, 12)}, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
	finished.open = true
	return []sample{
		finished,
		of("HelloRequest", &HelloRequest{}),
		of("ServerHelloDone", &ServerHelloDone{}),
		of("EndOfEarlyData", &EndOfEarlyData{}),
		of("NewSessionTicketTLS12", &NewSessionTicketTLS12{7200, []byte("ticket")}),
		of("NewSessionTicketTLS12 empty", &NewSessionTicketTLS12{}),
		of("NewSessionTicketTLS13", &NewSessionTicketTLS13{604800, 0xFFFFFFFF, []byte{0}, []byte("ticket"), sampleExtensions}),
		of("KeyUpdate", &KeyUpdate{true}),
		of("KeyUpdate without request", &KeyUpdate{}),
	}
}

func allSamples() []sample {
	return slices.Concat(helloSamples(), certificateSamples(), keyExchangeSamples(), closingSamples(), extensionSamples(), recordSamples())
}

func TestParseReadsWhatAppendWrote(t *testing.T) {
	for _, s := range allSamples() {
		t.Run(s.name, func(t *testing.T) {
			got, err := s.parse(s.body)
			if err != nil {
				t.Fatalf("parsing %x: %v", s.body, err)
			}
			if diff := cmp.Diff(s.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("parsed differently (-want +got):\n%s", diff)
			}
			body, err := s.again(s.body)
			if err != nil || !bytes.Equal(body, s.body) {
				t.Errorf("appended %x, %v; want %x", body, err, s.body)
			}
		})
	}
}

func TestEveryPrefixIsMalformed(t *testing.T) {
	for _, s := range allSamples() {
		t.Run(s.name, func(t *testing.T) {
			for n := range s.body {
				// The capacity ends too, so that a read beyond the prefix panics.
				_, err := s.again(slices.Clip(slices.Clone(s.body[:n])))
				if whole := slices.Contains(s.whole, n); whole != (err == nil) {
					t.Errorf("the first %d of %d bytes: error %v, want one: %t", n, len(s.body), err, !whole)
				}
				checkError(t, err)
			}
		})
	}
}

func TestTrailingByteIsMalformed(t *testing.T) {
	for _, s := range allSamples() {
		if s.open {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			if _, err := s.again(append(slices.Clone(s.body), 0)); err == nil {
				t.Errorf("%x and a zero byte parsed", s.body)
			} else {
				checkError(t, err)
			}
		})
	}
}

// TestReuse parses each message into a value that held another one before.
func TestReuse(t *testing.T) {
	for _, s := range allSamples() {
		t.Run(s.name, func(t *testing.T) {
			_, err := s.parse(s.body)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.parse([]byte{0xFF}); err == nil && !s.open {
				t.Error("the byte 0xFF parsed")
			}
			second, err := s.parse(s.body)
			if err != nil {
				t.Fatalf("the second time: %v", err)
			}
			if diff := cmp.Diff(s.want, second, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("parsed differently the second time (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReuseOfLongerMessage(t *testing.T) {
	var m CertificateTLS13
	long := CertificateTLS13{Entries: []CertificateEntry{{[]byte("a"), sampleExtensions}, {[]byte("b"), sampleExtensions}}}
	short := CertificateTLS13{Entries: []CertificateEntry{{[]byte("c"), nil}}}
	for _, want := range []CertificateTLS13{long, short, long} {
		if err := m.Parse(want.Append(nil)[HandshakeHeaderLen:]); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, m, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// TestParseAliases checks that what is parsed lies in the input, and that to
// append to it leaves the input alone.
func TestParseAliases(t *testing.T) {
	body := (&CertificateVerify{shakedown.Ed25519, []byte("signature")}).Append(nil)[HandshakeHeaderLen:]
	var m CertificateVerify
	if err := m.Parse(body[:len(body):len(body)]); err != nil {
		t.Fatal(err)
	}
	body[len(body)-1] = 'E'
	if got := string(m.Signature); got != "signaturE" {
		t.Errorf("the signature %q does not alias the input", got)
	}
	hello := (&ServerHello{SessionID: []byte("id")}).Append(nil)[HandshakeHeaderLen:]
	before := slices.Clone(hello)
	var sh ServerHello
	if err := sh.Parse(hello); err != nil {
		t.Fatal(err)
	}
	if _ = append(sh.SessionID, 0xFF); !bytes.Equal(hello, before) {
		t.Error("appending to the session identifier wrote into the message")
	}
}

func TestParseDoesNotAllocate(t *testing.T) {
	want := []string{
		"ClientHello", "ServerHello", "EncryptedExtensions", "CertificateTLS12", "CertificateTLS13",
		"CompressedCertificate", "CertificateRequestTLS12", "CertificateRequestTLS13", "CertificateVerify",
		"CertificateStatus", "ServerKeyExchangeECDHE", "ServerKeyExchangeDHE", "ServerHelloDone", "Finished",
		"NewSessionTicketTLS12", "NewSessionTicketTLS13", "KeyUpdate",
	}
	for _, s := range allSamples() {
		i := slices.Index(want, s.name)
		if i < 0 {
			continue
		}
		want = slices.Delete(want, i, i+1)
		t.Run(s.name, func(t *testing.T) {
			if n := testing.AllocsPerRun(100, func() { s.parse(s.body) }); n != 0 {
				t.Errorf("parsing again allocates %v times", n)
			}
		})
	}
	if len(want) > 0 {
		t.Errorf("no sample is called %q", want)
	}
}

// checkError holds an error to what [Error] promises.
func checkError(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	e, ok := err.(*Error)
	if !ok {
		t.Fatalf("the error is a %T", err)
	}
	if e.Message == "" || e.Reason == "" {
		t.Errorf("the error says too little: %q", e)
	}
	switch e.Alert {
	case shakedown.AlertDecodeError, shakedown.AlertIllegalParameter, shakedown.AlertUnexpectedMessage:
	default:
		t.Errorf("%v: alert %v", e, e.Alert)
	}
}
