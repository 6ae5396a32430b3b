package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"shakedown"
)

// Spec says what a server is to be. It is a plain value: it prints, compares
// with [Spec.Equal] and travels as JSON or YAML. The zero value of each member
// leaves the matter to the server's own default; a driver that cannot do what
// is asked says so ([Driver.Can]) and never does something else instead.
type Spec struct {
	// Port to listen on, on 127.0.0.1; 0: any that is free.
	Port uint16 `json:"port,omitempty" yaml:"port,omitempty"`
	// Workers is the number of worker processes or threads; 0: one.
	Workers int `json:"workers,omitempty" yaml:"workers,omitempty"`
	// CPUs lists the cores that the server may run on, such as "0" or "0,2-3".
	// With several workers, worker i runs on the i-th of them, round and round.
	CPUs string `json:"cpus,omitempty" yaml:"cpus,omitempty"`
	// Reuseport gives each worker its own listening socket (SO_REUSEPORT).
	Reuseport bool `json:"reuseport,omitempty" yaml:"reuseport,omitempty"`

	// Certificates lists one kind of key for each certificate; two make a dual
	// server. Empty: one RSA2048.
	Certificates []KeyKind `json:"certificates,omitempty" yaml:"certificates,omitempty"`
	// Names are the leaf's names, the first being the one to ask for. Empty:
	// DefaultNames.
	Names []string `json:"names,omitempty" yaml:"names,omitempty"`
	// MustStaple marks the leaves with the TLS feature extension (RFC 7633).
	MustStaple bool `json:"must_staple,omitempty" yaml:"must_staple,omitempty"`
	// PKI is a directory of authorities and certificates to use, so that several
	// servers can have the same. Empty: "pki" below the server's directory.
	PKI string `json:"pki,omitempty" yaml:"pki,omitempty"`

	Versions []shakedown.Version     `json:"versions,omitempty" yaml:"versions,omitempty"`
	Suites   []shakedown.CipherSuite `json:"suites,omitempty" yaml:"suites,omitempty"` // of all versions, in order of preference
	Groups   []shakedown.Group       `json:"groups,omitempty" yaml:"groups,omitempty"` // in order of preference
	// PreferServer has the server's order of suites count, not the client's.
	PreferServer bool `json:"prefer_server,omitempty" yaml:"prefer_server,omitempty"`
	// DHBits is the size of the finite field for TLS 1.2's DHE: 1024, or that of
	// a group of RFC 7919. 0: the server's default, which for most is no DHE.
	DHBits int `json:"dh_bits,omitempty" yaml:"dh_bits,omitempty"`

	Tickets Tickets `json:"tickets,omitempty" yaml:"tickets,omitempty"`
	// TicketKeys are files of 48 or 80 random bytes in nginx's form: the first
	// encrypts, all decrypt. With TicketsKeyFile and no file named, one of 80
	// bytes is made in the server's directory. [Server.Reload] reads them again.
	TicketKeys []string `json:"ticket_keys,omitempty" yaml:"ticket_keys,omitempty"`
	// NumTickets is how many tickets a full handshake of TLS 1.3 brings; nil: the
	// server's default.
	NumTickets *int  `json:"num_tickets,omitempty" yaml:"num_tickets,omitempty"`
	Cache      Cache `json:"cache,omitempty" yaml:"cache,omitempty"`
	// CacheSize is in bytes for a shared cache (0: 1 MiB) and in sessions for a
	// builtin one.
	CacheSize int `json:"cache_size,omitempty" yaml:"cache_size,omitempty"`
	// SessionTimeoutSeconds is the lifetime of sessions and tickets.
	SessionTimeoutSeconds int `json:"session_timeout_s,omitempty" yaml:"session_timeout_s,omitempty"`

	Stapling Stapling `json:"stapling,omitempty" yaml:"stapling,omitempty"`
	// OCSP is what is stapled, or answered by the responder.
	OCSP OCSPAnswer `json:"ocsp,omitzero" yaml:"ocsp,omitempty"`

	EarlyData bool `json:"early_data,omitempty" yaml:"early_data,omitempty"`
	// MaxEarlyData is in bytes; 0: the server's default.
	MaxEarlyData uint32 `json:"max_early_data,omitempty" yaml:"max_early_data,omitempty"`

	ALPN       []string   `json:"alpn,omitempty" yaml:"alpn,omitempty"` // in order of preference
	ClientAuth ClientAuth `json:"client_auth,omitempty" yaml:"client_auth,omitempty"`

	// Body is the length of the response to every request, in bytes; 0: whatever
	// the server has at hand.
	Body int `json:"body,omitempty" yaml:"body,omitempty"`
	// BufferSize is how much the server gathers before it writes a record, in
	// bytes.
	BufferSize int `json:"buffer_size,omitempty" yaml:"buffer_size,omitempty"`
}

// Tickets says how session tickets (RFC 5077; RFC 8446, section 4.6.1) are made.
type Tickets string

// The ways to make tickets.
const (
	TicketsDefault   Tickets = ""           // as the server does when not told
	TicketsOff       Tickets = "off"        // none in TLS 1.2; in TLS 1.3 only those that name a cached session
	TicketsKeyFile   Tickets = "key-file"   // keys from Spec.TicketKeys, shared by all workers
	TicketsPerWorker Tickets = "per-worker" // each worker has keys of its own
)

// Cache says where sessions are stored for resumption by session ID.
type Cache string

// The session caches, in nginx's words.
const (
	CacheDefault Cache = ""
	CacheNone    Cache = "none"    // session IDs are handed out, nothing is stored
	CacheOff     Cache = "off"     // no session IDs
	CacheBuiltin Cache = "builtin" // one cache for each worker
	CacheShared  Cache = "shared"  // one cache for all workers
)

// Stapling says where OCSP responses come from.
type Stapling string

// The ways to staple.
const (
	StaplingOff       Stapling = ""
	StaplingFile      Stapling = "file"      // made beforehand and read from a file
	StaplingResponder Stapling = "responder" // fetched by the server from a responder that is started with it
)

// ClientAuth says what the server wants of the client's certificate.
type ClientAuth string

// The kinds of client authentication.
const (
	ClientAuthNone    ClientAuth = ""
	ClientAuthRequest ClientAuth = "request"
	ClientAuthRequire ClientAuth = "require"
)

// withDefaults fills in what every driver needs to know.
func (s Spec) withDefaults() Spec {
	if s.Workers == 0 {
		s.Workers = 1
	}
	if len(s.Certificates) == 0 {
		s.Certificates = []KeyKind{RSA2048}
	}
	if len(s.Names) == 0 {
		s.Names = DefaultNames()
	}
	return s
}

// Equal reports whether both specs ask for the same server.
func (s Spec) Equal(other Spec) bool { return reflect.DeepEqual(s, other) }

// String returns the members that differ from the zero value, as JSON.
func (s Spec) String() string {
	text, err := json.Marshal(s)
	if err != nil {
		return err.Error() // only a time beyond the year 9999 cannot be written
	}
	return string(text)
}

// offers reports whether the server may negotiate v as far as the spec says.
func (s Spec) offers(v shakedown.Version) bool {
	return len(s.Versions) == 0 && v.AtLeast(shakedown.TLS12) || slices.Contains(s.Versions, v)
}

// suites returns those for TLS 1.3 or those for the versions before it.
func (s Spec) suites(tls13 bool) []shakedown.CipherSuite {
	var list []shakedown.CipherSuite
	for _, c := range s.Suites {
		if (c>>8 == 0x13) == tls13 {
			list = append(list, c)
		}
	}
	return list
}

// noNumTickets is the answer of a driver without such a setting.
func (s Spec) noNumTickets(server string) error {
	if s.NumTickets != nil {
		return fmt.Errorf("%s has no setting here for the number of tickets", server)
	}
	return nil
}

// Validate returns what is wrong with the spec whatever the server, every fault
// on a line of its own.
func (s Spec) Validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }

	for name, n := range map[string]int{"workers": s.Workers, "cache_size": s.CacheSize, "session_timeout_s": s.SessionTimeoutSeconds, "body": s.Body, "buffer_size": s.BufferSize} {
		if n < 0 {
			fault("%s: %d is below zero", name, n)
		}
	}
	if _, err := parseCPUs(s.CPUs); err != nil {
		fault("cpus: %w", err)
	}
	for i, k := range s.Certificates {
		if err := k.validate(); err != nil {
			fault("certificates: %w", err)
		}
		if slices.Contains(s.Certificates[:i], k) {
			fault("certificates: %s twice; a server has one certificate of a kind", k)
		}
	}
	for _, v := range s.Versions {
		if !v.AtLeast(shakedown.TLS10) || v > shakedown.TLS13 {
			fault("versions: no server here speaks %s", v)
		}
	}
	if len(s.Versions) > 0 && s.EarlyData && !slices.Contains(s.Versions, shakedown.TLS13) {
		fault("early_data: belongs to TLS 1.3, which is not among the versions")
	}
	if len(s.suites(true)) > 0 && !s.offers(shakedown.TLS13) {
		fault("suites: %s belongs to TLS 1.3, which is not among the versions", s.suites(true)[0])
	}
	if s.MaxEarlyData > 0 && !s.EarlyData {
		fault("max_early_data: is set without early_data")
	}
	if !slices.Contains([]int{0, 1024, 2048, 3072, 4096, 6144, 8192}, s.DHBits) {
		fault("dh_bits: %d is not 1024, 2048, 3072, 4096, 6144 or 8192", s.DHBits)
	}
	if !slices.Contains([]Tickets{TicketsDefault, TicketsOff, TicketsKeyFile, TicketsPerWorker}, s.Tickets) {
		fault("tickets: unknown %q: known are off, key-file, per-worker", s.Tickets)
	}
	if n := s.NumTickets; n != nil && *n < 0 {
		fault("num_tickets: %d is below zero", *n)
	}
	if s.NumTickets != nil && !s.offers(shakedown.TLS13) {
		fault("num_tickets: belongs to TLS 1.3, which is not among the versions")
	}
	if len(s.TicketKeys) > 0 && s.Tickets != TicketsKeyFile {
		fault("ticket_keys: are set without tickets: key-file")
	}
	if !slices.Contains([]Cache{CacheDefault, CacheNone, CacheOff, CacheBuiltin, CacheShared}, s.Cache) {
		fault("cache: unknown %q: known are none, off, builtin, shared", s.Cache)
	}
	if s.CacheSize > 0 && s.Cache != CacheBuiltin && s.Cache != CacheShared {
		fault("cache_size: is set without cache: builtin or shared")
	}
	if !slices.Contains([]Stapling{StaplingOff, StaplingFile, StaplingResponder}, s.Stapling) {
		fault("stapling: unknown %q: known are file, responder", s.Stapling)
	}
	if _, err := s.OCSP.response(nil); err != nil {
		fault("ocsp: %w", err)
	}
	if !slices.Contains([]ClientAuth{ClientAuthNone, ClientAuthRequest, ClientAuthRequire}, s.ClientAuth) {
		fault("client_auth: unknown %q: known are request, require", s.ClientAuth)
	}
	for _, p := range s.ALPN {
		if p == "" || len(p) > 255 {
			fault("alpn: a protocol name has 1 to 255 bytes, not %d (RFC 7301)", len(p))
		}
	}
	// Map order is random; a message that moves about is a bad message.
	slices.SortFunc(faults, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(faults...)
}

// parseCPUs returns the cores of a list such as "0,2-3"; none for "".
func parseCPUs(list string) ([]int, error) {
	if list == "" {
		return nil, nil
	}
	var cpus []int
	for part := range strings.SplitSeq(list, ",") {
		first, last, isRange := strings.Cut(part, "-")
		low, err := strconv.Atoi(first)
		if err != nil || low < 0 {
			return nil, fmt.Errorf("%q is no list of cores such as 0 or 0,2-3", list)
		}
		high := low
		if isRange {
			if high, err = strconv.Atoi(last); err != nil || high < low || high > 1023 {
				return nil, fmt.Errorf("%q is no list of cores such as 0 or 0,2-3", list)
			}
		}
		if high > 1023 {
			return nil, fmt.Errorf("core %d is beyond 1023", high)
		}
		for cpu := low; cpu <= high; cpu++ {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}
