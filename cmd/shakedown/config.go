package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"shakedown/internal/lab"
	"shakedown/internal/lint/config"
	"shakedown/internal/nginx"
)

// configurer writes configurations that lint has nothing to say of.
type configurer struct {
	answers config.Answers
	names   []string
	certs   []string
	detect  string
	nginx   string
	openssl string
	explain bool
	runDir  string
	output  output
}

func (a *app) configCommand() *cobra.Command {
	c := &configurer{}
	cmd := &cobra.Command{
		Use:   "config [flags] nginx|haproxy|apache",
		Short: "Write a TLS configuration, each line with its reason",
		Long: `Config writes a configuration with TLS 1.2 and 1.3, sessions that resume on every
host and socket and after a reload, no needless round trip and the cheapest
certificate each client can take. For nginx it is a whole nginx.conf that lint finds
nothing in; for haproxy and apache it is what was established for them by trial.

What can be read is read: the kind of a certificate from its file, the releases from
the nginx and openssl installed. With --detect the sites come from an nginx.conf.`,
		Example: `  shakedown config nginx --name shop.example --cert ecdsa.pem,ecdsa.key --cert rsa.pem,rsa.key --tickets /etc/nginx/tickets
  shakedown config nginx --detect /etc/nginx/nginx.conf --hosts 4 --tickets /etc/nginx/tickets
  shakedown config nginx --detect /etc/nginx/nginx.conf --tickets /etc/nginx/tickets --explain --run certificate-run
  shakedown config haproxy --name shop.example --cert ecdsa=/etc/haproxy/shop.pem, --backend 127.0.0.1:8080 --openssl-version 3.0.22`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return failed("such as: shakedown config nginx", "one of nginx, haproxy, apache is wanted")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), a, args[0]) },
	}
	site := pflag.NewFlagSet("site", pflag.ContinueOnError)
	site.StringArrayVar(&c.names, "name", nil, "server `name`; may be repeated")
	site.StringArrayVar(&c.certs, "cert", nil, "`CHAIN,KEY`: files of one certificate; may be repeated. ecdsa= or rsa= before it when the file is not here")
	site.StringVar(&c.detect, "detect", "", "take names and certificates from this nginx `file` instead")
	site.StringVar(&c.answers.Backend, "backend", "", "`host:port` requests go to (default: files)")
	site.StringVar(&c.answers.Root, "root", "", "`directory` of the files to serve")
	site.IntVar(&c.answers.Port, "port", 443, "`port` to listen on")
	about := pflag.NewFlagSet("about", pflag.ContinueOnError)
	about.StringVar(&c.nginx, "nginx-version", "", "`release` to write for (default: the one installed here)")
	about.StringVar(&c.openssl, "openssl-version", "", "`release` the server is linked with (default: as nginx -V says)")
	about.IntVar(&c.answers.Hosts, "hosts", 1, "`number` of machines that answer for the same names")
	about.Float64Var(&c.answers.SessionsPerSecond, "sessions-per-second", 0, "full handshakes expected at the peak, a `rate`")
	about.StringVar(&c.answers.TicketDir, "tickets", "", "`directory` of the ticket keys, as shakedown stek new makes it")
	about.BoolVar(&c.answers.RSAOnly, "rsa-only-clients", false, "an RSA certificate alone is meant")
	about.StringVar(&c.answers.ClientCA, "client-ca", "", "`file`: clients must show a certificate of this authority")
	about.BoolVar(&c.answers.EarlyData, "early-data", false, "take the first request with the first flight; the backend then guards against repeats")
	cost := pflag.NewFlagSet("cost", pflag.ContinueOnError)
	cost.BoolVar(&c.explain, "explain", false, "for nginx: tell the choices and what each costs, instead of the configuration")
	cost.StringVar(&c.runDir, "run", "", "with --explain: take the figures from this `directory` of a run of lab")
	addFlags(cmd, section{"Site", site}, section{"About the server", about}, section{"Cost", cost}, c.output.flags("text"))
	return cmd
}

func (c *configurer) run(ctx context.Context, a *app, server string) error {
	writers := map[string]func(config.Answers) (config.File, error){"nginx": config.Nginx, "haproxy": config.HAProxy, "apache": config.Apache}
	write := writers[server]
	if write == nil {
		return failed("", "unknown server %q (one of nginx, haproxy, apache)", server)
	}
	switch {
	case c.explain && server != "nginx":
		return failed("", "--explain is for nginx")
	case c.runDir != "" && !c.explain:
		return failed("add --explain", "--run is for --explain")
	}
	if err := c.versions(ctx, server); err != nil {
		return err
	}
	if err := c.sites(); err != nil {
		return err
	}
	file, err := write(c.answers)
	if err != nil {
		return failed("see shakedown config --help", "%w", err)
	}
	if c.explain {
		var run *lab.Outcome
		if c.runDir != "" {
			if run, err = readRun(c.runDir); err != nil {
				return err
			}
		}
		return c.output.write(a, nil, map[string]func(io.Writer) error{"text": func(w io.Writer) error { return explain(w, file, run) }})
	}
	return c.output.write(a, nil, map[string]func(io.Writer) error{"text": func(w io.Writer) error {
		_, err := io.WriteString(w, file.String())
		return err
	}})
}

// versions settles the releases; haproxy and apache need OpenSSL's alone.
func (c *configurer) versions(ctx context.Context, server string) error {
	binary, installed := nginx.Installed(ctx)
	var err error
	switch {
	case c.nginx != "":
		if c.answers.Nginx, err = nginx.ParseVersion(c.nginx); err != nil {
			return failed("", "--nginx-version: %w", err)
		}
	case installed == nil:
		c.answers.Nginx = binary.Version
	case server == "nginx":
		return failed("say which release it is for, such as --nginx-version 1.22.1 --openssl-version 3.0.22", "%w", installed)
	}
	switch {
	case c.openssl != "":
		if c.answers.OpenSSL, err = nginx.ParseVersion(c.openssl); err != nil {
			return failed("", "--openssl-version: %w", err)
		}
	case server == "nginx" && installed == nil && c.answers.Nginx == binary.Version:
		c.answers.OpenSSL = binary.OpenSSL
	}
	if c.answers.OpenSSL.IsZero() {
		return failed("such as --openssl-version 3.0.22: it decides the groups", "the release of OpenSSL is not known")
	}
	return nil
}

// sites come from the flags or from a configuration.
func (c *configurer) sites() error {
	if c.detect != "" {
		if len(c.names)+len(c.certs) > 0 {
			return failed("", "--detect and --name or --cert exclude each other")
		}
		file, err := nginx.Load(c.detect)
		if err != nil {
			return failed("", "%w", err)
		}
		if c.answers.Sites, err = config.Detect(nginx.Interpret(file, c.answers.Nginx)); err != nil {
			return failed("", "%w", err)
		}
		return nil
	}
	site := config.Site{Names: c.names}
	for _, text := range c.certs {
		cert, err := parseCertFlag(text)
		if err != nil {
			return err
		}
		site.Certificates = append(site.Certificates, cert)
	}
	if len(site.Names) == 0 || len(site.Certificates) == 0 {
		return failed("such as --name shop.example --cert chain.pem,key.pem, or --detect nginx.conf", "a name and a certificate are wanted")
	}
	c.answers.Sites = []config.Site{site}
	return nil
}

// parseCertFlag reads [ecdsa=|rsa=]CHAIN,KEY. Without a kind the file is looked at.
func parseCertFlag(text string) (config.Certificate, error) {
	kinds := map[string]config.Kind{"ecdsa": config.ECDSA, "rsa": config.RSA}
	kind, rest, given := strings.Cut(text, "=")
	if !given || kinds[kind] == "" {
		rest = text
	}
	chain, key, ok := strings.Cut(rest, ",")
	if !ok {
		return config.Certificate{}, failed("such as --cert chain.pem,key.pem", "--cert %s: two files with a comma between are wanted", text)
	}
	if given && kinds[kind] != "" {
		return config.Certificate{Chain: chain, Key: key, Kind: kinds[kind]}, nil
	}
	cert, err := config.ReadCertificate(chain, key, filepath.Clean)
	if err != nil {
		return cert, failed(fmt.Sprintf("if the file is on another machine say its kind: --cert ecdsa=%s", rest), "--cert: %w", err)
	}
	return cert, nil
}
