package certificate

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFacts(t *testing.T) {
	w := theWorld()
	base := Facts{
		OCSP: []string{"http://ocsp.test/"}, Issuers: []string{"http://ca.test/intermediate.der"}, CRL: []string{"http://crl.test/1.crl"},
		ExtKeyUsages: []string{"serverAuth"},
	}
	extended := func(change func(*x509.Certificate)) *entity {
		template := leafTemplate()
		change(template)
		return issue(template, newP256(), w.intermediate)
	}
	extension := func(oid asn1.ObjectIdentifier, value ...byte) *entity {
		return extended(func(c *x509.Certificate) { c.ExtraExtensions = []pkix.Extension{{Id: oid, Value: value}} })
	}
	with := func(change func(*Facts)) Facts {
		f := base
		change(&f)
		return f
	}
	for _, test := range []struct {
		name   string
		list   [][]byte
		want   Facts
		server bool
	}{
		{"usual", chain(w.leaf, w.intermediate), base, true},
		{"root sent", chain(w.leaf, w.intermediate, w.root), with(func(f *Facts) { f.RootSent = true }), true},
		{"self-signed", chain(issue(leafTemplate(), newP256(), nil)), with(func(f *Facts) { f.SelfSigned = true }), true},
		{"must-staple", chain(extension(oidTLSFeature, 0x30, 3, 2, 1, 5)), with(func(f *Facts) { f.MustStaple = true }), true},
		{"must-staple, second", chain(extension(oidTLSFeature, 0x30, 6, 2, 1, 17, 2, 1, 5)), with(func(f *Facts) { f.MustStaple = true }), true},
		{"another TLS feature", chain(extension(oidTLSFeature, 0x30, 3, 2, 1, 17)), base, true},
		{"two SCTs", chain(extension(oidSCTList, 4, 9, 0, 7, 0, 2, 1, 2, 0, 1, 3)), with(func(f *Facts) { f.SCTs = 2 }), true},
		{"no usage", chain(extended(func(c *x509.Certificate) { c.ExtKeyUsage = nil })), with(func(f *Facts) { f.ExtKeyUsages = nil }), true},
		{"for clients", chain(extended(func(c *x509.Certificate) {
			c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
			c.UnknownExtKeyUsage = []asn1.ObjectIdentifier{{1, 2, 3}}
		})), with(func(f *Facts) { f.ExtKeyUsages = []string{"clientAuth", "1.2.3"} }), false},
	} {
		got, err := parse(t, test.list...).Facts()
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
		if got.IsServer() != test.server {
			t.Errorf("%s: IsServer %v", test.name, got.IsServer())
		}
	}

	for name, list := range map[string][][]byte{
		"TLS feature, truncated": chain(extension(oidTLSFeature, 0x30, 3, 2, 1)),
		"TLS feature, trailing":  chain(extension(oidTLSFeature, 0x30, 3, 2, 1, 5, 0)),
		"SCT, truncated":         chain(extension(oidSCTList, 4, 9, 0, 7, 0, 2, 1, 2, 0, 1)),
		"SCT list, truncated":    chain(extension(oidSCTList, 4, 5, 0, 4, 0, 2, 1)),
		"SCT, trailing":          chain(extension(oidSCTList, 4, 2, 0, 0, 9)),
	} {
		if f, err := parse(t, list...).Facts(); err == nil {
			t.Errorf("%s: %+v", name, f)
		}
	}
}
