package suite

import (
	"errors"
	"fmt"

	"shakedown"
)

// What can be wrong with a record (RFC 8446, section 5; RFC 5246, section 6.2).
// Each is the peer's fault but ErrSequenceOverflow.
var (
	ErrBadRecordMAC   error = &alertError{shakedown.AlertBadRecordMAC, "peer's record does not decrypt"}
	ErrRecordOverflow error = &alertError{shakedown.AlertRecordOverflow, "peer's record is longer than allowed"}
	// ErrRecordLength: the record's length is not the one its header tells.
	ErrRecordLength error = &alertError{shakedown.AlertDecodeError, "record is not as long as its header says"}
	// ErrNoContentType: a TLS 1.3 record of padding alone.
	ErrNoContentType error = &alertError{shakedown.AlertUnexpectedMessage, "peer's record has no content type"}
	// ErrEmptyContent: a TLS 1.3 handshake or alert record without content.
	ErrEmptyContent error = &alertError{shakedown.AlertUnexpectedMessage, "peer's handshake or alert record is empty"}
	// ErrSequenceOverflow: 2^64 records under one key. It is never wrapped around.
	ErrSequenceOverflow error = &alertError{shakedown.AlertInternalError, "record sequence number is used up"}
)

// ErrNotSupported: a group, suite or signature scheme that this package does not
// implement. The peer has done no wrong by it unless it was offered.
var ErrNotSupported error = &alertError{shakedown.AlertInternalError, "not supported here"}

// ErrBadSignature: a signature that does not verify (RFC 8446, section 4.4.3).
var ErrBadSignature error = &alertError{shakedown.AlertDecryptError, "peer's signature does not verify"}

// AlertFor returns the alert to send for an error of this package: the one the
// RFC names for it, internal_error for any other error.
func AlertFor(err error) shakedown.Alert {
	var e *alertError
	if errors.As(err, &e) {
		return e.alert
	}
	return shakedown.AlertInternalError
}

// alertError is an error that knows its alert.
type alertError struct {
	alert shakedown.Alert
	text  string
}

func (e *alertError) Error() string { return e.text }

// illegal returns an error that deserves the alert illegal_parameter.
func illegal(format string, args ...any) error {
	return &alertError{shakedown.AlertIllegalParameter, fmt.Sprintf(format, args...)}
}
