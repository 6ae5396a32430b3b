package starttls

import "bytes"

// line returns the first line of b without its CR LF, and how many bytes it takes
// up with them, 0 when its end has not come yet.
func line(b []byte) (text []byte, n int, err error) {
	end := bytes.IndexByte(b, '\n')
	switch {
	case end < 0 && len(b) >= maxLine, end >= maxLine:
		return nil, 0, misbehaved(b, "a line has more than %d bytes", maxLine)
	case end < 0:
		return nil, 0, nil
	case end == 0 || b[end-1] != '\r':
		return nil, 0, misbehaved(b, "a line ends without CR")
	}
	text = b[:end-1]
	if bytes.ContainsAny(text, "\r\x00") {
		return nil, 0, misbehaved(b, "a line holds CR or NUL")
	}
	return text, end + 1, nil
}

// reply is a reply of SMTP or FTP: a code of three digits and lines of text.
type reply struct {
	code int
	raw  []byte
}

// parseReply reads a reply of one or more lines; its raw is empty when its end has
// not come yet. In SMTP every line begins with the code (RFC 5321, section
// 4.2.1), in FTP only the first and the last have to (RFC 959, section 4.2).
// each, unless nil, gets the text of every line but the first.
func parseReply(b []byte, everyLine bool, each func(text []byte)) (reply, error) {
	var r reply
	for at := 0; ; {
		text, n, err := line(b[at:])
		if err != nil || n == 0 {
			return reply{}, err
		}
		first := at == 0
		at += n
		code, more, ok := replyCode(text)
		switch {
		case !ok && (first || everyLine):
			return reply{}, misbehaved(b, "a line begins with no reply code")
		case first:
			r.code = code
		case everyLine && code != r.code:
			return reply{}, misbehaved(b, "its lines have different codes, %d and %d", r.code, code)
		}
		last := ok && code == r.code && !more
		if !first && each != nil {
			each(text[min(len(text), 4):])
		}
		if last {
			r.raw = b[:at]
			return r, nil
		}
	}
}

// replyCode reads the code that a line begins with, and whether it says that more
// lines follow.
func replyCode(text []byte) (code int, more, ok bool) {
	if len(text) < 3 || len(text) > 3 && text[3] != ' ' && text[3] != '-' {
		return 0, false, false
	}
	for i, c := range text[:3] {
		if c < '0' || c > '9' || i == 0 && (c < '1' || c > '5') {
			return 0, false, false
		}
		code = 10*code + int(c-'0')
	}
	return code, len(text) > 3 && text[3] == '-', true
}

// want returns nil for a reply of this code, a refusal for one of 400 and above,
// and a fault for others, which are of no use here.
func (r reply) want(code int, what, hint string) error {
	switch {
	case r.code == code:
		return nil
	case r.code < 400:
		return misbehaved(r.raw, "a reply of %d was due", code)
	case r.code < 500 && hint == hintOff: // refused for now
		hint = "it has TLS but not now: try again, and look at the server's log"
	}
	return refused(r.raw, what, hint)
}
