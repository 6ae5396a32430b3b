package shakedown

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"time"
)

// Result is one attempted handshake.
type Result struct {
	Address  netip.AddrPort `json:"address"`
	Local    netip.AddrPort `json:"local"`
	Asked    Asked          `json:"asked"`
	Observed Observed       `json:"observed"`
	Phases   Phases         `json:"phases"`
	Failure  *Failure       `json:"failure,omitempty"`
}

// Asked is what the client offered or demanded.
type Asked struct {
	Mode             Mode              `json:"mode"`
	Versions         []Version         `json:"versions"`
	CipherSuites     []CipherSuite     `json:"cipher_suites"`
	Groups           []Group           `json:"groups"`
	KeyShares        []Group           `json:"key_shares,omitempty"`
	SignatureSchemes []SignatureScheme `json:"signature_schemes"`
	ServerName       string            `json:"server_name,omitempty"`
	ALPN             []string          `json:"alpn,omitempty"`
	StatusRequest    bool              `json:"status_request"`
	Work             Work              `json:"work"`
	Complete         Completion        `json:"complete"`
}

// Observed is what the server did. What it did not get to is zero.
type Observed struct {
	Mode            Mode            `json:"mode,omitempty"`
	Version         Version         `json:"version,omitempty"`
	CipherSuite     CipherSuite     `json:"cipher_suite,omitempty"`
	Group           Group           `json:"group,omitempty"`
	SignatureScheme SignatureScheme `json:"signature_scheme,omitempty"`
	// DHBits is the size of the server's finite-field prime in TLS 1.2, in bits.
	DHBits int `json:"dh_bits,omitempty"`
	// Chain the server sent; nil when it resumed.
	Chain                  *Chain    `json:"chain,omitempty"`
	EarlyData              EarlyData `json:"early_data"`
	Staple                 *Staple   `json:"staple,omitempty"`
	ALPN                   string    `json:"alpn,omitempty"`
	ServerNameAcknowledged bool      `json:"server_name_acknowledged"`
	HelloRetryRequest      bool      `json:"hello_retry_request"`
	ExtendedMasterSecret   bool      `json:"extended_master_secret"`
	SecureRenegotiation    bool      `json:"secure_renegotiation"`
	EncryptThenMAC         bool      `json:"encrypt_then_mac"`
	CertificateRequested   bool      `json:"certificate_requested"`
	// CertificateCompression is the algorithm of RFC 8879, if one was used.
	CertificateCompression string   `json:"certificate_compression,omitempty"`
	SCTs                   int      `json:"scts"`
	Tickets                []Ticket `json:"tickets,omitempty"`
	Flights                []Flight `json:"flights"`
	// RoundTrips until PhaseComplete, that of the TCP connection not included.
	RoundTrips       int `json:"round_trips"`
	ClientHelloBytes int `json:"client_hello_bytes"`
	// ClientHelloExtensions are those sent, in order; told when messages are logged.
	ClientHelloExtensions []Extension  `json:"client_hello_extensions,omitempty"`
	Verification          Verification `json:"verification"`
}

// EarlyData is what became of early data.
type EarlyData string

const (
	EarlyDataNone     EarlyData = "none" // none was sent
	EarlyDataAccepted EarlyData = "accepted"
	EarlyDataRejected EarlyData = "rejected"
)

// Verification is what was found of the server's chain and name.
type Verification string

const (
	VerificationSkipped      Verification = "skipped" // not asked for, or no certificate was sent
	VerificationOK           Verification = "ok"
	VerificationFailed       Verification = "failed"
	VerificationNotSupported Verification = "not supported" // of an algorithm that cannot be verified here
)

// Ticket describes a NewSessionTicket.
type Ticket struct {
	Bytes    int           `json:"bytes"`
	Lifetime time.Duration `json:"lifetime_ns"`
	// Name is the first 16 bytes: OpenSSL's key name, random in other stacks.
	Name         TicketName `json:"name"`
	MaxEarlyData uint32     `json:"max_early_data_bytes"`
}

// TicketName is the first 16 bytes of a ticket, printed in hexadecimal.
type TicketName [16]byte

// MarshalText implements encoding.TextMarshaler.
func (n TicketName) MarshalText() ([]byte, error) {
	return []byte(hex.EncodeToString(n[:])), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (n *TicketName) UnmarshalText(b []byte) error {
	raw, err := hex.DecodeString(string(b))
	if err != nil || len(raw) != len(n) {
		return fmt.Errorf("ticket name %q is not 32 hexadecimal digits", b)
	}
	copy(n[:], raw)
	return nil
}

// Direction is who sent something.
type Direction string

const (
	Sent     Direction = "sent"     // by us
	Received Direction = "received" // from the server
)

// Flight is what one side sent before the other spoke.
type Flight struct {
	Direction Direction `json:"direction"`
	Bytes     int       `json:"bytes"` // record headers included, TCP's not
	Records   int       `json:"records"`
}

// Chain is a certificate chain as the server sent it.
type Chain struct {
	Certificates []Certificate `json:"certificates"`
	Bytes        int           `json:"bytes"` // of all certificates in DER
	// Ordered: each certificate is issued by the next (RFC 8446 section 4.4.2).
	Ordered bool `json:"ordered"`
}

// Key returns the type of the leaf's key, such as "RSA-2048" or "ECDSA-P256",
// or the empty string for an empty chain.
func (c *Chain) Key() string {
	if c == nil || len(c.Certificates) == 0 {
		return ""
	}
	return c.Certificates[0].Key
}

// Certificate is one member of a chain.
type Certificate struct {
	Subject   string    `json:"subject"`
	Issuer    string    `json:"issuer"`
	Names     []string  `json:"names,omitempty"` // DNS names and IP addresses
	Key       string    `json:"key"`             // such as "RSA-2048"; empty if its kind is unknown
	Signature string    `json:"signature"`       // such as "SHA256-RSA"
	Bytes     int       `json:"bytes"`           // of DER
	NotBefore time.Time `json:"not_before,omitzero"`
	NotAfter  time.Time `json:"not_after,omitzero"`
	// Problem is why it was not accepted as a certificate; of the other fields
	// those are filled in that could be read all the same.
	Problem string `json:"problem,omitempty"`
}

// Staple is a stapled OCSP response (RFC 6066 section 8, RFC 6960).
type Staple struct {
	Bytes int `json:"bytes"`
	// Status is good, revoked or unknown; the responder's error, such as
	// "tryLater", if it is about no certificate; or "unreadable".
	Status     string    `json:"status"`
	ThisUpdate time.Time `json:"this_update,omitzero"`
	NextUpdate time.Time `json:"next_update,omitzero"` // zero: it does not expire
	// Verification of its signature, of its being about the leaf, and of its
	// being current; of what it says, good or not, Status tells.
	Verification Verification `json:"verification"`
	// Problem is why a client does not rely on it; empty if it does.
	Problem string `json:"problem,omitempty"`
}

// Mismatch returns what the server did otherwise than asked, one sentence for
// each, or nil. A handshake that failed has nothing to compare.
func (a *Asked) Mismatch(o *Observed) []string {
	var m []string
	if o.Mode != a.Mode {
		m = append(m, fmt.Sprintf("asked for mode %s, observed %s", a.Mode, o.Mode))
	}
	if !slices.Contains(a.Versions, o.Version) {
		m = append(m, fmt.Sprintf("asked for %v, observed %s", a.Versions, o.Version))
	}
	if !slices.Contains(a.CipherSuites, o.CipherSuite) {
		m = append(m, fmt.Sprintf("observed a suite not asked for: %s", o.CipherSuite))
	}
	if o.Group != 0 && !slices.Contains(a.Groups, o.Group) {
		m = append(m, fmt.Sprintf("observed a group not asked for: %s", o.Group))
	}
	if o.SignatureScheme != 0 && !slices.Contains(a.SignatureSchemes, o.SignatureScheme) {
		m = append(m, fmt.Sprintf("observed a signature scheme not asked for: %s", o.SignatureScheme))
	}
	return m
}
