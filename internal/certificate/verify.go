package certificate

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"shakedown"
)

// Reason is what is wrong with a chain or a staple, one word for each thing
// that is put right in a different way.
type Reason string

const (
	ReasonExpired             Reason = "expired"
	ReasonNotYetValid         Reason = "not yet valid"
	ReasonSelfSigned          Reason = "self-signed"          // the leaf, which is not trusted itself
	ReasonMissingIntermediate Reason = "missing intermediate" // nothing sent issued the leaf
	ReasonUnknownAuthority    Reason = "unknown authority"    // the chain ends at no trusted root
	ReasonName                Reason = "name mismatch"
	ReasonBadSignature        Reason = "bad signature"
	ReasonInsecure            Reason = "insecure signature" // MD5, SHA-1
	ReasonNotPermitted        Reason = "not permitted"      // by usage, constraint, or path length
	ReasonMalformed           Reason = "malformed"
	ReasonNotSupported        Reason = "not supported" // of an algorithm that cannot be verified here
	ReasonNoRoots             Reason = "no roots"      // this machine's fault, not the server's
	ReasonRevoked             Reason = "revoked"       // a valid staple says so
	ReasonNoStatus            Reason = "no status"     // a valid staple says nothing of the leaf
	ReasonWrongCertificate    Reason = "wrong certificate"
)

// VerifyError says why a chain, a name or a staple does not verify.
type VerifyError struct {
	Reason Reason
	// Alert is the one a client ends the handshake with (RFC 8446, section 6.2).
	Alert shakedown.Alert
	// Hint is what to do about it, for whoever runs the server or the client.
	Hint string
	// Err is the sentence, and wraps the error of crypto/x509 if there is one.
	Err error
}

// Error returns the sentence.
func (e *VerifyError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *VerifyError) Unwrap() error { return e.Err }

// Outcome returns what a Result says of an error of [Verify] or [ParseStaple],
// or of none.
func Outcome(err error) shakedown.Verification {
	if err == nil {
		return shakedown.VerificationOK
	}
	if v, ok := errors.AsType[*VerifyError](err); ok && v.Reason == ReasonNotSupported {
		return shakedown.VerificationNotSupported
	}
	return shakedown.VerificationFailed
}

// Verify checks that p leads from roots to a server called name, at time now.
// With roots nil those of the system are used. The name may be an IP address,
// with or without brackets and zone; the empty name matches no certificate.
// Every error is a *[VerifyError].
func Verify(p *Parsed, roots *x509.CertPool, name string, now time.Time) error {
	leaf := p.X509[0]
	if leaf == nil {
		return p.refused(0)
	}
	for _, c := range p.X509 {
		if c == nil {
			continue
		}
		if err := oversized(c); err != nil {
			return &VerifyError{Reason: ReasonNotSupported, Alert: shakedown.AlertUnsupportedCertificate, Err: err}
		}
	}
	_, err := leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: p.intermediates, CurrentTime: now})
	if err != nil {
		return p.explain(err, now)
	}
	return verifyName(leaf, name)
}

// explain turns an error of crypto/x509 into one that tells causes apart.
func (p *Parsed) explain(err error, now time.Time) error {
	if _, ok := errors.AsType[x509.SystemRootsError](err); ok {
		return &VerifyError{Reason: ReasonNoRoots, Alert: shakedown.AlertInternalError,
			Hint: "install the system's root certificates, or say which to trust",
			Err:  fmt.Errorf("this machine's root certificates cannot be read: %w", err)}
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok {
		if invalid.Reason == x509.Expired {
			return expired(invalid.Cert, now, err)
		}
		return notPermitted(invalid, err)
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return p.unknownAuthority(err)
	}
	if _, ok := errors.AsType[x509.UnhandledCriticalExtension](err); ok {
		return &VerifyError{Reason: ReasonNotSupported, Alert: shakedown.AlertUnsupportedCertificate,
			Err: fmt.Errorf("the server's certificate has a critical extension that is unknown here: %w", trimmed{err})}
	}
	return &VerifyError{Reason: ReasonNotPermitted, Alert: shakedown.AlertBadCertificate,
		Err: fmt.Errorf("the server's certificate does not verify: %w", trimmed{err})}
}

// expired is the error for a certificate outside its validity. RFC 8446
// (section 6.2) has one alert for both ends: "expired or not currently valid".
func expired(c *x509.Certificate, now time.Time, err error) error {
	e := &VerifyError{Reason: ReasonExpired, Alert: shakedown.AlertCertificateExpired, Hint: "renew the certificate and have the server load it"}
	if now.Before(c.NotBefore) {
		e.Reason, e.Hint = ReasonNotYetValid, "check the clock of this machine"
		e.Err = &sentence{fmt.Sprintf("certificate %s is not valid before %s, in %s", label(c), date(c.NotBefore), span(c.NotBefore.Sub(now))), err}
		return e
	}
	e.Err = &sentence{fmt.Sprintf("certificate %s expired on %s, %s ago", label(c), date(c.NotAfter), span(now.Sub(c.NotAfter))), err}
	return e
}

// notPermitted is the error for a certificate used for what it is not for.
func notPermitted(invalid x509.CertificateInvalidError, err error) error {
	e := &VerifyError{Reason: ReasonNotPermitted, Alert: shakedown.AlertBadCertificate}
	e.Err = fmt.Errorf("certificate %s is not permitted to be used so: %w", label(invalid.Cert), trimmed{err})
	if invalid.Reason == x509.IncompatibleUsage {
		e.Alert = shakedown.AlertUnsupportedCertificate
		e.Hint = "have the certificate issued for server authentication (extended key usage serverAuth)"
	}
	return e
}

// unknownAuthority finds out where the path from the leaf breaks off. What the
// server sent is known here, what is trusted only by its failing.
func (p *Parsed) unknownAuthority(err error) error {
	at, visited := 0, make([]bool, len(p.X509))
	for {
		visited[at] = true
		next, found := p.findIssuer(at, visited)
		if found != nil {
			return found
		}
		if next < 0 {
			break
		}
		at = next
	}
	last, selfSigned := p.X509[at], p.selfSigned(at)
	if !selfSigned {
		if found := p.unverifiable(at); found != nil {
			return found
		}
	}
	e := &VerifyError{Reason: ReasonUnknownAuthority, Alert: shakedown.AlertUnknownCA}
	issuer := p.Certificates[at].Issuer
	// crypto/x509 knows of a root of the right name that did not fit.
	detail := plain(err)
	switch {
	case selfSigned && at == 0:
		e.Reason = ReasonSelfSigned
		e.Err = &sentence{fmt.Sprintf("certificate %s is self-signed and is not trusted itself", label(last)), err}
		e.Hint = "trust this certificate, or have one issued by an authority that clients trust"
	case selfSigned:
		e.Err = &sentence{fmt.Sprintf("the chain ends at the root %s, which is not trusted: %s", label(last), detail), err}
		e.Hint = "add that root to those trusted, if it is meant to be"
	case at == 0 && len(last.IssuingCertificateURL) > 0:
		e.Reason = ReasonMissingIntermediate
		e.Err = &sentence{fmt.Sprintf("the server sent no certificate that issued %s, and its issuer %q is not trusted: %s", label(last), issuer, detail), err}
		e.Hint = "have the server send the intermediate certificate after its own; it is at " + last.IssuingCertificateURL[0]
	default:
		e.Err = &sentence{fmt.Sprintf("the chain ends at %s, whose issuer %q is neither sent nor trusted: %s", label(last), issuer, detail), err}
		e.Hint = "add that issuer to those trusted, if it is meant to be; if it is not a root, have the server send it"
	}
	return e
}

// findIssuer returns the index of the certificate sent that issued certificate
// at, or -1; or the error that candidates there were, and none fitted.
func (p *Parsed) findIssuer(at int, visited []bool) (int, error) {
	var found error
	for i, candidate := range p.X509 {
		if visited[i] || !p.named(i, at) {
			continue
		}
		if candidate == nil {
			found = p.refused(i)
			continue
		}
		if found = p.unverifiable(at); found != nil {
			continue
		}
		child := p.X509[at]
		err := child.CheckSignatureFrom(candidate)
		if err == nil {
			return i, nil
		}
		found = misissued(child, candidate, err, p.Certificates[i].Key)
	}
	return -1, found
}

// misissued is the error for a certificate whose issuer, by name, did not issue
// it, or had no right to, or has a key of a kind that cannot be told.
func misissued(child, issuer *x509.Certificate, err error, key string) error {
	if isUnsupported(err) {
		return &VerifyError{Reason: ReasonNotSupported, Alert: shakedown.AlertUnsupportedCertificate,
			Err: &sentence{fmt.Sprintf("certificate %s has a signature of %s by a key of %s, which cannot be verified here", label(child), child.SignatureAlgorithm, orUnknown(key)), err}}
	}
	if _, ok := errors.AsType[x509.ConstraintViolationError](err); ok {
		return &VerifyError{Reason: ReasonNotPermitted, Alert: shakedown.AlertBadCertificate,
			Hint: "have the certificate issued by an authority: its issuer is none",
			Err:  &sentence{fmt.Sprintf("certificate %s is issued by %s, which is not permitted to issue any", label(child), label(issuer)), err}}
	}
	return &VerifyError{Reason: ReasonBadSignature, Alert: shakedown.AlertBadCertificate,
		Hint: "the server may send an intermediate of the same name with another key: send the one that came with its certificate",
		Err:  &sentence{fmt.Sprintf("certificate %s is not signed by the %s that the server sent: %s", label(child), label(issuer), plain(err)), err}}
}

// unverifiable returns an error if no key whatever would verify the signature
// of certificate i, and nil otherwise.
func (p *Parsed) unverifiable(i int) error {
	c, signature := p.X509[i], p.Certificates[i].Signature
	switch {
	case c.SignatureAlgorithm == x509.UnknownSignatureAlgorithm:
		return &VerifyError{Reason: ReasonNotSupported, Alert: shakedown.AlertUnsupportedCertificate,
			Err: fmt.Errorf("certificate %s has a signature of %s, which cannot be verified here", label(c), signature)}
	case insecure(c.SignatureAlgorithm):
		return &VerifyError{Reason: ReasonInsecure, Alert: shakedown.AlertBadCertificate,
			Hint: "have the certificate issued again with SHA-256",
			Err:  fmt.Errorf("certificate %s has a signature of %s, which is insecure and not accepted", label(c), signature)}
	}
	return nil
}

// insecure reports whether signatures of the algorithm can be forged. (Of these
// CheckSignature still accepts SHA-1.)
func insecure(algorithm x509.SignatureAlgorithm) bool {
	switch algorithm {
	case x509.MD2WithRSA, x509.MD5WithRSA, x509.SHA1WithRSA, x509.DSAWithSHA1, x509.ECDSAWithSHA1:
		return true
	}
	return false
}

// refused is the error for a certificate that crypto/x509 could not parse: of
// a kind it does not know, or malformed.
func (p *Parsed) refused(i int) *VerifyError {
	problem := p.Certificates[i].Problem
	if spki := p.fields[i].spki; spki != nil {
		if _, err := x509.ParsePKIXPublicKey(spki); err != nil {
			return &VerifyError{Reason: ReasonNotSupported, Alert: shakedown.AlertUnsupportedCertificate,
				Err: fmt.Errorf("certificate %d of the server has a key of %s, and a chain with one cannot be verified here: %s", i+1, orUnknown(p.Certificates[i].Key), problem)}
		}
	}
	return &VerifyError{Reason: ReasonMalformed, Alert: shakedown.AlertBadCertificate,
		Hint: "have the certificate issued again",
		Err:  fmt.Errorf("certificate %d of the server is malformed: %s", i+1, problem)}
}

func orUnknown(key string) string {
	if key == "" {
		return "an unknown kind"
	}
	return key
}

// maxNames bounds how many of a certificate's names an error lists.
const maxNames = 10

// verifyName checks that the leaf is for name.
func verifyName(leaf *x509.Certificate, name string) error {
	host := strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	if address, err := netip.ParseAddr(host); err == nil {
		name = address.WithZone("").String() // a zone is of this machine alone
	}
	err := leaf.VerifyHostname(name)
	if err == nil {
		return nil
	}
	names := leaf.DNSNames
	for _, ip := range leaf.IPAddresses {
		names = append(names[:len(names):len(names)], ip.String())
	}
	e := &VerifyError{Reason: ReasonName, Alert: shakedown.AlertBadCertificate,
		Hint: "ask for a name that the certificate has, or have the server use the certificate for this name"}
	switch {
	case name == "":
		e.Err = &sentence{"no name was given to compare with the certificate's", err}
		e.Hint = "give the name that the server is to be called by"
	case len(names) == 0 && strings.EqualFold(leaf.Subject.CommonName, name):
		e.Err = &sentence{fmt.Sprintf("the certificate has the name %q only as its common name, which clients do not look at", name), err}
		e.Hint = "have it issued with a subject alternative name"
	case len(names) == 0:
		e.Err = &sentence{fmt.Sprintf("the certificate is for no name at all, and so not for %q", name), err}
	case len(names) > maxNames:
		e.Err = &sentence{fmt.Sprintf("the certificate is for %s and %d more, not for %q", strings.Join(names[:maxNames], ", "), len(names)-maxNames, name), err}
	default:
		e.Err = &sentence{fmt.Sprintf("the certificate is for %s, not for %q", strings.Join(names, ", "), name), err}
	}
	return e
}

// sentence is an error told in our words instead of its cause's.
type sentence struct {
	text  string
	cause error
}

func (s *sentence) Error() string { return s.text }
func (s *sentence) Unwrap() error { return s.cause }

// trimmed is an error of crypto/x509 without the name of its package.
type trimmed struct{ error }

func (t trimmed) Error() string { return plain(t.error) }
func (t trimmed) Unwrap() error { return t.error }

func date(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// span prints a duration as one reads it: days from two days on.
func span(d time.Duration) string {
	if d >= 48*time.Hour {
		return fmt.Sprintf("%d days", int(d.Hours()/24))
	}
	if d >= time.Minute {
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	}
	return d.Round(time.Second).String()
}
