package check

import (
	"time"

	"shakedown"
	"shakedown/internal/stats"
)

// Observation is what one server was seen to support and do. Lists hold what was
// found; whether they are complete, the answers say.
type Observation struct {
	Versions         []shakedown.Version         `json:"versions"`
	Suites           []Suites                    `json:"suites"`
	Groups           []shakedown.Group           `json:"groups"`
	SignatureSchemes []shakedown.SignatureScheme `json:"signature_schemes"`
	// Usual is what a client of today gets; null if it gets nothing.
	Usual        *Usual        `json:"usual"`
	HTTP         *HTTP         `json:"http"` // null if no request was answered
	Certificates []Certificate `json:"certificates"`
	Tickets      []Tickets     `json:"tickets"`
	Resumption   []Resumption  `json:"resumption"`
	EarlyData    EarlyData     `json:"early_data"`
	Timing       []Timing      `json:"timing"`
	// Answers has one for each question, in the order of [Questions].
	Answers []shakedown.Answer `json:"answers"`
}

// Suites are the cipher suites of one version.
type Suites struct {
	Version  shakedown.Version       `json:"version"`
	Found    []shakedown.CipherSuite `json:"found"` // the usual ones first
	Complete bool                    `json:"complete"`
	// Preference is whose order counts: server, client, or empty if not known.
	Preference string `json:"preference"`
}

// Usual is the handshake of a client of today.
type Usual struct {
	Version           shakedown.Version         `json:"version"`
	CipherSuite       shakedown.CipherSuite     `json:"cipher_suite"`
	Group             shakedown.Group           `json:"group"`
	SignatureScheme   shakedown.SignatureScheme `json:"signature_scheme"`
	Certificate       string                    `json:"certificate"` // its key
	ALPN              string                    `json:"alpn"`
	HelloRetryRequest bool                      `json:"hello_retry_request"`
	RoundTrips        int                       `json:"round_trips"`
	// FlightBytes is the size of the server's flight.
	FlightBytes int    `json:"flight_bytes"`
	Compression string `json:"certificate_compression"` // empty: none
}

// HTTP is what the head of the response says.
type HTTP struct {
	Status int    `json:"status"`
	Server string `json:"server"`
	HSTS   string `json:"strict_transport_security"`
	AltSvc string `json:"alt_svc"`
}

// Certificate is one that the server has.
type Certificate struct {
	Chain    shakedown.Chain     `json:"chain"`
	Versions []shakedown.Version `json:"versions"` // in which it was seen
	// MustStaple, OCSP, RootSent and SelfSigned are facts of leaf and chain.
	MustStaple bool     `json:"must_staple"`
	OCSP       []string `json:"ocsp"` // responders that the leaf names
	RootSent   bool     `json:"root_sent"`
	SelfSigned bool     `json:"self_signed"`
	// FlightBytes is the server's flight with this chain and its staple.
	FlightBytes  int                    `json:"flight_bytes"`
	Verification shakedown.Verification `json:"verification"`
	Problem      string                 `json:"problem"` // why it does not verify
	Stapling     Stapling               `json:"stapling"`
}

// Stapling is what became of the requests for a staple with one certificate.
type Stapling struct {
	Asked   int `json:"asked"`
	Stapled int `json:"stapled"`
	// First is which of the handshakes had the first staple, from 1; 0: none had.
	First  int               `json:"first"`
	Staple *shakedown.Staple `json:"staple"` // the latest; null if there was none
	// Distinct counts staples that differ: workers or nodes that fetch their own.
	Distinct int `json:"distinct"`
}

// The mechanisms of resumption.
const (
	MechanismPSK       = "psk"        // TLS 1.3 with a new key exchange
	MechanismPSKOnly   = "psk-ke"     // TLS 1.3 without one
	MechanismTicket    = "ticket"     // TLS 1.2, RFC 5077
	MechanismSessionID = "session-id" // TLS 1.2
)

// State is what becomes of a client that wants to resume.
type State string

const (
	StateNoneSent    State = "none sent"            // the server gave nothing to resume
	StateLate        State = "not received in time" // no ticket came, and no answer that would rule one out
	StateRefused     State = "offered and refused"
	StatePerWorker   State = "state is per worker" // or per node behind one address
	StateAccepted    State = "accepted"
	StateSlower      State = "accepted but slower" // than a full handshake
	StateNotAnswered State = "inconclusive"
)

// Tickets describes those of one mechanism.
type Tickets struct {
	Mechanism string `json:"mechanism"`
	// PerFull and PerResumption are how many a handshake brings, at most.
	PerFull       int           `json:"per_full"`
	PerResumption int           `json:"per_resumption"`
	Bytes         int           `json:"bytes"`
	Lifetime      time.Duration `json:"lifetime_ns"`
	MaxEarlyData  uint32        `json:"max_early_data_bytes"`
	// Stateful: a ticket is no more than the key of a session that the server
	// keeps, as its size tells.
	Stateful bool `json:"stateful"`
	// KeyName is repeated, random, or empty if too few tickets were seen.
	KeyName string    `json:"key_name"`
	Keys    []KeyName `json:"keys"` // of repeated names
	Seen    int       `json:"seen"` // tickets
	// Rotation is how often the key changed, as far as runs that share a state file
	// can tell; empty if it did not, or there is no such file.
	Rotation string `json:"rotation"`
}

// The ways a ticket can begin.
const (
	KeyNameRepeated = "repeated"
	KeyNameRandom   = "random" // no key name in this stack
)

// KeyName is the name of a ticket key.
type KeyName struct {
	Name    shakedown.TicketName `json:"name"`
	Tickets int                  `json:"tickets"` // that begin with it, in this run
	// FirstSeen and LastSeen are of all runs that share a state file.
	FirstSeen time.Time `json:"first_seen"`
	LastSeen  time.Time `json:"last_seen"`
}

// EarlyData is what became of early data.
type EarlyData struct {
	MaxBytes uint32 `json:"max_bytes"` // that tickets allow; 0: none
	Tried    int    `json:"tried"`
	Accepted int    `json:"accepted"`
	// Retried: the server asked for another key share, which rules early data
	// out; a client that knows the server's group was tried then.
	Retried bool `json:"hello_retry_request"`
	Status  int  `json:"status"` // of the response to early data; 425 refuses the request
	// Replayed is how often the same bytes were accepted again; null if that was
	// not tried.
	Replayed *int `json:"replayed"`
}

// Timing is how long handshakes of one kind take, one at a time.
type Timing struct {
	Mode       shakedown.Mode    `json:"mode"`
	Version    shakedown.Version `json:"version"`
	RoundTrips int               `json:"round_trips"` // without TCP's
	// Connect is TCP's handshake; the others count from its end. In nanoseconds.
	Connect     stats.Estimate `json:"connect_ns"`
	ServerHello stats.Estimate `json:"server_hello_ns"`
	Flight      stats.Estimate `json:"server_flight_ns"`
	// FlightSpan is from the first byte of the server's flight to its last, and
	// FlightBytes what that flight has: one that is larger than what TCP sends
	// before it is acknowledged takes a round trip in between.
	FlightSpan  stats.Estimate `json:"server_flight_span_ns"`
	FlightBytes int            `json:"server_flight_bytes"`
	Complete    stats.Estimate `json:"complete_ns"`
	Ticket      stats.Estimate `json:"ticket_ns"`
	Response    stats.Estimate `json:"response_ns"`
	// ServerCPU is what the server's processes took, the request included; with
	// n = 0 it was not seen.
	ServerCPU stats.Estimate `json:"server_cpu_ns"`
	// Saves compares Complete with that of the full handshake of this version;
	// null for that one itself. A ratio below 1 is faster.
	Saves *stats.Comparison `json:"against_full"`
	// SavesCPU compares ServerCPU likewise; null if it was not seen.
	SavesCPU *stats.Comparison `json:"server_cpu_against_full"`
}

// answer returns the answer to the question id, or an inconclusive one.
func (o *Observation) answer(id string) shakedown.Answer {
	for _, a := range o.Answers {
		if a.ID == id {
			return a
		}
	}
	return shakedown.Answer{ID: id, Verdict: shakedown.Inconclusive, Evidence: "not asked"}
}

// find returns the answer to the question id, to change it; nil if there is none.
func (o *Observation) find(id string) *shakedown.Answer {
	for i := range o.Answers {
		if o.Answers[i].ID == id {
			return &o.Answers[i]
		}
	}
	return nil
}

// fill makes empty lists of those that are nil: JSON has no null for a list.
func (o *Observation) fill() {
	list(&o.Versions)
	list(&o.Suites)
	list(&o.Groups)
	list(&o.SignatureSchemes)
	list(&o.Certificates)
	list(&o.Tickets)
	list(&o.Resumption)
	list(&o.Timing)
	for i := range o.Suites {
		list(&o.Suites[i].Found)
	}
	for i := range o.Certificates {
		list(&o.Certificates[i].OCSP)
	}
	for i := range o.Tickets {
		list(&o.Tickets[i].Keys)
	}
}

func list[T any](l *[]T) {
	if *l == nil {
		*l = []T{}
	}
}

// is reports whether the answer to the question id is v.
func (o *Observation) is(id string, v shakedown.Verdict) bool { return o.answer(id).Verdict == v }

// resumption returns the row of a mechanism, made at once or in sequence; nil if
// there is none.
func (o *Observation) resumption(mechanism string, atOnce bool) *Resumption {
	for i := range o.Resumption {
		if r := &o.Resumption[i]; r.Mechanism == mechanism && r.AtOnce > 1 == atOnce {
			return r
		}
	}
	return nil
}

// tickets returns those of a mechanism; nil if there are none.
func (o *Observation) tickets(mechanism string) *Tickets {
	for i := range o.Tickets {
		if o.Tickets[i].Mechanism == mechanism {
			return &o.Tickets[i]
		}
	}
	return nil
}
