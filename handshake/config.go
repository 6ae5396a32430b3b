package handshake

import (
	"crypto/x509"
	"fmt"
	"io"
	"slices"
	"time"

	"shakedown"
	"shakedown/internal/suite"
)

// Config says what a client offers and what it demands. It is a plain value
// that prints, compares and travels as JSON; the fields that cannot travel are
// left out there. The zero value is a sensible modern client.
type Config struct {
	// Mode demanded. With a mode that resumes and no session to offer, the
	// handshake is a full one that fetches a session fit for the mode.
	Mode shakedown.Mode `json:"mode,omitempty"`
	// Versions offered. Empty: those the mode knows, TLS 1.3 and TLS 1.2 for full.
	Versions []shakedown.Version `json:"versions,omitempty"`
	// CipherSuites offered, in order. Empty: all that Shakedown can do in the
	// versions offered and a modern client would.
	CipherSuites []shakedown.CipherSuite `json:"cipher_suites,omitempty"`
	// Groups offered, in order. Empty: X25519MLKEM768, x25519, secp256r1,
	// secp384r1, secp521r1.
	Groups []shakedown.Group `json:"groups,omitempty"`
	// KeyShares are the groups that get a share in the first ClientHello of
	// TLS 1.3. Nil: the first group, and x25519 beside a hybrid. Empty but not
	// nil: none, which asks for a HelloRetryRequest.
	KeyShares []shakedown.Group `json:"key_shares"`
	// SignatureSchemes accepted, in order. Empty: all of RFC 8446 that are safe.
	SignatureSchemes []shakedown.SignatureScheme `json:"signature_schemes,omitempty"`
	// ServerName for SNI. Empty: no SNI.
	ServerName string `json:"server_name,omitempty"`
	// VerifyName is the name or IP address that the server's certificate has to
	// be for, when the chain is verified. Empty: ServerName.
	VerifyName string `json:"verify_name,omitempty"`
	// ALPN protocols offered, in order.
	ALPN []string `json:"alpn,omitempty"`
	// Work done by this client, full unless told otherwise.
	Work shakedown.Work `json:"work,omitempty"`
	// Complete is when the handshake is called done, CompleteFinished unless
	// told otherwise.
	Complete shakedown.Completion `json:"complete,omitempty"`
	// Request is sent once the handshake is complete, when Complete is
	// CompleteResponse, and as early data in ModeEarlyData.
	Request []byte `json:"request,omitempty"`

	// StatusRequest asks for a stapled OCSP response (RFC 6066 section 8).
	StatusRequest bool `json:"status_request,omitempty"`
	// SCTs asks for signed certificate timestamps (RFC 6962 section 3.3.1).
	SCTs bool `json:"scts,omitempty"`
	// CompressCertificate lists the algorithms of RFC 8879 offered.
	CompressCertificate []uint16 `json:"compress_certificate,omitempty"`
	// RecordSizeLimit of RFC 8449, in bytes; 0 does not send it.
	RecordSizeLimit uint16 `json:"record_size_limit,omitempty"`
	// MaxFragmentLength code of RFC 6066 section 4, 1 to 4; 0 does not send it.
	MaxFragmentLength uint8 `json:"max_fragment_length,omitempty"`
	// NoTickets leaves out session_ticket in TLS 1.2 and
	// psk_key_exchange_modes in TLS 1.3, so that no ticket is issued.
	NoTickets bool `json:"no_tickets,omitempty"`
	// PSKOnly offers psk_ke, resumption without a key exchange and without
	// forward secrecy, instead of psk_dhe_ke.
	PSKOnly bool `json:"psk_only,omitempty"`
	// NoExtendedMasterSecret leaves out RFC 7627.
	NoExtendedMasterSecret bool `json:"no_extended_master_secret,omitempty"`
	// NoEncryptThenMAC leaves out RFC 7366.
	NoEncryptThenMAC bool `json:"no_encrypt_then_mac,omitempty"`
	// NoCompatibility leaves out the middlebox compatibility of RFC 8446
	// appendix D.4: the session ID and the change_cipher_spec record.
	NoCompatibility bool `json:"no_compatibility,omitempty"`
	// GREASE adds the reserved values of RFC 8701.
	GREASE bool `json:"grease,omitempty"`
	// PadTo pads the ClientHello to this many bytes (RFC 7685); 0 does not.
	PadTo int `json:"pad_to,omitempty"`
	// ProbeOnly ends the handshake with the server's hello: it is done, though
	// not complete, when version and suite are known. Such a handshake is never
	// counted as one.
	ProbeOnly bool `json:"probe_only,omitempty"`

	// Session to offer, used by Do; load passes sessions to Machine.Start.
	Session *Session `json:"-"`
	// Certificate of the client, sent when the server requests one.
	Certificate *ClientCertificate `json:"-"`
	// Roots to verify the server's chain against, which ends the handshake if it
	// does not verify; nil verifies nothing and says so in Observed, see also
	// [Machine.Verify]. In minimal work it must be nil.
	Roots *x509.CertPool `json:"-"`
	// KeyLog receives lines of the format of draft-ietf-tls-keylogfile.
	KeyLog io.Writer `json:"-"`
	// Rand is the source of randomness; nil is a secure one in full work and a
	// fast one in minimal work.
	Rand io.Reader `json:"-"`
	// Time is the clock; nil is time.Now.
	Time func() time.Time `json:"-"`
}

// defaultSchemes are accepted when a Config names none, in the order of common
// browsers: ECDSA before RSA at each size, so that a server with both kinds of
// certificate uses the cheaper.
var defaultSchemes = []shakedown.SignatureScheme{
	shakedown.ECDSASecp256r1, shakedown.RSAPSSRSAESHA256, shakedown.RSAPKCS1SHA256,
	shakedown.ECDSASecp384r1, shakedown.RSAPSSRSAESHA384, shakedown.RSAPKCS1SHA384,
	shakedown.ECDSASecp521r1, shakedown.RSAPSSRSAESHA512, shakedown.RSAPKCS1SHA512,
	shakedown.Ed25519, shakedown.Ed448,
	shakedown.RSAPSSPSSSHA256, shakedown.RSAPSSPSSSHA384, shakedown.RSAPSSPSSSHA512,
}

var defaultGroups = []shakedown.Group{
	shakedown.X25519MLKEM768, shakedown.X25519, shakedown.Secp256r1, shakedown.Secp384r1, shakedown.Secp521r1,
}

// withDefaults returns the Config with every empty field that has a default
// filled in.
func (c Config) withDefaults() Config {
	if c.Mode == "" {
		c.Mode = shakedown.ModeFull
	}
	if len(c.Versions) == 0 {
		switch c.Mode {
		case shakedown.ModePSK, shakedown.ModeEarlyData:
			c.Versions = []shakedown.Version{shakedown.TLS13}
		case shakedown.ModeSessionID, shakedown.ModeTicket:
			c.Versions = []shakedown.Version{shakedown.TLS12}
		default:
			c.Versions = c.versionsOfSuites()
		}
	}
	if len(c.CipherSuites) == 0 {
		for _, v := range c.Versions {
			for _, id := range suite.Supported(v) {
				if modern(id) && !slices.Contains(c.CipherSuites, id) {
					c.CipherSuites = append(c.CipherSuites, id)
				}
			}
		}
	}
	if len(c.Groups) == 0 {
		c.Groups = defaultGroups
		if !slices.Contains(c.Versions, shakedown.TLS13) {
			c.Groups = c.Groups[1:] // the hybrids are for TLS 1.3 only
		}
	}
	if c.KeyShares == nil && slices.Contains(c.Versions, shakedown.TLS13) {
		c.KeyShares = c.Groups[:1]
		if c.Groups[0] == shakedown.X25519MLKEM768 && slices.Contains(c.Groups, shakedown.X25519) {
			c.KeyShares = []shakedown.Group{shakedown.X25519MLKEM768, shakedown.X25519}
		}
	}
	if len(c.SignatureSchemes) == 0 {
		c.SignatureSchemes = defaultSchemes
	}
	if c.Work == "" {
		c.Work = shakedown.WorkFull
	}
	if c.Complete == "" {
		c.Complete = shakedown.CompleteFinished
	}
	if c.Time == nil {
		c.Time = time.Now
	}
	return c
}

// versionsOfSuites returns TLS 1.3 and TLS 1.2, less one that none of the suites
// asked for belongs to.
func (c *Config) versionsOfSuites() []shakedown.Version {
	both := []shakedown.Version{shakedown.TLS13, shakedown.TLS12}
	var versions []shakedown.Version
	for _, v := range both {
		if slices.ContainsFunc(c.CipherSuites, func(id shakedown.CipherSuite) bool { return usable(id, v) }) {
			versions = append(versions, v)
		}
	}
	if len(versions) == 0 {
		return both // no suite was asked for, or none that is known: validate tells
	}
	return versions
}

// modern reports whether a client of today offers the suite unasked: forward
// secret and AEAD, the rare CCM left out.
func modern(id shakedown.CipherSuite) bool {
	info, ok := suite.Lookup(id)
	return ok && info.MAC == suite.MACNone && info.Cipher != suite.CipherAESCCM && info.Cipher != suite.CipherAESCCM8 &&
		(info.KeyExchange == suite.KeyExchangeTLS13 || info.KeyExchange == suite.KeyExchangeECDHE)
}

// Asked returns what a handshake with this Config asks for. resuming tells
// whether a session is offered.
func (c *Config) Asked(resuming bool) shakedown.Asked {
	mode := c.Mode
	if !resuming {
		mode = shakedown.ModeFull
	}
	return shakedown.Asked{
		Mode: mode, Versions: c.Versions, CipherSuites: c.CipherSuites, Groups: c.Groups, KeyShares: c.KeyShares,
		SignatureSchemes: c.SignatureSchemes, ServerName: c.ServerName, ALPN: c.ALPN,
		StatusRequest: c.StatusRequest, Work: c.Work, Complete: c.Complete,
	}
}

// validate refuses what could only end as a failed handshake, with the reason.
// It expects defaults filled in.
func (c *Config) validate() error {
	for _, check := range []func(*Config) error{
		checkMode, checkSuites, checkGroups, checkSchemes, checkSizes, checkWork,
	} {
		if err := check(c); err != nil {
			return err
		}
	}
	return nil
}

func checkMode(c *Config) error {
	for _, v := range c.Versions {
		switch {
		case v == shakedown.TLS13 && (c.Mode == shakedown.ModeSessionID || c.Mode == shakedown.ModeTicket):
			return fmt.Errorf("mode %s is of TLS 1.2 and before, but TLS 1.3 is offered: resumption in TLS 1.3 is mode psk", c.Mode)
		case v != shakedown.TLS13 && (c.Mode == shakedown.ModePSK || c.Mode == shakedown.ModeEarlyData):
			return fmt.Errorf("mode %s is of TLS 1.3, but %s is offered", c.Mode, v)
		case v == shakedown.TLS12 || v == shakedown.TLS13:
		case (v == shakedown.TLS10 || v == shakedown.TLS11) && c.ProbeOnly:
		case v == shakedown.TLS10 || v == shakedown.TLS11:
			return fmt.Errorf("%s can only be probed for, not completed", v)
		default:
			return fmt.Errorf("version %s is not supported", v)
		}
	}
	if c.Mode == shakedown.ModeEarlyData && len(c.Request) == 0 {
		return fmt.Errorf("mode early-data needs a request to send")
	}
	if c.Complete == shakedown.CompleteResponse && len(c.Request) == 0 {
		return fmt.Errorf("completion %q needs a request to send", c.Complete)
	}
	if c.NoTickets && (c.Mode == shakedown.ModeTicket || c.Mode == shakedown.ModePSK || c.Mode == shakedown.ModeEarlyData) {
		return fmt.Errorf("mode %s needs tickets, but none are to be asked for", c.Mode)
	}
	if c.Complete == shakedown.CompleteTicket && (c.NoTickets || c.Mode == shakedown.ModeSessionID) {
		return fmt.Errorf("completion %q waits for a ticket, but none is asked for", c.Complete)
	}
	return nil
}

func checkSuites(c *Config) error {
	for _, id := range c.CipherSuites {
		if _, ok := suite.Lookup(id); !ok && !c.ProbeOnly {
			return fmt.Errorf("cipher suite %s is known by name only: it cannot be completed", id)
		}
	}
	for _, v := range c.Versions {
		if !slices.ContainsFunc(c.CipherSuites, func(id shakedown.CipherSuite) bool { return usable(id, v) || c.ProbeOnly }) {
			return fmt.Errorf("none of the cipher suites %v can be used with %s", c.CipherSuites, v)
		}
	}
	if c.ProbeOnly {
		return nil // a probe may offer suites that cannot be completed
	}
	for _, id := range c.CipherSuites {
		if !slices.ContainsFunc(c.Versions, func(v shakedown.Version) bool { return usable(id, v) }) {
			return fmt.Errorf("cipher suite %s belongs to none of the versions %v", id, c.Versions)
		}
	}
	return nil
}

func usable(id shakedown.CipherSuite, v shakedown.Version) bool {
	info, ok := suite.Lookup(id)
	return ok && info.MinVersion <= v && v <= info.MaxVersion
}

func checkGroups(c *Config) error {
	for _, g := range c.Groups {
		if !supportedGroup(g) && !c.ProbeOnly {
			return fmt.Errorf("group %s is known by name only: no key exchange with it is possible here", g)
		}
	}
	for _, g := range c.KeyShares {
		if !slices.Contains(c.Groups, g) {
			return fmt.Errorf("a key_share for %s without that group in supported_groups is forbidden (RFC 8446, section 4.2.8)", g)
		}
		if !supportedGroup(g) {
			return fmt.Errorf("group %s is known by name only: no key share can be made for it", g)
		}
	}
	only12 := !slices.Contains(c.Versions, shakedown.TLS13)
	if only12 && !c.ProbeOnly && !slices.ContainsFunc(c.Groups, groupInTLS12) && allSuites(c, func(i *suite.Info) bool { return i.KeyExchange == suite.KeyExchangeECDHE }) {
		return fmt.Errorf("groups %v exist in TLS 1.3 only, and every cipher suite offered needs one of TLS 1.2", c.Groups)
	}
	// In TLS 1.2 the curve of an ECDSA certificate must be among the groups
	// (RFC 8422, section 5.1.1).
	if only12 && !c.ProbeOnly && allSuites(c, func(i *suite.Info) bool { return i.Authentication == suite.AuthECDSA }) &&
		!slices.ContainsFunc(c.Groups, certificateCurve) && !slices.Contains(c.SignatureSchemes, shakedown.Ed25519) {
		return fmt.Errorf("TLS 1.2 with ECDSA certificates and only %v offered must fail: "+
			"the certificate's curve has to be among the groups, add secp256r1 (RFC 8422, section 5.1.1)", c.Groups)
	}
	return nil
}

func allSuites(c *Config, is func(*suite.Info) bool) bool {
	for _, id := range c.CipherSuites {
		if info, ok := suite.Lookup(id); ok && !is(info) {
			return false
		}
	}
	return true
}

func checkSchemes(c *Config) error {
	only13 := !slices.ContainsFunc(c.Versions, func(v shakedown.Version) bool { return v != shakedown.TLS13 })
	if only13 && !slices.ContainsFunc(c.SignatureSchemes, schemeInTLS13) {
		return fmt.Errorf("none of the signature schemes %v may sign a TLS 1.3 handshake (RFC 8446, section 4.2.3)", c.SignatureSchemes)
	}
	if !only13 && !c.ProbeOnly && !slices.Contains(c.Versions, shakedown.TLS13) {
		ecdsa := allSuites(c, func(i *suite.Info) bool { return i.Authentication == suite.AuthECDSA })
		rsa := allSuites(c, func(i *suite.Info) bool { return i.Authentication == suite.AuthRSA })
		switch {
		case ecdsa && !slices.ContainsFunc(c.SignatureSchemes, func(s shakedown.SignatureScheme) bool { return !schemeOfRSA(s) }):
			return fmt.Errorf("every cipher suite offered needs an ECDSA certificate, but the signature schemes %v are all RSA", c.SignatureSchemes)
		case rsa && !slices.ContainsFunc(c.SignatureSchemes, schemeOfRSA):
			return fmt.Errorf("every cipher suite offered needs an RSA certificate, but none of the signature schemes %v is RSA", c.SignatureSchemes)
		}
	}
	return nil
}

func checkSizes(c *Config) error {
	switch {
	case c.MaxFragmentLength > 4:
		return fmt.Errorf("max_fragment_length %d is not one of 1 to 4 (RFC 6066, section 4)", c.MaxFragmentLength)
	case c.MaxFragmentLength > 0 && c.RecordSizeLimit > 0:
		return fmt.Errorf("max_fragment_length and record_size_limit exclude each other (RFC 8449, section 5)")
	case c.RecordSizeLimit > 0 && (c.RecordSizeLimit < 64 || c.RecordSizeLimit > 1<<14+1):
		return fmt.Errorf("record_size_limit %d is not one of 64 to 16385 (RFC 8449, section 4)", c.RecordSizeLimit)
	case c.PadTo < 0 || c.PadTo > 1<<15:
		return fmt.Errorf("a ClientHello cannot be padded to %d bytes: the limit here is 32768", c.PadTo)
	case len(c.ServerName) > 255:
		return fmt.Errorf("the server name has %d bytes: the limit is 255", len(c.ServerName))
	}
	for _, p := range c.ALPN {
		if p == "" || len(p) > 255 {
			return fmt.Errorf("ALPN protocol %q is not 1 to 255 bytes long (RFC 7301, section 3.1)", p)
		}
	}
	return nil
}

func checkWork(c *Config) error {
	if c.Work == shakedown.WorkMinimal && c.Roots != nil {
		return fmt.Errorf("work minimal verifies nothing: give no roots, or use work full")
	}
	return nil
}
