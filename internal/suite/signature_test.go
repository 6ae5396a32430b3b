package suite

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"math/big"
	"slices"
	"testing"

	"github.com/cloudflare/circl/sign/ed448"
	"github.com/cloudflare/circl/sign/mldsa/mldsa44"
	"github.com/cloudflare/circl/sign/mldsa/mldsa65"
	"github.com/cloudflare/circl/sign/mldsa/mldsa87"
	"github.com/google/go-cmp/cmp"

	"shakedown"
)

// identity is a key pair with its public key as certificates have it.
type identity struct {
	name   string // as KeyName tells it
	signer crypto.Signer
	spki   []byte
}

func identities(t testing.TB) []identity {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	pkix := func(key crypto.Signer) []byte {
		spki, err := x509.MarshalPKIXPublicKey(key.Public())
		check(err)
		return spki
	}
	var all []identity
	add := func(name string, key crypto.Signer, spki []byte) { all = append(all, identity{name, key, spki}) }
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	check(err)
	add("RSA-1024", small, pkix(small))
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	check(err)
	add("RSA-2048", key, pkix(key))
	add("RSA-PSS-2048", key, spki(t, oidPSS, nil, x509.MarshalPKCS1PublicKey(&key.PublicKey)))
	for _, c := range []elliptic.Curve{elliptic.P224(), elliptic.P256(), elliptic.P384(), elliptic.P521()} {
		key, err := ecdsa.GenerateKey(c, rand.Reader)
		check(err)
		add("ECDSA-P"+c.Params().Name[2:], key, pkix(key))
	}
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	check(err)
	add("Ed25519", edwards, pkix(edwards))
	public448, private448, err := ed448.GenerateKey(rand.Reader)
	check(err)
	add("Ed448", private448, spki(t, oidEd448, nil, public448))
	public44, private44, err := mldsa44.GenerateKey(rand.Reader)
	check(err)
	add("ML-DSA-44", private44, spki(t, oidMLDSA44, nil, public44.Bytes()))
	public65, private65, err := mldsa65.GenerateKey(rand.Reader)
	check(err)
	add("ML-DSA-65", private65, spki(t, oidMLDSA65, nil, public65.Bytes()))
	public87, private87, err := mldsa87.GenerateKey(rand.Reader)
	check(err)
	add("ML-DSA-87", private87, spki(t, oidMLDSA87, nil, public87.Bytes()))
	return all
}

// spki marshals a SubjectPublicKeyInfo (RFC 5280, section 4.1.2.7).
func spki(t testing.TB, oid asn1.ObjectIdentifier, parameters []byte, key []byte) []byte {
	t.Helper()
	der, err := asn1.Marshal(struct {
		Algorithm struct {
			OID        asn1.ObjectIdentifier
			Parameters asn1.RawValue `asn1:"optional"`
		}
		Key asn1.BitString
	}{
		Algorithm: struct {
			OID        asn1.ObjectIdentifier
			Parameters asn1.RawValue `asn1:"optional"`
		}{oid, asn1.RawValue{FullBytes: parameters}},
		Key: asn1.BitString{Bytes: key, BitLength: 8 * len(key)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// TestSchemesFor lists for each key and version all schemes that it may sign with.
func TestSchemesFor(t *testing.T) {
	type schemes = []shakedown.SignatureScheme
	rsa12 := schemes{shakedown.RSAPSSRSAESHA256, shakedown.RSAPSSRSAESHA384, shakedown.RSAPSSRSAESHA512,
		shakedown.RSAPKCS1SHA256, shakedown.RSAPKCS1SHA384, shakedown.RSAPKCS1SHA512, shakedown.RSAPKCS1SHA224, shakedown.RSAPKCS1SHA1}
	small12 := slices.Delete(slices.Clone(rsa12), 2, 3) // no room for SHA-512 twice
	pss := schemes{shakedown.RSAPSSPSSSHA256, shakedown.RSAPSSPSSSHA384, shakedown.RSAPSSPSSSHA512}
	ecdsa12 := schemes{shakedown.ECDSASecp256r1, shakedown.ECDSASecp384r1, shakedown.ECDSASecp521r1, shakedown.ECDSASHA224, shakedown.ECDSASHA1}
	oldRSA, oldECDSA := schemes{shakedown.LegacyRSAMD5SHA1}, schemes{shakedown.LegacyECDSASHA1Only}
	want := map[string]struct{ v11, v12, v13 schemes }{
		"RSA-1024":     {oldRSA, small12, rsa12[:2]},
		"RSA-2048":     {oldRSA, rsa12, rsa12[:3]},
		"RSA-PSS-2048": {nil, pss, pss},
		"ECDSA-P224":   {oldECDSA, ecdsa12, nil},
		"ECDSA-P256":   {oldECDSA, ecdsa12, schemes{shakedown.ECDSASecp256r1}},
		"ECDSA-P384":   {oldECDSA, ecdsa12, schemes{shakedown.ECDSASecp384r1}},
		"ECDSA-P521":   {oldECDSA, ecdsa12, schemes{shakedown.ECDSASecp521r1}},
		"Ed25519":      {nil, schemes{shakedown.Ed25519}, schemes{shakedown.Ed25519}},
		"Ed448":        {nil, schemes{shakedown.Ed448}, schemes{shakedown.Ed448}},
		"ML-DSA-44":    {nil, nil, schemes{shakedown.MLDSA44}},
		"ML-DSA-65":    {nil, nil, schemes{shakedown.MLDSA65}},
		"ML-DSA-87":    {nil, nil, schemes{shakedown.MLDSA87}},
	}
	for _, id := range identities(t) {
		key, err := ParsePublicKey(id.spki)
		if err != nil {
			t.Fatalf("%s: %v", id.name, err)
		}
		if name := KeyName(key); name != id.name {
			t.Errorf("KeyName = %q, want %q", name, id.name)
		}
		w := want[id.name]
		for version, list := range map[shakedown.Version]schemes{shakedown.TLS11: w.v11, shakedown.TLS12: w.v12, shakedown.TLS13: w.v13} {
			if diff := cmp.Diff(list, SchemesFor(version, key)); diff != "" {
				t.Errorf("%s in %v (-want +got):\n%s", id.name, version, diff)
			}
		}
		for s := range algorithms {
			err := CheckKey(s, shakedown.TLS13, key)
			if err != nil && AlertFor(err) != shakedown.AlertIllegalParameter {
				t.Errorf("%s, %v: error %q deserves %v", id.name, s, err, AlertFor(err))
			}
			if allowed := slices.Contains(w.v13, s); allowed != (err == nil) {
				t.Errorf("%s, %v: error %v", id.name, s, err)
			}
		}
	}
}

// TestSignVerify: every scheme with every key it fits. Any change to message, signature
// or scheme is noticed.
func TestSignVerify(t *testing.T) {
	message := Content13(nil, ClientContext13, make([]byte, 32))
	for _, id := range identities(t) {
		key, err := ParsePublicKey(id.spki)
		if err != nil {
			t.Fatal(err)
		}
		tried := 0
		for _, version := range []shakedown.Version{shakedown.TLS11, shakedown.TLS12, shakedown.TLS13} {
			for _, scheme := range SchemesFor(version, key) {
				tried++
				sig, err := Sign(scheme, id.signer, rand.Reader, message)
				if err != nil {
					t.Errorf("%s, %v: %v", id.name, scheme, err)
					continue
				}
				if err := Verify(scheme, key, message, sig); err != nil {
					t.Errorf("%s, %v: %v", id.name, scheme, err)
				}
				for _, bad := range [][]byte{nil, sig[:len(sig)-1], append(slices.Clone(sig), 0), flip(sig)} {
					if err := Verify(scheme, key, message, bad); !errors.Is(err, ErrBadSignature) || AlertFor(err) != shakedown.AlertDecryptError {
						t.Errorf("%s, %v: changed signature: error %v", id.name, scheme, err)
					}
				}
				if err := Verify(scheme, key, flip(message), sig); !errors.Is(err, ErrBadSignature) {
					t.Errorf("%s, %v: changed message: error %v", id.name, scheme, err)
				}
				for other := range algorithms {
					// ECDSA with SHA-1 is one thing under two numbers.
					if same := algorithms[other].kind == algorithms[scheme].kind && algorithms[other].hash == algorithms[scheme].hash; same {
						continue
					}
					if err := Verify(other, key, message, sig); err == nil {
						t.Errorf("%s: signature of %v verifies as %v", id.name, scheme, other)
					}
				}
			}
		}
		if tried == 0 {
			t.Errorf("%s signs in no version", id.name)
		}
	}
}

func flip(b []byte) []byte {
	b = slices.Clone(b)
	b[len(b)/2] ^= 1
	return b
}

func TestNotSupported(t *testing.T) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Sign(shakedown.SM2SigSM3, key, rand.Reader, nil); !errors.Is(err, ErrNotSupported) {
		t.Errorf("Sign: %v", err)
	}
	if err := Verify(shakedown.SM2SigSM3, key.Public(), nil, nil); !errors.Is(err, ErrNotSupported) {
		t.Errorf("Verify: %v", err)
	}
	if err := CheckKey(shakedown.SM2SigSM3, shakedown.TLS13, key.Public()); !errors.Is(err, ErrNotSupported) {
		t.Errorf("CheckKey: %v", err)
	}
	weak := &rsa.PublicKey{N: new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 512), big.NewInt(1)), E: 65537}
	if err := Verify(shakedown.RSAPKCS1SHA256, weak, nil, make([]byte, 64)); !errors.Is(err, ErrNotSupported) {
		t.Errorf("Verify with RSA-512: %v", err)
	}
	if err := Verify(shakedown.Ed25519, "no key", nil, nil); !errors.Is(err, ErrNotSupported) {
		t.Errorf("Verify with a string as the key: %v", err)
	}
	if name := KeyName("no key"); name != "unknown" {
		t.Errorf("KeyName of a string = %q", name)
	}
}

// TestContent13 has the example of RFC 8446, section 4.4.3.
func TestContent13(t *testing.T) {
	got := Content13([]byte("x"), ServerContext13, bytes.Repeat([]byte{1}, 32))
	want := append([]byte{'x'}, bytes.Repeat([]byte{0x20}, 64)...)
	want = append(want, "TLS 1.3, server CertificateVerify\x00"...)
	want = append(want, bytes.Repeat([]byte{1}, 32)...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestParsePublicKey has the keys that are wrong, and RSASSA-PSS parameters, which bind
// a key to a hash.
func TestParsePublicKey(t *testing.T) {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	pkcs1 := x509.MarshalPKCS1PublicKey(&private.PublicKey)
	parameters := func(hash asn1.ObjectIdentifier) []byte {
		type algorithm struct{ OID asn1.ObjectIdentifier }
		der, err := asn1.Marshal(struct {
			Hash algorithm `asn1:"explicit,tag:0"`
		}{algorithm{hash}})
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	unknown := asn1.ObjectIdentifier{1, 2, 3}
	secp256k1, _ := asn1.Marshal(asn1.ObjectIdentifier{1, 3, 132, 0, 10})
	p256, _ := asn1.Marshal(asn1.ObjectIdentifier{1, 2, 840, 10045, 3, 1, 7})
	for _, test := range []struct {
		name string
		der  []byte
		hash crypto.Hash
		want error // ErrNotSupported, errWrong or nil
	}{
		{"no parameters", spki(t, oidPSS, nil, pkcs1), 0, nil},
		{"default parameters", spki(t, oidPSS, []byte{0x30, 0}, pkcs1), crypto.SHA1, nil},
		{"SHA-256", spki(t, oidPSS, parameters(oidSHA256), pkcs1), crypto.SHA256, nil},
		{"SHA-384", spki(t, oidPSS, parameters(oidSHA384), pkcs1), crypto.SHA384, nil},
		{"SHA-512", spki(t, oidPSS, parameters(oidSHA512), pkcs1), crypto.SHA512, nil},
		{"unknown hash", spki(t, oidPSS, parameters(unknown), pkcs1), 0, ErrNotSupported},
		{"parameters that are none", spki(t, oidPSS, []byte{5, 0}, pkcs1), 0, errWrong},
		{"PSS without a key", spki(t, oidPSS, nil, []byte{1, 2, 3}), 0, errWrong},
		{"unknown algorithm", spki(t, unknown, nil, pkcs1), 0, ErrNotSupported},
		{"unknown curve", spki(t, oidECDSA, secp256k1, make([]byte, 65)), 0, ErrNotSupported},
		{"no curve", spki(t, oidECDSA, []byte{5, 0}, make([]byte, 65)), 0, errWrong},
		{"point off the curve", spki(t, oidECDSA, p256, append([]byte{4}, make([]byte, 64)...)), 0, errWrong},
		{"short Ed448", spki(t, oidEd448, nil, make([]byte, 56)), 0, errWrong},
		{"short ML-DSA-44", spki(t, oidMLDSA44, nil, make([]byte, 1311)), 0, errWrong},
		{"long ML-DSA-65", spki(t, oidMLDSA65, nil, make([]byte, 1953)), 0, errWrong},
		{"no ML-DSA-87", spki(t, oidMLDSA87, nil, nil), 0, errWrong},
		{"bytes after the end", append(spki(t, oidPSS, nil, pkcs1), 0), 0, errWrong},
		{"nothing", nil, 0, errWrong},
	} {
		key, err := ParsePublicKey(test.der)
		switch {
		case test.want == ErrNotSupported && errors.Is(err, ErrNotSupported):
		case test.want == errWrong && err != nil && AlertFor(err) == shakedown.AlertBadCertificate:
		case test.want == nil && err == nil:
			pss := key.(*PSSPublicKey)
			if pss.Hash != test.hash || !pss.Key.Equal(&private.PublicKey) {
				t.Errorf("%s: hash %v", test.name, pss.Hash)
			}
			allowed := CheckKey(shakedown.RSAPSSPSSSHA384, shakedown.TLS13, key) == nil
			if want := test.hash == 0 || test.hash == crypto.SHA384; allowed != want {
				t.Errorf("%s: may sign with SHA-384: %v", test.name, allowed)
			}
		default:
			t.Errorf("%s: key %T, error %v", test.name, key, err)
		}
	}
	for _, id := range identities(t) {
		for n := range id.spki {
			if key, err := ParsePublicKey(id.spki[:n]); err == nil {
				t.Errorf("%s: first %d bytes are a %s key", id.name, n, KeyName(key))
			}
		}
	}
}

var errWrong = errors.New("wrong")

// FuzzParsePublicKey: no key makes a panic, nor does verifying with it.
func FuzzParsePublicKey(f *testing.F) {
	for _, id := range identities(f) {
		f.Add(id.spki, []byte("signature"))
	}
	f.Fuzz(func(t *testing.T, der, sig []byte) {
		key, err := ParsePublicKey(der)
		if err != nil {
			return
		}
		KeyName(key)
		for s := range algorithms {
			if CheckKey(s, shakedown.TLS12, key) == nil || CheckKey(s, shakedown.TLS13, key) == nil {
				if Verify(s, key, []byte("message"), sig) == nil {
					t.Logf("%s: signature verifies", KeyName(key))
				}
			}
		}
	})
}
