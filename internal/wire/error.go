package wire

import "shakedown"

// Error says that a message or extension is malformed.
type Error struct {
	// Message that is malformed: its name, or that of an extension and the word
	// "extension".
	Message string
	Reason  string // such as "ends within cipher_suite"
	// Alert to answer with: decode_error when the form is wrong,
	// illegal_parameter when a value is forbidden (RFC 8446, section 6.2).
	Alert shakedown.Alert
}

// Error returns "malformed ServerHello: ends within cipher_suite" and the like.
func (e *Error) Error() string { return "malformed " + e.Message + ": " + e.Reason }
