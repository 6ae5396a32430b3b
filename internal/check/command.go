package check

import "shakedown/internal/starttls"

// commands are what servers behind STARTTLS are sent once TLS is there: harmless,
// allowed to those who have not logged in, and answered at once, if only by no.
// What comes before the answer has come, so that a ticket that is not there was not
// sent. PostgreSQL and MySQL have none: the first word there is a login.
var commands = map[string]string{
	"smtp": "NOOP\r\n",    // RFC 5321, section 4.1.1.9
	"lmtp": "NOOP\r\n",    // RFC 2033, section 4
	"imap": "a2 NOOP\r\n", // RFC 3501, section 6.1.2
	"pop3": "CAPA\r\n",    // RFC 2449, section 5: before a login, too, unlike NOOP
	"ftp":  "NOOP\r\n",    // RFC 959, section 4.1.3
	// A search for the root DSE, and of it for no attribute (RFC 4512, section 5.1,
	// and RFC 4511, section 4.5.1.8).
	"ldap": "\x30\x2a\x02\x01\x02\x63\x25\x04\x00\x0a\x01\x00\x0a\x01\x00\x02\x01\x01\x02\x01\x05\x01\x01\x00" +
		"\x87\x0bobjectClass\x30\x05\x04\x031.1",
}

// request is what to send once the handshake is complete, so that the server
// answers; nil: nothing.
func (p *prober) request() []byte {
	switch {
	case p.http:
		return p.target.Request
	case p.target.StartTLS == "xmpp":
		// The stream begins anew (RFC 6120, section 5.4.3.3).
		d, err := starttls.New(p.target.StartTLS, p.target.ServerName)
		if err != nil {
			return nil // then there was no TLS either
		}
		return d.Start()
	}
	if text := commands[p.target.StartTLS]; text != "" {
		return []byte(text)
	}
	return nil
}
