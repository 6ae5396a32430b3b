package server

import (
	"fmt"
	"strings"

	"shakedown"
)

// opensslSuite returns OpenSSL's name of a suite, such as
// ECDHE-RSA-AES128-GCM-SHA256. The suites of TLS 1.3 keep their registered
// names there.
func opensslSuite(c shakedown.CipherSuite) (string, error) {
	name, isTLS := strings.CutPrefix(c.String(), "TLS_")
	exchange, cipher, isOld := strings.Cut(name, "_WITH_")
	if !isTLS {
		return "", fmt.Errorf("OpenSSL has no cipher suite %s", c)
	}
	if !isOld {
		return c.String(), nil
	}
	cipher = strings.NewReplacer(
		"3DES_EDE_CBC", "DES-CBC3", "AES_128", "AES128", "AES_256", "AES256",
		"CAMELLIA_128", "CAMELLIA128", "CAMELLIA_256", "CAMELLIA256", "RC4_128", "RC4",
		"CHACHA20_POLY1305_SHA256", "CHACHA20-POLY1305", "CCM_8", "CCM8", "CBC_", "",
	).Replace(cipher)
	exchange = strings.NewReplacer("ECDH_anon", "AECDH", "DH_anon", "ADH").Replace(exchange)
	if exchange == "RSA" {
		return strings.ReplaceAll(cipher, "_", "-"), nil
	}
	return strings.ReplaceAll(exchange+"-"+cipher, "_", "-"), nil
}

// opensslSuites joins the names of the suites of TLS 1.3, or of the versions
// before it, with colons.
func opensslSuites(s Spec, tls13 bool) (string, error) {
	var names []string
	for _, c := range s.suites(tls13) {
		name, err := opensslSuite(c)
		if err != nil {
			return "", err
		}
		names = append(names, name)
	}
	return strings.Join(names, ":"), nil
}

// opensslCiphers is the cipher string for the versions before TLS 1.3, "" for
// the default. What is weak works only at security level 0: asked for by name,
// it is meant.
func opensslCiphers(s Spec) (string, error) {
	names, err := opensslSuites(s, false)
	if err != nil {
		return "", err
	}
	weak := s.DHBits == 1024
	for _, v := range s.Versions {
		weak = weak || !v.AtLeast(shakedown.TLS12)
	}
	switch {
	case names != "":
		return names + ":@SECLEVEL=0", nil
	case weak:
		return "DEFAULT:@SECLEVEL=0", nil
	}
	return "", nil
}

// opensslGroups joins OpenSSL's names of the groups with colons.
func opensslGroups(groups []shakedown.Group) (string, error) {
	var names []string
	for _, g := range groups {
		switch g {
		case shakedown.X25519:
			names = append(names, "X25519")
		case shakedown.X448:
			names = append(names, "X448")
		case shakedown.Secp256r1:
			names = append(names, "P-256")
		case shakedown.Secp384r1:
			names = append(names, "P-384")
		case shakedown.Secp521r1:
			names = append(names, "P-521")
		case shakedown.FFDHE2048, shakedown.FFDHE3072, shakedown.FFDHE4096, shakedown.FFDHE6144, shakedown.FFDHE8192,
			shakedown.X25519MLKEM768, shakedown.SecP256r1MLKEM768, shakedown.SecP384r1MLKEM1024:
			names = append(names, g.String())
		default:
			return "", fmt.Errorf("OpenSSL has no group %s", g)
		}
	}
	return strings.Join(names, ":"), nil
}

// opensslVersion returns a version's name in the way of OpenSSL's configuration
// and of most servers', such as TLSv1.2. For TLS 1.0 some say TLSv1; this is the
// other name.
func opensslVersion(v shakedown.Version) string {
	return strings.Replace(v.String(), "TLS ", "TLSv", 1)
}

// canOpenSSL returns why no server built on OpenSSL can have these names and
// certificates.
func canOpenSSL(s Spec) error {
	for _, tls13 := range []bool{false, true} {
		if _, err := opensslSuites(s, tls13); err != nil {
			return err
		}
	}
	if _, err := opensslGroups(s.Groups); err != nil {
		return err
	}
	// OpenSSL holds one certificate for each type of key: the later would
	// silently replace the earlier.
	slots := map[string]KeyKind{}
	for _, k := range s.Certificates {
		slot := string(k)
		switch {
		case k == P256 || k == P384 || k == P521:
			slot = "EC"
		case k.IsRSA() && k != RSAPSS2048:
			slot = "RSA"
		}
		if other, taken := slots[slot]; taken {
			return fmt.Errorf("OpenSSL holds one %s certificate, not %s and %s", slot, other, k)
		}
		slots[slot] = k
	}
	return nil
}

// suiteName gives a suite its registered name; what is unknown stays.
func suiteName(name string) string {
	if c, err := shakedown.ParseCipherSuite(name); err == nil {
		return c.String()
	}
	return name
}

// groupName gives a group the RFC's name; what is unknown stays.
func groupName(name string) string {
	if g, err := shakedown.ParseGroup(name); err == nil {
		return g.String()
	}
	return name
}
