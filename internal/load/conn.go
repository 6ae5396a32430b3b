package load

import (
	"shakedown/handshake"
	"shakedown/internal/starttls"
)

// conn is a place for one connection at a time, as both loops know it.
type conn struct {
	share    uint8 // of the mix
	idle     bool  // handshake complete and counted; open until a ticket comes
	ticketed bool  // a ticket came
	priming  bool  // not measured: it fetches sessions
	target   int
	machine  *handshake.Machine
	dialogue *starttls.Dialogue // of the event loops, once StartTLS has need of it
	times    times
}
