package starttls

import "bytes"

// smtpSteps are those of SMTP and, with another hello, of LMTP (RFC 2033,
// section 4.1). The name given in it is an address literal (RFC 5321, section
// 4.1.3): it is valid everywhere and says nothing of this machine.
func smtpSteps(hello string) []step {
	return []step{
		{"", nil, "greeting", smtpGreeting},
		{hello, []byte(hello + " [127.0.0.1]\r\n"), "answer to " + hello, smtpHello},
		{"STARTTLS", []byte("STARTTLS\r\n"), "answer to STARTTLS", smtpStartTLS},
	}
}

// smtpGreeting parses the greeting: 220, or 554 for no service (RFC 5321,
// section 3.1).
func smtpGreeting(b []byte) (int, error) {
	r, err := parseReply(b, true, nil)
	if err != nil || r.raw == nil {
		return 0, err
	}
	return len(r.raw), r.want(220, noService, hintService)
}

// smtpHello parses the answer to EHLO, whose lines from the second on are keywords
// of extensions in any case (RFC 5321, section 4.1.1.1); STARTTLS has to be one
// of them (RFC 3207, section 2).
func smtpHello(b []byte) (int, error) {
	offered := false
	r, err := parseReply(b, true, func(text []byte) {
		offered = offered || bytes.EqualFold(bytes.TrimRight(text, " "), []byte("STARTTLS"))
	})
	if err != nil || r.raw == nil {
		return 0, err
	}
	if err := r.want(250, noService, hintService); err != nil {
		return 0, err
	}
	if !offered {
		return 0, refused(r.raw, noTLS, hintOff)
	}
	return len(r.raw), nil
}

// smtpStartTLS parses the answer to STARTTLS: 220, or 454 when TLS is not
// available for now (RFC 3207, section 4).
func smtpStartTLS(b []byte) (int, error) {
	r, err := parseReply(b, true, nil)
	if err != nil || r.raw == nil {
		return 0, err
	}
	return len(r.raw), r.want(220, noTLS, hintOff)
}
