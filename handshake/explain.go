package handshake

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"shakedown"
	"shakedown/internal/suite"
)

// Which certificate a server has is not known before a handshake, and with it
// whether an offer can be taken at all. Preflight and Explain find out by
// handshakes of their own: first the offer as it is, then with more in it.

// Preflight says why no handshake with client can succeed, or returns nil. It
// makes a handshake only if the offer is one that a usual certificate forbids:
// TLS 1.2 with suites for ECDSA certificates, and none of their curves. dial
// connects to the server, up to where TLS begins.
func Preflight(ctx context.Context, client *Client, dial func(context.Context) (net.Conn, error)) *shakedown.Failure {
	if !client.lacksCurve() {
		return nil
	}
	r, err := attempt(ctx, bare(client), dial)
	switch {
	case err != nil || r.Failure == nil:
		return nil // the run will tell
	case lacksCurveOf(&client.config, &r.Observed): // Go's and GnuTLS's servers send it all the same
		return lack(client, &r, whyGroups)
	}
	return Explain(ctx, client, r.Failure, dial)
}

// Explain finds out why a server refused what client offers: it offers more of
// one kind after the other until the server takes it, in three connections at the
// most. It returns nil if refused is no refusal, or if more does not help.
func Explain(ctx context.Context, client *Client, refused *shakedown.Failure, dial func(context.Context) (net.Conn, error)) *shakedown.Failure {
	if !isRefusal(refused) {
		return nil
	}
	wider := bare(client)
	for _, kind := range []struct {
		add func(*Config) bool
		why func(*Config, *shakedown.Observed) string
	}{
		{addGroups, whyGroups}, {addSuites, whySuites}, {addSchemes, whySchemes},
	} {
		if !kind.add(&wider) {
			continue
		}
		r, err := attempt(ctx, wider, dial)
		if err != nil {
			return nil
		}
		// Where a client certificate is demanded it fails later, and has told enough.
		if r.Failure == nil || r.Observed.Chain != nil {
			return lack(client, &r, kind.why)
		}
	}
	return nil
}

// lack says what client's offer lacked for what the server did when more was
// offered, or nil if it lacked nothing.
func lack(client *Client, r *shakedown.Result, why func(*Config, *shakedown.Observed) string) *shakedown.Failure {
	missing := missing(&client.config, &r.Observed)
	if missing == nil {
		return nil
	}
	hint := "add " + strings.Join(missing, " ")
	if lacksCurveOf(&client.config, &r.Observed) && !client.offers13 {
		hint += orTLS13
	}
	return &shakedown.Failure{Class: shakedown.ClassIncompatible, Phase: shakedown.PhaseConnected, Text: why(&client.config, &r.Observed), Hint: hint}
}

// orTLS13 is the other way out where a curve of TLS 1.2 is not offered.
const orTLS13 = ", or use --version 1.3 if the server has that"

// isRefusal reports whether a server said by an alert that nothing offered suits it.
func isRefusal(f *shakedown.Failure) bool {
	return f.Class == shakedown.ClassAlert && f.Alert != nil && !f.AlertSent && f.Phase < shakedown.PhaseServerHello &&
		(*f.Alert == shakedown.AlertHandshakeFailure || *f.Alert == shakedown.AlertInsufficientSecurity)
}

// bare is what client offers, in a handshake that does nothing but show whether
// the server takes it.
func bare(client *Client) Config {
	c := client.Config()
	c.Mode, c.Complete, c.Request = shakedown.ModeFull, shakedown.CompleteFinished, nil
	c.Session, c.Roots, c.KeyLog = nil, nil, nil
	return c
}

func attempt(ctx context.Context, cfg Config, dial func(context.Context) (net.Conn, error)) (shakedown.Result, error) {
	conn, err := dial(ctx)
	if err != nil {
		return shakedown.Result{}, err
	}
	defer conn.Close()
	return Do(ctx, conn, &cfg, time.Now(), Recorder{})
}

// lacksCurve reports whether a server with an ECDSA certificate has to refuse
// what is offered in TLS 1.2: the certificate's curve has to be among the groups
// (RFC 8422, section 5.1).
func (c *Client) lacksCurve() bool {
	forECDSA := func(id shakedown.CipherSuite) bool {
		info, ok := suite.Lookup(id)
		return ok && info.Authentication == suite.AuthECDSA
	}
	return c.offers12 && slices.ContainsFunc(c.config.CipherSuites, forECDSA) && !slices.ContainsFunc(c.config.Groups, certificateCurve)
}

// The kinds of what can be added report whether they added anything.

func addGroups(c *Config) bool {
	return addMissing(&c.Groups, defaultGroups)
}

func addSuites(c *Config) bool {
	added := false
	for _, v := range c.Versions {
		added = addMissing(&c.CipherSuites, suite.Supported(v)) || added
	}
	return added
}

func addSchemes(c *Config) bool {
	return addMissing(&c.SignatureSchemes, defaultSchemes)
}

// addMissing adds those of more that list does not have, after its own.
func addMissing[T comparable](list *[]T, more []T) bool {
	n := len(*list)
	*list = slices.Clone(*list)
	for _, v := range more {
		if !slices.Contains(*list, v) {
			*list = append(*list, v)
		}
	}
	return len(*list) > n
}

// missing returns the flags that offer what the server took and was not asked for.
func missing(asked *Config, o *shakedown.Observed) (flags []string) {
	if o.CipherSuite != 0 && !slices.Contains(asked.CipherSuites, o.CipherSuite) {
		flags = append(flags, "--suite "+o.CipherSuite.String())
	}
	if lacksCurveOf(asked, o) {
		flags = append(flags, "--group "+strings.Replace(o.Chain.Key(), "ECDSA-P", "P-", 1))
	} else if o.Group != 0 && !slices.Contains(asked.Groups, o.Group) {
		flags = append(flags, "--group "+o.Group.String())
	}
	if o.SignatureScheme != 0 && !slices.Contains(asked.SignatureSchemes, o.SignatureScheme) {
		flags = append(flags, "--sig "+o.SignatureScheme.String())
	}
	return flags
}

// lacksCurveOf reports whether the server's certificate is on a curve that asked
// would have had to offer in TLS 1.2.
func lacksCurveOf(asked *Config, o *shakedown.Observed) bool {
	curves := map[string]shakedown.Group{"ECDSA-P256": shakedown.Secp256r1, "ECDSA-P384": shakedown.Secp384r1, "ECDSA-P521": shakedown.Secp521r1}
	g, known := curves[o.Chain.Key()]
	return known && o.Version == shakedown.TLS12 && !slices.Contains(asked.Groups, g)
}

func whyGroups(asked *Config, o *shakedown.Observed) string {
	if lacksCurveOf(asked, o) {
		return fmt.Sprintf("the server's certificate is %s, and in TLS 1.2 a client has to offer its curve in supported_groups (RFC 8422, section 5.1), but offers %v",
			o.Chain.Key(), asked.Groups)
	}
	return fmt.Sprintf("the server takes none of the groups %v, but %s", asked.Groups, o.Group)
}

func whySuites(asked *Config, o *shakedown.Observed) string {
	key := o.Chain.Key()
	need := suite.AuthECDSA
	if strings.HasPrefix(key, "RSA") {
		need = suite.AuthRSA
	}
	goes := func(id shakedown.CipherSuite) bool {
		info, ok := suite.Lookup(id)
		return ok && (info.Authentication == need || info.Authentication == suite.AuthAny)
	}
	if !slices.ContainsFunc(asked.CipherSuites, goes) {
		return fmt.Sprintf("the server's certificate is %s, and none of the cipher suites offered is for such a key", key)
	}
	return fmt.Sprintf("the server takes none of the cipher suites offered, but %s", o.CipherSuite)
}

func whySchemes(asked *Config, o *shakedown.Observed) string {
	return fmt.Sprintf("the server's certificate is %s, and of the signature schemes offered, %v, it can use none: it signs with %s",
		o.Chain.Key(), asked.SignatureSchemes, o.SignatureScheme)
}
