package check

import (
	"context"
	"slices"

	"shakedown"
)

// Question is one thing to ask a server.
type Question struct {
	ID    string
	Title string
	// Needs are questions that have to be answered yes before this one means
	// anything.
	Needs []string
	ask   func(context.Context, *prober) shakedown.Answer
}

// Questions lists all, in the order in which they are asked: what others need
// first, then by weight, so that a budget that ends early is well spent.
func Questions() []Question {
	return []Question{
		{"reach", "does a client get a handshake?", nil, askReach},
		{"tls13", "is TLS 1.3 spoken?", nil, askTLS13},
		{"tls12", "is TLS 1.2 spoken?", nil, askTLS12},
		{"http", "is a request answered?", []string{"reach"}, askHTTP},

		{"resume-psk", "does TLS 1.3 resume (psk)?", []string{"tls13"}, psk.ask},
		{"resume-ticket", "does TLS 1.2 resume by ticket?", []string{"tls12"}, ticket.ask},
		{"resume-session-id", "does TLS 1.2 resume by session ID?", []string{"tls12"}, sessionID.ask},
		{"resume-psk-ke", "does TLS 1.3 resume without a key exchange (psk_ke)?", []string{"resume-psk"}, askPSKOnly},
		{"ticket-reuse", "is the same TLS 1.3 ticket taken twice?", []string{"resume-psk"}, askReuse},

		{"certificates", "were all certificates found?", []string{"reach"}, askCertificates},
		{"no-sni", "does it work without SNI?", []string{"reach"}, askNoSNI},
		{"wrong-sni", "does it work with an unknown name?", []string{"reach"}, askWrongSNI},
		{"large-hello", "is a ClientHello over one segment tolerated?", []string{"reach"}, askLargeHello},
		{"http2", "is HTTP/2 offered (ALPN)?", []string{"reach"}, askHTTP2},
		{"client-certificate", "is a client certificate asked for?", nil, askClientCertificate},
		{"compression", "are certificates compressed?", []string{"tls13"}, askCompression},
		{"hsts", "is HSTS on?", []string{"http"}, askHSTS},
		{"h3", "is HTTP/3 announced (Alt-Svc)?", []string{"http"}, askHTTP3},
		{"early-data", "is early data (0-RTT) accepted?", []string{"resume-psk"}, askEarlyData},
		{"early-data-replay", "is the same early data accepted twice?", []string{"early-data"}, askReplay},

		{"legacy-versions", "are TLS 1.0 or 1.1 spoken?", nil, askLegacy},
		{"static-rsa", "is static RSA key exchange taken?", []string{"tls12"}, askStaticRSA},
		{"dhe", "is finite-field DHE taken in TLS 1.2?", []string{"tls12"}, askDHE},
		{"weak-suites", "are broken suites taken (NULL, anonymous, RC4, DES)?", []string{"tls12"}, askWeak},
		{"retry", "does a client of today cost a HelloRetryRequest?", []string{"tls13"}, askRetry},
		{"time", "how long do handshakes of the usual version take?", []string{"reach"}, askTime},
		{"preference", "does the server's order of suites count?", []string{"reach"}, askPreference},
		{"suites13", "were all suites of TLS 1.3 found?", []string{"tls13"}, askSuites13},
		{"groups", "were all groups found?", []string{"tls13"}, askGroups},
		{"suites12", "were all suites of TLS 1.2 found?", []string{"tls12"}, askSuites12},
		{"schemes", "were all signature schemes found?", []string{"tls13"}, askSchemes},
		{"time12", "how long do handshakes of TLS 1.2 take?", []string{"tls12"}, askTime12},
		{"stapling", "is a good OCSP response stapled to every certificate?", []string{"reach"}, askStapling},
	}
}

// Done is told to Progress when an address was asked all: its sessions may still be
// offered to others.
const Done = "done"

// askAll puts every question, and records each answer. A question whose needs
// are not met is answered by what is missing.
func (p *prober) askAll(ctx context.Context) {
	for _, q := range chosen(p.plan.Questions) {
		p.plan.Progress(p.address, q.ID)
		var a shakedown.Answer
		n := p.counted(func() { a = p.put(ctx, q) })
		a.ID, a.Title, a.Connections = q.ID, q.Title, n
		p.seen.Answers = append(p.seen.Answers, a)
	}
	p.narrow(ctx)
	p.plan.Progress(p.address, Done)
}

// chosen returns the questions with these IDs and those that they need, in the
// order of [Questions]; all for no ID.
func chosen(ids []string) []Question {
	all := Questions()
	if len(ids) == 0 {
		return all
	}
	wanted := map[string]bool{}
	for _, id := range ids {
		wanted[id] = true
	}
	for _, q := range slices.Backward(all) { // needs come before what needs them
		if wanted[q.ID] {
			for _, id := range q.Needs {
				wanted[id] = true
			}
		}
	}
	return slices.DeleteFunc(all, func(q Question) bool { return !wanted[q.ID] })
}

func (p *prober) put(ctx context.Context, q Question) shakedown.Answer {
	if ctx.Err() != nil {
		return unsure("the run was ended before")
	}
	for _, id := range q.Needs {
		if need := p.seen.answer(id); need.Verdict == shakedown.No {
			// What cannot be is known not to be.
			return no("%s: no", need.Title)
		} else if need.Verdict != shakedown.Yes {
			return unsure("%s: %s", need.Title, need.Evidence)
		}
	}
	return q.ask(ctx, p)
}
