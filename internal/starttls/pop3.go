package starttls

import "bytes"

var pop3Steps = []step{
	{"", nil, "greeting", pop3Answer(noService, hintService)},
	{"STLS", []byte("STLS\r\n"), "answer to STLS", pop3Answer(noTLS, hintOff)},
}

// pop3Answer parses an answer of one line, "+OK" or "-ERR" and text (RFC 1939,
// section 3; RFC 2595, section 4).
func pop3Answer(what, hint string) parser {
	return func(b []byte) (int, error) {
		text, n, err := line(b)
		if err != nil || n == 0 {
			return 0, err
		}
		status, _, _ := bytes.Cut(text, []byte(" "))
		switch {
		case bytes.EqualFold(status, []byte("+OK")):
			return n, nil
		case bytes.EqualFold(status, []byte("-ERR")):
			return 0, refused(b[:n], what, hint)
		}
		return 0, misbehaved(b, "it is neither +OK nor -ERR")
	}
}
