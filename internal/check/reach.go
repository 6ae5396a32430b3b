package check

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"shakedown"
	"shakedown/handshake"
	"shakedown/internal/suite"
)

// compressions are the algorithms of RFC 8879: zlib, brotli, zstd.
var compressions = []uint16{1, 2, 3}

// askReach offers what browsers offer, and if that is refused all there is.
func askReach(ctx context.Context, p *prober) shakedown.Answer {
	c := p.config(shakedown.ModeFull)
	c.CompressCertificate = compressions
	if p.target.StartTLS == "" {
		c.ALPN = []string{"h2", "http/1.1"} // what else has no business with these
	}
	o := p.try(ctx, ask{config: c})
	if f := o.Failure; o.kind() == refused && f.Alert != nil && *f.Alert == shakedown.AlertNoApplicationProtocol {
		c.ALPN = nil
		o = p.try(ctx, ask{config: c})
	}
	if o.kind() == refused {
		// An old server, perhaps: all that can be completed is offered from now on.
		p.wide = true
		c.CipherSuites = p.config(shakedown.ModeFull).CipherSuites
		wide := p.try(ctx, ask{config: c})
		if wide.kind() != taken {
			return unsure("%s", o.word())
		}
		p.setUsual(wide)
		return yes("%s, with older suites alone (%s to those of today)", wide.Observed.CipherSuite, o.word())
	}
	if o.kind() != taken {
		return o.unanswered()
	}
	p.setUsual(o)
	return yes("%s, %s, %s, %s", o.Observed.Version, o.Observed.CipherSuite, groupName(&o.Observed), o.Observed.Chain.Key())
}

func (p *prober) setUsual(o *outcome) {
	p.pace, _ = o.took(shakedown.PhaseStarted, shakedown.PhaseComplete)
	p.seen.Usual = &Usual{
		Version: o.Observed.Version, CipherSuite: o.Observed.CipherSuite, Group: o.Observed.Group,
		SignatureScheme: o.Observed.SignatureScheme, Certificate: o.Observed.Chain.Key(), ALPN: o.Observed.ALPN,
		HelloRetryRequest: o.Observed.HelloRetryRequest, RoundTrips: o.Observed.RoundTrips,
		FlightBytes: flightBytes(&o.Observed), Compression: o.Observed.CertificateCompression,
	}
}

func groupName(o *shakedown.Observed) string {
	switch {
	case o.DHBits > 0:
		return fmt.Sprintf("finite field of %d bits", o.DHBits)
	case o.Group == 0:
		return "static RSA"
	}
	return o.Group.String()
}

// flightBytes is the size of the server's flight: its first, or that after a
// HelloRetryRequest.
func flightBytes(o *shakedown.Observed) int {
	skip := 0
	if o.HelloRetryRequest {
		skip = 1
	}
	for _, f := range o.Flights {
		if f.Direction == shakedown.Received {
			if skip == 0 {
				return f.Bytes
			}
			skip--
		}
	}
	return 0
}

func askTLS13(ctx context.Context, p *prober) shakedown.Answer {
	return p.askVersion(ctx, shakedown.TLS13)
}

// askTLS12 takes a whole handshake that brings a ticket, for later. If that is
// refused, by another alert than that of versions, suites that cannot be
// completed are offered as well.
func askTLS12(ctx context.Context, p *prober) shakedown.Answer {
	if p.usual13() {
		a := ask{config: p.config(shakedown.ModeTicket)}
		p.vary(&a.config, false)
		o := p.try(ctx, a)
		switch {
		case o.kind() == taken:
			ticket.keep(p, o)
			p.addVersion(shakedown.TLS12)
			return yes("%s with %s", shakedown.TLS12, o.Observed.CipherSuite)
		case o.kind() != refused:
			return o.unanswered()
		case o.Failure.Alert != nil && *o.Failure.Alert == shakedown.AlertProtocolVersion:
			return no("%s", o.word())
		}
	}
	return p.askVersion(ctx, shakedown.TLS12)
}

func (p *prober) askVersion(ctx context.Context, v shakedown.Version) shakedown.Answer {
	if u := p.seen.Usual; u != nil && u.Version == v {
		p.addVersion(v)
		return yes("%s with %s", v, u.CipherSuite)
	}
	c := p.hello(v)
	if v != shakedown.TLS13 {
		c.CipherSuites = allSuites(v)
	}
	o := p.try(ctx, ask{config: c})
	switch o.kind() {
	case taken:
		p.addVersion(v)
		return yes("%s with %s", v, o.Observed.CipherSuite)
	case refused:
		return no("%s", o.word())
	}
	return o.unanswered()
}

func (p *prober) addVersion(v shakedown.Version) {
	if !slices.Contains(p.seen.Versions, v) {
		p.seen.Versions = append(p.seen.Versions, v)
	}
}

// askLegacy offers TLS 1.1 and 1.0 together, and 1.0 alone if 1.1 was chosen.
func askLegacy(ctx context.Context, p *prober) shakedown.Answer {
	offer := []shakedown.Version{shakedown.TLS11, shakedown.TLS10}
	var found []string
	for len(offer) > 0 {
		c := p.hello(offer...)
		c.CipherSuites = allSuites(shakedown.TLS10)
		o := p.try(ctx, ask{config: c})
		switch o.kind() {
		case taken:
			p.addVersion(o.Observed.Version)
			found = append(found, o.Observed.Version.String())
			offer = slices.DeleteFunc(offer, func(v shakedown.Version) bool { return v.AtLeast(o.Observed.Version) })
			continue
		case refused:
			if len(found) == 0 {
				return no("%s", o.word())
			}
		default:
			if len(found) == 0 {
				return o.unanswered()
			}
		}
		break
	}
	return yes("%s", strings.Join(found, " and "))
}

// askHTTP sends the target's request, once. From then on, requests are sent with
// every handshake: who has the answer has every ticket.
func askHTTP(ctx context.Context, p *prober) shakedown.Answer {
	if len(p.target.Request) == 0 {
		return unsure("no request was given to send")
	}
	p.http = true
	c := p.config(shakedown.ModeFull)
	if p.usual13() {
		// Its tickets are not used, so another suite does no harm.
		c.CipherSuites = slices.Concat(unseenFirst(suite.Supported(shakedown.TLS13)[:3], p.suitesSeen(shakedown.TLS13), 0), suite.Supported(shakedown.TLS12))
	}
	o := p.try(ctx, ask{config: c})
	p.http = o.response != nil
	switch {
	case p.http:
		h := o.response.Header
		p.seen.HTTP = &HTTP{Status: o.response.StatusCode, Server: h.Get("Server"), HSTS: h.Get("Strict-Transport-Security"), AltSvc: h.Get("Alt-Svc")}
		return yes("HTTP status %d", o.response.StatusCode)
	case o.kind() != taken:
		return o.unanswered()
	}
	return unsure("no answer in HTTP/1.1 came within %s", patience)
}

func askHTTP2(ctx context.Context, p *prober) shakedown.Answer {
	if p.target.StartTLS != "" {
		return unsure("not offered to a server that speaks %s", p.target.StartTLS)
	}
	switch alpn := p.seen.Usual.ALPN; alpn {
	case "h2":
		return yes("h2 was chosen of h2 and http/1.1")
	case "":
		return no("the server did not answer ALPN")
	default:
		return no("%s was chosen of h2 and http/1.1", alpn)
	}
}

func askClientCertificate(ctx context.Context, p *prober) shakedown.Answer {
	asked, tried := 0, 0
	for _, o := range p.log {
		switch {
		case o.Observed.CertificateRequested: // whatever came after
			tried++
			asked++
		case o.full():
			tried++
		}
	}
	switch {
	case tried == 0:
		return unsure("no full handshake came far enough to tell")
	case asked == 0:
		return no("in none of %s", plural(tried, "full handshake"))
	}
	return yes("in %d of %s", asked, plural(tried, "full handshake"))
}

func askCompression(ctx context.Context, p *prober) shakedown.Answer {
	u := p.seen.Usual
	switch {
	case u == nil || u.Version != shakedown.TLS13:
		return unsure("the handshake that offered it was not one of TLS 1.3")
	case u.Compression == "":
		return no("zlib, brotli and zstd were offered and not used")
	}
	return yes("%s", u.Compression)
}

func askHSTS(ctx context.Context, p *prober) shakedown.Answer {
	if v := p.seen.HTTP.HSTS; v != "" {
		return yes("Strict-Transport-Security: %s", printable(v))
	}
	return no("no Strict-Transport-Security in the response to %s", firstLine(p.target.Request))
}

func askHTTP3(ctx context.Context, p *prober) shakedown.Answer {
	if v := p.seen.HTTP.AltSvc; strings.Contains(v, "h3") {
		return yes("Alt-Svc: %s", printable(v))
	}
	return no("no h3 in Alt-Svc in the response to %s", firstLine(p.target.Request))
}

func firstLine(request []byte) string {
	line, _, _ := strings.Cut(string(request), "\r\n")
	return line
}

// printable quotes what a server sent, and cuts it to a readable length.
func printable(s string) string {
	const room = 80
	if len(s) > room {
		s = s[:room] + "..."
	}
	q := fmt.Sprintf("%q", s)
	return q[1 : len(q)-1]
}

func askNoSNI(ctx context.Context, p *prober) shakedown.Answer {
	if p.target.Config.ServerName == "" {
		return yes("none was sent at all")
	}
	return p.askName(ctx, "")
}

// wrongName is a name that no certificate has (RFC 6761, section 6.4).
const wrongName = "name-that-is-not-here.invalid"

// askWrongSNI sends the unknown name in a large hello; only if that comes to
// nothing it has to find out which of both it was.
func askWrongSNI(ctx context.Context, p *prober) shakedown.Answer {
	c := p.config(shakedown.ModeFull)
	c.ServerName, c.ALPN, c.PadTo = wrongName, nil, largeHello
	if o := p.try(ctx, ask{config: c}); o.kind() == taken {
		p.large = o
		return p.named(o)
	}
	return p.askName(ctx, wrongName)
}

func (p *prober) askName(ctx context.Context, name string) shakedown.Answer {
	c := p.config(shakedown.ModeFull)
	c.ServerName, c.ALPN = name, nil
	o := p.try(ctx, ask{config: c})
	switch o.kind() {
	case taken:
		return p.named(o)
	case refused:
		return no("%s", o.word())
	}
	return o.unanswered()
}

// named says what a handshake with another name got.
func (p *prober) named(o *outcome) shakedown.Answer {
	leaf := "the same certificate"
	if usual := p.first(); usual != nil && o.chain != nil && !slices.ContainsFunc(p.chains(), func(s *seenChain) bool { return sameLeaf(s.outcomes[0], o) }) {
		leaf = fmt.Sprintf("another certificate (%s)", printable(o.chain.Certificates[0].Subject))
	}
	return yes("%s, %s", o.Observed.Version, leaf)
}

// first returns the first full handshake made.
func (p *prober) first() *outcome {
	for _, o := range p.log {
		if o.full() {
			return o
		}
	}
	return nil
}

// largeHello is over one segment of 1,460 bytes, as those with hybrid groups
// are, and over two: some boxes reassemble none, others two.
const largeHello = 3200

func askLargeHello(ctx context.Context, p *prober) shakedown.Answer {
	o := p.large
	if o == nil {
		c := p.hello()
		c.PadTo = largeHello
		o = p.try(ctx, ask{config: c})
	}
	switch o.kind() {
	case taken:
		return yes("%d bytes", o.Observed.ClientHelloBytes)
	case refused:
		return no("%s to a ClientHello of %d bytes", o.word(), largeHello)
	}
	if p.seen.is("reach", shakedown.Yes) {
		return unsure("%s, to a ClientHello of %d bytes, while one of usual size was answered", o.word(), largeHello)
	}
	return o.unanswered()
}

// askRetry looks at what clients of today send first: a share of X25519MLKEM768
// and one of x25519, or of x25519 alone.
func askRetry(ctx context.Context, p *prober) shakedown.Answer {
	u := p.seen.Usual
	switch {
	case u == nil || u.Version != shakedown.TLS13:
		return unsure("the usual handshake was not one of TLS 1.3")
	case u.HelloRetryRequest:
		return yes("shares of X25519MLKEM768 and x25519 were sent, %s was asked for: %d round trips instead of 1", u.Group, u.RoundTrips)
	case u.Group == shakedown.X25519:
		return no("shares of X25519MLKEM768 and x25519 were sent, x25519 was taken")
	}
	// It took the hybrid: a client without may be asked for something else.
	c := p.hello(shakedown.TLS13)
	c.Groups = []shakedown.Group{shakedown.X25519, shakedown.Secp256r1, shakedown.Secp384r1, shakedown.Secp521r1}
	c.KeyShares = c.Groups[:1]
	o := p.try(ctx, ask{config: c})
	switch {
	case o.kind() != taken:
		return unsure("%s was taken; with a share of x25519: %s", u.Group, o.word())
	case o.Observed.HelloRetryRequest:
		return yes("%s is taken; of a client without it that sent x25519, %s was asked for", u.Group, o.Observed.Group)
	}
	return no("%s is taken, and x25519 of a client without it", u.Group)
}

// withShares returns the configuration with one key share.
func withShares(c handshake.Config, groups ...shakedown.Group) handshake.Config {
	c.Groups, c.KeyShares = groups, groups
	return c
}
