package handshake_test

import (
	"crypto/x509"
	"errors"
	"fmt"
	"slices"

	"shakedown"
	"shakedown/handshake"
	"shakedown/internal/server"
)

// An interopRow is one thing asked of every server, and a row of docs/interop.md.
// The zero value of each member leaves the matter as it usually is.
type interopRow struct {
	section, name string
	// specs are what the server has to be: the first that it can be counts.
	specs  []server.Spec
	config handshake.Config
	prime  *handshake.Config // to get the session with; config when nil
	// change is done to the config once the server is there.
	change func(*handshake.Config, *server.Server)
	check  func(exchanged) error // beyond asked = observed
	// other is what is observed instead of what is asked, where that is right.
	other func(*shakedown.Asked)
	slow  bool // left out with -short
}

// exchanged is a handshake with what is needed to judge it.
type exchanged struct {
	server  *server.Server
	machine *handshake.Machine
	shakedown.Result
}

const (
	v12, v13 = shakedown.TLS12, shakedown.TLS13
	get      = "GET / HTTP/1.1\r\nHost: " + server.DefaultName + "\r\nConnection: close\r\n\r\n"
)

func versions(v ...shakedown.Version) []shakedown.Version { return v }

// dual is the usual server: both versions, two certificates, or one where the
// server can have no more.
func dual(change ...func(*server.Spec)) []server.Spec {
	s := spec(change, server.RSA2048, server.P256)
	return append([]server.Spec{s}, ecOnly(change...)...)
}

func ecOnly(change ...func(*server.Spec)) []server.Spec {
	return []server.Spec{spec(change, server.P256)}
}

func rsaOnly(change ...func(*server.Spec)) []server.Spec {
	return []server.Spec{spec(change, server.RSA2048)}
}

func spec(change []func(*server.Spec), keys ...server.KeyKind) server.Spec {
	s := server.Spec{Certificates: keys, Versions: versions(v12, v13)}
	for _, c := range change {
		c(&s)
	}
	return s
}

// cached has a session cache of whatever kind the server knows.
func cached() []server.Spec {
	var specs []server.Spec
	for _, c := range []server.Cache{server.CacheShared, server.CacheBuiltin} {
		specs = append(specs, ecOnly(func(s *server.Spec) { s.Cache = c })...)
	}
	return specs
}

func early(s *server.Spec) { s.EarlyData = true }

func groups(g ...shakedown.Group) func(*server.Spec) {
	return func(s *server.Spec) { s.Groups = g }
}

func interopRows() []interopRow {
	return slices.Concat(modeRows(), exchangeRows(), certificateRows(), extensionRows())
}

func modeRows() []interopRow {
	const x25519, p256, p384 = shakedown.X25519, shakedown.Secp256r1, shakedown.Secp384r1
	psk := handshake.Config{Mode: shakedown.ModePSK}
	earlyData := handshake.Config{Mode: shakedown.ModeEarlyData}
	retry := func(c handshake.Config, shares ...shakedown.Group) handshake.Config {
		c.Versions = versions(v13)
		c.Groups, c.KeyShares = []shakedown.Group{x25519, p256, p384}, append([]shakedown.Group{}, shares...)
		return c
	}
	retried := func(e exchanged) error {
		if o := e.Observed; !o.HelloRetryRequest || o.RoundTrips != 2 {
			return fmt.Errorf("no HelloRetryRequest was observed, in %d round trips", o.RoundTrips)
		}
		return nil
	}
	once := func(e exchanged) error {
		if e.Observed.RoundTrips != 1 || e.Observed.Chain != nil {
			return fmt.Errorf("%d round trips, chain %v in a resumed handshake", e.Observed.RoundTrips, e.Observed.Chain != nil)
		}
		return nil
	}
	asPSK := func(a *shakedown.Asked) { a.Mode = shakedown.ModePSK }
	rejected := func(e exchanged) error {
		if e.Observed.EarlyData != shakedown.EarlyDataRejected {
			return fmt.Errorf("early data %s, want rejected", e.Observed.EarlyData)
		}
		return nil
	}
	rows := []interopRow{
		{name: "full, TLS 1.3", specs: dual(), config: handshake.Config{Versions: versions(v13)}},
		{name: "full, TLS 1.2", specs: dual(), config: handshake.Config{Versions: versions(v12)}},
		{name: "full, both offered", specs: dual(), config: handshake.Config{}, check: isVersion(v13)},
		{name: "full, both offered to a TLS 1.2 server", specs: dual(func(s *server.Spec) { s.Versions = versions(v12) }), check: isVersion(v12)},
		{name: "session-id", specs: cached(), config: handshake.Config{Mode: shakedown.ModeSessionID}, check: once},
		{name: "ticket", specs: ecOnly(), config: handshake.Config{Mode: shakedown.ModeTicket}, check: once},
		{name: "psk, psk_dhe_ke", specs: ecOnly(), config: psk, check: once},
		{name: "psk, psk_ke", specs: ecOnly(), config: handshake.Config{Mode: shakedown.ModePSK, PSKOnly: true}, check: func(e exchanged) error {
			if e.Observed.Group != 0 {
				return fmt.Errorf("a key exchange with %s in psk_ke", e.Observed.Group)
			}
			return once(e)
		}},
		{name: "early-data", specs: ecOnly(early), config: earlyData, check: func(e exchanged) error {
			if e.Observed.EarlyData != shakedown.EarlyDataAccepted {
				return fmt.Errorf("early data %s", e.Observed.EarlyData)
			}
			return once(e)
		}},
		{name: "HelloRetryRequest to no key share", specs: ecOnly(groups(x25519, p256, p384)), config: retry(handshake.Config{}), check: retried},
		{name: "HelloRetryRequest to a share of another group", specs: ecOnly(groups(p384)), config: retry(handshake.Config{}, x25519, p256), check: retried},
		{name: "HelloRetryRequest, psk", specs: ecOnly(groups(p384)), config: retry(psk, x25519), check: retried},
		{name: "HelloRetryRequest, early data rejected", specs: ecOnly(groups(p384), early), config: retry(earlyData, x25519), prime: ptr(retry(earlyData, p384)), other: asPSK,
			check: func(e exchanged) error { return errors.Join(retried(e), rejected(e)) }},
	}
	return inSection("Modes", rows)
}

func isVersion(v shakedown.Version) func(exchanged) error {
	return func(e exchanged) error {
		if e.Observed.Version != v {
			return fmt.Errorf("version %s, want %s", e.Observed.Version, v)
		}
		return nil
	}
}

func inSection(section string, rows []interopRow) []interopRow {
	for i := range rows {
		rows[i].section = section
	}
	return rows
}

func exchangeRows() (rows []interopRow) {
	for _, g := range []shakedown.Group{
		shakedown.X25519, shakedown.Secp256r1, shakedown.Secp384r1, shakedown.Secp521r1,
		shakedown.FFDHE2048, shakedown.FFDHE3072, shakedown.FFDHE4096,
		shakedown.X25519MLKEM768, shakedown.SecP256r1MLKEM768, shakedown.SecP384r1MLKEM1024,
	} {
		rows = append(rows, interopRow{name: fmt.Sprintf("TLS 1.3 %s", g), specs: ecOnly(groups(g)), config: handshake.Config{
			Versions: versions(v13), Groups: []shakedown.Group{g}}})
	}
	for _, id := range []shakedown.CipherSuite{
		shakedown.TLS_AES_128_GCM_SHA256, shakedown.TLS_AES_256_GCM_SHA384, shakedown.TLS_CHACHA20_POLY1305_SHA256,
		shakedown.TLS_AES_128_CCM_SHA256, shakedown.TLS_AES_128_CCM_8_SHA256,
	} {
		specs := dual()
		if id == shakedown.TLS_AES_128_CCM_SHA256 || id == shakedown.TLS_AES_128_CCM_8_SHA256 {
			specs = dual(suites(id)) // no server's default
		}
		rows = append(rows, interopRow{name: fmt.Sprintf("TLS 1.3 %s", id), specs: specs, config: handshake.Config{
			Versions: versions(v13), CipherSuites: []shakedown.CipherSuite{id}}})
	}
	for _, g := range []shakedown.Group{shakedown.X25519, shakedown.Secp256r1, shakedown.Secp384r1, shakedown.Secp521r1} {
		rows = append(rows, interopRow{name: fmt.Sprintf("TLS 1.2 ECDHE %s", g), specs: rsaOnly(groups(g)), config: handshake.Config{
			Versions: versions(v12), Groups: []shakedown.Group{g}, CipherSuites: []shakedown.CipherSuite{shakedown.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256}}})
	}
	for _, bits := range []int{1024, 2048, 3072, 4096, 8192} {
		rows = append(rows, interopRow{
			name:  fmt.Sprintf("TLS 1.2 DHE-RSA, %d bits", bits),
			specs: rsaOnly(func(s *server.Spec) { s.DHBits = bits }, suites(shakedown.TLS_DHE_RSA_WITH_AES_128_GCM_SHA256)),
			config: handshake.Config{Versions: versions(v12),
				CipherSuites: []shakedown.CipherSuite{shakedown.TLS_DHE_RSA_WITH_AES_128_GCM_SHA256}},
			check: func(e exchanged) error {
				if e.Observed.DHBits != bits {
					return fmt.Errorf("a prime of %d bits", e.Observed.DHBits)
				}
				return nil
			},
		})
	}
	for _, id := range []shakedown.CipherSuite{
		shakedown.TLS_RSA_WITH_AES_128_GCM_SHA256, shakedown.TLS_RSA_WITH_AES_256_GCM_SHA384,
		shakedown.TLS_RSA_WITH_AES_128_CBC_SHA, shakedown.TLS_RSA_WITH_AES_128_CBC_SHA256,
		shakedown.TLS_DHE_RSA_WITH_AES_128_CBC_SHA,
		shakedown.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA, shakedown.TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384,
	} {
		specs := rsaOnly(suites(id))
		if id == shakedown.TLS_DHE_RSA_WITH_AES_128_CBC_SHA {
			specs = rsaOnly(suites(id), func(s *server.Spec) { s.DHBits = 2048 })
		}
		rows = append(rows, interopRow{name: fmt.Sprintf("TLS 1.2 %s", id), specs: specs, config: handshake.Config{
			Versions: versions(v12), CipherSuites: []shakedown.CipherSuite{id}, NoEncryptThenMAC: true}, check: encryptThenMAC(false)})
	}
	for _, id := range []shakedown.CipherSuite{shakedown.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA, shakedown.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256, shakedown.TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA384} {
		for _, no := range []bool{true, false} {
			name := fmt.Sprintf("TLS 1.2 %s", id)
			if !no {
				name += ", encrypt_then_mac"
			}
			rows = append(rows, interopRow{name: name, specs: ecOnly(suites(id)), config: handshake.Config{
				Versions: versions(v12), CipherSuites: []shakedown.CipherSuite{id}, NoEncryptThenMAC: no}, check: encryptThenMAC(!no)})
		}
	}
	for _, id := range []shakedown.CipherSuite{
		shakedown.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, shakedown.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
		shakedown.TLS_ECDHE_ECDSA_WITH_AES_128_CCM, shakedown.TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8,
	} {
		rows = append(rows, interopRow{name: fmt.Sprintf("TLS 1.2 %s", id), specs: ecOnly(suites(id)), config: handshake.Config{
			Versions: versions(v12), CipherSuites: []shakedown.CipherSuite{id}}})
	}
	return inSection("Key exchanges and cipher suites", rows)
}

func suites(id ...shakedown.CipherSuite) func(*server.Spec) {
	return func(s *server.Spec) {
		s.Suites = id
		s.Versions = versions(v12)
		if id[0]>>8 == 0x13 {
			s.Versions = versions(v13)
		}
	}
}

func encryptThenMAC(want bool) func(exchanged) error {
	return func(e exchanged) error {
		if e.Observed.EncryptThenMAC != want {
			return fmt.Errorf("encrypt_then_mac %v", e.Observed.EncryptThenMAC)
		}
		return nil
	}
}

func certificateRows() (rows []interopRow) {
	names := map[server.KeyKind]string{
		server.RSA2048: "RSA-2048", server.RSA3072: "RSA-3072", server.RSA4096: "RSA-4096", server.RSA8192: "RSA-8192", server.RSAPSS2048: "RSA-PSS-2048",
		server.P256: "ECDSA-P256", server.P384: "ECDSA-P384", server.P521: "ECDSA-P521", server.Ed25519: "Ed25519", server.Ed448: "Ed448",
	}
	for _, kind := range server.KeyKinds() {
		for _, v := range versions(v13, v12) {
			rows = append(rows, interopRow{
				name:   fmt.Sprintf("%s %s", v, names[kind]),
				specs:  []server.Spec{{Certificates: []server.KeyKind{kind}, Versions: versions(v12, v13)}},
				config: handshake.Config{Versions: versions(v)},
				slow:   kind == server.RSA8192,
				check: func(e exchanged) error {
					if key := e.Observed.Chain.Key(); key != names[kind] {
						return fmt.Errorf("a certificate of key %q", key)
					}
					if e.Observed.Chain.Certificates[0].Bytes != len(e.server.Certificates[0].Leaf.Raw) {
						return errors.New("another leaf than the server's")
					}
					return nil
				},
			})
		}
	}
	return inSection("Certificates", rows)
}

// rootsIn has the chain verified in full work.
func rootsIn(cfg *handshake.Config, roots *x509.CertPool) {
	if cfg.Work != shakedown.WorkMinimal {
		cfg.Roots = roots
	}
}
