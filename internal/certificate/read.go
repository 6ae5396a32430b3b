package certificate

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"net"
	"time"

	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"
)

// fields are those of a certificate that are read even when crypto/x509 refuses
// it (RFC 5280, section 4.1). The slices are parts of the DER.
type fields struct {
	serial                asn1.RawValue
	signature             asn1.ObjectIdentifier
	rawIssuer, rawSubject []byte
	issuer, subject       pkix.Name
	notBefore, notAfter   time.Time
	spki                  []byte // SubjectPublicKeyInfo
	names                 []string
}

// readFields reads a certificate as far as its names. It does not judge: a
// negative serial number, an unknown curve or a strange extension are let pass.
// On error the fields before the fault are filled in.
func readFields(der []byte) (f fields, err error) {
	input := cryptobyte.String(der)
	var certificate, tbs cryptobyte.String
	if !input.ReadASN1(&certificate, cbasn1.SEQUENCE) || !input.Empty() {
		return f, errors.New("not one DER sequence")
	}
	if !certificate.ReadASN1(&tbs, cbasn1.SEQUENCE) {
		return f, errors.New("malformed TBSCertificate")
	}
	version := cbasn1.Tag(0).Constructed().ContextSpecific()
	var serial, algorithm cryptobyte.String
	if !tbs.SkipOptionalASN1(version) || !tbs.ReadASN1Element(&serial, cbasn1.INTEGER) {
		return f, errors.New("malformed version or serial number")
	}
	if rest, err := asn1.Unmarshal(serial, &f.serial); err != nil || len(rest) > 0 {
		return f, errors.New("malformed serial number")
	}
	if !tbs.ReadASN1(&algorithm, cbasn1.SEQUENCE) || !algorithm.ReadASN1ObjectIdentifier(&f.signature) {
		return f, errors.New("malformed signature algorithm")
	}
	if f.rawIssuer, f.issuer, err = readName(&tbs); err != nil {
		return f, errors.New("malformed issuer")
	}
	var validity cryptobyte.String
	if !tbs.ReadASN1(&validity, cbasn1.SEQUENCE) || !readTime(&validity, &f.notBefore) || !readTime(&validity, &f.notAfter) {
		return f, errors.New("malformed validity")
	}
	if f.rawSubject, f.subject, err = readName(&tbs); err != nil {
		return f, errors.New("malformed subject")
	}
	if !tbs.ReadASN1Element((*cryptobyte.String)(&f.spki), cbasn1.SEQUENCE) {
		return f, errors.New("malformed public key")
	}
	f.names, err = readNames(tbs)
	return f, err
}

// readName reads a distinguished name.
func readName(s *cryptobyte.String) (raw []byte, name pkix.Name, err error) {
	if !s.ReadASN1Element((*cryptobyte.String)(&raw), cbasn1.SEQUENCE) {
		return nil, name, errors.New("no name")
	}
	var sequence pkix.RDNSequence
	if rest, err := asn1.Unmarshal(raw, &sequence); err != nil || len(rest) > 0 {
		return nil, name, errors.New("malformed name")
	}
	name.FillFromRDNSequence(&sequence)
	return raw, name, nil
}

// readTime reads a UTCTime or a GeneralizedTime.
func readTime(s *cryptobyte.String, t *time.Time) bool {
	if s.PeekASN1Tag(cbasn1.UTCTime) {
		return s.ReadASN1UTCTime(t)
	}
	return s.ReadASN1GeneralizedTime(t)
}

var oidSubjectAltName = asn1.ObjectIdentifier{2, 5, 29, 17}

// readNames reads the DNS names and IP addresses of the subject alternative
// name among what follows the public key (RFC 5280, sections 4.1 and 4.2.1.6).
func readNames(tbs cryptobyte.String) (names []string, err error) {
	malformed := errors.New("malformed extensions")
	context := func(n uint8) cbasn1.Tag { return cbasn1.Tag(n).ContextSpecific() }
	if !tbs.SkipOptionalASN1(context(1)) || !tbs.SkipOptionalASN1(context(2)) { // unique identifiers
		return nil, malformed
	}
	var extensions cryptobyte.String
	var present bool
	if !tbs.ReadOptionalASN1(&extensions, &present, context(3).Constructed()) {
		return nil, malformed
	}
	if !present {
		return nil, nil
	}
	if !extensions.ReadASN1(&extensions, cbasn1.SEQUENCE) {
		return nil, malformed
	}
	for !extensions.Empty() {
		var extension, value cryptobyte.String
		var id asn1.ObjectIdentifier
		if !extensions.ReadASN1(&extension, cbasn1.SEQUENCE) || !extension.ReadASN1ObjectIdentifier(&id) ||
			!extension.SkipOptionalASN1(cbasn1.BOOLEAN) || !extension.ReadASN1(&value, cbasn1.OCTET_STRING) {
			return nil, malformed
		}
		if !id.Equal(oidSubjectAltName) {
			continue
		}
		if !value.ReadASN1(&value, cbasn1.SEQUENCE) {
			return nil, malformed
		}
		for !value.Empty() {
			var name cryptobyte.String
			var tag cbasn1.Tag
			if !value.ReadAnyASN1(&name, &tag) {
				return nil, malformed
			}
			switch {
			case tag == context(2): // dNSName
				names = append(names, string(name))
			case tag == context(7) && (len(name) == net.IPv4len || len(name) == net.IPv6len): // iPAddress
				names = append(names, net.IP(name).String())
			}
		}
	}
	return names, nil
}

// signatureAlgorithms are those of crypto/x509, which keeps their object
// identifiers to itself. PSS is told apart by parameters and is not among them.
var signatureAlgorithms = map[string]x509.SignatureAlgorithm{
	"1.2.840.113549.1.1.4":  x509.MD5WithRSA,
	"1.2.840.113549.1.1.5":  x509.SHA1WithRSA,
	"1.2.840.113549.1.1.11": x509.SHA256WithRSA,
	"1.2.840.113549.1.1.12": x509.SHA384WithRSA,
	"1.2.840.113549.1.1.13": x509.SHA512WithRSA,
	"1.2.840.10045.4.1":     x509.ECDSAWithSHA1,
	"1.2.840.10045.4.3.2":   x509.ECDSAWithSHA256,
	"1.2.840.10045.4.3.3":   x509.ECDSAWithSHA384,
	"1.2.840.10045.4.3.4":   x509.ECDSAWithSHA512,
	"1.3.101.112":           x509.PureEd25519,
}

// signatureNames are those of algorithms that crypto/x509 does not know.
var signatureNames = map[string]string{
	"1.2.840.113549.1.1.10":   "RSAPSS", // with parameters other than the usual
	"1.2.840.113549.1.1.14":   "SHA224-RSA",
	"1.2.840.10045.4.3.1":     "ECDSA-SHA224",
	"1.3.101.113":             "Ed448",
	"2.16.840.1.101.3.4.3.17": "ML-DSA-44",
	"2.16.840.1.101.3.4.3.18": "ML-DSA-65",
	"2.16.840.1.101.3.4.3.19": "ML-DSA-87",
	"1.2.156.10197.1.501":     "SM2-SM3",
}

// signatureName returns the name of the signature algorithm, its object
// identifier if it has none here.
func (f *fields) signatureName() string {
	id := f.signature.String()
	if algorithm, ok := signatureAlgorithms[id]; ok {
		return algorithm.String()
	}
	if name, ok := signatureNames[id]; ok {
		return name
	}
	return id
}

// oidSM2 names the curve of an SM2 key (GB/T 33560).
var oidSM2 = asn1.ObjectIdentifier{1, 2, 156, 10197, 1, 301}

// isSM2 reports whether the certificate holds a key on the SM2 curve.
func (f *fields) isSM2() bool {
	spki := cryptobyte.String(f.spki)
	var algorithm cryptobyte.String
	var id, curve asn1.ObjectIdentifier
	return spki.ReadASN1(&spki, cbasn1.SEQUENCE) && spki.ReadASN1(&algorithm, cbasn1.SEQUENCE) &&
		algorithm.ReadASN1ObjectIdentifier(&id) && algorithm.ReadASN1ObjectIdentifier(&curve) && curve.Equal(oidSM2)
}
