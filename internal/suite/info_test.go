package suite

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"shakedown"
)

// TestSuites holds the table against the suites' registered names, which tell all but
// the lengths.
func TestSuites(t *testing.T) {
	for _, i := range suites {
		name := i.ID.String()
		kx := map[KeyExchange]string{KeyExchangeTLS13: "TLS_", KeyExchangeECDHE: "TLS_ECDHE_", KeyExchangeDHE: "TLS_DHE_", KeyExchangeRSA: "TLS_RSA_"}[i.KeyExchange]
		auth := map[Authentication]string{AuthAny: "", AuthRSA: "RSA_WITH_", AuthECDSA: "ECDSA_WITH_"}[i.Authentication]
		if i.KeyExchange == KeyExchangeRSA {
			auth = "WITH_"
		}
		bits := 8 * i.KeyLength
		cipher := map[Cipher]string{
			CipherAESGCM: fmt.Sprintf("AES_%d_GCM_%v", bits, i.Hash),
			CipherAESCCM: fmt.Sprintf("AES_%d_CCM", bits), CipherAESCCM8: fmt.Sprintf("AES_%d_CCM_8", bits),
			CipherChaCha20Poly1305: "CHACHA20_POLY1305_SHA256",
			CipherAESCBC:           fmt.Sprintf("AES_%d_CBC_%s", bits, map[MAC]string{MACSHA1: "SHA", MACSHA256: "SHA256", MACSHA384: "SHA384"}[i.MAC]),
		}[i.Cipher]
		if i.KeyExchange == KeyExchangeTLS13 && (i.Cipher == CipherAESCCM || i.Cipher == CipherAESCCM8) {
			cipher += "_SHA256"
		}
		if want := kx + auth + cipher; name != want {
			t.Errorf("%s is described as %s", name, want)
		}
		// RFC 5246, section 5: suites without a hash in their name, and those with
		// SHA-1, use SHA-256.
		wantHash := SHA256
		if strings.HasSuffix(name, "SHA384") {
			wantHash = SHA384
		}
		if i.Hash != wantHash || (i.MAC == MACNone) == (i.Cipher == CipherAESCBC) {
			t.Errorf("%s has hash %v and MAC %d", name, i.Hash, i.MAC)
		}
		if got, ok := Lookup(i.ID); !ok || got.ID != i.ID {
			t.Errorf("Lookup(%s) = %v, %v", name, got, ok)
		}
	}
	for _, id := range []shakedown.CipherSuite{0, shakedown.TLS_RSA_WITH_3DES_EDE_CBC_SHA, shakedown.TLS_RSA_WITH_RC4_128_SHA} {
		if i, ok := Lookup(id); ok {
			t.Errorf("Lookup(%v) = %v", id, i)
		}
	}
}

// TestSupported compares with crypto/tls: each of its suites that has AES or ChaCha20
// is here, in the same versions, and nothing in another version.
func TestSupported(t *testing.T) {
	versions := []shakedown.Version{shakedown.TLCP, 0x0300, shakedown.TLS10, shakedown.TLS11, shakedown.TLS12, shakedown.TLS13, 0x0305}
	for _, v := range versions {
		ids := Supported(v)
		for _, s := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
			known := slices.Contains(ids, shakedown.CipherSuite(s.ID))
			implemented := !strings.Contains(s.Name, "3DES") && !strings.Contains(s.Name, "RC4")
			if want := implemented && slices.Contains(s.SupportedVersions, uint16(v)); known != want {
				t.Errorf("%v in %v: %v, crypto/tls says %v", s.Name, v, known, want)
			}
		}
		counts := map[shakedown.Version]int{shakedown.TLS10: 8, shakedown.TLS11: 8, shakedown.TLS12: len(suites) - 5, shakedown.TLS13: 5}
		if len(ids) != counts[v] {
			t.Errorf("%d suites in %v, want %d", len(ids), v, counts[v])
		}
	}
	if first := Supported(shakedown.TLS13)[0]; first != shakedown.TLS_AES_128_GCM_SHA256 {
		t.Errorf("most wanted is %v", first)
	}
}

func TestAcceptsKey(t *testing.T) {
	accepts := map[string]string{
		"RSA-2048": "RSA static", "RSA-PSS-2048": "RSA", "ECDSA-P256": "ECDSA", "Ed25519": "ECDSA", "Ed448": "ECDSA", "ML-DSA-65": "",
	}
	suitesBy := map[string]shakedown.CipherSuite{
		"RSA": shakedown.TLS_DHE_RSA_WITH_AES_128_CCM, "ECDSA": shakedown.TLS_ECDHE_ECDSA_WITH_AES_128_CCM, "static": shakedown.TLS_RSA_WITH_AES_128_CCM,
	}
	for _, id := range identities(t) {
		want, ok := accepts[id.name]
		if !ok {
			continue
		}
		key, err := ParsePublicKey(id.spki)
		if err != nil {
			t.Fatal(err)
		}
		for kind, suite := range suitesBy {
			i, _ := Lookup(suite)
			if got := i.AcceptsKey(key); got != slices.Contains(strings.Fields(want), kind) {
				t.Errorf("%v accepts %s key: %v", suite, id.name, got)
			}
		}
		if i, _ := Lookup(shakedown.TLS_AES_128_GCM_SHA256); !i.AcceptsKey(key) {
			t.Errorf("TLS 1.3 does not accept %s key", id.name)
		}
	}
}

func TestNames(t *testing.T) {
	for got, want := range map[fmt.Stringer]string{
		SHA256: "SHA256", SHA384: "SHA384", Hash(9): "Hash(9)",
		KeyExchangeTLS13: "TLS 1.3", KeyExchangeRSA: "RSA", KeyExchange(9): "KeyExchange(9)",
		AuthAny: "any", AuthECDSA: "ECDSA", Authentication(9): "Authentication(9)",
		CipherAESGCM: "AES-GCM", CipherAESCBC: "AES-CBC", Cipher(9): "Cipher(9)",
	} {
		if got.String() != want {
			t.Errorf("String() = %q, want %q", got, want)
		}
	}
}

func TestAlertFor(t *testing.T) {
	for err, want := range map[error]shakedown.Alert{
		ErrBadRecordMAC: shakedown.AlertBadRecordMAC, ErrRecordOverflow: shakedown.AlertRecordOverflow,
		ErrRecordLength: shakedown.AlertDecodeError, ErrNoContentType: shakedown.AlertUnexpectedMessage,
		ErrEmptyContent: shakedown.AlertUnexpectedMessage, ErrSequenceOverflow: shakedown.AlertInternalError,
		ErrBadSignature: shakedown.AlertDecryptError, fmt.Errorf("outer: %w", ErrBadRecordMAC): shakedown.AlertBadRecordMAC,
		errors.New("any other"): shakedown.AlertInternalError, io.EOF: shakedown.AlertInternalError,
	} {
		if got := AlertFor(err); got != want {
			t.Errorf("AlertFor(%v) = %v, want %v", err, got, want)
		}
	}
}
