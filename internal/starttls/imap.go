package starttls

import (
	"bytes"
	"strings"
)

// imapTag is the tag of the only command.
const imapTag = "a1"

var imapSteps = []step{
	{"", nil, "greeting", imapGreeting},
	{"STARTTLS", []byte(imapTag + " STARTTLS\r\n"), "answer to STARTTLS", imapStartTLS},
}

// imapGreeting parses the greeting, OK, PREAUTH or BYE (RFC 9051, section 7.1),
// and untagged data behind it, which a server may send at any time (section 7).
func imapGreeting(b []byte) (int, error) {
	for at := 0; ; {
		text, n, err := line(b[at:])
		if err != nil || n == 0 {
			return 0, err
		}
		tag, word := imapStatus(text)
		switch {
		case tag != "*":
			return 0, misbehaved(b[at:], "a line does not begin with *")
		case word == "BYE":
			return 0, refused(b, noService, hintService)
		case at > 0: // any other data
		case word == "PREAUTH":
			// STARTTLS is for the state before (section 6.2.1).
			return 0, refused(b, "the server takes us for logged in already, which excludes TLS", "have it ask for a login on this port")
		case word != "OK":
			return 0, misbehaved(b, "it is not OK, PREAUTH or BYE")
		}
		if at += n; at == len(b) {
			return at, nil
		}
	}
}

// imapStartTLS parses the answer to STARTTLS, the line with the command's tag, and
// untagged data before it. NO and BAD say that there is no TLS.
func imapStartTLS(b []byte) (int, error) {
	for at := 0; ; {
		text, n, err := line(b[at:])
		if err != nil || n == 0 {
			return 0, err
		}
		tag, word := imapStatus(text)
		at += n
		switch {
		case tag == "*" && word == "BYE":
			return 0, refused(b, noService, hintService)
		case tag == "*":
		case tag != imapTag:
			return 0, misbehaved(b, "a line has neither the command's tag nor *")
		case word == "OK":
			return at, nil
		case word == "NO", word == "BAD":
			return 0, refused(b[:at], noTLS, hintOff)
		default:
			return 0, misbehaved(b, "it is not OK, NO or BAD")
		}
	}
}

// imapStatus returns the first two words of a line, the second in capitals.
func imapStatus(text []byte) (tag, word string) {
	first, rest, _ := bytes.Cut(text, []byte(" "))
	second, _, _ := bytes.Cut(rest, []byte(" "))
	return string(first), strings.ToUpper(string(second))
}
