package peertest

import (
	"crypto/tls"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"shakedown"
)

// meet has Go's client meet the forge and returns how the forge saw it and how
// the client did.
func meet(t *testing.T, f *Forge) (Outcome, error) {
	t.Helper()
	_, err := visit(Pipe(t, f.Behaviour), &tls.Config{RootCAs: f.Roots})
	return <-f.Outcomes, err
}

// TestForgeHonest checks that a forge that changes nothing is a good server,
// however its messages lie in records.
func TestForgeHonest(t *testing.T) {
	for _, version := range []shakedown.Version{shakedown.TLS12, shakedown.TLS13} {
		for _, fragment := range []int{0, 1, 100} {
			for _, coalesce := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s fragment %d coalesce %t", version, fragment, coalesce), func(t *testing.T) {
					f := NewForge(t, version)
					f.Fragment, f.Coalesce, f.Data, f.Tickets = fragment, coalesce, []byte("hello"), 2
					conn := Pipe(t, f.Behaviour)
					client := tls.Client(conn, &tls.Config{RootCAs: f.Roots, ServerName: "peer.test"})
					data := make([]byte, 5)
					_, err := client.Read(data)
					client.Close()
					outcome := <-f.Outcomes
					if err != nil || string(data) != "hello" || client.ConnectionState().Version != uint16(version) {
						t.Errorf("read %q, %v; version %x", data, err, client.ConnectionState().Version)
					}
					if !outcome.Finished || outcome.Alert != int(shakedown.AlertCloseNotify) || outcome.Err != nil {
						t.Errorf("outcome %v", outcome)
					}
				})
			}
		}
	}
}

// on changes one message and leaves the others.
func on(name MessageName, change func(message []byte) [][]byte) func(MessageName, []byte) [][]byte {
	return func(n MessageName, message []byte) [][]byte {
		if n == name {
			return change(message)
		}
		return [][]byte{message}
	}
}

// drop leaves a message out.
func drop([]byte) [][]byte { return nil }

// flipLast inverts a bit of a message's last byte.
func flipLast(message []byte) [][]byte {
	message[len(message)-1] ^= 1
	return [][]byte{message}
}

// trailing lengthens a message by a byte.
func trailing(message []byte) [][]byte {
	return [][]byte{Message(message[0], append(message[4:], 0))}
}

// TestForgeLies changes one thing at a time and checks that Go's client, a good
// one, answers with the alert that the RFC names.
func TestForgeLies(t *testing.T) {
	unasked := func([]byte) [][]byte { // early_data
		return [][]byte{Message(8, vector(2, Extension(42, nil)))}
	}
	for _, test := range []struct {
		name    string
		version shakedown.Version
		change  func(MessageName, []byte) [][]byte
		want    shakedown.Alert
	}{
		{"bad Finished", shakedown.TLS13, on(Finished, flipLast), shakedown.AlertDecryptError},
		{"bad signature", shakedown.TLS13, on(CertificateVerify, flipLast), shakedown.AlertDecryptError},
		{"trailing in ServerHello", shakedown.TLS13, on(ServerHello, trailing), shakedown.AlertDecodeError},
		{"trailing in Finished", shakedown.TLS13, on(Finished, trailing), shakedown.AlertDecryptError},
		{"unasked extension", shakedown.TLS13, on(EncryptedExtensions, unasked), shakedown.AlertUnsupportedExtension},
		{"no CertificateVerify", shakedown.TLS13, on(CertificateVerify, drop), shakedown.AlertUnexpectedMessage},
		{"no Certificate", shakedown.TLS13, on(Certificate, drop), shakedown.AlertUnexpectedMessage},
		{"ServerHelloDone in TLS 1.3", shakedown.TLS13, on(Certificate, func(m []byte) [][]byte { return [][]byte{Message(14, nil), m} }), shakedown.AlertUnexpectedMessage},
		{"bad Finished", shakedown.TLS12, on(Finished, flipLast), shakedown.AlertHandshakeFailure},
		{"bad signature", shakedown.TLS12, on(ServerKeyExchange, flipLast), shakedown.AlertIllegalParameter},
		{"no ServerHelloDone", shakedown.TLS12, on(ServerHelloDone, func(m []byte) [][]byte { return [][]byte{Message(20, nil)} }), shakedown.AlertUnexpectedMessage},
		{"Certificate twice", shakedown.TLS12, on(Certificate, func(m []byte) [][]byte { return [][]byte{m, m} }), shakedown.AlertUnexpectedMessage},
	} {
		t.Run(fmt.Sprintf("%s %s", test.version, test.name), func(t *testing.T) {
			f := NewForge(t, test.version)
			f.Change = test.change
			outcome, err := meet(t, f)
			if err == nil {
				t.Error("the client noticed nothing")
			}
			if outcome.Alert != int(test.want) || outcome.Finished && test.name != "bad Finished" {
				t.Errorf("outcome %v, want alert %s; the client says %v", outcome, test.want, err)
			}
		})
	}
}

// TestForgeBefore puts records between messages.
func TestForgeBefore(t *testing.T) {
	f := NewForge(t, shakedown.TLS13)
	f.Before = map[MessageName][]byte{Certificate: Record(TypeChangeCipherSpec, shakedown.TLS12, []byte{1})}
	f.Data = []byte("hello")
	if conn := Pipe(t, f.Behaviour); conn != nil {
		client := tls.Client(conn, &tls.Config{RootCAs: f.Roots, ServerName: "peer.test"})
		if err := client.Handshake(); err != nil {
			t.Errorf("change_cipher_spec between messages: %v", err)
		}
		client.Close()
		<-f.Outcomes
	}
	f = NewForge(t, shakedown.TLS13)
	f.Before = map[MessageName][]byte{Certificate: Record(TypeHandshake, shakedown.TLS12, []byte{11, 0, 0, 0})}
	if outcome, err := meet(t, f); err == nil || outcome.Finished {
		t.Errorf("an unprotected message was accepted: %v", outcome)
	}
}

// TestForgeRetry sends a HelloRetryRequest for a group that Go's client has
// already shared, which is illegal, and one that the openssl command follows.
func TestForgeRetry(t *testing.T) {
	f := NewForge(t, shakedown.TLS13)
	f.Retry = []shakedown.Group{shakedown.X25519}
	if outcome, err := meet(t, f); err == nil || outcome.Alert != int(shakedown.AlertIllegalParameter) {
		t.Errorf("outcome %v, want illegal_parameter", outcome)
	}
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("the rest needs the openssl command: apt install openssl")
	}
	for _, retries := range []int{1, 2} {
		f = NewForge(t, shakedown.TLS13)
		for range retries {
			f.Retry = append(f.Retry, shakedown.X25519)
		}
		out, err := exec.Command(openssl, "s_client", "-connect", Serve(t, f.Behaviour).String(), "-groups", "P-256:X25519").CombinedOutput()
		outcome := <-f.Outcomes
		switch {
		case retries == 1 && (err != nil || !outcome.Finished || !strings.Contains(string(out), "TLS_AES_128_GCM_SHA256")):
			t.Errorf("one retry: outcome %v, openssl: %v: %.500s", outcome, err, out)
		case retries == 2 && (err == nil || outcome.Alert != int(shakedown.AlertUnexpectedMessage)):
			t.Errorf("two retries: outcome %v, want unexpected_message", outcome)
		}
	}
}

// TestParseClientHello reads every truncation.
func TestParseClientHello(t *testing.T) {
	hello := Message(1, concat([]byte{3, 3}, make([]byte, 32), vector(1, []byte("id")), vector(2, []byte{0x13, 1}), vector(1, []byte{0}),
		vector(2, Extension(extensionKeyShare, vector(2, concat([]byte{0, 29}, vector(2, make([]byte, 32))))))))
	for n := range hello {
		if _, err := parseClientHello(hello[:n]); err == nil {
			t.Errorf("%d of %d bytes were read as a ClientHello", n, len(hello))
		}
	}
	got, err := parseClientHello(hello)
	if err != nil || string(got.sessionID) != "id" {
		t.Fatalf("%+v, %v", got, err)
	}
	if share, err := got.x25519Share(); err != nil || len(share) != 32 {
		t.Errorf("share %x, %v", share, err)
	}
}
