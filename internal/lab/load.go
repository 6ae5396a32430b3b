package lab

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"shakedown"
	"shakedown/handshake"
	"shakedown/internal/link"
	"shakedown/internal/load"
	"shakedown/internal/server"
)

// resumed stands for the mode of resumption by ticket that the client's highest
// version has.
const resumed = "resumed"

// Load is what a cell's server gets, in the words of a plan. What is empty
// follows from the server: the client offers its versions, suites and groups.
type Load struct {
	// Mode of the handshakes; "resumed" is ticket in TLS 1.2 and psk in TLS 1.3.
	Mode string `json:"mode,omitempty" yaml:"mode"`
	// Mix of several modes instead, such as "full=20,resumed=80".
	Mix string `json:"mix,omitempty" yaml:"mix"`
	// What the client offers.
	Versions         []shakedown.Version         `json:"versions,omitempty" yaml:"versions"`
	CipherSuites     []shakedown.CipherSuite     `json:"cipher_suites,omitempty" yaml:"cipher_suites"`
	Groups           []shakedown.Group           `json:"groups,omitempty" yaml:"groups"`
	KeyShares        []shakedown.Group           `json:"key_shares,omitempty" yaml:"key_shares"`
	SignatureSchemes []shakedown.SignatureScheme `json:"signature_schemes,omitempty" yaml:"signature_schemes"`
	StatusRequest    bool                        `json:"status_request,omitempty" yaml:"status_request"`
	NoTickets        bool                        `json:"no_tickets,omitempty" yaml:"no_tickets"`
	PSKOnly          bool                        `json:"psk_only,omitempty" yaml:"psk_only"`

	// Connections at once.
	Connections int `json:"connections" yaml:"connections"`
	// Rate of an open loop, in handshakes begun per second; 0: a closed loop.
	Rate    float64 `json:"rate_per_s,omitempty" yaml:"rate"`
	Poisson bool    `json:"poisson,omitempty" yaml:"poisson"`
	// RTT holds each flight of the server for this long.
	RTT time.Duration `json:"rtt_ns,omitempty" yaml:"rtt"`
	// Link is a slow network with real TCP instead, such as
	// "rtt=20ms,rate=100mbit". It takes Linux and root: without them the cell
	// fails, and is never measured with less.
	Link    string        `json:"link,omitempty" yaml:"link"`
	Timeout time.Duration `json:"timeout_ns,omitempty" yaml:"timeout"`
	Tickets string        `json:"tickets,omitempty" yaml:"tickets"` // reuse, single-use, pool=N
	Work    string        `json:"work" yaml:"work"`
	// Complete says when a handshake is done. "response" is the default, since
	// it means the same for every server, version and mode.
	Complete string `json:"complete" yaml:"complete"`
	Close    string `json:"close,omitempty" yaml:"close"`
	Threads  int    `json:"threads,omitempty" yaml:"threads"`
	CPUs     []int  `json:"cpus,omitempty" yaml:"cpus"`

	// Visits is how many first visits of a client with full verification are
	// made in a turn, one after the other, beside the load; AskCA has it ask the
	// CA's responder when nothing was stapled, as a strict client does.
	Visits int  `json:"visits,omitempty" yaml:"visits"`
	AskCA  bool `json:"ask_ca,omitempty" yaml:"ask_ca"`

	// Slices cuts a turn into so many parts, for what changes in its course.
	Slices int `json:"slices,omitempty" yaml:"slices"`
	// Rotate changes the ticket key in the middle: "keep" has the server accept
	// the old key, too, "drop" does not.
	Rotate string `json:"rotate,omitempty" yaml:"rotate"`
}

// What a load has that says nothing else.
const (
	defaultConnections = 16
	defaultTimeout     = 10 * time.Second
)

func defaultLoad() Load {
	return Load{Mode: string(shakedown.ModeFull), Connections: defaultConnections, Work: string(shakedown.WorkMinimal), Complete: string(shakedown.CompleteResponse), Timeout: defaultTimeout}
}

// problem is what is wrong with a key of a load.
type problem struct {
	key string
	err error
}

// clientGroups are offered when neither load nor server names any.
var clientGroups = []shakedown.Group{shakedown.X25519, shakedown.Secp256r1, shakedown.Secp384r1, shakedown.Secp521r1}

// plan makes the load's plan for a server with this spec. Its targets, names
// and processes are filled in once the server runs.
func (l Load) plan(spec server.Spec) (load.Plan, *problem) {
	p := load.Plan{
		Connections: l.Connections, RTT: l.RTT, Timeout: l.Timeout, Threads: l.Threads, CPUs: l.CPUs,
		Config: handshake.Config{
			Versions: l.Versions, CipherSuites: l.CipherSuites, Groups: l.Groups, KeyShares: l.KeyShares, SignatureSchemes: l.SignatureSchemes,
			StatusRequest: l.StatusRequest, NoTickets: l.NoTickets, PSKOnly: l.PSKOnly,
		},
	}
	if len(p.Config.Versions) == 0 {
		p.Config.Versions = spec.Versions
	}
	if len(p.Config.CipherSuites) == 0 {
		p.Config.CipherSuites = spec.Suites
	}
	if len(p.Config.Groups) == 0 {
		p.Config.Groups = spec.Groups
	}
	if len(p.Config.Groups) == 0 {
		p.Config.Groups = clientGroups
	}
	if problem := l.modes(&p); problem != nil {
		return p, problem
	}
	var err error
	if l.Tickets != "" {
		if p.Tickets, err = load.ParseTicketPolicy(l.Tickets); err != nil {
			return p, &problem{"tickets", err}
		}
	}
	if p.Config.Work, err = shakedown.ParseWork(l.Work); err != nil {
		return p, &problem{"work", err}
	}
	if p.Config.Complete, err = shakedown.ParseCompletion(l.Complete); err != nil {
		return p, &problem{"complete", err}
	}
	if l.Link != "" {
		c, err := link.Parse(l.Link)
		if err != nil {
			return p, &problem{"link", err}
		}
		p.Link = &c
	}
	if l.Close != "" {
		if p.Close, err = load.ParseClose(l.Close); err != nil {
			return p, &problem{"close", err}
		}
	}
	if l.Rate > 0 {
		p.Arrivals = load.Arrivals{Stages: []load.Stage{{Duration: time.Hour, Rate: l.Rate}}, Poisson: l.Poisson}
	}
	return p, l.check()
}

// check looks at the numbers.
func (l Load) check() *problem {
	switch {
	case l.Connections < 1 || l.Connections > 1_000_000:
		return &problem{"connections", errors.New("want from 1 to 1000000 connections")}
	case l.Rate < 0 || l.Rate > 1e7:
		return &problem{"rate", errors.New("want a rate from above 0 to 10000000 per second")}
	case l.RTT < 0 || l.RTT > 10*time.Second:
		return &problem{"rtt", errors.New("want a round trip from 0 to 10s")}
	case l.Link != "" && l.RTT > 0:
		return &problem{"link", errors.New("has a round trip of its own: leave out rtt")}
	case l.Link != "" && l.Visits > 0:
		return &problem{"link", errors.New("carries the load alone and no visits: use rtt for these")}
	case l.Visits < 0 || l.Visits > 1000:
		return &problem{"visits", errors.New("want from 0 to 1000 visits")}
	case l.AskCA && l.Visits == 0:
		return &problem{"ask_ca", errors.New("is set without visits, which alone ask the CA")}
	case l.Slices < 0 || l.Slices > 100:
		return &problem{"slices", errors.New("want from 0 to 100 slices")}
	case !slices.Contains([]string{"", "none", "keep", "drop"}, l.Rotate):
		return &problem{"rotate", fmt.Errorf("unknown rotation %q: known are none, keep, drop", l.Rotate)}
	case l.rotates() && l.Slices < 2:
		return &problem{"rotate", errors.New("needs slices, 2 at least: what comes before and what after")}
	}
	return nil
}

func (l Load) rotates() bool { return l.Rotate == "keep" || l.Rotate == "drop" }

// modes sets mode or mix, and the versions that go with them.
func (l Load) modes(p *load.Plan) *problem {
	text, key := l.Mode, "mode"
	if l.Mix != "" {
		text, key = l.Mix, "mix"
	}
	byTicket := shakedown.ModePSK
	if v := p.Config.Versions; len(v) > 0 && !slices.Contains(v, shakedown.TLS13) {
		byTicket = shakedown.ModeTicket
	}
	text = strings.ReplaceAll(text, resumed, string(byTicket))
	if key == "mode" {
		mode, err := shakedown.ParseMode(text)
		if err != nil {
			return &problem{key, fmt.Errorf("unknown mode %q (one of full, resumed, session-id, ticket, psk, early-data)", text)}
		}
		p.Mix = []load.Share{{Mode: mode, Weight: 1}}
	} else {
		var err error
		if p.Mix, err = load.ParseMix(text); err != nil {
			return &problem{key, err}
		}
	}
	if len(p.Mix) == 1 {
		p.Config.Mode = p.Mix[0].Mode
		// A mode that resumes belongs to one version: offer no other.
		if p.Config.Mode.Resumes() {
			v := shakedown.TLS13
			if p.Config.Mode == shakedown.ModeSessionID || p.Config.Mode == shakedown.ModeTicket {
				v = shakedown.TLS12
			}
			p.Config.Versions = []shakedown.Version{v}
			p.Config.CipherSuites = slices.DeleteFunc(slices.Clone(p.Config.CipherSuites), func(c shakedown.CipherSuite) bool { return (c>>8 == 0x13) != (v == shakedown.TLS13) })
		}
	}
	return nil
}

// request is what a client asks for once the handshake is complete.
func request(name string) []byte {
	return []byte("GET / HTTP/1.1\r\nHost: " + name + "\r\nConnection: close\r\n\r\n")
}

// at fills in where the server is.
func at(p load.Plan, s *server.Server) load.Plan {
	p.Targets, p.ServerPIDs = []netip.AddrPort{s.Addr}, []int{s.PID}
	p.Config.ServerName, p.Config.Request = s.Name, request(s.Name)
	return p
}
