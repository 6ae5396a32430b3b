package wire

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"go/build"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shakedown"
)

// chatter follows a recorded connection: it parses every message that is not
// encrypted and appends it again, and demands the same bytes.
type chatter struct {
	version  shakedown.Version // that of the ServerHello, once there is one
	suite    shakedown.CipherSuite
	messages map[HandshakeType]int // how many of each were compared
	bodies   map[shakedown.Extension]int
}

// message checks one handshake message with its header.
func (c *chatter) message(raw []byte, client bool) error {
	t, _, _ := ParseHandshakeHeader(raw)
	body := raw[HandshakeHeaderLen:]
	got, err := c.appendAgain(t, body, client)
	if err != nil {
		return err
	}
	if !bytes.Equal(got, body) {
		return fmt.Errorf("appended %x, want %x", got, body)
	}
	if c.messages == nil {
		c.messages, c.bodies = map[HandshakeType]int{}, map[shakedown.Extension]int{}
	}
	c.messages[t]++
	return nil
}

// appendAgain parses a message's body as the connection has it and appends it.
func (c *chatter) appendAgain(t HandshakeType, body []byte, client bool) ([]byte, error) {
	tls13, tls12 := c.version == shakedown.TLS13, c.version.AtLeast(shakedown.TLS12)
	switch {
	case t == TypeClientHello:
		var m ClientHello
		if err := m.Parse(body); err != nil {
			return nil, err
		}
		return m.Append(nil)[HandshakeHeaderLen:], c.extensions(m.Extensions, clientBodies)
	case t == TypeServerHello:
		return c.serverHello(body)
	case t == TypeEncryptedExtensions:
		var m EncryptedExtensions
		if err := m.Parse(body); err != nil {
			return nil, err
		}
		return m.Append(nil)[HandshakeHeaderLen:], c.extensions(m.Extensions, serverBodies)
	case t == TypeCertificate && tls13:
		return again[CertificateTLS13](body)
	case t == TypeCertificate:
		return again[CertificateTLS12](body)
	case t == TypeCertificateStatus:
		return again[CertificateStatus](body)
	case t == TypeServerKeyExchange && tls12:
		return again[ServerKeyExchangeECDHE](body)
	case t == TypeServerKeyExchange:
		var m ServerKeyExchangeECDHE
		err := m.ParseLegacy(body)
		return m.AppendLegacy(nil)[HandshakeHeaderLen:], err
	case t == TypeCertificateRequest && tls13:
		return again[CertificateRequestTLS13](body)
	case t == TypeCertificateRequest && tls12:
		return again[CertificateRequestTLS12](body)
	case t == TypeCertificateRequest:
		var m CertificateRequestTLS12
		err := m.ParseLegacy(body)
		return m.AppendLegacy(nil)[HandshakeHeaderLen:], err
	case t == TypeServerHelloDone:
		return again[ServerHelloDone](body)
	case t == TypeClientKeyExchange && strings.HasPrefix(c.suite.String(), "TLS_ECDHE"):
		return again[ClientKeyExchangeECDHE](body)
	case t == TypeClientKeyExchange:
		return again[ClientKeyExchangeRSA](body)
	case t == TypeCertificateVerify && tls12:
		return again[CertificateVerify](body)
	case t == TypeCertificateVerify:
		var m CertificateVerify
		err := m.ParseLegacy(body)
		return m.AppendLegacy(nil)[HandshakeHeaderLen:], err
	case t == TypeNewSessionTicket && tls13:
		return again[NewSessionTicketTLS13](body)
	case t == TypeNewSessionTicket:
		return again[NewSessionTicketTLS12](body)
	case t == TypeFinished:
		return again[Finished](body)
	case t == TypeEndOfEarlyData:
		return again[EndOfEarlyData](body)
	}
	return nil, fmt.Errorf("a message of type %v", t)
}

// again parses a message's body into a new value and appends that.
func again[T any, P message[T]](body []byte) ([]byte, error) {
	var m T
	err := P(&m).Parse(body)
	return P(&m).Append(nil)[HandshakeHeaderLen:], err
}

func (c *chatter) serverHello(body []byte) ([]byte, error) {
	var m ServerHello
	if err := m.Parse(body); err != nil {
		return nil, err
	}
	c.version, c.suite = m.Version, m.CipherSuite
	if data, ok := m.Extensions.Find(shakedown.ExtSupportedVersions); ok {
		v, err := ParseSelectedVersion(data)
		if err != nil {
			return nil, err
		}
		c.version = v
	}
	bodies := serverBodies
	if m.IsHelloRetryRequest() {
		bodies = retryBodies
	}
	return m.Append(nil)[HandshakeHeaderLen:], c.extensions(m.Extensions, bodies)
}

// extensions parses the bodies it knows and appends them again.
func (c *chatter) extensions(list Extensions, known map[shakedown.Extension]string) error {
	samples := map[string]sample{}
	for _, s := range extensionSamples() {
		samples[s.name] = s
	}
	for _, e := range list {
		name, ok := known[e.Type]
		if !ok {
			continue
		}
		s, ok := samples[name]
		if !ok {
			return fmt.Errorf("no sample is called %q", name)
		}
		got, err := s.again(e.Data)
		if err != nil || !bytes.Equal(got, e.Data) {
			return fmt.Errorf("%v: appended %x, %w; want %x", e.Type, got, err, e.Data)
		}
		if c.bodies != nil {
			c.bodies[e.Type]++
		}
	}
	return nil
}

// The names of the samples that know an extension's body.
var (
	clientBodies = map[shakedown.Extension]string{
		shakedown.ExtServerName: "server_name", shakedown.ExtStatusRequest: "status_request",
		shakedown.ExtSupportedGroups: "supported_groups", shakedown.ExtECPointFormats: "ec_point_formats",
		shakedown.ExtSignatureAlgorithms: "signature_algorithms", shakedown.ExtSignatureAlgorithmsCert: "signature_algorithms",
		shakedown.ExtALPN: "alpn of a client", shakedown.ExtSessionTicket: "session_ticket",
		shakedown.ExtSignedCertificateTimestamp: "extension without body",
		shakedown.ExtExtendedMasterSecret:       "extension without body", shakedown.ExtEncryptThenMAC: "extension without body",
		shakedown.ExtEarlyData: "extension without body", shakedown.ExtPostHandshakeAuth: "extension without body",
		shakedown.ExtPreSharedKey:        "pre_shared_key of a client",
		shakedown.ExtSupportedVersions:   "supported_versions of a client",
		shakedown.ExtPSKKeyExchangeModes: "psk_key_exchange_modes", shakedown.ExtKeyShare: "key_share of a client",
		shakedown.ExtRenegotiationInfo: "renegotiation_info", shakedown.ExtRecordSizeLimit: "record_size_limit",
		shakedown.ExtCookie: "cookie", shakedown.ExtPadding: "padding",
	}
	serverBodies = map[shakedown.Extension]string{
		shakedown.ExtServerName: "extension without body", shakedown.ExtStatusRequest: "extension without body",
		shakedown.ExtSupportedGroups: "supported_groups", shakedown.ExtECPointFormats: "ec_point_formats",
		shakedown.ExtALPN: "alpn of a server", shakedown.ExtSessionTicket: "extension without body",
		shakedown.ExtSignedCertificateTimestamp: "signed_certificate_timestamp",
		shakedown.ExtExtendedMasterSecret:       "extension without body", shakedown.ExtEarlyData: "extension without body",
		shakedown.ExtPreSharedKey: "pre_shared_key of a server", shakedown.ExtSupportedVersions: "supported_versions of a server",
		shakedown.ExtKeyShare: "key_share of a server", shakedown.ExtRenegotiationInfo: "renegotiation_info",
		shakedown.ExtRecordSizeLimit: "record_size_limit",
	}
	retryBodies = map[shakedown.Extension]string{
		shakedown.ExtSupportedVersions: "supported_versions of a server",
		shakedown.ExtKeyShare:          "key_share of a retry", shakedown.ExtCookie: "cookie",
	}
)

// flow is what one side of a recording sent before the other spoke.
type flow struct {
	client bool
	data   []byte
}

// readFlows reads a recording of crypto/tls: flows in the form of hexdump -C.
func readFlows(name string) (flows []flow, err error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		switch {
		case strings.HasPrefix(line, ">>> Flow"):
			flows = append(flows, flow{client: strings.Contains(line, "(client to server)")})
		case len(line) > 10 && len(flows) > 0:
			digits, _, _ := strings.Cut(line[10:], "|")
			b, err := hex.DecodeString(strings.ReplaceAll(digits, " ", ""))
			if err != nil {
				return nil, err
			}
			f := &flows[len(flows)-1]
			f.data = append(f.data, b...)
		}
	}
	return flows, nil
}

// connection checks every record of the flows, and every message until the
// sender encrypts.
func (c *chatter) connection(flows []flow) error {
	var pending [2][]byte // of messages that go on in the next record
	var encrypted [2]bool
	for _, f := range flows {
		side := 0
		if f.client {
			side = 1
		}
		for data := f.data; len(data) > 0; {
			h, ok := ParseRecordHeader(data)
			if !ok || len(data) < RecordHeaderLen+h.Length {
				return fmt.Errorf("a record of %d bytes is cut short", len(data))
			}
			if !bytes.Equal(h.Append(nil), data[:RecordHeaderLen]) {
				return fmt.Errorf("the header %x is appended differently", data[:RecordHeaderLen])
			}
			content := data[RecordHeaderLen : RecordHeaderLen+h.Length]
			data = data[RecordHeaderLen+h.Length:]
			if encrypted[side] {
				continue
			}
			switch h.Type {
			case ChangeCipherSpec:
				if err := ParseChangeCipherSpec(content); err != nil {
					return err
				}
				encrypted[side] = c.version != shakedown.TLS13
			case AlertRecord:
				var m AlertMessage
				if err := m.Parse(content); err != nil {
					return err
				}
			case Handshake:
				pending[side] = append(pending[side], content...)
				var err error
				if pending[side], err = c.complete(pending[side], f.client); err != nil {
					return err
				}
			case ApplicationData:
			default:
				return fmt.Errorf("a record of type %v", h.Type)
			}
		}
	}
	if n := len(pending[0]) + len(pending[1]); n > 0 {
		return fmt.Errorf("%d bytes of an unfinished message", n)
	}
	return nil
}

// complete checks the complete messages at the front of b and returns the rest.
func (c *chatter) complete(b []byte, client bool) ([]byte, error) {
	for {
		t, length, ok := ParseHandshakeHeader(b)
		if !ok || len(b) < HandshakeHeaderLen+length {
			return b, nil
		}
		if err := c.message(b[:HandshakeHeaderLen+length], client); err != nil {
			return nil, fmt.Errorf("%v: %w", t, err)
		}
		b = b[HandshakeHeaderLen+length:]
	}
}

// recordings lists the connections that crypto/tls was recorded on.
func recordings(t testing.TB) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(build.Default.GOROOT, "src/crypto/tls/testdata/*-TLSv1*"))
	if err != nil {
		t.Fatal(err)
	}
	if len(names) == 0 {
		t.Skip("this Go has no src/crypto/tls/testdata: a full distribution of Go has it")
	}
	return names
}

func TestRecordedConnections(t *testing.T) {
	messages, bodies := map[HandshakeType]int{}, map[shakedown.Extension]int{}
	for _, name := range recordings(t) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			flows, err := readFlows(name)
			if err != nil {
				t.Fatal(err)
			}
			c := chatter{messages: messages, bodies: bodies}
			if err := c.connection(flows); err != nil {
				t.Error(err)
			}
		})
	}
	for _, want := range []HandshakeType{
		TypeClientHello, TypeServerHello, TypeCertificate, TypeServerKeyExchange, TypeCertificateRequest,
		TypeServerHelloDone, TypeCertificateVerify, TypeClientKeyExchange, TypeNewSessionTicket,
	} {
		if messages[want] == 0 {
			t.Errorf("no recording has a %v", want)
		}
	}
	t.Logf("messages compared: %v", messages)
	t.Logf("extension bodies compared: %v", bodies)
}
