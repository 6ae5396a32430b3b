package suite

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"fmt"

	"shakedown"
)

// KeyExchange is how the secret of a handshake comes about.
type KeyExchange uint8

const (
	KeyExchangeTLS13 KeyExchange = iota + 1 // by key_share and psk extensions, not by the suite
	KeyExchangeECDHE                        // RFC 8422
	KeyExchangeDHE                          // RFC 5246, section 7.4.3
	KeyExchangeRSA                          // static RSA, RFC 5246, section 7.4.7.1
)

// String returns the exchange's usual name.
func (k KeyExchange) String() string {
	names := [...]string{"none", "TLS 1.3", "ECDHE", "DHE", "RSA"}
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("KeyExchange(%d)", uint8(k))
}

// Authentication is what kind of key a suite demands in the certificate.
type Authentication uint8

const (
	AuthAny   Authentication = iota // TLS 1.3: the suite says nothing of it
	AuthRSA                         // rsaEncryption or RSASSA-PSS
	AuthECDSA                       // ECDSA, and EdDSA by RFC 8422, section 5.10
)

// String returns the kind's usual name.
func (a Authentication) String() string {
	names := [...]string{"any", "RSA", "ECDSA"}
	if int(a) < len(names) {
		return names[a]
	}
	return fmt.Sprintf("Authentication(%d)", uint8(a))
}

// Cipher is the algorithm that encrypts records.
type Cipher uint8

const (
	CipherAESGCM           Cipher = iota + 1 // RFC 5288, RFC 5289
	CipherAESCCM                             // RFC 6655, RFC 7251: 16 byte tag
	CipherAESCCM8                            // the same with an 8 byte tag
	CipherChaCha20Poly1305                   // RFC 7905
	CipherAESCBC                             // RFC 5246, section 6.2.3.2
)

// String returns the cipher's usual name without its key length.
func (c Cipher) String() string {
	names := [...]string{"none", "AES-GCM", "AES-CCM", "AES-CCM-8", "ChaCha20-Poly1305", "AES-CBC"}
	if int(c) < len(names) {
		return names[c]
	}
	return fmt.Sprintf("Cipher(%d)", uint8(c))
}

// MAC is what authenticates the records of a CBC suite. The ciphers that
// authenticate by themselves have MACNone.
type MAC uint8

const (
	MACNone MAC = iota
	MACSHA1
	MACSHA256
	MACSHA384
)

// Size returns the length of the MAC and of its key in bytes.
func (m MAC) Size() int { return [...]int{0, 20, 32, 48}[m] }

// Info is what a cipher suite number means.
type Info struct {
	ID             shakedown.CipherSuite
	KeyExchange    KeyExchange
	Authentication Authentication
	Hash           Hash // of transcript and key schedule, or of the TLS 1.2 PRF
	Cipher         Cipher
	KeyLength      int // of the cipher, in bytes
	MAC            MAC
	// MinVersion and MaxVersion are the versions that may negotiate the suite.
	// Handshakes are implemented for TLS 1.2 and 1.3; the versions before are named
	// so that a suite can be offered in them to see whether a server takes it.
	MinVersion, MaxVersion shakedown.Version
}

// Lookup returns what is known of the suite, and whether it is implemented here.
// Suites that are known by name only, such as those with 3DES and RC4, are not.
func Lookup(id shakedown.CipherSuite) (*Info, bool) {
	i, ok := byID[id]
	return i, ok
}

// Supported returns the suites implemented for a version, most wanted first.
func Supported(v shakedown.Version) []shakedown.CipherSuite {
	var ids []shakedown.CipherSuite
	for n := range suites {
		if i := &suites[n]; v.AtLeast(i.MinVersion) && !v.AtLeast(i.MaxVersion+1) {
			ids = append(ids, i.ID)
		}
	}
	return ids
}

// AcceptsKey reports whether a server may answer with this suite and a
// certificate for this key, in TLS 1.2 and before.
func (i *Info) AcceptsKey(pub crypto.PublicKey) bool {
	switch pub.(type) {
	case *rsa.PublicKey:
		return i.Authentication != AuthECDSA
	case *PSSPublicKey:
		// An RSASSA-PSS key may sign and nothing else (RFC 4055, section 1.2).
		return i.Authentication != AuthECDSA && i.KeyExchange != KeyExchangeRSA
	case *ecdsa.PublicKey, ed25519.PublicKey, Ed448PublicKey:
		return i.Authentication != AuthRSA
	}
	return i.Authentication == AuthAny
}

var byID = func() map[shakedown.CipherSuite]*Info {
	m := make(map[shakedown.CipherSuite]*Info, len(suites))
	for i := range suites {
		m[suites[i].ID] = &suites[i]
	}
	return m
}()

const (
	v10, v12, v13 = shakedown.TLS10, shakedown.TLS12, shakedown.TLS13

	tls13, ecdhe, dhe, static = KeyExchangeTLS13, KeyExchangeECDHE, KeyExchangeDHE, KeyExchangeRSA

	gcm, ccm, ccm8, chacha, cbc = CipherAESGCM, CipherAESCCM, CipherAESCCM8, CipherChaCha20Poly1305, CipherAESCBC
)

// suites lists all suites that are implemented, most wanted first: forward
// secrecy before none, AEAD before CBC, ciphers with hardware support first.
var suites = [...]Info{
	{shakedown.TLS_AES_128_GCM_SHA256, tls13, AuthAny, SHA256, gcm, 16, MACNone, v13, v13},
	{shakedown.TLS_AES_256_GCM_SHA384, tls13, AuthAny, SHA384, gcm, 32, MACNone, v13, v13},
	{shakedown.TLS_CHACHA20_POLY1305_SHA256, tls13, AuthAny, SHA256, chacha, 32, MACNone, v13, v13},
	{shakedown.TLS_AES_128_CCM_SHA256, tls13, AuthAny, SHA256, ccm, 16, MACNone, v13, v13},
	{shakedown.TLS_AES_128_CCM_8_SHA256, tls13, AuthAny, SHA256, ccm8, 16, MACNone, v13, v13},

	{shakedown.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, ecdhe, AuthECDSA, SHA256, gcm, 16, MACNone, v12, v12},
	{shakedown.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, ecdhe, AuthRSA, SHA256, gcm, 16, MACNone, v12, v12},
	{shakedown.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, ecdhe, AuthECDSA, SHA384, gcm, 32, MACNone, v12, v12},
	{shakedown.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, ecdhe, AuthRSA, SHA384, gcm, 32, MACNone, v12, v12},
	{shakedown.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, ecdhe, AuthECDSA, SHA256, chacha, 32, MACNone, v12, v12},
	{shakedown.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256, ecdhe, AuthRSA, SHA256, chacha, 32, MACNone, v12, v12},
	{shakedown.TLS_ECDHE_ECDSA_WITH_AES_128_CCM, ecdhe, AuthECDSA, SHA256, ccm, 16, MACNone, v12, v12},
	{shakedown.TLS_ECDHE_ECDSA_WITH_AES_256_CCM, ecdhe, AuthECDSA, SHA256, ccm, 32, MACNone, v12, v12},
	{shakedown.TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8, ecdhe, AuthECDSA, SHA256, ccm8, 16, MACNone, v12, v12},
	{shakedown.TLS_ECDHE_ECDSA_WITH_AES_256_CCM_8, ecdhe, AuthECDSA, SHA256, ccm8, 32, MACNone, v12, v12},

	{shakedown.TLS_DHE_RSA_WITH_AES_128_GCM_SHA256, dhe, AuthRSA, SHA256, gcm, 16, MACNone, v12, v12},
	{shakedown.TLS_DHE_RSA_WITH_AES_256_GCM_SHA384, dhe, AuthRSA, SHA384, gcm, 32, MACNone, v12, v12},
	{shakedown.TLS_DHE_RSA_WITH_CHACHA20_POLY1305_SHA256, dhe, AuthRSA, SHA256, chacha, 32, MACNone, v12, v12},
	{shakedown.TLS_DHE_RSA_WITH_AES_128_CCM, dhe, AuthRSA, SHA256, ccm, 16, MACNone, v12, v12},
	{shakedown.TLS_DHE_RSA_WITH_AES_256_CCM, dhe, AuthRSA, SHA256, ccm, 32, MACNone, v12, v12},
	{shakedown.TLS_DHE_RSA_WITH_AES_128_CCM_8, dhe, AuthRSA, SHA256, ccm8, 16, MACNone, v12, v12},
	{shakedown.TLS_DHE_RSA_WITH_AES_256_CCM_8, dhe, AuthRSA, SHA256, ccm8, 32, MACNone, v12, v12},

	{shakedown.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256, ecdhe, AuthECDSA, SHA256, cbc, 16, MACSHA256, v12, v12},
	{shakedown.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256, ecdhe, AuthRSA, SHA256, cbc, 16, MACSHA256, v12, v12},
	{shakedown.TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA384, ecdhe, AuthECDSA, SHA384, cbc, 32, MACSHA384, v12, v12},
	{shakedown.TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384, ecdhe, AuthRSA, SHA384, cbc, 32, MACSHA384, v12, v12},
	{shakedown.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA, ecdhe, AuthECDSA, SHA256, cbc, 16, MACSHA1, v10, v12},
	{shakedown.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA, ecdhe, AuthRSA, SHA256, cbc, 16, MACSHA1, v10, v12},
	{shakedown.TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA, ecdhe, AuthECDSA, SHA256, cbc, 32, MACSHA1, v10, v12},
	{shakedown.TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA, ecdhe, AuthRSA, SHA256, cbc, 32, MACSHA1, v10, v12},
	{shakedown.TLS_DHE_RSA_WITH_AES_128_CBC_SHA256, dhe, AuthRSA, SHA256, cbc, 16, MACSHA256, v12, v12},
	{shakedown.TLS_DHE_RSA_WITH_AES_256_CBC_SHA256, dhe, AuthRSA, SHA256, cbc, 32, MACSHA256, v12, v12},
	{shakedown.TLS_DHE_RSA_WITH_AES_128_CBC_SHA, dhe, AuthRSA, SHA256, cbc, 16, MACSHA1, v10, v12},
	{shakedown.TLS_DHE_RSA_WITH_AES_256_CBC_SHA, dhe, AuthRSA, SHA256, cbc, 32, MACSHA1, v10, v12},

	{shakedown.TLS_RSA_WITH_AES_128_GCM_SHA256, static, AuthRSA, SHA256, gcm, 16, MACNone, v12, v12},
	{shakedown.TLS_RSA_WITH_AES_256_GCM_SHA384, static, AuthRSA, SHA384, gcm, 32, MACNone, v12, v12},
	{shakedown.TLS_RSA_WITH_AES_128_CCM, static, AuthRSA, SHA256, ccm, 16, MACNone, v12, v12},
	{shakedown.TLS_RSA_WITH_AES_256_CCM, static, AuthRSA, SHA256, ccm, 32, MACNone, v12, v12},
	{shakedown.TLS_RSA_WITH_AES_128_CCM_8, static, AuthRSA, SHA256, ccm8, 16, MACNone, v12, v12},
	{shakedown.TLS_RSA_WITH_AES_256_CCM_8, static, AuthRSA, SHA256, ccm8, 32, MACNone, v12, v12},
	{shakedown.TLS_RSA_WITH_AES_128_CBC_SHA256, static, AuthRSA, SHA256, cbc, 16, MACSHA256, v12, v12},
	{shakedown.TLS_RSA_WITH_AES_256_CBC_SHA256, static, AuthRSA, SHA256, cbc, 32, MACSHA256, v12, v12},
	{shakedown.TLS_RSA_WITH_AES_128_CBC_SHA, static, AuthRSA, SHA256, cbc, 16, MACSHA1, v10, v12},
	{shakedown.TLS_RSA_WITH_AES_256_CBC_SHA, static, AuthRSA, SHA256, cbc, 32, MACSHA1, v10, v12},
}
