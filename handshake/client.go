package handshake

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"shakedown"
	"shakedown/internal/suite"
	"shakedown/internal/wire"
)

// Client is a Config made ready: checked, its defaults filled in, and the parts
// of its ClientHello that never change laid out. It is immutable, so that any
// number of Machines can use it at once.
type Client struct {
	config Config
	asked  [2]shakedown.Asked // without and with a session to offer

	suites     []byte // cipher_suites and legacy_compression_methods, encoded
	extensions []byte // those that are the same in every ClientHello, encoded
	offered    extensionSet
	offers13   bool
	offers12   bool // or a version before it
	// legacyVersion is the highest version offered, TLS 1.2 at most (RFC 8446,
	// section 4.1.2).
	legacyVersion shakedown.Version
}

// NewClient makes cfg ready. The error says why a handshake with cfg would have
// to fail.
func NewClient(cfg *Config) (*Client, error) {
	c := &Client{config: cfg.withDefaults()}
	if err := c.config.validate(); err != nil {
		return nil, err
	}
	c.asked = [2]shakedown.Asked{c.config.Asked(false), c.config.Asked(true)}
	c.offers13 = slices.Contains(c.config.Versions, shakedown.TLS13)
	c.offers12 = slices.ContainsFunc(c.config.Versions, func(v shakedown.Version) bool { return v != shakedown.TLS13 })
	c.legacyVersion = min(slices.Max(c.config.Versions), shakedown.TLS12)
	c.layOut()
	return c, nil
}

// Config returns the Config with its defaults filled in.
func (c *Client) Config() Config { return c.config }

// Asked returns what a handshake asks for, with a session to offer or without.
func (c *Client) Asked(resuming bool) *shakedown.Asked {
	if resuming {
		return &c.asked[1]
	}
	return &c.asked[0]
}

// CanOffer returns nil when s can be offered by this Client, or why not: a
// session goes with one version, one mechanism and, in TLS 1.3, one hash.
func (c *Client) CanOffer(s *Session) error {
	mode := c.config.Mode
	switch {
	case !mode.Resumes():
		return fmt.Errorf("mode %s offers no session", mode)
	case !slices.Contains(c.config.Versions, s.Version):
		return fmt.Errorf("the session is of %s, which is not offered", s.Version)
	case s.Expired(c.config.Time()):
		return fmt.Errorf("the session expired: its lifetime was %s", s.Lifetime)
	case mode == shakedown.ModeSessionID && len(s.SessionID) == 0:
		return errors.New("the session has no session ID")
	case mode != shakedown.ModeSessionID && len(s.Ticket) == 0:
		return errors.New("the session has no ticket")
	case s.ExtendedMasterSecret && c.config.NoExtendedMasterSecret && s.Version != shakedown.TLS13:
		return errors.New("the session has an extended master secret, which is not offered: no server may resume it so (RFC 7627, section 5.3)")
	case mode == shakedown.ModeEarlyData && s.ALPN != "" && !slices.Contains(c.config.ALPN, s.ALPN):
		return fmt.Errorf("early data needs the session's ALPN protocol %q, which is not offered", s.ALPN)
	case mode == shakedown.ModeEarlyData && s.MaxEarlyData == 0:
		return errors.New("the session's ticket does not allow early data")
	case mode == shakedown.ModeEarlyData && int64(len(c.config.Request)) > int64(s.MaxEarlyData):
		return fmt.Errorf("the request has %d bytes, but the ticket allows %d of early data", len(c.config.Request), s.MaxEarlyData)
	case mode == shakedown.ModeEarlyData && !slices.Contains(c.config.CipherSuites, s.CipherSuite):
		return fmt.Errorf("early data needs the session's cipher suite %s, which is not offered", s.CipherSuite)
	}
	info, ok := suite.Lookup(s.CipherSuite)
	if !ok {
		return fmt.Errorf("the session's cipher suite %s is not supported", s.CipherSuite)
	}
	size := suite.MasterSize12
	if s.Version == shakedown.TLS13 {
		size = info.Hash.Size()
	}
	if len(s.Secret) != size {
		return fmt.Errorf("the session's secret has %d bytes, not %d: it was not saved whole", len(s.Secret), size)
	}
	sameHash := func(id shakedown.CipherSuite) bool {
		other, ok := suite.Lookup(id)
		return ok && other.MaxVersion == shakedown.TLS13 && other.Hash == info.Hash
	}
	if s.Version == shakedown.TLS13 && !slices.ContainsFunc(c.config.CipherSuites, sameHash) {
		return fmt.Errorf("the session's hash is that of %s, and no suite offered has it (RFC 8446, section 4.2.11)", s.CipherSuite)
	}
	if s.Version != shakedown.TLS13 && !slices.Contains(c.config.CipherSuites, s.CipherSuite) {
		return fmt.Errorf("the session's cipher suite %s is not offered", s.CipherSuite)
	}
	return nil
}

// greaseValue is the reserved value used everywhere (RFC 8701); which one does
// not matter.
const greaseValue = 0x4A4A

// layOut encodes what is the same in every ClientHello of this Client.
func (c *Client) layOut() {
	cfg := &c.config
	suites := cfg.CipherSuites
	groups := cfg.Groups
	versions := cfg.Versions
	if cfg.GREASE {
		suites = append([]shakedown.CipherSuite{greaseValue}, suites...)
		groups = append([]shakedown.Group{greaseValue}, groups...)
		versions = append([]shakedown.Version{greaseValue}, versions...)
	}
	c.suites = binary.BigEndian.AppendUint16(nil, uint16(2*len(suites)))
	for _, id := range suites {
		c.suites = binary.BigEndian.AppendUint16(c.suites, uint16(id))
	}
	c.suites = append(c.suites, 1, 0) // legacy_compression_methods: null alone

	add := func(t shakedown.Extension, body []byte) {
		c.extensions = wire.Extension{Type: t, Data: body}.Append(c.extensions)
		c.offered.add(t)
	}
	if cfg.GREASE {
		add(shakedown.Extension(greaseValue), nil)
	}
	if cfg.ServerName != "" {
		add(shakedown.ExtServerName, wire.AppendServerName(nil, cfg.ServerName))
	}
	if c.offers12 {
		if !cfg.NoExtendedMasterSecret {
			add(shakedown.ExtExtendedMasterSecret, nil)
		}
		add(shakedown.ExtRenegotiationInfo, wire.AppendRenegotiationInfo(nil, nil))
		add(shakedown.ExtECPointFormats, wire.AppendECPointFormats(nil, []byte{wire.PointUncompressed}))
		if !cfg.NoEncryptThenMAC && slices.ContainsFunc(cfg.CipherSuites, isCBC) {
			add(shakedown.ExtEncryptThenMAC, nil)
		}
	}
	add(shakedown.ExtSupportedGroups, wire.AppendSupportedGroups(nil, groups))
	add(shakedown.ExtSignatureAlgorithms, wire.AppendSignatureAlgorithms(nil, cfg.SignatureSchemes))
	if len(cfg.ALPN) > 0 {
		add(shakedown.ExtALPN, wire.AppendALPN(nil, cfg.ALPN))
	}
	if cfg.StatusRequest {
		add(shakedown.ExtStatusRequest, wire.AppendStatusRequest(nil))
	}
	if cfg.SCTs {
		add(shakedown.ExtSignedCertificateTimestamp, nil)
	}
	if cfg.MaxFragmentLength > 0 {
		add(shakedown.ExtMaxFragmentLength, []byte{cfg.MaxFragmentLength})
	}
	if cfg.RecordSizeLimit > 0 {
		add(shakedown.ExtRecordSizeLimit, wire.AppendRecordSizeLimit(nil, cfg.RecordSizeLimit))
	}
	if c.offers13 {
		add(shakedown.ExtSupportedVersions, wire.AppendClientVersions(nil, versions))
		if len(cfg.CompressCertificate) > 0 {
			add(shakedown.ExtCompressCertificate, wire.AppendCompressCertificate(nil, cfg.CompressCertificate))
		}
		if !cfg.NoTickets {
			mode := byte(wire.PSKModeDHEKE)
			if cfg.PSKOnly {
				mode = wire.PSKModeKE
			}
			add(shakedown.ExtPSKKeyExchangeModes, wire.AppendPSKKeyExchangeModes(nil, []byte{mode}))
		}
	}
}

func isCBC(id shakedown.CipherSuite) bool {
	info, ok := suite.Lookup(id)
	return ok && info.MAC != suite.MACNone
}

// extensionSet is a set of extension types: a bit for each small number, a list
// for the rest.
type extensionSet struct {
	low  uint64
	rest []shakedown.Extension
}

func (s *extensionSet) add(t shakedown.Extension) {
	if t < 64 {
		s.low |= 1 << t
	} else if !slices.Contains(s.rest, t) {
		s.rest = append(s.rest, t)
	}
}

func (s *extensionSet) has(t shakedown.Extension) bool {
	if t < 64 {
		return s.low&(1<<t) != 0
	}
	return slices.Contains(s.rest, t)
}
