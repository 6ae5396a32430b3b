package handshake_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"shakedown"
	"shakedown/handshake"
)

// TestRefused has combinations that could only end as a failed handshake: each is
// refused before one begins, with the reason.
func TestRefused(t *testing.T) {
	const x25519 = shakedown.X25519
	ecdsaOnly := []shakedown.CipherSuite{shakedown.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256}
	rsaOnly := []shakedown.CipherSuite{shakedown.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256}
	group := func(g ...shakedown.Group) []shakedown.Group { return g }
	for _, c := range []struct {
		config handshake.Config
		want   string
	}{
		{handshake.Config{Mode: shakedown.ModeTicket, Versions: versions(v13)}, "resumption in TLS 1.3 is mode psk"},
		{handshake.Config{Mode: shakedown.ModePSK, Versions: versions(v13, v12)}, "mode psk is of TLS 1.3"},
		{handshake.Config{Versions: versions(shakedown.TLS11)}, "can only be probed for"},
		{handshake.Config{Versions: versions(0x0300)}, "is not supported"},
		{handshake.Config{Mode: shakedown.ModeEarlyData}, "needs a request"},
		{handshake.Config{Complete: shakedown.CompleteResponse}, "needs a request"},
		{handshake.Config{Complete: shakedown.CompleteTicket, NoTickets: true}, "none is asked for"},
		{handshake.Config{Mode: shakedown.ModeSessionID, Complete: shakedown.CompleteTicket}, "none is asked for"},
		{handshake.Config{Mode: shakedown.ModePSK, NoTickets: true}, "mode psk needs tickets"},
		{handshake.Config{Mode: shakedown.ModeTicket, NoTickets: true}, "mode ticket needs tickets"},
		{handshake.Config{Versions: versions(v12), CipherSuites: []shakedown.CipherSuite{shakedown.TLS_AES_128_GCM_SHA256}}, "can be used with TLS 1.2"},
		{handshake.Config{Versions: versions(v13), CipherSuites: ecdsaOnly}, "can be used with TLS 1.3"},
		{handshake.Config{CipherSuites: []shakedown.CipherSuite{0x1234, shakedown.TLS_AES_128_GCM_SHA256, ecdsaOnly[0]}}, "known by name only"},
		{handshake.Config{Versions: versions(v13), CipherSuites: []shakedown.CipherSuite{shakedown.TLS_AES_128_GCM_SHA256, ecdsaOnly[0]}}, "belongs to none of the versions"},
		{handshake.Config{Groups: group(x25519, 0x1234)}, "known by name only"},
		{handshake.Config{Groups: group(x25519), KeyShares: group(shakedown.Secp256r1)}, "without that group in supported_groups"},
		{handshake.Config{Versions: versions(v12), Groups: group(shakedown.X25519MLKEM768)}, "exist in TLS 1.3 only"},
		{handshake.Config{Versions: versions(v12), CipherSuites: ecdsaOnly, Groups: group(x25519), SignatureSchemes: []shakedown.SignatureScheme{shakedown.ECDSASecp256r1}}, "the certificate's curve has to be among the groups"},
		{handshake.Config{Versions: versions(v13), SignatureSchemes: []shakedown.SignatureScheme{shakedown.RSAPKCS1SHA256}}, "may sign a TLS 1.3 handshake"},
		{handshake.Config{Versions: versions(v12), CipherSuites: ecdsaOnly, SignatureSchemes: []shakedown.SignatureScheme{shakedown.RSAPKCS1SHA256}}, "needs an ECDSA certificate"},
		{handshake.Config{Versions: versions(v12), CipherSuites: rsaOnly, SignatureSchemes: []shakedown.SignatureScheme{shakedown.ECDSASecp256r1}}, "needs an RSA certificate"},
		{handshake.Config{MaxFragmentLength: 5}, "not one of 1 to 4"},
		{handshake.Config{MaxFragmentLength: 1, RecordSizeLimit: 512}, "exclude each other"},
		{handshake.Config{RecordSizeLimit: 63}, "64 to 16385"},
		{handshake.Config{RecordSizeLimit: 16386}, "64 to 16385"},
		{handshake.Config{PadTo: 1 << 16}, "cannot be padded"},
		{handshake.Config{ServerName: strings.Repeat("a", 256)}, "the limit is 255"},
		{handshake.Config{ALPN: []string{""}}, "1 to 255 bytes"},
		{handshake.Config{Work: shakedown.WorkMinimal, Roots: identityRoots()}, "minimal verifies nothing"},
	} {
		if _, err := handshake.NewClient(&c.config); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v\nerror %v, want %q", c.config, err, c.want)
		}
	}
}

// TestCanOffer says why a session does not go with a client.
func TestCanOffer(t *testing.T) {
	const aes128, aes256 = shakedown.TLS_AES_128_GCM_SHA256, shakedown.TLS_AES_256_GCM_SHA384
	id, ticket := configMode12(shakedown.ModeSessionID), configMode12(shakedown.ModeTicket)
	set := func(cfg handshake.Config, change func(*handshake.Config)) handshake.Config {
		change(&cfg)
		return cfg
	}
	for _, c := range []struct {
		name    string
		config  handshake.Config
		session *handshake.Session
		change  func(*handshake.Session)
		want    string
	}{
		{"fit", configPSK(), session13(aes128), nil, ""},
		{"fit for early data", configEarly(), session13(aes128), nil, ""},
		{"fit by ID", id(), session12(), nil, ""},
		{"fit by ticket", ticket(), session12(), nil, ""},
		{"fit, another suite of the hash", configPSK(), session13(shakedown.TLS_CHACHA20_POLY1305_SHA256), nil, ""},
		{"mode full", config13(), session13(aes128), nil, "mode full offers no session"},
		{"version", ticket(), session13(aes128), nil, "which is not offered"},
		{"expired", configPSK(), session13(aes128), func(s *handshake.Session) { s.Received = time.Now().Add(-2 * time.Hour) }, "expired"},
		{"over seven days", configPSK(), session13(aes128), func(s *handshake.Session) {
			s.Lifetime, s.Received = 30*24*time.Hour, time.Now().Add(-8*24*time.Hour)
		}, "expired"},
		{"no ID", id(), session12(), func(s *handshake.Session) { s.SessionID = nil }, "no session ID"},
		{"no ticket", ticket(), session12(), func(s *handshake.Session) { s.Ticket = nil }, "no ticket"},
		{"no early data", configEarly(), session13(aes128), func(s *handshake.Session) { s.MaxEarlyData = 0 }, "does not allow early data"},
		{"too much early data", configEarly(), session13(aes128), func(s *handshake.Session) { s.MaxEarlyData = 5 }, "the ticket allows 5"},
		{"early data of another protocol", configEarly(), session13(aes128), func(s *handshake.Session) { s.ALPN = "h3" }, `"h3", which is not offered`},
		{"early data of another suite", set(configEarly(), func(c *handshake.Config) { c.CipherSuites = c.CipherSuites[:1] }), session13(shakedown.TLS_CHACHA20_POLY1305_SHA256), nil, "needs the session's cipher suite"},
		{"hash", set(configPSK(), func(c *handshake.Config) { c.CipherSuites = c.CipherSuites[:1] }), session13(aes256), nil, "no suite offered has it"},
		{"suite", ticket(), session12(), func(s *handshake.Session) { s.CipherSuite = shakedown.TLS_RSA_WITH_AES_128_GCM_SHA256 }, "is not offered"},
		{"suite unheard of", ticket(), session12(), func(s *handshake.Session) { s.CipherSuite = 0x1234 }, "is not supported"},
		{"extended master secret", set(ticket(), func(c *handshake.Config) { c.NoExtendedMasterSecret = true }), session12(), nil, "extended master secret"},
		{"secret cut", configPSK(), session13(aes128), func(s *handshake.Session) { s.Secret = s.Secret[:16] }, "16 bytes, not 32"},
		{"secret cut in TLS 1.2", ticket(), session12(), func(s *handshake.Session) { s.Secret = nil }, "0 bytes, not 48"},
	} {
		t.Run(c.name, func(t *testing.T) {
			client, err := handshake.NewClient(&c.config)
			if err != nil {
				t.Fatal(err)
			}
			if c.change != nil {
				c.change(c.session)
			}
			err = client.CanOffer(c.session)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if started := handshake.NewMachine(nil).Start(client, c.session); (started == nil) != (err == nil) {
				t.Errorf("Start says %v", started)
			}
		})
	}
}

// TestConfigTravels writes a Config as JSON and reads it back.
func TestConfigTravels(t *testing.T) {
	cfg := config13()
	cfg.Mode, cfg.Work, cfg.KeyShares, cfg.PadTo = shakedown.ModeFull, shakedown.WorkMinimal, []shakedown.Group{}, 600
	text, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var back handshake.Config
	if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(cfg, back) {
		t.Errorf("error %v\nwas  %+v\nback %+v", err, cfg, back)
	}
}
