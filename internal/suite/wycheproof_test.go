package suite

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/c2sp/wycheproof"

	"shakedown"
)

// hexBytes is a string of hexadecimal digits in JSON.
type hexBytes []byte

func (h *hexBytes) UnmarshalText(text []byte) (err error) {
	*h, err = hex.DecodeString(string(text))
	return err
}

// vectorGroup has the fields of all the kinds of groups that are used here.
type vectorGroup struct {
	IVSize       int      `json:"ivSize"`
	TagSize      int      `json:"tagSize"`
	PublicKeyDER hexBytes `json:"publicKeyDer"`
	Tests        []vector `json:"tests"`
}

// vector has the fields of all the kinds of tests that are used here.
type vector struct {
	ID      int      `json:"tcId"`
	Comment string   `json:"comment"`
	Flags   []string `json:"flags"`
	Result  string   `json:"result"`

	Public, Private, Shared hexBytes // key agreement
	Key, IV, AAD, Msg, CT   hexBytes // AEAD, HMAC
	Tag, Sig                hexBytes
	IKM, Salt, Info, OKM    hexBytes // HKDF
	Seed, EK, C, K          hexBytes // ML-KEM
	Ctx                     hexBytes // ML-DSA
}

// wycheproofTests calls test for every vector of the files. It is true for those it
// can judge; at least one must be.
func wycheproofTests(t *testing.T, files []string, test func(t *testing.T, g vectorGroup, v vector) bool) {
	t.Helper()
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			text, err := fs.ReadFile(wycheproof.TestVectors, file+"_test.json")
			if err != nil {
				t.Fatal(err)
			}
			var content struct {
				Groups []vectorGroup `json:"testGroups"`
			}
			if err := json.Unmarshal(text, &content); err != nil {
				t.Fatal(err)
			}
			judged, others := 0, 0
			for _, g := range content.Groups {
				for _, v := range g.Tests {
					if test(t, g, v) {
						judged++
					} else {
						others++
					}
				}
			}
			if judged == 0 {
				t.Error("no vector was used")
			}
			t.Logf("%d vectors, %d more that do not concern TLS", judged, others)
		})
	}
}

func TestWycheproofX(t *testing.T) {
	for file, group := range map[string]shakedown.Group{"x25519": shakedown.X25519, "x448": shakedown.X448} {
		wycheproofTests(t, []string{file}, func(t *testing.T, _ vectorGroup, v vector) bool {
			var s Share
			if err := s.Generate(group, shakedown.WorkFull, bytes.NewReader(v.Private)); err != nil {
				t.Errorf("%d: %v", v.ID, err)
				return true
			}
			got, err := s.Secret(nil, v.Public)
			// TLS refuses what the other users of these curves may accept: an all-zero
			// secret (RFC 8446, section 7.4.2).
			zero := !slices.ContainsFunc(v.Shared, func(b byte) bool { return b != 0 })
			if refuse := v.Result == "invalid" || zero; refuse != (err != nil) || !refuse && !bytes.Equal(got, v.Shared) {
				t.Errorf("%d (%s, %s): got %x, error %v", v.ID, v.Result, v.Comment, got, err)
			}
			return true
		})
	}
}

func TestWycheproofECDH(t *testing.T) {
	for file, group := range map[string]shakedown.Group{
		"ecdh_secp256r1_ecpoint": shakedown.Secp256r1,
		"ecdh_secp384r1_ecpoint": shakedown.Secp384r1,
		"ecdh_secp521r1_ecpoint": shakedown.Secp521r1,
	} {
		size := curveSizes[group].secret
		wycheproofTests(t, []string{file}, func(t *testing.T, _ vectorGroup, v vector) bool {
			private := bytes.TrimLeft(v.Private, "\x00")
			if len(private) > size {
				return false
			}
			private = append(make([]byte, size-len(private)), private...)
			var s Share
			if err := s.Generate(group, shakedown.WorkFull, bytes.NewReader(private)); err != nil {
				t.Errorf("%d: %v", v.ID, err)
				return true
			}
			got, err := s.Secret(nil, v.Public)
			// TLS 1.3 knows uncompressed points alone (RFC 8446, section 4.2.8.2).
			refuse := v.Result == "invalid" || len(v.Public) == 0 || v.Public[0] != uncompressed
			if refuse != (err != nil) || !refuse && !bytes.Equal(got, v.Shared) {
				t.Errorf("%d (%s, %s): got %x, error %v", v.ID, v.Result, v.Comment, got, err)
			}
			return true
		})
	}
}

func TestWycheproofKDF(t *testing.T) {
	for _, h := range hashes {
		k := NewKDF(h)
		name := strings.ToLower(h.String())
		wycheproofTests(t, []string{"hkdf_" + name}, func(t *testing.T, _ vectorGroup, v vector) bool {
			if len(v.OKM) > h.Size() || v.Result != "valid" {
				return false // TLS 1.3 takes one block at most
			}
			prk, block := make([]byte, h.Size()), make([]byte, h.Size())
			k.hmac(prk, v.Salt, v.IKM)
			k.hmac(block, prk, v.Info, []byte{1})
			if !bytes.Equal(block[:len(v.OKM)], v.OKM) {
				t.Errorf("%d (%s): got %x, want %x", v.ID, v.Comment, block, v.OKM)
			}
			return true
		})
		wycheproofTests(t, []string{"hmac_" + name}, func(t *testing.T, _ vectorGroup, v vector) bool {
			mac := make([]byte, h.Size())
			k.hmac(mac, v.Key, v.Msg)
			if good := bytes.Equal(mac[:len(v.Tag)], v.Tag); good != (v.Result == "valid") {
				t.Errorf("%d (%s, %s): got %x, want %x", v.ID, v.Result, v.Comment, mac, v.Tag)
			}
			return true
		})
	}
}

// TestWycheproofAEAD seals and opens in place, as records are.
func TestWycheproofAEAD(t *testing.T) {
	files := map[string][]Cipher{
		"aes_gcm":           {CipherAESGCM},
		"aes_ccm":           {CipherAESCCM, CipherAESCCM8},
		"chacha20_poly1305": {CipherChaCha20Poly1305},
	}
	for file, ciphers := range files {
		wycheproofTests(t, []string{file}, func(t *testing.T, g vectorGroup, v vector) bool {
			i := slices.IndexFunc(suites[:], func(i Info) bool {
				return slices.Contains(ciphers, i.Cipher) && i.KeyLength == len(v.Key) &&
					(i.Cipher == CipherAESCCM8) == (g.TagSize == 64)
			})
			if i < 0 || g.IVSize != 96 || g.TagSize != 128 && g.TagSize != 64 {
				return false
			}
			aead := suites[i].aead(v.Key)
			record := slices.Concat([]byte("before"), v.CT, v.Tag)
			body := record[6:]
			got, err := aead.Open(body[:0], v.IV, body, v.AAD)
			valid := v.Result == "valid"
			if valid != (err == nil) || valid && !bytes.Equal(got, v.Msg) {
				t.Errorf("%d (%s, %s): opened %x, error %v", v.ID, v.Result, v.Comment, got, err)
			}
			if valid {
				sealed := aead.Seal(body[:0], v.IV, body[:len(v.Msg)], v.AAD)
				if want := slices.Concat(v.CT, v.Tag); !bytes.Equal(sealed, want) {
					t.Errorf("%d (%s): sealed %x, want %x", v.ID, v.Comment, sealed, want)
				}
			}
			return true
		})
	}
}

func TestWycheproofMLKEM(t *testing.T) {
	for file, set := range map[string]kem{"mlkem_768": mlkem768, "mlkem_1024": mlkem1024} {
		wycheproofTests(t, []string{file}, func(t *testing.T, _ vectorGroup, v vector) bool {
			var k kemKey
			ek, err := k.generate(nil, set, false, bytes.NewReader(v.Seed))
			var got []byte
			if err == nil {
				got, err = k.secret(nil, v.C)
			}
			if v.Result == "valid" && !bytes.Equal(ek, v.EK) {
				t.Errorf("%d (%s): got encapsulation key %x, want %x", v.ID, v.Comment, ek, v.EK)
			}
			if good := err == nil && bytes.Equal(got, v.K); good != (v.Result == "valid") {
				t.Errorf("%d (%s, %s): got %x, want %x, error %v", v.ID, v.Result, v.Comment, got, v.K, err)
			}
			return true
		})
	}
}

func TestWycheproofSignatures(t *testing.T) {
	files := map[string]shakedown.SignatureScheme{
		"rsa_pss_2048_sha256_mgf1_32":        shakedown.RSAPSSRSAESHA256,
		"rsa_pss_2048_sha384_mgf1_48":        shakedown.RSAPSSRSAESHA384,
		"rsa_pss_3072_sha256_mgf1_32":        shakedown.RSAPSSRSAESHA256,
		"rsa_pss_4096_sha512_mgf1_64":        shakedown.RSAPSSRSAESHA512,
		"rsa_pss_2048_sha256_mgf1_32_params": shakedown.RSAPSSPSSSHA256,
		"rsa_pss_3072_sha256_mgf1_32_params": shakedown.RSAPSSPSSSHA256,
		"rsa_pss_4096_sha512_mgf1_64_params": shakedown.RSAPSSPSSSHA512,
		"rsa_signature_2048_sha224":          shakedown.RSAPKCS1SHA224,
		"rsa_signature_2048_sha256":          shakedown.RSAPKCS1SHA256,
		"rsa_signature_3072_sha384":          shakedown.RSAPKCS1SHA384,
		"rsa_signature_4096_sha512":          shakedown.RSAPKCS1SHA512,
		"rsa_signature_8192_sha256":          shakedown.RSAPKCS1SHA256,
		"ecdsa_secp256r1_sha256":             shakedown.ECDSASecp256r1,
		"ecdsa_secp384r1_sha384":             shakedown.ECDSASecp384r1,
		"ecdsa_secp521r1_sha512":             shakedown.ECDSASecp521r1,
		"ed25519":                            shakedown.Ed25519,
		"ed448":                              shakedown.Ed448,
		"mldsa_44_verify":                    shakedown.MLDSA44,
		"mldsa_65_verify":                    shakedown.MLDSA65,
		"mldsa_87_verify":                    shakedown.MLDSA87,
	}
	for file, scheme := range files {
		wycheproofTests(t, []string{file}, func(t *testing.T, g vectorGroup, v vector) bool {
			if len(v.Ctx) > 0 {
				return false // TLS signs with an empty context
			}
			key, err := ParsePublicKey(g.PublicKeyDER)
			if err == nil {
				err = Verify(scheme, key, v.Msg, v.Sig)
				if err != nil && !errors.Is(err, ErrBadSignature) {
					t.Errorf("%d: %v", v.ID, err)
				}
			}
			// "acceptable" marks what some implementations let pass, such as a missing
			// NULL in PKCS #1; either answer is right.
			if v.Result != "acceptable" && (err == nil) != (v.Result == "valid") {
				t.Errorf("%d (%s, %s): error %v", v.ID, v.Result, v.Comment, err)
			}
			return true
		})
	}
}
