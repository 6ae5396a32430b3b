package handshake_test

import (
	"fmt"

	"shakedown"
	"shakedown/handshake"
	"shakedown/internal/server"
)

func extensionRows() (rows []interopRow) {
	alpn := func(s *server.Spec) { s.ALPN = []string{"http/1.1"} }
	stapling := []server.Spec{}
	for _, key := range []server.KeyKind{server.P256, server.RSA2048} {
		for _, from := range []server.Stapling{server.StaplingFile, server.StaplingResponder} {
			stapling = append(stapling, server.Spec{Certificates: []server.KeyKind{key}, Stapling: from, Versions: versions(v12, v13)})
		}
	}
	for _, v := range versions(v13, v12) {
		name := func(s string) string { return fmt.Sprintf("%s %s", v, s) }
		both := handshake.Config{Versions: versions(v)}
		add := func(what string, specs []server.Spec, set func(*handshake.Config), check func(exchanged) error) {
			cfg := both
			set(&cfg)
			rows = append(rows, interopRow{name: name(what), specs: specs, config: cfg, check: check})
		}
		add("ALPN", ecOnly(alpn), func(c *handshake.Config) { c.ALPN = []string{"nosuch", "http/1.1"} }, func(e exchanged) error {
			if e.Observed.ALPN != "http/1.1" {
				return fmt.Errorf("ALPN %q", e.Observed.ALPN)
			}
			return nil
		})
		add("status_request", stapling, func(c *handshake.Config) { c.StatusRequest = true }, func(e exchanged) error {
			if s := e.Observed.Staple; s == nil || s.Status != "good" || s.Verification != shakedown.VerificationOK {
				return fmt.Errorf("staple %+v", s)
			}
			return nil
		})
		for code := uint8(1); code <= 4; code++ {
			limit := 256 << code
			add(fmt.Sprintf("max_fragment_length %d", limit), ecOnly(), func(c *handshake.Config) { c.MaxFragmentLength = code }, recordsWithin(limit))
		}
		contents := 600
		if v == v13 {
			contents-- // the content type counts too
		}
		add("record_size_limit 600", ecOnly(), func(c *handshake.Config) { c.RecordSizeLimit = 600 }, recordsWithin(contents))
		add("GREASE", ecOnly(), func(c *handshake.Config) { c.GREASE = true }, nil)
		add("ClientHello of 2000 bytes", ecOnly(), func(c *handshake.Config) { c.PadTo = 2000 }, func(e exchanged) error {
			if e.Observed.ClientHelloBytes != 2000 {
				return fmt.Errorf("a ClientHello of %d bytes", e.Observed.ClientHelloBytes)
			}
			return nil
		})
		add("no tickets asked for", ecOnly(), func(c *handshake.Config) { c.NoTickets = true }, func(e exchanged) error {
			if n := len(e.Observed.Tickets); n > 0 {
				return fmt.Errorf("%d tickets", n)
			}
			return nil
		})
		add("no SNI", ecOnly(), func(c *handshake.Config) {}, nil)
		last := &rows[len(rows)-1]
		last.change = func(c *handshake.Config, _ *server.Server) { c.ServerName, c.Roots = "", nil }
		for _, auth := range []server.ClientAuth{server.ClientAuthRequest, server.ClientAuthRequire} {
			add("client certificate, "+string(auth), ecOnly(func(s *server.Spec) { s.ClientAuth = auth }), func(*handshake.Config) {}, requested)
			rows[len(rows)-1].change = showCertificate
		}
		add("client certificate requested, none shown", ecOnly(func(s *server.Spec) { s.ClientAuth = server.ClientAuthRequest }), func(*handshake.Config) {}, requested)
	}
	rows = append(rows,
		interopRow{name: "TLS 1.2 without extended_master_secret", specs: ecOnly(), config: handshake.Config{Versions: versions(v12), NoExtendedMasterSecret: true}, check: func(e exchanged) error {
			if e.Observed.ExtendedMasterSecret {
				return fmt.Errorf("extended_master_secret")
			}
			return nil
		}},
		interopRow{name: "TLS 1.2 ticket without extended_master_secret", specs: ecOnly(), config: handshake.Config{Mode: shakedown.ModeTicket, NoExtendedMasterSecret: true}},
		interopRow{name: "TLS 1.3 without middlebox compatibility", specs: ecOnly(), config: handshake.Config{Versions: versions(v13), NoCompatibility: true}},
		interopRow{name: "TLS 1.3 psk without middlebox compatibility", specs: ecOnly(), config: handshake.Config{Mode: shakedown.ModePSK, NoCompatibility: true}},
		interopRow{name: "TLS 1.3 psk, ClientHello of 2000 bytes", specs: ecOnly(), config: handshake.Config{Mode: shakedown.ModePSK, PadTo: 2000}},
		interopRow{name: "TLS 1.3 psk, GREASE", specs: ecOnly(), config: handshake.Config{Mode: shakedown.ModePSK, GREASE: true}},
		interopRow{name: "TLS 1.3 early-data, GREASE and padding", specs: ecOnly(early), config: handshake.Config{Mode: shakedown.ModeEarlyData, GREASE: true, PadTo: 2000}},
		interopRow{name: "TLS 1.3 several key shares", specs: ecOnly(), config: handshake.Config{Versions: versions(v13),
			Groups:    []shakedown.Group{shakedown.X25519, shakedown.Secp256r1, shakedown.Secp384r1},
			KeyShares: []shakedown.Group{shakedown.Secp384r1, shakedown.X25519, shakedown.Secp256r1}}},
	)
	return inSection("Extensions", rows)
}

// recordsWithin checks that a limit was agreed upon and that no record of the
// server holds more: the Machine has refused any that does.
func recordsWithin(limit int) func(exchanged) error {
	return func(e exchanged) error {
		if _, receive := e.machine.RecordLimits(); receive != limit {
			return fmt.Errorf("records may hold %d bytes, not %d", receive, limit)
		}
		return nil
	}
}

func requested(e exchanged) error {
	if !e.Observed.CertificateRequested {
		return fmt.Errorf("no certificate was requested")
	}
	return nil
}

// showCertificate gives the client the certificate that the server accepts.
func showCertificate(c *handshake.Config, s *server.Server) {
	var chain [][]byte
	for _, cert := range s.Client.Chain {
		chain = append(chain, cert.Raw)
	}
	c.Certificate = &handshake.ClientCertificate{Chain: chain, Signer: s.Client.Key}
}
