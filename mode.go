package shakedown

import "fmt"

// Mode is how a handshake begins.
type Mode string

const (
	ModeFull      Mode = "full"       // with certificates, no session offered or none taken
	ModeSessionID Mode = "session-id" // TLS 1.2 and before, RFC 5246 section 7.3, no ticket extension
	ModeTicket    Mode = "ticket"     // TLS 1.2 and before, RFC 5077
	ModePSK       Mode = "psk"        // TLS 1.3, RFC 8446 section 2.2
	ModeEarlyData Mode = "early-data" // TLS 1.3 0-RTT accepted, RFC 8446 section 2.3
)

// Modes lists every mode, full first.
func Modes() []Mode {
	return []Mode{ModeFull, ModeSessionID, ModeTicket, ModePSK, ModeEarlyData}
}

// Resumes reports whether the mode needs a session of an earlier handshake.
func (m Mode) Resumes() bool { return m != ModeFull && m != "" }

// ParseMode returns the mode called s.
func ParseMode(s string) (Mode, error) {
	for _, m := range Modes() {
		if string(m) == s {
			return m, nil
		}
	}
	return "", fmt.Errorf("unknown mode %q (one of full, session-id, ticket, psk, early-data)", s)
}

// Work is how much of its own share of a handshake the client does.
type Work string

const (
	// WorkFull does what a browser does: fresh keys, real shares, signatures
	// and chains verified.
	WorkFull Work = "full"
	// WorkMinimal causes the same server work for far less of ours, by trivial
	// key shares and without verification. It keeps nothing secret: for load only.
	WorkMinimal Work = "minimal"
)

// ParseWork returns the work called s.
func ParseWork(s string) (Work, error) {
	switch w := Work(s); w {
	case WorkFull, WorkMinimal:
		return w, nil
	}
	return "", fmt.Errorf("unknown work %q (one of full, minimal)", s)
}

// Completion is the event at which a handshake is called complete.
type Completion string

const (
	// CompleteFinished: both Finished messages are done with on our side. In
	// TLS 1.3 ours has been sent, in TLS 1.2 the later of both is sent or read.
	CompleteFinished Completion = "finished"
	// CompleteTicket: the first NewSessionTicket is read, so in TLS 1.3 the
	// server has really finished.
	CompleteTicket Completion = "ticket"
	// CompleteResponse: a request is answered: its first byte is read.
	CompleteResponse Completion = "response"
)

// ParseCompletion returns the completion called s.
func ParseCompletion(s string) (Completion, error) {
	switch c := Completion(s); c {
	case CompleteFinished, CompleteTicket, CompleteResponse:
		return c, nil
	}
	return "", fmt.Errorf("unknown completion %q (one of finished, ticket, response)", s)
}
