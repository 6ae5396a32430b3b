package certificate

import (
	"bytes"
	"crypto"
	_ "crypto/sha1" // the hash of nearly every CertID
	_ "crypto/sha256"
	_ "crypto/sha512"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"

	"shakedown"
)

// The structures of RFC 6960, section 4.2.1. They are read here and not by
// golang.org/x/crypto/ocsp because that package does not tell whose certificate
// a response is about beyond the serial number, accepts any certificate of the
// issuer as a responder, and returns no status if the signature is bad.
type (
	ocspResponse struct {
		Status asn1.Enumerated
		Bytes  struct {
			Type     asn1.ObjectIdentifier
			Response []byte
		} `asn1:"explicit,tag:0,optional"`
	}
	basicResponse struct {
		Data         responseData
		Algorithm    pkix.AlgorithmIdentifier
		Signature    asn1.BitString
		Certificates []asn1.RawValue `asn1:"explicit,tag:0,optional"`
	}
	responseData struct {
		Raw         asn1.RawContent
		Version     int `asn1:"optional,default:0,explicit,tag:0"`
		ResponderID asn1.RawValue
		ProducedAt  time.Time `asn1:"generalized"`
		Responses   []singleResponse
		Extensions  []pkix.Extension `asn1:"explicit,tag:1,optional"`
	}
	singleResponse struct {
		ID         certID
		Status     asn1.RawValue
		ThisUpdate time.Time        `asn1:"generalized"`
		NextUpdate time.Time        `asn1:"generalized,explicit,tag:0,optional"`
		Extensions []pkix.Extension `asn1:"explicit,tag:1,optional"`
	}
	certID struct {
		Hash              pkix.AlgorithmIdentifier
		NameHash, KeyHash []byte
		Serial            *big.Int
	}
)

// unreadable is the Status of a staple whose bytes are no OCSP response.
const unreadable = "unreadable"

var (
	oidBasicResponse = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 48, 1, 1}

	// responseErrors are the words of OCSPResponseStatus for a response that
	// carries none (RFC 6960, section 4.2.1).
	responseErrors = map[asn1.Enumerated]string{
		1: "malformedRequest", 2: "internalError", 3: "tryLater", 5: "sigRequired", 6: "unauthorized",
	}
	certStatuses = map[int]string{0: "good", 1: "revoked", 2: "unknown"}
	idHashes     = map[string]crypto.Hash{
		"1.3.14.3.2.26": crypto.SHA1, "2.16.840.1.101.3.4.2.1": crypto.SHA256,
		"2.16.840.1.101.3.4.2.2": crypto.SHA384, "2.16.840.1.101.3.4.2.3": crypto.SHA512,
	}
)

// ParseStaple reads the OCSP response that came with chain p and judges it at
// time now: it is about the leaf (serial number, issuer's name and key), it is
// current, and the leaf's issuer signed it, or a responder that the issuer
// authorized (RFC 6960, sections 3.2 and 4.2.2.2).
//
// The error, a *[VerifyError], is nil only for a staple that passes and says
// good; its text is also the staple's Problem. Verification is ok for a staple
// that passes whatever it says, and skipped if the server did not send the
// certificate of the leaf's issuer, whose key is needed.
func ParseStaple(der []byte, p *Parsed, now time.Time) (shakedown.Staple, error) {
	s := shakedown.Staple{Bytes: len(der), Status: unreadable, Verification: shakedown.VerificationFailed}
	err := readStaple(&s, der, p, now)
	if err != nil {
		s.Problem = err.Error()
	}
	return s, err
}

func readStaple(s *shakedown.Staple, der []byte, p *Parsed, now time.Time) error {
	basic, status, err := parseResponse(der)
	if err != nil {
		s.Status = status
		return staple(ReasonMalformed, "", err)
	}
	issuer := p.leafIssuer()
	single, err := p.about(basic.Data.Responses, issuer)
	if single == nil {
		single = &basic.Data.Responses[0] // of another certificate: shown, and not to be relied on
	}
	s.Status = certStatuses[single.Status.Tag]
	s.ThisUpdate, s.NextUpdate = single.ThisUpdate, single.NextUpdate
	if err != nil {
		s.Verification = Outcome(err)
		return err
	}
	if err := current(single, now); err != nil {
		return err
	}
	if issuer < 0 {
		s.Verification = shakedown.VerificationSkipped
		return staple(ReasonMissingIntermediate, "have the server send the issuer's certificate",
			errors.New("the staple's signature cannot be checked, because the server did not send the certificate of its issuer"))
	}
	if err := p.checkResponse(basic, issuer, now); err != nil {
		s.Verification = Outcome(err)
		return err
	}
	s.Verification = shakedown.VerificationOK
	return statusError(single)
}

// statusError is the error of a staple that verifies and does not say good.
func statusError(single *singleResponse) error {
	switch certStatuses[single.Status.Tag] {
	case "revoked":
		e := staple(ReasonRevoked, "have a new certificate issued", errors.New("the staple says that the certificate is revoked"))
		e.Alert = shakedown.AlertCertificateRevoked
		return e
	case "unknown":
		return staple(ReasonNoStatus, "ask the authority whether it issued this certificate",
			errors.New("the staple says that the responder does not know the certificate"))
	}
	return nil
}

// staple is an error about a staple. RFC 6066 (section 8) has its own alert.
func staple(reason Reason, hint string, err error) *VerifyError {
	return &VerifyError{Reason: reason, Alert: shakedown.AlertBadCertificateStatusResponse, Hint: hint, Err: err}
}

// parseResponse reads a response as far as its parts. On error it returns the
// word for a Staple's Status.
func parseResponse(der []byte) (basic basicResponse, status string, err error) {
	malformed := func(what string) (basicResponse, string, error) {
		return basicResponse{}, unreadable, fmt.Errorf("the staple is not an OCSP response: %s", what)
	}
	var response ocspResponse
	if rest, err := asn1.Unmarshal(der, &response); err != nil {
		return malformed(err.Error())
	} else if len(rest) > 0 {
		return malformed(fmt.Sprintf("%d bytes follow it", len(rest)))
	}
	if response.Status != 0 {
		word, ok := responseErrors[response.Status]
		if !ok {
			return malformed(fmt.Sprintf("its status is %d", response.Status))
		}
		return basicResponse{}, word, fmt.Errorf("the staple is the responder's error %q, and not about any certificate", word)
	}
	if !response.Bytes.Type.Equal(oidBasicResponse) {
		return malformed(fmt.Sprintf("it is of type %q", response.Bytes.Type))
	}
	if rest, err := asn1.Unmarshal(response.Bytes.Response, &basic); err != nil {
		return malformed(err.Error())
	} else if len(rest) > 0 {
		return malformed(fmt.Sprintf("%d bytes follow its signature", len(rest)))
	}
	if basic.Data.Version != 0 {
		return malformed(fmt.Sprintf("its version is %d", basic.Data.Version+1))
	}
	if len(basic.Data.Responses) == 0 {
		return malformed("it is about no certificate")
	}
	extensions := slices.Clone(basic.Data.Extensions)
	for _, r := range basic.Data.Responses {
		if _, ok := certStatuses[r.Status.Tag]; !ok || r.Status.Class != asn1.ClassContextSpecific {
			return malformed("a certificate has no status")
		}
		extensions = append(extensions, r.Extensions...)
	}
	for _, e := range extensions {
		if e.Critical { // none is defined to be, RFC 6960, section 4.4
			return malformed(fmt.Sprintf("it has the unknown critical extension %s", e.Id))
		}
	}
	return basic, "", nil
}

// leafIssuer returns the index of the certificate sent that issued the leaf, or
// -1. A self-signed leaf is its own issuer.
func (p *Parsed) leafIssuer() int {
	for i := 1; i < len(p.fields); i++ {
		if p.issued(i, 0) {
			return i
		}
	}
	if p.selfSigned(0) {
		return 0
	}
	return -1
}

// about returns the response that is about the leaf. Without the issuer's
// certificate its key is not compared.
func (p *Parsed) about(responses []singleResponse, issuer int) (*singleResponse, error) {
	leaf := &p.fields[0]
	serial := new(big.Int)
	if _, err := asn1.Unmarshal(leaf.serial.FullBytes, &serial); err != nil {
		return nil, staple(ReasonMalformed, "", errors.New("the leaf has no serial number that a staple could be about"))
	}
	var found error
	for i := range responses {
		r := &responses[i]
		if r.ID.Serial.Cmp(serial) != 0 {
			continue
		}
		hash, ok := idHashes[r.ID.Hash.Algorithm.String()]
		if !ok {
			found = staple(ReasonNotSupported, "", fmt.Errorf("the staple names its certificate by the unknown hash %s", r.ID.Hash.Algorithm))
			continue
		}
		if !bytes.Equal(r.ID.NameHash, digest(hash, leaf.rawIssuer)) ||
			issuer >= 0 && !bytes.Equal(r.ID.KeyHash, digest(hash, keyBits(p.fields[issuer].spki))) {
			found = wrongCertificate(fmt.Errorf("the staple is about a certificate with the leaf's serial number by another issuer"))
			continue
		}
		return r, nil
	}
	if found != nil {
		return nil, found
	}
	return nil, wrongCertificate(fmt.Errorf("the staple is about the certificate with serial number %x, and the leaf's is %x", responses[0].ID.Serial, serial))
}

func wrongCertificate(err error) error {
	return staple(ReasonWrongCertificate, "have the server staple for each of its certificates: one file for several is wrong for all but one", err)
}

// current checks the response's time. One without NextUpdate does not expire
// (RFC 6960, section 4.2.2.1).
func current(r *singleResponse, now time.Time) error {
	if now.Before(r.ThisUpdate) {
		return staple(ReasonNotYetValid, "check the clock of this machine",
			fmt.Errorf("the staple is not valid before %s, in %s", date(r.ThisUpdate), span(r.ThisUpdate.Sub(now))))
	}
	if !r.NextUpdate.IsZero() && now.After(r.NextUpdate) {
		return staple(ReasonExpired, "have the server fetch a new one: it may not reach the responder, or staple from a file",
			fmt.Errorf("the staple expired on %s, %s ago", date(r.NextUpdate), span(now.Sub(r.NextUpdate))))
	}
	return nil
}

// checkResponse verifies the signature with the key of the responder that the
// response names: the issuer, or one whose certificate it brings.
func (p *Parsed) checkResponse(basic basicResponse, issuer int, now time.Time) error {
	parent := p.X509[issuer]
	if parent == nil {
		e := p.refused(issuer)
		return staple(e.Reason, e.Hint, e.Err)
	}
	if err := oversized(parent); err != nil {
		return staple(ReasonNotSupported, "", err)
	}
	responder := parent
	if !isResponder(parent, basic.Data.ResponderID) {
		var err error
		if responder, err = delegate(basic, parent, now); err != nil {
			return err
		}
	}
	algorithm, ok := signatureAlgorithms[basic.Algorithm.Algorithm.String()]
	if !ok {
		return staple(ReasonNotSupported, "", fmt.Errorf("the staple has a signature of %s, which cannot be verified here", basic.Algorithm.Algorithm))
	}
	if insecure(algorithm) {
		return staple(ReasonInsecure, "", fmt.Errorf("the staple has a signature of %s, which is insecure and not accepted", algorithm))
	}
	if err := oversized(responder); err != nil {
		return staple(ReasonNotSupported, "", err)
	}
	err := responder.CheckSignature(algorithm, basic.Data.Raw, basic.Signature.RightAlign())
	switch {
	case err == nil:
		return nil
	case isUnsupported(err):
		return staple(ReasonNotSupported, "", fmt.Errorf("the staple's signature by %s cannot be verified here: %w", label(responder), trimmed{err}))
	}
	return staple(ReasonBadSignature, "", fmt.Errorf("the staple's signature is not that of %s: %w", label(responder), trimmed{err}))
}

// isResponder reports whether a ResponderID is that of c: its name [1], or the
// SHA-1 of its key [2].
func isResponder(c *x509.Certificate, id asn1.RawValue) bool {
	if id.Class != asn1.ClassContextSpecific {
		return false
	}
	switch id.Tag {
	case 1:
		return bytes.Equal(id.Bytes, c.RawSubject)
	case 2:
		var hash []byte
		rest, err := asn1.Unmarshal(id.Bytes, &hash)
		return err == nil && len(rest) == 0 && bytes.Equal(hash, digest(crypto.SHA1, keyBits(c.RawSubjectPublicKeyInfo)))
	}
	return false
}

// delegate returns the certificate of the responder that the response names and
// brings. The issuer itself must have issued it, for signing OCSP responses
// (RFC 6960, section 4.2.2.2).
func delegate(basic basicResponse, issuer *x509.Certificate, now time.Time) (*x509.Certificate, error) {
	for _, raw := range basic.Certificates {
		c, err := x509.ParseCertificate(raw.FullBytes)
		if err != nil || !isResponder(c, basic.Data.ResponderID) {
			continue
		}
		if !bytes.Equal(c.RawIssuer, issuer.RawSubject) || checkSignature(issuer, c) != nil {
			return nil, staple(ReasonUnknownAuthority, "", fmt.Errorf("the staple is by the responder %s, which the leaf's issuer did not certify", label(c)))
		}
		if !slices.Contains(c.ExtKeyUsage, x509.ExtKeyUsageOCSPSigning) {
			return nil, staple(ReasonNotPermitted, "", fmt.Errorf("the staple is signed by %s, which the leaf's issuer did not authorize to sign any", label(c)))
		}
		if now.Before(c.NotBefore) || now.After(c.NotAfter) {
			return nil, staple(ReasonExpired, "", fmt.Errorf("the certificate of the staple's responder %s is valid from %s to %s", label(c), date(c.NotBefore), date(c.NotAfter)))
		}
		return c, nil
	}
	return nil, staple(ReasonUnknownAuthority, "", errors.New("the staple is by a responder that is not the leaf's issuer and whose certificate it does not bring"))
}

func digest(h crypto.Hash, data []byte) []byte {
	hash := h.New()
	hash.Write(data)
	return hash.Sum(nil)
}

// keyBits returns the content of subjectPublicKey, the part of a key that OCSP
// hashes (RFC 6960, section 4.1.1), or nil.
func keyBits(spki []byte) []byte {
	var s struct {
		Algorithm asn1.RawValue
		Key       asn1.BitString
	}
	if _, err := asn1.Unmarshal(spki, &s); err != nil {
		return nil
	}
	return s.Key.RightAlign()
}
