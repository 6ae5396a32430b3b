package lint

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"shakedown"
	"shakedown/internal/nginx"
)

// Comparison holds what a file says beside what a running server does, for one name at one address. Package audit makes it.
type Comparison struct {
	Address netip.AddrPort `json:"address"`
	Name    string         `json:"name"`   // asked for; empty: none
	Socket  string         `json:"socket"` // of the file
	Server  string         `json:"server"` // of the file: where its block begins
	Running string         `json:"running"`
	// Connections made to ask.
	Connections int   `json:"connections"`
	Rows        []Row `json:"settings"`
}

// Row is one setting. Agree is yes, no, or inconclusive.
type Row struct {
	Setting  string            `json:"setting"`
	File     string            `json:"file"`
	Line     int               `json:"line"`
	Expected string            `json:"expected"` // what the file makes of it
	Observed string            `json:"observed"`
	Agree    shakedown.Verdict `json:"agree"`
}

// Count returns how many rows agree, do not, and are not known.
func (c *Comparison) Count() (agree, differ, open int) {
	for _, r := range c.Rows {
		switch r.Agree {
		case shakedown.Yes:
			agree++
		case shakedown.No:
			differ++
		default:
			open++
		}
	}
	return agree, differ, open
}

// RunningDiffers is the rule behind the findings of a comparison. It needs a running server, so it is none of Rules.
func RunningDiffers() *Rule {
	return &Rule{
		ID: "RUNNING-DIFFERS", Severity: Error, Title: "the running server does not do what the file says", Nginx: "all",
		Why: "nginx reads its files when it starts and when it is told to (nginx -s reload). A file edited since, or a reload that failed\n" +
			"because nginx -t would have, leaves the old configuration in force without a word; so does editing a file that no include\n" +
			"names, or a package's nginx.conf while the container has its own. lint --against asks the running server what it does and\n" +
			"holds every answer against the file; what the server does not tell stays inconclusive.",
		Fix:    "nginx -t && nginx -s reload; if it stays, see with nginx -T which files are in force, and what stands before the server",
		Silent: "the answer is inconclusive; http{} around the file may set it",
		Before: "# edited after the last reload:\nssl_session_timeout 1d;\n",
		After:  "# the same, after nginx -t && nginx -s reload\nssl_session_timeout 1d;\n",
	}
}

// Differ adds a finding for a row that disagrees.
func (r *Report) Differ(c *Comparison, row Row, at *nginx.Directive) {
	rule := RunningDiffers()
	name := c.Name
	if name == "" {
		name = "no name"
	}
	f := &Finding{Rule: rule, Severity: rule.Severity, Pos: at.Pos, Source: at.File.Line(at.Pos.Line), end: at.EndLine,
		Message: fmt.Sprintf("%s: the file comes to %s, %s (asked for %s) to %s", row.Setting, row.Expected, c.Address, name, row.Observed)}
	if source := at.Source(); !strings.Contains(source, "\n") {
		f.EndCol = at.Pos.Col + len(source)
	}
	r.Findings = append(r.Findings, f)
	r.sort()
}

// Decider returns the server whose value of a directive counts for handshakes with s on k.
func Decider(v nginx.Version, directive string, k *nginx.Socket, s *nginx.Server) *nginx.Server {
	if decidedByDefault(directive, v) {
		return k.Default
	}
	return s
}

// Place returns the directive that gives s its value of name: the last in force, or the server block when none is.
func Place(s *nginx.Server, name string) *nginx.Directive { return at(s, name) }

// Command returns the value of an ssl_conf_command in force in s, and the directive; nil if there is none.
func Command(s *nginx.Server, names ...string) (string, *nginx.Directive) {
	return command(s, names...)
}

// AntiReplayKills reports whether AntiReplay of a default server turns TLS 1.3 resumption off (rule RES-ANTIREPLAY).
func AntiReplayKills(d *nginx.Server) bool {
	return early(d) && (!d.Cache().Builtin || d.Cache().Shared()) && antiReplay(d) != nil
}

// Timeout is the ssl_session_timeout in force in s.
func Timeout(s *nginx.Server) time.Duration { return timeout(s) }

// Lists reports whether ssl_protocols in force in s names the protocol, such as TLSv1.3.
func Lists(s *nginx.Server, protocol string) bool { return lists(s, protocol) }

// Groups returns the groups in force for handshakes decided by d, and the directive. OpenSSL decides what "auto" is. The
// error names what is not known.
func Groups(d *nginx.Server, openssl nginx.Version) ([]shakedown.Group, *nginx.Directive, error) {
	names, place := groups(d)
	if names == nil {
		// Supported groups by default, t1_lib.c; finite fields since 3.0.
		names = []string{"x25519", "secp256r1", "x448", "secp521r1", "secp384r1"}
		switch {
		case openssl.IsZero():
			return nil, place, fmt.Errorf("the groups that OpenSSL has by default are not known without its release")
		case !openssl.Before(3, 5, 0):
			names = append(names, "X25519MLKEM768", "ffdhe2048", "ffdhe3072")
		case !openssl.Before(3, 0, 0):
			names = append(names, "ffdhe2048", "ffdhe3072", "ffdhe4096", "ffdhe6144", "ffdhe8192")
		}
	}
	var list []shakedown.Group
	for _, name := range names {
		g, err := shakedown.ParseGroup(name)
		if err != nil {
			return nil, place, err
		}
		list = append(list, g)
	}
	return list, place, nil
}

// Suites returns the suites before TLS 1.3 that s takes with certificates of these kinds ("RSA", "ECDSA"; nil: any), in the
// order of its cipher string.
func Suites(s *nginx.Server, kinds []string) []shakedown.CipherSuite {
	var list []shakedown.CipherSuite
	for _, x := range usable(s, expandCiphers(s.Get("ssl_ciphers").Words)) {
		if kinds == nil || slices.Contains(kinds, x.auth) {
			list = append(list, x.number)
		}
	}
	return list
}

// A Leaf is a certificate that the file names.
type Leaf struct {
	Place *nginx.Directive
	DER   []byte // nil when it was not read, for the reason in Err
	Kind  string // as suites name it: RSA, ECDSA
	Key   string // such as "RSA 2048"
	OCSP  []string
	Err   error
}

// Leaves reads the certificates of s.
func Leaves(c *nginx.Config, s *nginx.Server) []Leaf {
	var list []Leaf
	for _, d := range s.Get("ssl_certificate").Directives {
		leaf := Leaf{Place: d}
		if cert, err := readCertificate(c.Resolve(d.Arg(0))); err != nil {
			leaf.Err = fmt.Errorf("%s: %s", d.Arg(0), plain(err))
		} else {
			leaf.DER, leaf.Kind, leaf.Key, leaf.OCSP = cert.leaf.Raw, cert.key, cert.keyName(), cert.leaf.OCSPServer
			if leaf.Kind == "Ed25519" {
				leaf.Kind = "ECDSA" // it uses the ECDHE-ECDSA suites (RFC 8422, section 5.10)
			}
		}
		list = append(list, leaf)
	}
	return list
}
