package certificate

import (
	"crypto/x509"
	"encoding/asn1"
	"fmt"

	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"

	"shakedown/internal/wire"
)

// Facts are what a leaf and its chain say beyond keys and names.
type Facts struct {
	// MustStaple: a client is to refuse the leaf without a staple (RFC 7633).
	MustStaple bool
	// OCSP and Issuers are the URLs of authority information access (RFC 5280,
	// section 4.2.2.1), CRL those of section 4.2.1.13.
	OCSP, Issuers, CRL []string
	// ExtKeyUsages of the leaf, such as "serverAuth", or an object identifier;
	// empty if the leaf does not restrict its use.
	ExtKeyUsages []string
	// SCTs embedded in the leaf (RFC 6962, section 3.3).
	SCTs int
	// SelfSigned: the leaf has no issuer but itself.
	SelfSigned bool
	// RootSent: the chain after the leaf holds a self-signed certificate, bytes
	// that no client needs.
	RootSent bool
}

var (
	oidTLSFeature = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 1, 24}
	oidSCTList    = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 11129, 2, 4, 2}
)

// Facts reads them from the chain. The error is the leaf's: that crypto/x509
// refused it, or that one of these extensions is malformed.
func (p *Parsed) Facts() (Facts, error) {
	leaf := p.X509[0]
	if leaf == nil {
		return Facts{}, fmt.Errorf("the server's certificate cannot be read: %s", p.Certificates[0].Problem)
	}
	f := Facts{
		OCSP: leaf.OCSPServer, Issuers: leaf.IssuingCertificateURL, CRL: leaf.CRLDistributionPoints,
		SelfSigned: p.selfSigned(0),
	}
	for i := 1; i < len(p.DER); i++ {
		f.RootSent = f.RootSent || p.selfSigned(i)
	}
	for _, usage := range leaf.ExtKeyUsage {
		f.ExtKeyUsages = append(f.ExtKeyUsages, usage.String())
	}
	for _, usage := range leaf.UnknownExtKeyUsage {
		f.ExtKeyUsages = append(f.ExtKeyUsages, usage.String())
	}
	var err error
	for _, extension := range leaf.Extensions {
		switch {
		case extension.Id.Equal(oidTLSFeature):
			f.MustStaple, err = mustStaple(extension.Value)
		case extension.Id.Equal(oidSCTList):
			f.SCTs, err = embeddedSCTs(extension.Value)
		}
		if err != nil {
			return Facts{}, fmt.Errorf("the server's certificate: %w", err)
		}
	}
	return f, nil
}

// mustStaple reports whether the TLS feature extension demands status_request,
// which is extension 5 (RFC 7633, section 4).
func mustStaple(der []byte) (bool, error) {
	var features []int
	if rest, err := asn1.Unmarshal(der, &features); err != nil || len(rest) > 0 {
		return false, fmt.Errorf("malformed TLS feature extension")
	}
	for _, feature := range features {
		if feature == 5 {
			return true, nil
		}
	}
	return false, nil
}

// embeddedSCTs counts the list that is wrapped in an OCTET STRING.
func embeddedSCTs(der []byte) (int, error) {
	input := cryptobyte.String(der)
	var list cryptobyte.String
	if !input.ReadASN1(&list, cbasn1.OCTET_STRING) || !input.Empty() {
		return 0, fmt.Errorf("malformed SCT extension")
	}
	scts, err := wire.ParseSignedCertificateTimestamps(nil, list)
	return len(scts), err
}

// IsServer reports whether the leaf may authenticate a server: it names that
// use (serverAuth), any use, or none at all (RFC 5280, section 4.2.1.12).
func (f *Facts) IsServer() bool {
	for _, usage := range f.ExtKeyUsages {
		if usage == x509.ExtKeyUsageServerAuth.String() || usage == x509.ExtKeyUsageAny.String() {
			return true
		}
	}
	return len(f.ExtKeyUsages) == 0
}
