package main

import (
	"context"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"shakedown"
	"shakedown/handshake"
	"shakedown/internal/starttls"
)

// connection is what the user typed about how to connect and what to offer. It
// is one for all verbs that make handshakes, so that a flag means the same
// everywhere. target and config turn it into what it means.
type connection struct {
	address    string
	only4      bool
	only6      bool
	timeout    time.Duration
	serverName string
	noName     bool
	startTLS   string

	offered handshake.Config // fields that a flag sets as they are
	request string

	certificate string
	key         string
	ca          string
	insecure    bool
	keyLog      string
	keyLogFile  *os.File
}

// flags returns the flags of a connection. Work is the default of --work.
func (c *connection) flags(work shakedown.Work) []section {
	reach := pflag.NewFlagSet("reach", pflag.ContinueOnError)
	reach.StringVar(&c.address, "address", "", "connect to this `address` instead of those of the target's name")
	reach.BoolVarP(&c.only4, "ipv4", "4", false, "use IPv4 addresses only")
	reach.BoolVarP(&c.only6, "ipv6", "6", false, "use IPv6 addresses only")
	reach.DurationVar(&c.timeout, "timeout", 10*time.Second, "`time` for one handshake, its connection included")
	reach.StringVar(&c.serverName, "sni", "", "`name` to send as server_name and to verify (default: the target's)")
	reach.BoolVar(&c.noName, "no-sni", false, "send no server_name")
	plain := func(s string) (string, error) { return s, starttls.Parse(s) }
	reach.Var(choiceValue[string]{&c.startTLS, "protocol", plain}, "starttls", "speak this until TLS may begin, on its own port by default:\n"+strings.Join(starttls.Protocols(), ", "))

	f := &c.offered
	f.Mode, f.Work, f.Complete = shakedown.ModeFull, work, shakedown.CompleteFinished
	offer := pflag.NewFlagSet("offer", pflag.ContinueOnError)
	offer.Var(listValue[shakedown.Version]{&f.Versions, "version", shakedown.ParseVersion}, "version", "offer this version: 1.3, 1.2 (default: both, or those of the mode)")
	offer.Var(listValue[shakedown.CipherSuite]{&f.CipherSuites, "suite", shakedown.ParseCipherSuite}, "suite", "offer this cipher suite, by its RFC name or number")
	offer.Var(listValue[shakedown.Group]{&f.Groups, "group", shakedown.ParseGroup}, "group", "offer this group: x25519, P-256, X25519MLKEM768, ...")
	offer.Var(sharesValue{&f.KeyShares}, "key-share", "send a key share of this group, or none (TLS 1.3)")
	offer.Var(listValue[shakedown.SignatureScheme]{&f.SignatureSchemes, "scheme", shakedown.ParseSignatureScheme}, "sig", "accept this signature scheme: ecdsa_secp256r1_sha256, ...")
	offer.StringSliceVar(&f.ALPN, "alpn", nil, "offer this application `protocol`: h2, http/1.1, ...")
	offer.Var(choiceValue[shakedown.Mode]{&f.Mode, "mode", shakedown.ParseMode}, "mode", "begin as full, session-id, ticket (TLS 1.2), psk, early-data (TLS 1.3)")
	offer.Var(choiceValue[shakedown.Work]{&f.Work, "work", shakedown.ParseWork}, "work", "full: as a browser; minimal: the same for the server and the least for us, with nothing verified or secret: send no credentials")
	offer.Var(choiceValue[shakedown.Completion]{&f.Complete, "event", shakedown.ParseCompletion}, "complete", "call it complete when finished, ticket or response is reached")
	offer.StringVar(&c.request, "request", "", "send this `text`, with \\r\\n for line ends (default: a GET of the target's path)")
	for _, flag := range []*pflag.Flag{offer.Lookup("version"), offer.Lookup("suite"), offer.Lookup("group"), offer.Lookup("sig"), offer.Lookup("alpn")} {
		flag.Usage += "; repeat or use commas"
	}

	more := pflag.NewFlagSet("extensions", pflag.ContinueOnError)
	more.BoolVar(&f.StatusRequest, "staple", false, "ask for a stapled OCSP response")
	more.BoolVar(&f.SCTs, "sct", false, "ask for signed certificate timestamps")
	more.Var(listValue[uint16]{&f.CompressCertificate, "algorithm", parseCompression}, "compress-cert", "offer certificate compression by zlib, brotli, zstd")
	more.Var(fragmentValue{&f.MaxFragmentLength}, "max-fragment", "ask for records of at most 512, 1024, 2048 or 4096 `bytes`")
	more.Var(recordLimitValue{&f.RecordSizeLimit}, "record-limit", "tell that records of more than these `bytes` are not accepted")
	more.BoolVar(&f.NoTickets, "no-tickets", false, "ask for no tickets")
	more.BoolVar(&f.PSKOnly, "psk-only", false, "resume TLS 1.3 without a key exchange (psk_ke)")
	more.BoolVar(&f.NoExtendedMasterSecret, "no-ems", false, "leave out extended_master_secret")
	more.BoolVar(&f.NoEncryptThenMAC, "no-etm", false, "leave out encrypt_then_mac")
	more.BoolVar(&f.NoCompatibility, "no-compat", false, "leave out TLS 1.3's middlebox compatibility")
	more.BoolVar(&f.GREASE, "grease", false, "add reserved values that servers must ignore")
	more.IntVar(&f.PadTo, "pad", 0, "pad the ClientHello to this many `bytes`")

	trust := pflag.NewFlagSet("trust", pflag.ContinueOnError)
	trust.StringVar(&c.ca, "ca", "", "trust the certificates in this PEM `file` instead of the system's")
	trust.BoolVar(&c.insecure, "insecure", false, "do not verify the server's certificate")
	trust.StringVar(&c.certificate, "cert", "", "client certificate chain, a PEM `file`")
	trust.StringVar(&c.key, "key", "", "key of the client certificate, a PEM `file`")
	trust.StringVar(&c.keyLog, "keylog", "", "append the secrets to this `file`, for Wireshark (SSLKEYLOGFILE format)")

	return []section{{"Whom to reach", reach}, {"What to offer", offer}, {"Extensions", more}, {"Certificates and keys", trust}}
}

// target reads the target and finds its addresses.
func (c *connection) target(ctx context.Context, text string) (shakedown.Target, error) {
	port := uint16(shakedown.DefaultPort)
	if c.startTLS != "" {
		port = starttls.DefaultPort(c.startTLS)
	}
	t, err := shakedown.ParseTargetPort(text, port)
	if err != nil {
		return t, failed("targets are host, host:port, [IPv6]:port or an https URL", "%w", err)
	}
	if c.noName && c.serverName != "" {
		return t, failed("", "--sni and --no-sni exclude each other")
	}
	if c.only4 && c.only6 {
		return t, failed("", "--ipv4 and --ipv6 exclude each other")
	}
	if c.noName {
		t.ServerName = ""
	}
	if c.serverName != "" {
		if err := t.SetServerName(c.serverName); err != nil {
			return t, failed("", "--sni: %w", err)
		}
	}
	if t.StartTLS = c.startTLS; t.StartTLS != "" {
		if strings.Contains(text, "://") {
			return t, failed("give host and port", "--starttls: an https URL speaks TLS from the first byte")
		}
		if _, err := starttls.New(t.StartTLS, t.ServerName); err != nil {
			return t, failed("give the name with --sni", "%w", err)
		}
	}
	if c.address != "" {
		addr, err := netip.ParseAddr(strings.Trim(c.address, "[]"))
		if err != nil {
			return t, failed("the port is the target's: give the address alone", "--address: %q is not an IP address", c.address)
		}
		t.Addresses = []netip.Addr{addr}
	}
	if len(t.Addresses) == 0 {
		ctx, cancel := context.WithTimeout(ctx, c.timeout)
		defer cancel()
		if t.Addresses, err = net.DefaultResolver.LookupNetIP(ctx, "ip", t.Host); err != nil {
			f := handshake.DialFailure(err)
			return t, failed(f.Hint, "%s", f.Text)
		}
	}
	all := t.Addresses
	t.Addresses = nil
	for _, a := range all {
		if a = a.Unmap(); c.only4 && !a.Is4() || c.only6 && !a.Is6() || slices.Contains(t.Addresses, a) {
			continue
		}
		t.Addresses = append(t.Addresses, a)
	}
	if len(t.Addresses) == 0 {
		return t, failed("", "%s has no address of the family asked for, only %v", t.Host, all)
	}
	return t, nil
}

// addresses returns where to connect for the target.
func addresses(t shakedown.Target) []netip.AddrPort {
	var list []netip.AddrPort
	for _, a := range t.Addresses {
		list = append(list, netip.AddrPortFrom(a, t.Port))
	}
	return list
}

// config returns what to offer to the target. Roots are left to the verb.
func (c *connection) config(t shakedown.Target) (handshake.Config, error) {
	cfg := c.offered
	cfg.ServerName = t.ServerName
	if t.ServerName == "" {
		cfg.VerifyName = t.Host // without SNI, and for addresses
	}
	var err error
	if cfg.Certificate, err = c.clientCertificate(); err != nil {
		return cfg, err
	}
	if cfg.Complete == shakedown.CompleteResponse || cfg.Mode == shakedown.ModeEarlyData {
		if cfg.Request, err = c.requestText(t); err != nil {
			return cfg, err
		}
	} else if c.request != "" {
		return cfg, failed("add --complete response", "--request is sent with --complete response or --mode early-data only")
	}
	if c.keyLog != "" {
		// Whoever has these can read the traffic: for the owner alone.
		c.keyLogFile, err = os.OpenFile(c.keyLog, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return cfg, failed("", "--keylog: %w", err)
		}
		cfg.KeyLog = c.keyLogFile
	}
	return cfg, nil
}

// close ends what config opened.
func (c *connection) close() {
	if c.keyLogFile != nil {
		c.keyLogFile.Close()
	}
}

// client makes the config ready; what cannot work is told with the flags' help.
func client(cfg handshake.Config) (*handshake.Client, error) {
	made, err := handshake.NewClient(&cfg)
	if err != nil {
		return nil, failed("such a handshake could only fail: change what is offered", "%w", err)
	}
	return made, nil
}

func (c *connection) clientCertificate() (*handshake.ClientCertificate, error) {
	if c.certificate == "" && c.key == "" {
		return nil, nil
	}
	if c.certificate == "" || c.key == "" {
		return nil, failed("", "--cert and --key go together")
	}
	pair, err := tls.LoadX509KeyPair(c.certificate, c.key)
	if err != nil {
		return nil, failed("both are PEM files, the leaf first", "--cert and --key: %w", err)
	}
	signer, ok := pair.PrivateKey.(crypto.Signer)
	if !ok {
		return nil, failed("", "--key: keys of type %T do not sign", pair.PrivateKey)
	}
	return &handshake.ClientCertificate{Chain: pair.Certificate, Signer: signer}, nil
}

// requestText returns the request typed, or a GET of the target's path.
func (c *connection) requestText(t shakedown.Target) ([]byte, error) {
	if c.request != "" {
		// A shell may have put in line ends already.
		escaped := strings.NewReplacer(`"`, `\"`, "\r", `\r`, "\n", `\n`).Replace(c.request)
		text, err := strconv.Unquote(`"` + escaped + `"`)
		if err != nil {
			return nil, failed(`use \r\n for line ends, \\ for a backslash, \x00 for bytes`, "--request: %q has a bad escape", c.request)
		}
		return []byte(text), nil
	}
	if t.StartTLS != "" {
		return nil, failed("give one with --request, such as 'NOOP\\r\\n'", "the usual request is HTTP, and the server speaks %s", t.StartTLS)
	}
	if slices.Contains(c.offered.ALPN, "h2") {
		return nil, failed("offer http/1.1 only, or give --request", "the usual request is HTTP/1.1, but h2 is offered")
	}
	host := t.ServerName
	if host == "" {
		host = t.Host
	}
	if t.Port != shakedown.DefaultPort {
		host = net.JoinHostPort(host, strconv.Itoa(int(t.Port)))
	} else if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: shakedown\r\nConnection: close\r\n\r\n", t.Path, host), nil
}

// roots returns the certificates to trust, or nil when nothing is to be
// verified.
func (c *connection) roots() (*x509.CertPool, error) {
	switch {
	case c.insecure && c.ca != "":
		return nil, failed("", "--ca and --insecure exclude each other")
	case c.insecure || c.offered.Work == shakedown.WorkMinimal:
		if c.ca != "" {
			return nil, failed("use --work full", "--ca: work minimal verifies nothing")
		}
		return nil, nil
	case c.ca == "":
		pool, err := x509.SystemCertPool()
		if err != nil {
			return nil, failed("give the roots with --ca, or use --insecure", "the system's root certificates: %w", err)
		}
		return pool, nil
	}
	text, err := os.ReadFile(c.ca)
	if err != nil {
		return nil, failed("", "--ca: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, failed("it has to hold PEM blocks of type CERTIFICATE", "--ca: there is no certificate in %s", c.ca)
	}
	return pool, nil
}
