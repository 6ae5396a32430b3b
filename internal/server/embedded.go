package server

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync/atomic"

	"shakedown"
)

// Embedded starts a server on Go's crypto/tls: nothing needs to be installed. It
// runs inside this program, where its CPU time cannot be told from the program's
// own, or in a process of its own.
//
// Workers are accept loops. They share one listening socket or, with Reuseport,
// have one each; they share ticket keys or, with TicketsPerWorker, have keys of
// their own, which is how servers behave that do not share them.
type Embedded struct {
	// Command, if set, is a command line that calls [ServeEmbedded]: usually this
	// program's own with some hidden argument. The server then runs as that
	// process, on as many cores at once as it has workers.
	Command []string
}

// Name implements [Driver].
func (Embedded) Name() string { return "embedded" }

// Available implements [Driver]: it always is.
func (Embedded) Available() error { return nil }

// embeddedGroups are those of Go's crypto/tls.
var embeddedGroups = []shakedown.Group{
	shakedown.X25519, shakedown.Secp256r1, shakedown.Secp384r1, shakedown.Secp521r1,
	shakedown.X25519MLKEM768, shakedown.SecP256r1MLKEM768, shakedown.SecP384r1MLKEM1024,
}

// Can implements [Driver].
func (e Embedded) Can(s Spec) error {
	s = s.withDefaults()
	if err := s.noNumTickets("crypto/tls"); err != nil {
		return err
	}
	for _, k := range s.Certificates {
		if !k.inGo() {
			return fmt.Errorf("crypto/tls has no keys of kind %s", k)
		}
	}
	for _, c := range s.Suites {
		if c>>8 == 0x13 {
			return fmt.Errorf("crypto/tls chooses the suite of TLS 1.3 itself: it cannot be told %s", c)
		}
		if !slices.ContainsFunc(slices.Concat(tls.CipherSuites(), tls.InsecureCipherSuites()), func(t *tls.CipherSuite) bool { return t.ID == uint16(c) }) {
			return fmt.Errorf("crypto/tls has no cipher suite %s", c)
		}
	}
	for _, g := range s.Groups {
		if !slices.Contains(embeddedGroups, g) {
			return fmt.Errorf("crypto/tls has no group %s", g)
		}
	}
	if low, high := versionRange(s); len(s.Versions) > 0 && len(s.Versions) != int(high-low)+1 {
		return fmt.Errorf("crypto/tls speaks a range of versions, not %v", s.Versions)
	}
	switch {
	case s.CPUs != "" && len(e.Command) == 0:
		return errors.New("the embedded server shares its cores with the rest of this program")
	case s.PreferServer:
		return errors.New("crypto/tls chooses suites by its own order whatever is preferred")
	case s.DHBits != 0:
		return errors.New("crypto/tls has no finite-field DHE")
	case s.Cache != CacheDefault && s.Cache != CacheOff:
		return errors.New("crypto/tls has no session cache on the server's side")
	case s.SessionTimeoutSeconds != 0:
		return errors.New("crypto/tls has tickets of seven days, which cannot be changed")
	case s.EarlyData:
		return errors.New("crypto/tls has no early data over TCP")
	case s.BufferSize != 0:
		return errors.New("crypto/tls sizes its records itself")
	case len(s.ALPN) > 0 && !slices.Equal(s.ALPN, []string{"http/1.1"}):
		return fmt.Errorf("the embedded server speaks http/1.1, not %v", s.ALPN)
	}
	return nil
}

// versionRange returns the lowest and the highest version of the spec.
func versionRange(s Spec) (low, high shakedown.Version) {
	if len(s.Versions) == 0 {
		return shakedown.TLS12, shakedown.TLS13
	}
	return slices.Min(s.Versions), slices.Max(s.Versions)
}

// Start implements [Driver].
func (e Embedded) Start(ctx context.Context, spec Spec, dir string) (*Server, error) {
	return start(ctx, e, spec, dir, e.up)
}

// up starts the listeners and their workers.
func (e Embedded) up(ctx context.Context, m *material, addr netip.AddrPort) (instance, error) {
	if len(e.Command) > 0 {
		return e.upProcess(ctx, m, addr)
	}
	fail := func(err error) (instance, error) { return nil, &StartError{Driver: e.Name(), Err: err} }
	configs, err := embeddedConfigs(ctx, m)
	if err != nil {
		return fail(err)
	}
	in := newEmbeddedServer(m)
	for i := range m.spec.Workers {
		if i == 0 || m.spec.Reuseport {
			listener, err := listen(ctx, addr, m.spec.Reuseport)
			if err != nil {
				in.stop() //nolint:errcheck // always nil
				return fail(err)
			}
			in.listeners = append(in.listeners, listener)
		}
		in.configs = append(in.configs, new(atomic.Pointer[tls.Config]))
		in.configs[i].Store(configs[i])
	}
	for i, config := range in.configs {
		listener := in.listeners[i%len(in.listeners)]
		in.running.Go(func() { in.accept(listener, config) })
	}
	return in, nil
}

// listen opens a listening socket on addr.
func listen(ctx context.Context, addr netip.AddrPort, reuseport bool) (net.Listener, error) {
	var lc net.ListenConfig
	if reuseport {
		lc.Control = setReuseport
	}
	l, err := lc.Listen(ctx, "tcp", addr.String())
	if isPortTaken(err) {
		err = fmt.Errorf("%s: %w", addr, errPortTaken)
	}
	return l, err
}

// embeddedConfigs returns a configuration for each worker.
func embeddedConfigs(ctx context.Context, m *material) ([]*tls.Config, error) {
	s := m.spec
	low, high := versionRange(s)
	config := &tls.Config{
		MinVersion: uint16(low), MaxVersion: uint16(high), NextProtos: s.ALPN,
		SessionTicketsDisabled: s.Tickets == TicketsOff,
	}
	for _, c := range s.Suites {
		config.CipherSuites = append(config.CipherSuites, uint16(c))
	}
	for _, g := range s.Groups {
		config.CurvePreferences = append(config.CurvePreferences, tls.CurveID(g))
	}
	for i, c := range m.certs {
		pair, err := c.TLS()
		if err != nil {
			return nil, err
		}
		if pair.OCSPStaple, err = m.embeddedStaple(ctx, i); err != nil {
			return nil, fmt.Errorf("staple: %w", err)
		}
		config.Certificates = append(config.Certificates, pair)
	}
	if s.ClientAuth != ClientAuthNone {
		cas, err := os.ReadFile(m.clientCAs)
		if err != nil {
			return nil, err
		}
		config.ClientCAs = x509.NewCertPool()
		config.ClientCAs.AppendCertsFromPEM(cas)
		config.ClientAuth = tls.VerifyClientCertIfGiven
		if s.ClientAuth == ClientAuthRequire {
			config.ClientAuth = tls.RequireAndVerifyClientCert
		}
	}
	shared, err := embeddedTicketKeys(m)
	if err != nil {
		return nil, err
	}
	configs := make([]*tls.Config, s.Workers)
	for i := range configs {
		configs[i] = config.Clone()
		keys := shared
		if s.Tickets == TicketsPerWorker {
			keys = [][32]byte{randomTicketKey()}
		}
		configs[i].SetSessionTicketKeys(keys)
	}
	return configs, nil
}

// embeddedStaple returns the staple of the i-th certificate, nil if there is to
// be none.
func (m *material) embeddedStaple(ctx context.Context, i int) ([]byte, error) {
	switch m.spec.Stapling {
	case StaplingFile:
		return os.ReadFile(m.staples[i])
	case StaplingResponder:
		response, _, err := QueryOCSP(ctx, m.certs[i].Leaf.OCSPServer[0], m.certs[i])
		if err != nil {
			return nil, err
		}
		return response.Raw, nil
	}
	return nil, nil
}

// embeddedTicketKeys returns the keys that all workers share: of the files, of
// which crypto/tls can use a digest, or a random one.
func embeddedTicketKeys(m *material) ([][32]byte, error) {
	if len(m.ticketKeys) == 0 {
		return [][32]byte{randomTicketKey()}, nil
	}
	var keys [][32]byte
	for _, file := range m.ticketKeys {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if len(text) != 48 && len(text) != 80 {
			return nil, fmt.Errorf("%s has %d bytes, not 48 or 80", file, len(text))
		}
		keys = append(keys, sha256.Sum256(text))
	}
	return keys, nil
}

// randomTicketKey returns a fresh key.
func randomTicketKey() (key [32]byte) {
	rand.Read(key[:]) //nolint:errcheck // never fails
	return key
}
