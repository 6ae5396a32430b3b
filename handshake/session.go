package handshake

import (
	"time"

	"shakedown"
)

// Session is what a handshake leaves behind so that another can resume it. It
// holds secrets: files with sessions are written readable by their owner only.
type Session struct {
	Version     shakedown.Version     `json:"version"`
	CipherSuite shakedown.CipherSuite `json:"cipher_suite"`
	// Secret is the PSK in TLS 1.3 and the master secret before it.
	Secret []byte `json:"secret"`
	// Ticket of RFC 5077 or RFC 8446; empty for a session ID.
	Ticket    []byte `json:"ticket,omitempty"`
	SessionID []byte `json:"session_id,omitempty"`
	// Lifetime is the server's hint; 0 in TLS 1.2 means that it gave none.
	Lifetime time.Duration `json:"lifetime_ns"`
	// Received is when the ticket came, for the age in TLS 1.3.
	Received             time.Time `json:"received"`
	AgeAdd               uint32    `json:"age_add"`
	MaxEarlyData         uint32    `json:"max_early_data_bytes"`
	ALPN                 string    `json:"alpn,omitempty"`
	ExtendedMasterSecret bool      `json:"extended_master_secret"`
	EncryptThenMAC       bool      `json:"encrypt_then_mac,omitempty"`
	// ServerName and Certificate (its key type) of the handshake that made it.
	ServerName  string `json:"server_name,omitempty"`
	Certificate string `json:"certificate,omitempty"`
}

// Expired reports whether the session is past its lifetime at now. RFC 8446
// section 4.6.1: at most seven days, whatever the server says.
func (s *Session) Expired(now time.Time) bool {
	life := s.Lifetime
	if s.Version == shakedown.TLS13 {
		life = min(life, 7*24*time.Hour)
	} else if life == 0 {
		return false
	}
	return now.Sub(s.Received) > life
}
