package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"shakedown"
)

// WriteText writes the waterfall and what was asked and observed.
func (t *Trace) WriteText(w io.Writer, s Style) error {
	var b strings.Builder
	t.writeHead(&b, s)
	t.writeWaterfall(&b, s)
	t.writeFlights(&b, s)
	t.writeHello(&b, s)
	t.writeAsked(&b, s)
	t.writeChain(&b, s)
	t.writeTickets(&b, s)
	for _, m := range t.Mismatch {
		b.WriteString(s.Bad(wrap("not as asked: ", m)))
	}
	for _, r := range t.Remarks {
		b.WriteString(wrap("note: ", r))
	}
	if f := t.Failure; f != nil {
		b.WriteString(s.Bad(wrap("failed: ", fmt.Sprintf("%s (%s; last phase reached: %s)", f.Text, f.Class, f.Phase))))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (t *Trace) writeHead(b *strings.Builder, s Style) {
	head := t.Target.String()
	if t.Address.IsValid() && t.Address.String() != head {
		head += " at " + t.Address.String()
	}
	if t.Local.IsValid() {
		head += ", from " + t.Local.String()
	}
	b.WriteString(s.Bold(head) + "\n")
	if t.Target.ServerName == "" {
		b.WriteString("no server name was sent (SNI)\n")
	}
	if t.Lookup > 0 {
		fmt.Fprintf(b, "%s looked up in %s\n", count(len(t.Target.Addresses), "address"), Duration(t.Lookup))
	}
	for _, k := range t.Skipped {
		fmt.Fprintf(b, "%s was skipped: %s\n", k.Address, k.Text)
	}
	if p := t.Priming; p != nil {
		fmt.Fprintf(b, "primed by a full %s handshake before this one, in %s\n", p.Version, Duration(p.Duration))
	}
	b.WriteString("\n")
}

// arrowWidth is the room for the arrow of a message with its name.
const arrowWidth = 46

// arrow draws a message on its way: to the right when sent, to the left when
// received.
func arrow(d shakedown.Direction, name string) string {
	dashes := strings.Repeat("─", max(2, arrowWidth-utf8.RuneCountInString(name)-2))
	if d == shakedown.Sent {
		return name + " " + dashes + "▶"
	}
	return "◀" + dashes + " " + name
}

func (t *Trace) writeWaterfall(b *strings.Builder, s Style) {
	rows := newTable("", "rrlrr")
	rows.add("ms", "+ms", "client"+strings.Repeat(" ", arrowWidth-12)+"server", "bytes", "records")
	last := time.Duration(0)
	add := func(at time.Duration, what, bytes, records string) {
		gap := ""
		if at-last >= time.Microsecond {
			gap = milliseconds(at - last)
		}
		last = at
		rows.add(milliseconds(at), gap, what, bytes, records)
	}
	started, hasStarted := t.Phases.At(shakedown.PhaseStarted)
	if hasStarted {
		add(started, arrow(shakedown.Sent, "TCP connect"), "", "")
	}
	if at, ok := t.Phases.At(shakedown.PhaseConnected); ok {
		add(at, arrow(shakedown.Received, "TCP connected"), "", "")
	}
	encrypted := false
	for _, m := range t.Messages {
		name := m.Name
		if m.Encrypted {
			name, encrypted = "{"+name+"}", true
		}
		records := ""
		if m.Records > 0 { // plain text before TLS has none
			records = number(m.Records)
		}
		add(m.At, arrow(m.Direction, name), number(m.Bytes), records)
	}
	if at, ok := t.Phases.At(shakedown.PhaseClosed); ok {
		add(at, "closed", "", "")
	}
	lines := rows.lines()
	b.WriteString(s.Faint(lines[0]) + "\n")
	for _, line := range lines[1:] {
		b.WriteString(line + "\n")
	}
	legend := "ms since the planned start, seen by the client; bytes before encryption"
	if encrypted {
		legend += "; {} encrypted"
	}
	b.WriteString(s.Faint(legend) + "\n\n")
}

func (t *Trace) writeFlights(b *strings.Builder, s Style) {
	if len(t.Flights) == 0 {
		return
	}
	rows := newTable("  ", "rlrl")
	b.WriteString(s.Bold("flights") + "\n")
	windowed := false
	for i, f := range t.Flights {
		note := ""
		if w := t.InitialWindow; w != nil && w.Used == f.Bytes && f.Direction == shakedown.Received && !windowed {
			windowed = true
			note = fmt.Sprintf("%s of TCP's initial window of %s bytes", percent(float64(w.Used)/float64(w.Bytes)), number(w.Bytes))
		}
		rows.add(number(i+1), string(f.Direction), number(f.Bytes), "bytes in "+count(f.Records, "record"), note)
	}
	b.WriteString(rows.String())
	if t.Failure == nil {
		line := "  complete after " + count(t.RoundTrips, "round trip") + " of TLS and 1 of TCP"
		if t.Target.StartTLS != "" {
			line += ", those of " + t.Target.StartTLS + " apart"
		}
		if d, ok := t.Phases.Between(shakedown.PhaseConnected, shakedown.PhaseComplete); ok {
			line += ", " + Duration(d) + " after the connection"
		}
		b.WriteString(line + "\n")
	}
	b.WriteString("\n")
}

// names joins values, the first few of a long list.
func names[T fmt.Stringer](values []T) string {
	const room = 44
	var parts []string
	length := 0
	for i, v := range values {
		text := v.String()
		if length += len(text) + 2; i > 0 && length > room {
			parts = append(parts, fmt.Sprintf("and %d more", len(values)-i))
			break
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

func (t *Trace) writeAsked(b *strings.Builder, s Style) {
	a, o := &t.Asked, &t.Observed.Observed
	if _, connected := t.Phases.At(shakedown.PhaseConnected); !connected {
		return // nothing was offered to anybody
	}
	_, heard := t.Phases.At(shakedown.PhaseServerHello)
	rows := newTable("  ", "lll")
	row := func(what, asked, observed string) {
		if !heard || observed == "" {
			observed = "-"
		}
		if asked == "" {
			asked = "-"
		}
		rows.add(what, asked, observed)
	}
	str := func(known bool, v fmt.Stringer) string {
		if !known {
			return ""
		}
		return v.String()
	}
	yes := func(v bool) string {
		if v {
			return "yes"
		}
		return "no"
	}
	rows.add("", "asked", "observed")
	row("mode", string(a.Mode), string(o.Mode))
	row("version", names(a.Versions), str(o.Version != 0, o.Version))
	row("cipher suite", names(a.CipherSuites), str(o.CipherSuite != 0, o.CipherSuite))
	group := str(o.Group != 0, o.Group)
	if o.DHBits > 0 {
		group = fmt.Sprintf("finite field of %d bits", o.DHBits)
	}
	row("group", names(a.Groups), group)
	if slices.Contains(a.Versions, shakedown.TLS13) {
		shares := names(a.KeyShares)
		if shares == "" {
			shares = "none"
		}
		retried := "taken"
		if o.HelloRetryRequest {
			retried = "another was asked for"
		}
		if o.Version != shakedown.TLS13 || o.Group == 0 {
			retried = ""
		}
		row("key share", shares, retried)
	}
	row("signature", names(a.SignatureSchemes), str(o.SignatureScheme != 0, o.SignatureScheme))
	row("server name", a.ServerName, map[bool]string{true: "acknowledged", false: "not acknowledged"}[o.ServerNameAcknowledged])
	if len(a.ALPN) > 0 {
		row("ALPN", strings.Join(a.ALPN, ", "), o.ALPN)
	}
	if a.StatusRequest {
		row("staple", "yes", stapleText(o.Staple))
	}
	if o.EarlyData != "" && (o.EarlyData != shakedown.EarlyDataNone || a.Mode == shakedown.ModeEarlyData) {
		row("early data", yes(a.Mode == shakedown.ModeEarlyData), string(o.EarlyData))
	}
	if o.CertificateRequested {
		row("client certificate", "", "requested")
	}
	if o.CertificateCompression != "" {
		row("compression", "yes", o.CertificateCompression)
	}
	if o.SCTs > 0 {
		row("timestamps", "yes", count(o.SCTs, "SCT"))
	}
	lines := rows.lines()
	b.WriteString(s.Bold(lines[0]) + "\n" + strings.Join(lines[1:], "\n") + "\n\n")
}

func stapleText(staple *shakedown.Staple) string {
	if staple == nil {
		return "none"
	}
	text := fmt.Sprintf("%s, %s bytes", staple.Status, number(staple.Bytes))
	if !staple.NextUpdate.IsZero() {
		text += ", until " + staple.NextUpdate.UTC().Format("2006-01-02 15:04 UTC")
	}
	if staple.Problem != "" {
		text += "; not to be relied on: " + staple.Problem
	}
	return text
}

func (t *Trace) writeChain(b *strings.Builder, s Style) {
	if t.Chain == nil {
		return
	}
	order := "in order"
	if !t.Chain.Ordered {
		order = "not in order"
	}
	b.WriteString(s.Bold(fmt.Sprintf("chain of %s, %s bytes, %s", count(len(t.Chain.Certificates), "certificate"), number(t.Chain.Bytes), order)) + "\n")
	rows := newTable("  ", "rlllrl")
	for i, c := range t.Chain.Certificates {
		subject := c.Subject
		if subject == "" && len(c.Names) > 0 {
			subject = c.Names[0]
		}
		key, until := c.Key, "until "+c.NotAfter.UTC().Format("2006-01-02")
		if key == "" {
			key = "unknown key"
		}
		if c.NotAfter.IsZero() {
			until = ""
		}
		if c.Problem != "" {
			until = "not accepted: " + c.Problem
		}
		rows.add(number(i+1), shorten(subject, 40), key, "by "+c.Signature, number(c.Bytes)+" bytes", until)
	}
	b.WriteString(rows.String())
	v := t.Verification
	switch v.Result {
	case shakedown.VerificationOK:
		b.WriteString("  " + s.Good("verified") + " for " + v.Name + "\n")
	case shakedown.VerificationSkipped:
		b.WriteString("  not verified: it was not asked for\n")
	default:
		b.WriteString(s.Bad(wrap("  ", "verification "+string(v.Result)+": "+v.Problem)))
		if v.Hint != "" {
			b.WriteString(wrap("  hint: ", v.Hint))
		}
	}
	if v.Apart {
		b.WriteString(s.Faint("  (a client that verifies ends the handshake there; this one went on to show the rest)") + "\n")
	}
	b.WriteString("\n")
}

// shorten cuts text to n runes.
func shorten(text string, n int) string {
	runes := []rune(text)
	if len(runes) <= n {
		return text
	}
	return string(runes[:n-1]) + "…"
}

func (t *Trace) writeTickets(b *strings.Builder, s Style) {
	tickets := t.Observed.Tickets
	if len(tickets) == 0 {
		return
	}
	b.WriteString(s.Bold(count(len(tickets), "ticket")) + "\n")
	rows := newTable("  ", "rrll")
	for i, k := range tickets {
		early := "no early data"
		if k.MaxEarlyData > 0 {
			early = number(k.MaxEarlyData) + " bytes of early data"
		}
		lifetime := "no lifetime told"
		if k.Lifetime > 0 {
			lifetime = "valid for " + k.Lifetime.String()
		}
		rows.add(number(i+1), number(k.Bytes)+" bytes", lifetime, early, fmt.Sprintf("begins %x", k.Name[:8]))
	}
	b.WriteString(rows.String() + "\n")
}
