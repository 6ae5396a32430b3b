package lab

import (
	"context"
	"crypto"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/mlkem"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"time"

	"shakedown"
	"shakedown/internal/host"
	"shakedown/internal/server"
)

// Library is what does a server's cryptography.
type Library string

const (
	openSSL Library = "OpenSSL" // measured by openssl speed
	goLib   Library = "Go"      // measured in this program
)

// library returns that of a driver's server, "" if its operations cannot be
// measured here.
func library(driver string) Library {
	switch driver {
	case "nginx", "openssl", "haproxy", "stunnel", "apache":
		return openSSL
	case "embedded":
		return goLib
	}
	return ""
}

// Operation is a cryptographic step of a handshake, on the server's side.
type Operation struct {
	Library Library `json:"library"`
	// Name is "sign" with a key as chains have it, or "exchange" with a group.
	Name string `json:"name"`
}

// Primitive is what an operation took in one round.
type Primitive struct {
	Operation
	CPU float64 `json:"cpu_ns"` // of one
}

// signing and exchange name operations.
func signing(key string) string      { return "sign " + key }
func exchanging(group string) string { return "exchange " + group }

// operations returns those that the cells' handshakes are made of.
func operations(cells []*Cell) []Operation {
	var all []Operation
	add := func(lib Library, name string) {
		if o := (Operation{lib, name}); lib != "" && !slices.Contains(all, o) {
			all = append(all, o)
		}
	}
	for _, c := range cells {
		lib := library(c.Driver.Name())
		kinds := c.Spec.Certificates
		if len(kinds) == 0 {
			kinds = []server.KeyKind{server.RSA2048}
		}
		for _, k := range kinds {
			add(lib, signing(chainName(k)))
		}
		groups := c.Spec.Groups
		if len(groups) == 0 {
			groups = clientGroups[:1]
		}
		for _, g := range groups {
			// The first is what a client prefers; more are there for certificates.
			add(lib, exchanging(g.String()))
			break
		}
		if c.Spec.DHBits > 0 {
			add(lib, exchanging(dhName(c.Spec.DHBits)))
		}
	}
	return all
}

func dhName(bits int) string { return "ffdhe " + strconv.Itoa(bits) }

// primitiveRounds is in how many of the rounds primitives are measured: in
// every other one, so that they stand in the same time as the turns.
func primitiveRounds(rounds int) int { return (rounds + 1) / 2 }

// primitives measures the operations on the core of the server. What cannot be
// measured is left out: the report then has no parts for it.
func (r *runner) primitives(ctx context.Context) []Primitive {
	var all []Primitive
	for _, o := range operations(r.cells) {
		if ctx.Err() != nil {
			return nil
		}
		var cpu float64
		var err error
		if o.Library == openSSL {
			cpu, err = r.speed(ctx, o.Name)
		} else {
			cpu, err = r.goCost(o.Name)
		}
		if err == nil {
			all = append(all, Primitive{o, cpu})
		}
	}
	return all
}

// speedNames are the operations in the words of openssl speed.
var speedNames = map[string]string{
	signing("RSA-2048"): "rsa2048", signing("RSA-3072"): "rsa3072", signing("RSA-4096"): "rsa4096",
	signing("ECDSA-P256"): "ecdsap256", signing("ECDSA-P384"): "ecdsap384", signing("ECDSA-P521"): "ecdsap521", signing("Ed25519"): "ed25519",
	exchanging(shakedown.X25519.String()): "ecdhx25519", exchanging(shakedown.Secp256r1.String()): "ecdhp256",
	exchanging(shakedown.Secp384r1.String()): "ecdhp384", exchanging(shakedown.Secp521r1.String()): "ecdhp521",
	exchanging(dhName(2048)): "ffdh2048", exchanging(dhName(3072)): "ffdh3072", exchanging(dhName(4096)): "ffdh4096",
}

// speed returns the CPU time of one operation by openssl speed, in nanoseconds.
func (r *runner) speed(ctx context.Context, name string) (float64, error) {
	algorithm, ok := speedNames[name]
	if !ok {
		return 0, fmt.Errorf("openssl speed does not measure %s", name)
	}
	rates, err := host.OpenSSLSpeed(ctx, algorithm)
	if err != nil {
		return 0, err
	}
	return 1e9 / rates[0], nil
}

// goTurn is how long an operation in this program is measured.
const goTurn = 150 * time.Millisecond

// goCost measures an operation of Go's library by the CPU time of one thread.
func (r *runner) goCost(name string) (float64, error) {
	if r.goOperations == nil {
		r.goOperations = map[string]func() error{}
	}
	run, ok := r.goOperations[name]
	if !ok {
		var err error
		if run, err = goOperation(name); err != nil {
			return 0, err
		}
		r.goOperations[name] = run
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := host.Thread()
	if err != nil {
		return 0, err
	}
	n := 0
	for begun := time.Now(); time.Since(begun) < goTurn; n++ {
		if err := run(); err != nil {
			return 0, err
		}
	}
	after, err := host.Thread()
	if err != nil {
		return 0, err
	}
	return float64(after.Since(before).CPU()) / float64(n), nil
}

// goOperation makes an operation as crypto/tls does it.
func goOperation(name string) (func() error, error) {
	var key crypto.Signer
	var err error
	opts := crypto.SignerOpts(crypto.SHA256)
	digest := sha256.Sum256([]byte(name))
	message := digest[:]
	switch name {
	case signing("RSA-2048"), signing("RSA-3072"), signing("RSA-4096"):
		bits, _ := strconv.Atoi(name[len(name)-4:]) //nolint:errcheck // the case says what it is
		key, err = rsa.GenerateKey(rand.Reader, bits)
		opts = &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash, Hash: crypto.SHA256}
	case signing("ECDSA-P256"):
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case signing("ECDSA-P384"):
		key, err = ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	case signing("ECDSA-P521"):
		key, err = ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	case signing("Ed25519"):
		_, key, err = ed25519.GenerateKey(rand.Reader)
		opts = crypto.Hash(0)
	case exchanging(shakedown.X25519.String()):
		return goExchange(ecdh.X25519())
	case exchanging(shakedown.Secp256r1.String()):
		return goExchange(ecdh.P256())
	case exchanging(shakedown.Secp384r1.String()):
		return goExchange(ecdh.P384())
	case exchanging(shakedown.X25519MLKEM768.String()):
		return goHybrid()
	default:
		return nil, fmt.Errorf("no such operation here: %s", name)
	}
	if err != nil {
		return nil, err
	}
	return func() error {
		_, err := key.Sign(rand.Reader, message, opts)
		return err
	}, nil
}

// goExchange makes a key pair and meets the client's share.
func goExchange(curve ecdh.Curve) (func() error, error) {
	peer, err := curve.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	share := peer.PublicKey()
	return func() error {
		own, err := curve.GenerateKey(rand.Reader)
		if err != nil {
			return err
		}
		_, err = own.ECDH(share)
		return err
	}, nil
}

// goHybrid does X25519 and encapsulates to the client's ML-KEM-768 key.
func goHybrid() (func() error, error) {
	classical, err := goExchange(ecdh.X25519())
	if err != nil {
		return nil, err
	}
	peer, err := mlkem.GenerateKey768()
	if err != nil {
		return nil, err
	}
	share := peer.EncapsulationKey().Bytes()
	return func() error {
		key, err := mlkem.NewEncapsulationKey768(share)
		if err != nil {
			return err
		}
		key.Encapsulate()
		return classical()
	}, nil
}
