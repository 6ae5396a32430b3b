// Package starttls speaks what some protocols say in plain text before TLS may
// begin on the same connection.
//
// [Upgrade] does so over a connection that is there; a [Dialogue] is the same
// without I/O, for event loops. A protocol is a list of steps, each something
// to send and the answer that has to come, in a file of its own:
//
//	smtp      EHLO, STARTTLS             RFC 3207, section 4; replies: RFC 5321, section 4.2
//	lmtp      LHLO, STARTTLS             RFC 2033, section 4.1; RFC 3207
//	imap      STARTTLS                   RFC 9051, section 6.2.1
//	pop3      STLS                       RFC 2595, section 4
//	ftp       AUTH TLS                   RFC 4217, section 4; replies: RFC 959, section 4.2
//	postgres  SSLRequest                 PostgreSQL manual, "Message Flow", SSL Session Encryption
//	mysql     SSLRequest                 MySQL manual, "Connection Phase", Protocol::SSLRequest
//	ldap      StartTLS extended request  RFC 4511, section 4.14
//	xmpp      stream header, starttls    RFC 6120, section 5.4
//
// These hold for all of them:
//
//   - An answer is bounded, in all and by line, and it is the whole of what has come:
//     bytes behind it were sent before TLS and could later be taken for bytes that
//     came under its protection (CVE-2011-0411, CVE-2021-23222), so they end it.
//   - No command is sent that is not needed, and none before the answer to the last.
//   - A failure says in which step it was and what the server said, quoted and cut.
package starttls

import (
	"fmt"
	"strings"
)

// protocol is one way to ask for TLS.
type protocol struct {
	name string
	port uint16
	// steps returns the steps for a server of this name, which may be empty.
	steps func(serverName string) ([]step, error)
}

// step is something said and the answer to it. A step without parse is the last
// one of a protocol in which TLS begins without an answer.
type step struct {
	said  string // name of send; empty when the server speaks first
	send  []byte
	heard string // name of the answer
	parse parser
}

// parser looks for a whole answer at the beginning of b and returns its length.
// 0 without an error asks for more bytes. The error is a *shakedown.Failure that
// says neither protocol nor step.
type parser func(b []byte) (int, error)

// fixed makes the steps of a protocol that does not use the server's name.
func fixed(steps ...step) func(string) ([]step, error) {
	return func(string) ([]step, error) { return steps, nil }
}

// protocols in the order in which they are listed.
var protocols = []protocol{
	{"smtp", 25, fixed(smtpSteps("EHLO")...)},
	{"lmtp", 24, fixed(smtpSteps("LHLO")...)},
	{"imap", 143, fixed(imapSteps...)},
	{"pop3", 110, fixed(pop3Steps...)},
	{"ftp", 21, fixed(ftpSteps...)},
	{"postgres", 5432, fixed(postgresSteps...)},
	{"mysql", 3306, fixed(mysqlSteps...)},
	{"ldap", 389, fixed(ldapSteps...)},
	{"xmpp", 5222, xmppSteps},
}

// Protocols returns the names of the protocols that can be upgraded.
func Protocols() []string {
	names := make([]string, len(protocols))
	for i, p := range protocols {
		names[i] = p.name
	}
	return names
}

// Parse returns an error, which lists those there are, unless name is the name of
// a protocol.
func Parse(name string) error {
	_, err := find(name)
	return err
}

// DefaultPort returns the port on which a protocol is spoken in plain text, 0 for
// a name that is none. That of lmtp is a custom: none is assigned.
func DefaultPort(name string) uint16 {
	p, err := find(name)
	if err != nil {
		return 0
	}
	return p.port
}

func find(name string) (*protocol, error) {
	for i := range protocols {
		if protocols[i].name == name {
			return &protocols[i], nil
		}
	}
	return nil, fmt.Errorf("unknown protocol %q (one of %s)", name, strings.Join(Protocols(), ", "))
}
