package certificate

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ocsp"

	"shakedown"
)

// good is a response about the world's leaf that passes.
func good() ocsp.Response {
	return ocsp.Response{
		SerialNumber: theWorld().leaf.SerialNumber, Status: ocsp.Good,
		ThisUpdate: now.Add(-time.Hour), NextUpdate: now.Add(24 * time.Hour),
	}
}

// response signs r by signer, in the name of responder, about a certificate of
// issuer.
func response(t testing.TB, r ocsp.Response, issuer, responder *entity, signer crypto.Signer) []byte {
	t.Helper()
	der, err := ocsp.CreateResponse(issuer.Certificate, responder.Certificate, r, signer)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func TestStaple(t *testing.T) {
	w := theWorld()
	full := parse(t, chain(w.leaf, w.intermediate)...)
	issuer := w.intermediate
	direct := func(change func(*ocsp.Response)) []byte {
		r := good()
		change(&r)
		return response(t, r, issuer, issuer, issuer.key)
	}
	keep := func(*ocsp.Response) {}

	responder := func(by *entity, change func(*x509.Certificate)) *entity {
		template := &x509.Certificate{
			Subject: pkix.Name{CommonName: "Responder"}, NotBefore: now.AddDate(0, -1, 0), NotAfter: now.AddDate(0, 1, 0),
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageOCSPSigning},
		}
		change(template)
		return issue(template, newP256(), by)
	}
	by := func(r *entity, signer crypto.Signer, bring bool) []byte {
		template := good()
		if bring {
			template.Certificate = r.Certificate
		}
		return response(t, template, issuer, r, signer)
	}
	same := func(*x509.Certificate) {}
	delegate := responder(issuer, same)
	undelegated := responder(issuer, func(c *x509.Certificate) { c.ExtKeyUsage = nil })
	foreign := responder(w.root, same)
	late := responder(issuer, func(c *x509.Certificate) { c.NotAfter = now.Add(-time.Hour) })

	selfSigned := issue(leafTemplate(), newP256(), nil)
	selfResponse := good()
	selfResponse.SerialNumber = selfSigned.SerialNumber
	opaque := altered(t, w.intermediate.Certificate, w.root, func(c *tbsCertificate) {
		c.PublicKey = spki(t, append([]byte{4}, make([]byte, 64)...), asn1.ObjectIdentifier{1, 2, 840, 10045, 2, 1}, oidSM2)
	})

	const ok, failed = shakedown.VerificationOK, shakedown.VerificationFailed
	for _, test := range []struct {
		name         string
		der          []byte
		p            *Parsed
		status       string
		verification shakedown.Verification
		Reason
		text string // part of it
	}{
		{"good", direct(keep), full, "good", ok, "", ""},
		{"good by key", signedAgain(t, direct(keep), issuer, byKey(t, issuer)), full, "good", ok, "", ""},
		{"another's key named", signedAgain(t, direct(keep), issuer, byKey(t, w.root)), full, "good", failed, ReasonUnknownAuthority, ""},
		{"unknown version", signedAgain(t, direct(keep), issuer, func(d *responseData) { d.Version = 1 }), full,
			"unreadable", failed, ReasonMalformed, "its version is 2"},
		{"about nothing", signedAgain(t, direct(keep), issuer, func(d *responseData) { d.Responses = nil }), full,
			"unreadable", failed, ReasonMalformed, "it is about no certificate"},
		{"unknown ID hash", signedAgain(t, direct(keep), issuer, func(d *responseData) {
			d.Responses[0].ID.Hash.Algorithm = asn1.ObjectIdentifier{1, 2, 3}
		}), full, "good", shakedown.VerificationNotSupported, ReasonNotSupported, "unknown hash 1.2.3"},
		{"SHA-256 ID", direct(func(r *ocsp.Response) { r.IssuerHash = crypto.SHA256 }), full, "good", ok, "", ""},
		{"SHA-384 ID", direct(func(r *ocsp.Response) { r.IssuerHash = crypto.SHA384 }), full, "good", ok, "", ""},
		{"no next update", direct(func(r *ocsp.Response) { r.NextUpdate = time.Time{} }), full, "good", ok, "", ""},
		{"issuer sent last", direct(keep), parse(t, chain(w.leaf, w.root, w.intermediate)...), "good", ok, "", ""},
		{"self-signed", response(t, selfResponse, selfSigned, selfSigned, selfSigned.key), parse(t, selfSigned.Raw), "good", ok, "", ""},
		{"delegated", by(delegate, delegate.key, true), full, "good", ok, "", ""},
		{"issuer brings itself", by(issuer, issuer.key, true), full, "good", ok, "", ""},
		{"revoked", direct(func(r *ocsp.Response) { r.Status, r.RevokedAt = ocsp.Revoked, now.Add(-time.Hour) }), full,
			"revoked", ok, ReasonRevoked, "is revoked"},
		{"unknown", direct(func(r *ocsp.Response) { r.Status = ocsp.Unknown }), full,
			"unknown", ok, ReasonNoStatus, "does not know the certificate"},
		{"expired", direct(func(r *ocsp.Response) { r.NextUpdate = now.Add(-90 * time.Second) }), full,
			"good", failed, ReasonExpired, "the staple expired on 2026-06-01 11:58 UTC, 2m ago"},
		{"from the future", direct(func(r *ocsp.Response) { r.ThisUpdate = now.Add(time.Hour) }), full,
			"good", failed, ReasonNotYetValid, "the staple is not valid before 2026-06-01 13:00 UTC, in 1h0m"},
		{"other serial", direct(func(r *ocsp.Response) { r.SerialNumber = big.NewInt(0xbad) }), full,
			"good", failed, ReasonWrongCertificate, fmt.Sprintf("serial number bad, and the leaf's is %x", w.leaf.SerialNumber)},
		{"other issuer", response(t, good(), w.root, w.root, w.root.key), full,
			"good", failed, ReasonWrongCertificate, "by another issuer"},
		{"other key of the issuer's name", response(t, good(), newCA("Intermediate", w.root), issuer, issuer.key), full,
			"good", failed, ReasonWrongCertificate, "by another issuer"},
		{"issuer not sent", direct(keep), parse(t, w.leaf.Raw),
			"good", shakedown.VerificationSkipped, ReasonMissingIntermediate, "did not send the certificate of its issuer"},
		{"issuer not sent, expired", direct(func(r *ocsp.Response) { r.NextUpdate = now.Add(-time.Hour) }), parse(t, w.leaf.Raw),
			"good", failed, ReasonExpired, "expired"},
		{"issuer of another kind", response(t, good(), &entity{&x509.Certificate{RawSubject: issuer.RawSubject, RawSubjectPublicKeyInfo: parse(t, opaque).fields[0].spki}, nil}, issuer, issuer.key),
			parse(t, w.leaf.Raw, opaque), "good", shakedown.VerificationNotSupported, ReasonNotSupported, "cannot be verified here"},
		{"signed by another", by(issuer, w.root.key, false), full,
			"good", failed, ReasonBadSignature, `the staple's signature is not that of "Intermediate"`},
		{"signed by another than the delegate", by(delegate, forged(t, delegate.key), true), full,
			"good", failed, ReasonBadSignature, `not that of "Responder"`},
		{"delegate not brought", by(delegate, delegate.key, false), full,
			"good", failed, ReasonUnknownAuthority, "whose certificate it does not bring"},
		{"delegate of another", by(foreign, foreign.key, true), full,
			"good", failed, ReasonUnknownAuthority, `"Responder", which the leaf's issuer did not certify`},
		{"not a delegate", by(undelegated, undelegated.key, true), full,
			"good", failed, ReasonNotPermitted, `"Responder", which the leaf's issuer did not authorize`},
		{"the leaf itself", by(w.leaf, w.leaf.key, true), full,
			"good", failed, ReasonNotPermitted, `"server.test", which the leaf's issuer did not authorize`},
		{"delegate expired", by(late, late.key, true), full,
			"good", failed, ReasonExpired, `the staple's responder "Responder" is valid from`},
		{"critical extension", direct(func(r *ocsp.Response) {
			r.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{1, 2, 3}, Critical: true, Value: []byte{5, 0}}}
		}), full, "unreadable", failed, ReasonMalformed, "unknown critical extension 1.2.3"},
		{"SHA-1 signature", resigned(t, direct(keep), 1, 2, 840, 10045, 4, 1), full,
			"good", failed, ReasonInsecure, "ECDSA-SHA1, which is insecure"},
		{"Ed448 signature", resigned(t, direct(keep), 1, 3, 101, 113), full,
			"good", shakedown.VerificationNotSupported, ReasonNotSupported, "1.3.101.113"},
		{"RSA signature of an ECDSA key", resigned(t, direct(keep), 1, 2, 840, 113549, 1, 1, 11), full,
			"good", failed, ReasonBadSignature, ""},
		{"try later", ocsp.TryLaterErrorResponse, full, "tryLater", failed, ReasonMalformed, `the responder's error "tryLater"`},
		{"unauthorized", ocsp.UnauthorizedErrorResponse, full, "unauthorized", failed, ReasonMalformed, `"unauthorized"`},
		{"undefined error", []byte{0x30, 3, 0x0A, 1, 4}, full, "unreadable", failed, ReasonMalformed, "its status is 4"},
		{"success without response", []byte{0x30, 3, 0x0A, 1, 0}, full, "unreadable", failed, ReasonMalformed, "it is of type"},
		{"trailing byte", append(direct(keep), 0), full, "unreadable", failed, ReasonMalformed, "1 bytes follow it"},
		{"empty", nil, full, "unreadable", failed, ReasonMalformed, "not an OCSP response"},
		{"malformed leaf", direct(keep), parse(t, []byte{1}), "good", failed, ReasonMalformed, "no serial number"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, err := ParseStaple(test.der, test.p, now)
			if got := reasonOf(t, err); got != test.Reason {
				t.Fatalf("reason %q, want %q: %v", got, test.Reason, err)
			}
			if s.Status != test.status || s.Verification != test.verification || s.Bytes != len(test.der) {
				t.Errorf("%+v", s)
			}
			if err == nil {
				if s.Problem != "" {
					t.Errorf("problem %q", s.Problem)
				}
				return
			}
			if s.Problem != err.Error() || !strings.Contains(s.Problem, test.text) {
				t.Errorf("problem %q, error %q", s.Problem, err)
			}
			want := shakedown.AlertBadCertificateStatusResponse
			if test.Reason == ReasonRevoked {
				want = shakedown.AlertCertificateRevoked
			}
			if v := err.(*VerifyError); v.Alert != want {
				t.Errorf("alert %v", v.Alert)
			}
		})
	}
}

func TestStapleTimes(t *testing.T) {
	w := theWorld()
	p := parse(t, chain(w.leaf, w.intermediate)...)
	s, err := ParseStaple(response(t, good(), w.intermediate, w.intermediate, w.intermediate.key), p, now)
	if err != nil || !s.ThisUpdate.Equal(now.Add(-time.Hour)) || !s.NextUpdate.Equal(now.Add(24*time.Hour)) {
		t.Errorf("%+v, %v", s, err)
	}
}

// forgery signs with one key and shows another.
type forgery struct {
	crypto.Signer
	shown crypto.PublicKey
}

func (f forgery) Public() crypto.PublicKey { return f.shown }

// forged returns a signer that cannot sign as key does.
func forged(t testing.TB, key crypto.Signer) crypto.Signer {
	t.Helper()
	return forgery{newP256(), key.Public()}
}

// resigned returns the response with another signature algorithm named.
func resigned(t testing.TB, der []byte, oid ...int) []byte {
	t.Helper()
	return rebuilt(t, der, func(b *basicResponse) { b.Algorithm = pkix.AlgorithmIdentifier{Algorithm: oid} })
}

// rebuilt returns the response with parts outside the signed ones changed.
func rebuilt(t testing.TB, der []byte, change func(*basicResponse)) []byte {
	t.Helper()
	basic, _, err := parseResponse(der)
	if err != nil {
		t.Fatal(err)
	}
	change(&basic)
	var r ocspResponse
	r.Bytes.Type = oidBasicResponse
	r.Bytes.Response = marshal(t, basic)
	return marshal(t, r)
}

// signedAgain returns the response with signed parts changed.
func signedAgain(t testing.TB, der []byte, signer *entity, change func(*responseData)) []byte {
	t.Helper()
	return rebuilt(t, der, func(b *basicResponse) {
		b.Data.Raw = nil
		change(&b.Data)
		sum := sha256.Sum256(marshal(t, b.Data))
		signature, err := signer.key.Sign(rand.Reader, sum[:], crypto.SHA256)
		if err != nil {
			t.Fatal(err)
		}
		b.Signature = asn1.BitString{Bytes: signature, BitLength: 8 * len(signature)}
	})
}

// byKey changes the ResponderID to the SHA-1 of a key.
func byKey(t testing.TB, e *entity) func(*responseData) {
	hash := marshal(t, digest(crypto.SHA1, keyBits(e.RawSubjectPublicKeyInfo)))
	return func(d *responseData) {
		d.ResponderID = asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 2, IsCompound: true, Bytes: hash}
	}
}

// TestStapleOfSeveral: a response may be about more certificates than the leaf.
func TestStapleOfSeveral(t *testing.T) {
	w := theWorld()
	p := parse(t, chain(w.leaf, w.intermediate)...)
	other := good()
	other.SerialNumber, other.Status, other.RevokedAt = big.NewInt(1), ocsp.Revoked, now
	first, _, err := parseResponse(response(t, other, w.intermediate, w.intermediate, w.intermediate.key))
	if err != nil {
		t.Fatal(err)
	}
	der := signedAgain(t, response(t, good(), w.intermediate, w.intermediate, w.intermediate.key), w.intermediate, func(d *responseData) {
		d.Responses = append(first.Data.Responses, d.Responses...)
	})
	if s, err := ParseStaple(der, p, now); err != nil || s.Status != "good" {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestStapleTruncated: no prefix of a response passes, and no flipped bit of
// what is signed.
func TestStapleTruncated(t *testing.T) {
	w := theWorld()
	p := parse(t, chain(w.leaf, w.intermediate)...)
	der := response(t, good(), w.intermediate, w.intermediate, w.intermediate.key)
	basic, _, err := parseResponse(der)
	if err != nil {
		t.Fatal(err)
	}
	signed := bytes.Index(der, basic.Data.Raw)
	for n := range der {
		if s, err := ParseStaple(der[:n], p, now); err == nil || s.Status != unreadable {
			t.Fatalf("prefix of %d of %d bytes: %+v", n, len(der), s)
		}
		if n < signed || n >= signed+len(basic.Data.Raw) {
			continue
		}
		changed := bytes.Clone(der)
		changed[n] ^= 0x10
		if s, err := ParseStaple(changed, p, now); err == nil {
			t.Fatalf("bit flipped in byte %d of %d: %+v", n, len(der), s)
		}
	}
}

// TestStapleOfOpenSSL reads responses that another implementation made.
func TestStapleOfOpenSSL(t *testing.T) {
	path, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("the openssl command is not installed; with it, responses of its responder are read")
	}
	w := theWorld()
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, kind string, der []byte) {
		if err := os.WriteFile(file(name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	keep := func(name string, e *entity) {
		key, err := x509.MarshalPKCS8PrivateKey(e.key)
		if err != nil {
			t.Fatal(err)
		}
		write(name+".pem", "CERTIFICATE", e.Raw)
		write(name+".key", "PRIVATE KEY", key)
	}
	keep("ca", w.intermediate)
	keep("delegate", issue(&x509.Certificate{
		Subject: pkix.Name{CommonName: "Responder"}, NotBefore: now.AddDate(-5, 0, 0), NotAfter: now.AddDate(50, 0, 0),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageOCSPSigning},
	}, newP256(), w.intermediate))
	p := parse(t, chain(w.leaf, w.intermediate)...)

	for _, test := range []struct {
		name, mark, signer, status string
		hash                       crypto.Hash
		args                       []string
	}{
		{"by the issuer", "V", "ca", "good", crypto.SHA1, nil},
		{"by key", "V", "ca", "good", crypto.SHA256, []string{"-resp_key_id"}},
		{"delegated", "V", "delegate", "good", crypto.SHA1, nil},
		{"delegated, by key", "V", "delegate", "good", crypto.SHA256, []string{"-resp_key_id"}},
		{"revoked", "R", "ca", "revoked", crypto.SHA1, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			request, err := ocsp.CreateRequest(w.leaf.Certificate, w.intermediate.Certificate, &ocsp.RequestOptions{Hash: test.hash})
			if err != nil {
				t.Fatal(err)
			}
			revoked := ""
			if test.mark == "R" {
				revoked = "260101000000Z"
			}
			serial := strings.ToUpper(w.leaf.SerialNumber.Text(16))
			if len(serial)%2 == 1 {
				serial = "0" + serial
			}
			index := fmt.Sprintf("%s\t301231235959Z\t%s\t%s\tunknown\t/CN=server.test\n", test.mark, revoked, serial)
			if err := os.WriteFile(file("index.txt"), []byte(index), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file("request.der"), request, 0o600); err != nil {
				t.Fatal(err)
			}
			args := append([]string{"ocsp", "-index", file("index.txt"), "-CA", file("ca.pem"), "-rsigner", file(test.signer + ".pem"),
				"-rkey", file(test.signer + ".key"), "-reqin", file("request.der"), "-respout", file("response.der"), "-ndays", "2"}, test.args...)
			if out, err := exec.Command(path, args...).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			der, err := os.ReadFile(file("response.der"))
			if err != nil {
				t.Fatal(err)
			}
			s, err := ParseStaple(der, p, time.Now().Add(time.Minute))
			if s.Status != test.status || s.Verification != shakedown.VerificationOK || s.NextUpdate.Sub(s.ThisUpdate) != 48*time.Hour {
				t.Errorf("%+v, %v", s, err)
			}
		})
	}
}

func FuzzParseStaple(f *testing.F) {
	w := theWorld()
	p := parse(f, chain(w.leaf, w.intermediate)...)
	genuine := response(f, good(), w.intermediate, w.intermediate, w.intermediate.key)
	f.Add(genuine)
	f.Add(ocsp.TryLaterErrorResponse)
	with := good()
	with.Certificate = w.leaf.Certificate
	f.Add(response(f, with, w.intermediate, w.leaf, w.leaf.key))
	f.Fuzz(func(t *testing.T, der []byte) {
		s, err := ParseStaple(der, p, now)
		if (err == nil) != (s.Problem == "") || s.Status == "" || s.Bytes != len(der) {
			t.Fatalf("%+v, %v", s, err)
		}
		// Nothing else is signed by the issuer, whose key is made for this test.
		// (Certificates brought are not signed: others may be added.)
		if s.Verification == shakedown.VerificationOK {
			got, _, _ := parseResponse(der)
			want, _, _ := parseResponse(genuine)
			if !bytes.Equal(got.Data.Raw, want.Data.Raw) {
				t.Fatalf("a forged response passed: %x", der)
			}
		}
	})
}
