package server

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// KeyKind names the key of a certificate: algorithm and size.
type KeyKind string

// The kinds of key a certificate can have. Those of RSAPSS2048 (an
// id-RSASSA-PSS key, RFC 8017, appendix A.2.3) and Ed448 are unknown to Go's
// standard library: they are made by the openssl command, are for leaves only,
// and only servers built on another library can use them.
const (
	RSA2048    KeyKind = "rsa2048"
	RSA3072    KeyKind = "rsa3072"
	RSA4096    KeyKind = "rsa4096"
	RSA8192    KeyKind = "rsa8192"
	RSAPSS2048 KeyKind = "rsapss2048"
	P256       KeyKind = "p256"
	P384       KeyKind = "p384"
	P521       KeyKind = "p521"
	Ed25519    KeyKind = "ed25519"
	Ed448      KeyKind = "ed448"
)

// KeyKinds returns every kind, in the order of the constants.
func KeyKinds() []KeyKind {
	return []KeyKind{RSA2048, RSA3072, RSA4096, RSA8192, RSAPSS2048, P256, P384, P521, Ed25519, Ed448}
}

// validate returns an error that lists the kinds there are.
func (k KeyKind) validate() error {
	if slices.Contains(KeyKinds(), k) {
		return nil
	}
	var names []string
	for _, kind := range KeyKinds() {
		names = append(names, string(kind))
	}
	return fmt.Errorf("unknown key kind %q: known are %s", string(k), strings.Join(names, ", "))
}

// IsRSA reports whether k is an RSA key of any size or padding.
func (k KeyKind) IsRSA() bool { return strings.HasPrefix(string(k), "rsa") }

// inGo reports whether Go's standard library can make and use such a key.
func (k KeyKind) inGo() bool { return k != RSAPSS2048 && k != Ed448 }

// generate makes a fresh key. Kinds that Go cannot hold return an error.
func (k KeyKind) generate() (crypto.Signer, error) {
	switch k {
	case RSA2048:
		return rsa.GenerateKey(rand.Reader, 2048)
	case RSA3072:
		return rsa.GenerateKey(rand.Reader, 3072)
	case RSA4096:
		return rsa.GenerateKey(rand.Reader, 4096)
	case RSA8192:
		return rsa.GenerateKey(rand.Reader, 8192)
	case P256:
		return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case P384:
		return ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	case P521:
		return ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	case Ed25519:
		_, key, err := ed25519.GenerateKey(rand.Reader)
		return key, err
	}
	if err := k.validate(); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("a key of kind %s cannot be made by Go's standard library", k)
}

// generateFile makes a key of a kind that only the openssl command knows and
// writes it to file, readable by its owner alone.
func (k KeyKind) generateFile(file string) error {
	args := []string{"genpkey", "-out", file}
	switch k {
	case RSAPSS2048:
		args = append(args, "-algorithm", "RSA-PSS", "-pkeyopt", "rsa_keygen_bits:2048")
	case Ed448:
		args = append(args, "-algorithm", "ED448")
	default:
		return fmt.Errorf("the openssl command is not needed for a key of kind %s", k)
	}
	if err := runOpenSSL(args...); err != nil {
		return err
	}
	return os.Chmod(file, 0o600)
}

// runOpenSSL runs the openssl command.
func runOpenSSL(args ...string) error {
	path, err := findProgram("", "openssl", "openssl")
	if err != nil {
		return fmt.Errorf("keys of this kind are made by the openssl command: %w", err)
	}
	return run(path, args...)
}

// run runs a command to its end; the error is the command's own text.
func run(path string, args ...string) error {
	if out, err := exec.Command(path, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", filepath.Base(path), args[0], err, strings.TrimSpace(string(out)))
	}
	return nil
}

// encodeKey returns key as PKCS #8 PEM, the form every server reads.
func encodeKey(key crypto.Signer) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// readKey reads what encodeKey wrote.
func readKey(file string) (crypto.Signer, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("%s: no PEM block", file)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("%s: key of type %T cannot sign", file, key)
	}
	return signer, nil
}
