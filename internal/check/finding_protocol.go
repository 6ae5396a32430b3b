package check

import (
	"time"

	"shakedown"
)

func findVersions(p *prober, _ time.Time) []shakedown.Finding {
	var list []shakedown.Finding
	if a := p.seen.answer("legacy-versions"); a.Verdict == shakedown.Yes {
		list = append(list, finding("legacy-versions", shakedown.SeverityWarning, "TLS 1.0 or 1.1 is spoken", a.Evidence+" (RFC 8996 says: must not)",
			"offer TLS 1.2 and 1.3 only", "ssl_protocols TLSv1.2 TLSv1.3;"))
	}
	if a := p.seen.answer("tls13"); a.Verdict == shakedown.No {
		list = append(list, finding("no-tls13", shakedown.SeverityWarning, "TLS 1.3 is not spoken: a full handshake takes two round trips", a.Evidence,
			"switch it on, in the default server of the address if nginx is older than 1.29.2", "ssl_protocols TLSv1.2 TLSv1.3;"))
	}
	return list
}

func findSuites(p *prober, _ time.Time) []shakedown.Finding {
	const modern = "ssl_ciphers ECDHE+AESGCM:ECDHE+CHACHA20;"
	var list []shakedown.Finding
	for _, r := range []struct {
		question, title, advice string
		severity                shakedown.Severity
	}{
		{"weak-suites", "broken cipher suites are taken", "leave them out", shakedown.SeverityError},
		{"static-rsa", "static RSA key exchange is taken: no forward secrecy", "leave it out; it is no faster either", shakedown.SeverityWarning},
		{"dhe", "finite-field DHE is taken: about twice the CPU of ECDHE", "leave it out, with ssl_dhparam: every client of today has ECDHE", shakedown.SeverityInfo},
	} {
		if a := p.seen.answer(r.question); a.Verdict == shakedown.Yes {
			list = append(list, finding(r.question, r.severity, r.title, a.Evidence, r.advice, modern))
		}
	}
	return list
}
