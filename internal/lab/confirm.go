package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"shakedown"
	"shakedown/handshake"
	"shakedown/internal/server"
)

// probeTime bounds one handshake of a confirmation.
const probeTime = 5 * time.Second

// Confirmation is what a few handshakes before a turn showed of the server.
type Confirmation struct {
	Evidence []string `json:"evidence"`
	// Problems say in what the server is not what the plan says; a cell with one
	// is not measured.
	Problems []string `json:"problems,omitempty"`
	// Sent and Received are the bytes of a full handshake.
	Sent     int `json:"sent_bytes"`
	Received int `json:"received_bytes"`
	// Phases of one handshake as the load makes them, on an idle server.
	Phases shakedown.Phases `json:"phases"`
	Mode   shakedown.Mode   `json:"mode"` // of that handshake
}

func (c *Confirmation) saw(format string, args ...any) {
	c.Evidence = append(c.Evidence, fmt.Sprintf(format, args...))
}

func (c *Confirmation) wrong(format string, args ...any) {
	c.Problems = append(c.Problems, fmt.Sprintf(format, args...))
}

// confirm asks a server, before each turn, whether it is what the cell says: with
// the load's own handshakes for its suite, group, certificate and staple, and for
// sessions that resume where they must and do not where they must not.
func confirm(ctx context.Context, c *Cell, s *server.Server) Confirmation {
	var seen Confirmation
	seen.full(ctx, c, s)
	for _, m := range resumptionModes(c) {
		seen.resumption(ctx, c, s, m)
	}
	return seen
}

// full makes a full handshake as the load does, but verifies the chain.
func (c *Confirmation) full(ctx context.Context, cell *Cell, s *server.Server) {
	cfg := at(cell.plan, s).Config
	cfg.Mode, cfg.Work, cfg.Roots = shakedown.ModeFull, shakedown.WorkFull, s.Roots
	cfg.StatusRequest = cfg.StatusRequest || cell.Spec.Stapling != server.StaplingOff
	// nginx fetches a staple only once a worker was asked for it.
	tries := 1
	if cell.Spec.Stapling == server.StaplingResponder {
		tries = 20 * max(cell.Spec.Workers, 1)
	}
	var r shakedown.Result
	for range tries {
		var err error
		if r, err = probe(ctx, s, &cfg, 0); err != nil {
			c.wrong("a full handshake could not be made: %v", err)
			return
		}
		if r.Observed.Staple != nil {
			break
		}
		if tries > 1 {
			time.Sleep(20 * time.Millisecond)
		}
	}
	o := r.Observed
	for _, f := range o.Flights {
		if f.Direction == shakedown.Sent {
			c.Sent += f.Bytes
		} else {
			c.Received += f.Bytes
		}
	}
	c.Phases, c.Mode = r.Phases, o.Mode
	c.saw("full handshake: %s, %s, group %s, certificate %s, %s", o.Version, o.CipherSuite, o.Group, o.Chain.Key(), o.Verification)
	if o.Mode != shakedown.ModeFull {
		c.wrong("asked for a full handshake, observed %s", o.Mode)
	}
	if v := cell.Spec.Versions; len(v) > 0 && !slices.Contains(v, o.Version) {
		c.wrong("it negotiated %s, which is not among its versions", o.Version)
	}
	suites := slices.DeleteFunc(slices.Clone(cell.Spec.Suites), func(id shakedown.CipherSuite) bool { return (id>>8 == 0x13) != (o.Version == shakedown.TLS13) })
	if len(suites) > 0 && !slices.Contains(suites, o.CipherSuite) {
		c.wrong("it negotiated %s, which is not among its suites", o.CipherSuite)
	}
	if g := cell.Spec.Groups; len(g) > 0 && o.Group != 0 && !slices.Contains(g, o.Group) {
		c.wrong("it chose %s, which is not among its groups", o.Group)
	}
	if o.DHBits > 0 && cell.Spec.DHBits > 0 && o.DHBits != cell.Spec.DHBits {
		c.wrong("its DH group has %d bits, not %d", o.DHBits, cell.Spec.DHBits)
	}
	kinds := cell.Spec.Certificates
	if len(kinds) == 0 {
		kinds = []server.KeyKind{server.RSA2048}
	}
	if !slices.ContainsFunc(kinds, func(k server.KeyKind) bool { return chainName(k) == o.Chain.Key() }) {
		c.wrong("its certificate has a key of %s, not of %v", o.Chain.Key(), kinds)
	}
	stapled := o.Staple != nil
	if cfg.StatusRequest && stapled != (cell.Spec.Stapling != server.StaplingOff) {
		c.wrong("stapling is %q, but a staple was seen: %t", cell.Spec.Stapling, stapled)
	}
}

// chainName is the kind as chains have it, such as RSA-2048 or ECDSA-P256.
func chainName(k server.KeyKind) string {
	switch s := string(k); {
	case strings.HasPrefix(s, "rsapss"):
		return "RSA-PSS-" + strings.TrimPrefix(s, "rsapss")
	case strings.HasPrefix(s, "rsa"):
		return "RSA-" + strings.TrimPrefix(s, "rsa")
	case strings.HasPrefix(s, "p"):
		return "ECDSA-P" + strings.TrimPrefix(s, "p")
	default:
		return strings.ToUpper(s[:1]) + s[1:]
	}
}

// certainty says whether a session must resume.
type certainty string

const (
	always  certainty = "always"
	never   certainty = "never"
	perhaps certainty = "perhaps" // on the worker that has it
)

// expected says what the spec means for sessions of a mode. What it leaves to
// the server's default is anything.
func expected(spec server.Spec, mode shakedown.Mode) certainty {
	oneWorker := perhaps
	if spec.Workers <= 1 {
		oneWorker = always
	}
	cached := perhaps
	switch spec.Cache {
	case server.CacheShared:
		cached = always
	case server.CacheBuiltin:
		cached = oneWorker
	case server.CacheNone, server.CacheOff:
		cached = never
	}
	switch {
	case mode == shakedown.ModeSessionID:
		return cached
	case spec.Tickets == server.TicketsOff && mode == shakedown.ModeTicket:
		return never
	case spec.Tickets == server.TicketsOff:
		return cached // tickets of TLS 1.3 that name a session in the cache
	case spec.Tickets == server.TicketsPerWorker:
		return oneWorker
	}
	return always
}

// resumption fetches a session and offers it at once.
func (c *Confirmation) resumption(ctx context.Context, cell *Cell, s *server.Server, mode shakedown.Mode) {
	cfg := at(cell.plan, s).Config
	cfg.Mode, cfg.Work = mode, shakedown.WorkFull
	if mode != cell.plan.Config.Mode {
		cfg.Versions, cfg.CipherSuites = nil, nil
		if mode == shakedown.ModeTicket || mode == shakedown.ModeSessionID {
			cfg.CipherSuites = slices.DeleteFunc(slices.Clone(cell.plan.Config.CipherSuites), func(id shakedown.CipherSuite) bool { return id>>8 == 0x13 })
		}
	}
	want := expected(cell.Spec, mode)
	session, err := fetch(ctx, s, &cfg)
	if err != nil {
		if want == always {
			c.wrong("%s: %v", mode, err)
		} else {
			c.saw("%s: %v", mode, err)
		}
		return
	}
	cfg.Session = session
	r, err := probe(ctx, s, &cfg, 0)
	if err != nil {
		c.wrong("%s: the handshake that offers a session failed: %v", mode, err)
		return
	}
	did := r.Observed.Mode == mode
	c.saw("a session for %s, offered at once: observed %s", mode, r.Observed.Mode)
	if want == always && !did {
		c.wrong("a session for %s was not resumed: observed %s", mode, r.Observed.Mode)
	}
	if want == never && r.Observed.Mode.Resumes() {
		c.wrong("sessions are not to resume, but one did, by %s", r.Observed.Mode)
	}
	if did && len(cell.plan.Mix) == 1 {
		c.Phases, c.Mode = r.Phases, r.Observed.Mode
	}
}

// byTicket is the mode of the highest version that the server has.
func byTicket(c *Cell) shakedown.Mode {
	if v := c.plan.Config.Versions; len(v) > 0 && !slices.Contains(v, shakedown.TLS13) {
		return shakedown.ModeTicket
	}
	return shakedown.ModePSK
}

// probe makes one handshake, at a distance unless rtt is 0. The error is its
// failure.
func probe(ctx context.Context, s *server.Server, cfg *handshake.Config, rtt time.Duration) (shakedown.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	planned := time.Now()
	conn, err := dial(ctx, s, rtt)
	if err != nil {
		return shakedown.Result{}, err
	}
	defer conn.Close()
	connected := time.Since(planned)
	r, err := handshake.Do(ctx, conn, cfg, planned, handshake.Recorder{})
	if err != nil {
		return r, err
	}
	r.Phases.Mark(shakedown.PhaseConnected, connected)
	if r.Failure != nil {
		return r, r.Failure
	}
	return r, nil
}

func fetch(ctx context.Context, s *server.Server, cfg *handshake.Config) (*handshake.Session, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	client, err := handshake.NewClient(cfg)
	if err != nil {
		return nil, err
	}
	conn, err := dial(ctx, s, 0)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return handshake.Fetch(ctx, conn, client)
}

func dial(ctx context.Context, s *server.Server, rtt time.Duration) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", s.Addr.String())
	if err != nil {
		return nil, errors.New("it does not accept connections: " + err.Error())
	}
	if rtt == 0 {
		return conn, nil
	}
	time.Sleep(rtt) // the round trip of the connection itself
	return &distant{Conn: conn, rtt: rtt}, nil
}
