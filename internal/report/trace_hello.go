package report

import (
	"fmt"
	"strings"
)

// segment is the TCP payload of an Ethernet frame, with the usual options.
const segment = 1448

// writeHello tells the size and the order of the ClientHello: one that does not
// fit into a segment is a known cause of failure with servers and boxes between
// that expect it whole in the first packet.
func (t *Trace) writeHello(b *strings.Builder, s Style) {
	o := &t.Observed
	if o.ClientHelloBytes == 0 {
		return
	}
	fits := "fits into one segment"
	if record := o.ClientHelloBytes + 5; record > segment {
		fits = fmt.Sprintf("takes %d segments", (record+segment-1)/segment)
	}
	text := fmt.Sprintf("%s bytes, %s of TCP of %d bytes", number(o.ClientHelloBytes), fits, segment)
	if n := len(o.ClientHelloExtensions); n > 0 {
		var order []string
		for _, e := range o.ClientHelloExtensions {
			order = append(order, e.String())
		}
		text += fmt.Sprintf("; %d extensions: %s", n, strings.Join(order, ", "))
	}
	b.WriteString(wrap(s.Bold("ClientHello")+"  ", text) + "\n")
}
