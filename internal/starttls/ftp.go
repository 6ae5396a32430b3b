package starttls

var ftpSteps = []step{
	{"", nil, "greeting", ftpGreeting},
	{"AUTH TLS", []byte("AUTH TLS\r\n"), "answer to AUTH TLS", ftpAuth},
}

// ftpGreeting parses the greeting: 220, maybe behind a 120 that asks for patience,
// or 421 (RFC 959, section 5.4).
func ftpGreeting(b []byte) (int, error) {
	at := 0
	for {
		r, err := parseReply(b[at:], false, nil)
		if err != nil || r.raw == nil {
			return 0, err
		}
		at += len(r.raw)
		if r.code != 120 || at > len(r.raw) {
			return at, r.want(220, noService, hintService)
		}
	}
}

// ftpAuth parses the answer to AUTH TLS: 234; 431, 500, 502, 504 or 534 tell why
// not (RFC 4217, section 4, and RFC 2228, section 3).
func ftpAuth(b []byte) (int, error) {
	r, err := parseReply(b, false, nil)
	if err != nil || r.raw == nil {
		return 0, err
	}
	return len(r.raw), r.want(234, noTLS, hintOff)
}
