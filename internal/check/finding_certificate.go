package check

import (
	"fmt"
	"strings"
	"time"

	"shakedown"
)

// initialWindow is what a server sends before anything is acknowledged, in
// bytes: 10 segments (RFC 6928) of 1,460.
const initialWindow = 10 * 1460

func findChains(p *prober, _ time.Time) []shakedown.Finding {
	var list []shakedown.Finding
	for _, c := range p.seen.Certificates {
		key := c.Chain.Key()
		if c.Verification == shakedown.VerificationFailed {
			list = append(list, finding("chain", shakedown.SeverityError, key+" certificate: the chain does not verify", c.Problem,
				"send the leaf and every intermediate, the leaf first, of a certificate that is valid for the name", "ssl_certificate fullchain.pem;"))
		}
		if !c.Chain.Ordered {
			list = append(list, finding("chain-order", shakedown.SeverityWarning, key+" certificate: the chain is out of order",
				fmt.Sprintf("%s, not each issued by the next (RFC 8446, section 4.4.2)", plural(len(c.Chain.Certificates), "certificate")), "send the leaf first, then each issuer", "ssl_certificate fullchain.pem;"))
		}
		if last := c.Chain.Certificates[len(c.Chain.Certificates)-1]; c.RootSent {
			f := finding("root-sent", shakedown.SeverityWarning, key+" certificate: the root is sent",
				fmt.Sprintf("%d of %d bytes of the chain", last.Bytes, c.Chain.Bytes), "leave it out: clients have it or do not trust it", "ssl_certificate fullchain.pem;  # without the root")
			f.Cost = fmt.Sprintf("%d bytes in each full handshake", last.Bytes)
			list = append(list, f)
		}
		if c.FlightBytes > initialWindow {
			f := finding("flight", shakedown.SeverityWarning, key+" certificate: the server's flight is over TCP's initial window",
				fmt.Sprintf("%d bytes, the window is %d (10 segments): chain %d", c.FlightBytes, initialWindow, c.Chain.Bytes), "send a shorter chain, of ECDSA certificates where there is a choice")
			f.Cost = "a round trip in each full handshake, unless the server raises the window"
			if seen := p.flightTimed(); seen != "" {
				f.Cost += "; measured: " + seen
			}
			list = append(list, f)
		}
	}
	return append(list, findWaits(p)...)
}

// flightTimed says how long the server's flight took from first byte to last;
// empty if that says nothing.
func (p *prober) flightTimed() string {
	if p.seen.Usual == nil {
		return ""
	}
	t := p.seen.timing(shakedown.ModeFull, p.seen.Usual.Version)
	if t == nil {
		return ""
	}
	n, ok := t.waits()
	if !ok {
		return ""
	}
	return fmt.Sprintf("%d bytes took %s from first to last (95%% interval %s to %s, n=%d), %.1f round trips of %s",
		t.FlightBytes, ms(t.FlightSpan.Median), ms(t.FlightSpan.Low), ms(t.FlightSpan.High), t.FlightSpan.N, n, ms(t.Connect.Median))
}

// findWaits tells a flight that waits for an acknowledgement though it fits into
// the usual window: the server's is smaller.
func findWaits(p *prober) []shakedown.Finding {
	if p.seen.Usual == nil {
		return nil
	}
	t := p.seen.timing(shakedown.ModeFull, p.seen.Usual.Version)
	if t == nil || t.FlightBytes > initialWindow {
		return nil
	}
	n, ok := t.waits()
	if !ok || n < 0.7 {
		return nil
	}
	f := finding("flight-waits", shakedown.SeverityWarning, "the server's flight stands still for a round trip though it fits into TCP's usual window", p.flightTimed(),
		"see that the server writes its flight at once, and that its initial window is 10 segments (RFC 6928; ip route ... initcwnd)")
	f.Cost = fmt.Sprintf("%s in each full handshake", ms(t.FlightSpan.Median))
	return []shakedown.Finding{f}
}

// soon is how long before its end a certificate should have been renewed.
const soon = 14 * 24 * time.Hour

func findExpiry(p *prober, now time.Time) []shakedown.Finding {
	var list []shakedown.Finding
	seen := map[string]bool{} // intermediates are shared by chains
	for _, c := range p.seen.Certificates {
		for i, m := range c.Chain.Certificates {
			id := m.Subject + m.NotAfter.String()
			left := m.NotAfter.Sub(now)
			if m.NotAfter.IsZero() || left > soon || seen[id] {
				continue
			}
			seen[id] = true
			what := "the leaf"
			if i > 0 {
				what = "an intermediate"
			}
			f := finding("expiry", shakedown.SeverityWarning, fmt.Sprintf("%s certificate: %s ends within %.0f days", c.Chain.Key(), what, soon.Hours()/24),
				fmt.Sprintf("%s: valid until %s", printable(m.Subject), m.NotAfter.UTC().Format("2006-01-02 15:04 UTC")), "renew it, and have the server load it")
			if left <= 0 {
				f.Severity, f.Title = shakedown.SeverityError, fmt.Sprintf("%s certificate: %s has expired", c.Chain.Key(), what)
			}
			list = append(list, f)
		}
	}
	return list
}

// findKeyKinds tells what RSA costs where ECDSA would do.
func findKeyKinds(p *prober, _ time.Time) []shakedown.Finding {
	if !p.seen.is("certificates", shakedown.Yes) || p.seen.Usual == nil {
		return nil
	}
	rsa, other := "", false
	for _, c := range p.seen.Certificates {
		if key := c.Chain.Key(); strings.HasPrefix(key, "RSA") {
			rsa = key
		} else {
			other = true
		}
	}
	switch {
	case rsa != "" && !other:
		f := finding("rsa-only", shakedown.SeverityInfo, "there is no ECDSA certificate", "only "+rsa+" was found: "+p.seen.answer("certificates").Evidence,
			"an ECDSA P-256 certificate beside it is used by every client of today; its signature takes a fraction of the CPU", "ssl_certificate ecdsa.pem;", "ssl_certificate_key ecdsa.key;")
		if full := p.seen.timing(shakedown.ModeFull, p.seen.Usual.Version); full != nil && full.ServerCPU.N > 0 {
			f.Cost = fmt.Sprintf("a full handshake took %s of server CPU (n=%d), the request included", ms(full.ServerCPU.Median), full.ServerCPU.N)
		}
		return []shakedown.Finding{f}
	case rsa != "" && other && strings.HasPrefix(p.seen.Usual.Certificate, "RSA"):
		return []shakedown.Finding{finding("rsa-preferred", shakedown.SeverityWarning, "a client of today gets the RSA certificate though there is another",
			fmt.Sprintf("ECDSA schemes were offered first, %s was used", p.seen.Usual.Certificate), "let the server's order count, ECDSA first", "ssl_prefer_server_ciphers on;")}
	}
	return nil
}

func findStaples(p *prober, _ time.Time) []shakedown.Finding {
	var list []shakedown.Finding
	for _, c := range p.seen.Certificates {
		key, st := c.Chain.Key(), c.Stapling
		if st.Asked == 0 {
			continue
		}
		count := fmt.Sprintf("%d of %s had a staple", st.Stapled, plural(st.Asked, "full handshake"))
		switch {
		case st.Staple != nil && st.Staple.Status == "revoked":
			list = append(list, finding("revoked", shakedown.SeverityError, key+" certificate: its staple says that it is revoked", count, "have a new certificate issued"))
			continue
		case st.Staple != nil && st.Staple.Problem != "" && st.Staple.Verification != shakedown.VerificationSkipped:
			list = append(list, finding("bad-staple", shakedown.SeverityError, key+" certificate: its staple is refused by clients", count+": "+st.Staple.Problem,
				"with ssl_stapling_file one response goes out with every certificate: let the server ask the responder", "ssl_stapling on;"))
			continue
		case c.MustStaple && st.Stapled < st.Asked:
			list = append(list, finding("must-staple", shakedown.SeverityError, key+" certificate: it demands a staple, and not every handshake has one", count,
				"clients that heed the demand end the handshake: fetch the staple before the server starts", "ssl_stapling on;", "ssl_stapling_file staple.der;"))
			continue
		}
		switch {
		case st.First > 1 || st.Stapled > 0 && st.Stapled < st.Asked:
			text := count
			if st.First > 1 {
				text += fmt.Sprintf(", none of the first %d", st.First-1)
			}
			list = append(list, finding("lazy-staple", shakedown.SeverityInfo, key+" certificate: staples come late", text,
				"nginx fetches one for each worker when it is first asked for, and again after each reload: the first clients get none"))
		case st.Stapled == 0 && len(c.OCSP) > 0:
			list = append(list, finding("no-staple", shakedown.SeverityInfo, key+" certificate: it names an OCSP responder, and no staple was sent", count,
				"clients that check ask the responder themselves, a connection more", "ssl_stapling on;"))
		}
	}
	return list
}
