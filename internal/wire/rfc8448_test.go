package wire

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/binary"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"shakedown"
)

// vector is a handshake message of RFC 8448.
type vector struct {
	section string // such as "3"
	client  bool   // it sent the message
	typ     HandshakeType
	raw     []byte // with the header
}

func (v vector) body() []byte { return v.raw[HandshakeHeaderLen:] }

func readVectors(t testing.TB) (vectors []vector) {
	text, err := os.ReadFile("testdata/rfc8448.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\n\n")
	for paragraph := range strings.SplitSeq(strings.TrimSpace(rest), "\n\n") {
		heading, digits, _ := strings.Cut(paragraph, "\n")
		section, sender, _ := strings.Cut(heading, " ")
		raw, err := hex.DecodeString(strings.ReplaceAll(digits, "\n", ""))
		if err != nil {
			t.Fatalf("%s: %v", heading, err)
		}
		typ, length, ok := ParseHandshakeHeader(raw)
		if !ok || length != len(raw)-HandshakeHeaderLen {
			t.Fatalf("%s: %x is not one message", heading, raw)
		}
		vectors = append(vectors, vector{section, sender == "client", typ, raw})
	}
	return vectors
}

func TestRFC8448RoundTrip(t *testing.T) {
	vectors := readVectors(t)
	if len(vectors) != 34 {
		t.Fatalf("%d messages, want 34", len(vectors))
	}
	for _, v := range vectors {
		c := chatter{version: shakedown.TLS13}
		if err := c.message(v.raw, v.client); err != nil {
			t.Errorf("section %s: %v: %v", v.section, v.typ, err)
		}
	}
}

// TestRFC8448Signatures verifies each CertificateVerify with the certificate
// before it, so that what was parsed is what the RFC's authors sent, to the bit.
func TestRFC8448Signatures(t *testing.T) {
	verified := 0
	var section string
	var transcript []byte
	var certificate CertificateTLS13
	for _, v := range readVectors(t) {
		if v.section != section {
			section, transcript = v.section, nil
		}
		var hello ServerHello
		switch v.typ {
		case TypeServerHello:
			if err := hello.Parse(v.body()); err != nil {
				t.Fatal(err)
			}
			if retry := v.section == "5" && len(v.raw) == 176; hello.IsHelloRetryRequest() != retry {
				t.Errorf("section %s: a HelloRetryRequest: %t", section, !retry)
			} else if retry {
				hash := sha256.Sum256(transcript)
				transcript = AppendMessageHash(nil, hash[:])
			}
		case TypeCertificate:
			if err := certificate.Parse(v.body()); err != nil {
				t.Fatal(err)
			}
		case TypeCertificateVerify:
			var m CertificateVerify
			if err := m.Parse(v.body()); err != nil {
				t.Fatal(err)
			}
			leaf, err := x509.ParseCertificate(certificate.Entries[0].DER)
			if err != nil {
				t.Fatal(err)
			}
			// RFC 8446, section 4.4.3.
			hash := sha256.Sum256(transcript)
			content := append(bytes.Repeat([]byte(" "), 64), "TLS 1.3, server CertificateVerify\x00"...)
			digest := sha256.Sum256(append(content, hash[:]...))
			switch m.Scheme {
			case shakedown.RSAPSSRSAESHA256:
				err = rsa.VerifyPSS(leaf.PublicKey.(*rsa.PublicKey), crypto.SHA256, digest[:], m.Signature, nil)
				if err != nil {
					t.Errorf("section %s: %v", section, err)
				}
			case shakedown.ECDSASecp256r1:
				if !ecdsa.VerifyASN1(leaf.PublicKey.(*ecdsa.PublicKey), digest[:], m.Signature) {
					t.Errorf("section %s: the signature does not verify", section)
				}
			default:
				t.Errorf("section %s: scheme %v", section, m.Scheme)
			}
			verified++
		}
		transcript = append(transcript, v.raw...)
	}
	if verified != 4 {
		t.Errorf("%d signatures, want those of sections 3, 5, 6 and 7", verified)
	}
}

// TestRFC8448Binder verifies section 4's binder, which is made of the ClientHello
// up to the binders.
func TestRFC8448Binder(t *testing.T) {
	// The "resumption" secret of the ticket of section 3.
	psk, _ := hex.DecodeString("4ecd0eb6ec3b4d87f5d6028f922ca4c5851a277fd41311c9e62d2c9492e1c4f3")
	var ticket NewSessionTicketTLS13
	for _, v := range readVectors(t) {
		switch {
		case v.typ == TypeNewSessionTicket:
			if err := ticket.Parse(v.body()); err != nil {
				t.Fatal(err)
			}
		case v.section == "4" && v.typ == TypeClientHello:
			var hello ClientHello
			if err := hello.Parse(v.body()); err != nil {
				t.Fatal(err)
			}
			data, _ := hello.Extensions.Find(shakedown.ExtPreSharedKey)
			ids, binders, err := ParseOfferedPSKs(nil, nil, data)
			if err != nil || len(ids) != 1 {
				t.Fatalf("%d identities, %v", len(ids), err)
			}
			if !bytes.Equal(ids[0].Identity, ticket.Ticket) {
				t.Error("the identity is not the ticket of section 3")
			}
			if ids[0].ObfuscatedAge-ticket.AgeAdd > 1000 {
				t.Errorf("the ticket is %d ms old", ids[0].ObfuscatedAge-ticket.AgeAdd)
			}
			empty, partial := sha256.Sum256(nil), sha256.Sum256(v.raw[:len(v.raw)-BindersLen(binders)])
			early, err := hkdf.Extract(sha256.New, psk, make([]byte, sha256.Size))
			if err != nil {
				t.Fatal(err)
			}
			key := expandLabel(t, expandLabel(t, early, "res binder", empty[:]), "finished", nil)
			mac := hmac.New(sha256.New, key)
			mac.Write(partial[:])
			if want := mac.Sum(nil); !bytes.Equal(binders[0], want) {
				t.Errorf("binder %x, want %x", binders[0], want)
			}
			return
		}
	}
	t.Error("no ClientHello in section 4")
}

// expandLabel is HKDF-Expand-Label with SHA-256 to 32 bytes (RFC 8446, section
// 7.1).
func expandLabel(t *testing.T, secret []byte, label string, context []byte) []byte {
	t.Helper()
	info := binary.BigEndian.AppendUint16(nil, sha256.Size)
	info = appendVector(info, 1, []byte("tls13 "+label))
	info = appendVector(info, 1, context)
	out, err := hkdf.Expand(sha256.New, secret, string(info), sha256.Size)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestHelloRetryRequestRandom(t *testing.T) {
	if want := sha256.Sum256([]byte("HelloRetryRequest")); HelloRetryRequestRandom != want {
		t.Errorf("got %x, want %x", HelloRetryRequestRandom, want)
	}
}

func TestDowngrade(t *testing.T) {
	for _, test := range []struct {
		end  string
		want shakedown.Version
		ok   bool
	}{
		{"DOWNGRD\x01", shakedown.TLS12, true},
		{"DOWNGRD\x00", shakedown.TLS11, true},
		{"DOWNGRD\x02", 0, false},
		{"downgrd\x01", 0, false},
	} {
		var m ServerHello
		copy(m.Random[24:], test.end)
		if got, ok := m.Downgrade(); got != test.want || ok != test.ok {
			t.Errorf("%q: got %v, %t; want %v, %t", test.end, got, ok, test.want, test.ok)
		}
	}
}
