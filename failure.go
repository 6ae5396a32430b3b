package shakedown

// Class says whose failure it was.
type Class string

const (
	// ClassNetwork: refused, reset, unreachable, closed before its time.
	ClassNetwork Class = "network"
	// ClassTimeout: the time allowed ran out in the phase told.
	ClassTimeout Class = "timeout"
	// ClassAlert: the peer ended the handshake with a fatal alert.
	ClassAlert Class = "alert"
	// ClassPeer: the peer broke the protocol.
	ClassPeer Class = "peer-misbehaved"
	// ClassIncompatible: both sides are right and have nothing in common, or
	// the peer did something other than what was demanded.
	ClassIncompatible Class = "incompatible"
	// ClassVerification: the certificate chain or name does not verify.
	ClassVerification Class = "verification"
	// ClassLocal: this machine ran out of something: ports, descriptors, memory.
	ClassLocal Class = "local-resource"
	// ClassOurs: a fault in Shakedown itself or in what it was told to do.
	ClassOurs Class = "ours"
)

// Failure is why a handshake did not happen. It is an error whose text is lower
// case and says whose fault it was.
type Failure struct {
	Class Class `json:"class"`
	// Phase is the last mark reached before the failure.
	Phase Phase `json:"phase"`
	// Alert that ended the handshake, when one did.
	Alert *Alert `json:"alert,omitempty"`
	// AlertSent: the alert was ours, sent because of what the peer did.
	AlertSent bool   `json:"alert_sent,omitempty"`
	Text      string `json:"text"`
	// Hint is what to do next, when there is something.
	Hint string `json:"hint,omitempty"`
	// Err is the cause, for errors.Is and errors.As.
	Err error `json:"-"`
}

// Error returns the failure's text.
func (f *Failure) Error() string { return f.Text }

// Unwrap returns the cause, or nil.
func (f *Failure) Unwrap() error { return f.Err }
