package wire

import "shakedown"

// The levels of an alert. TLS 1.3 pays no heed to them (RFC 8446, section 6).
const (
	LevelWarning = 1
	LevelFatal   = 2
)

// AlertMessage is the content of an alert record (RFC 8446, section 6). It is
// not a handshake message and has no header.
type AlertMessage struct {
	Level       uint8
	Description shakedown.Alert
}

// Parse reads the content of a record.
func (m *AlertMessage) Parse(content []byte) error {
	r := reader{rest: content}
	m.Level = r.uint8("level")
	m.Description = shakedown.Alert(r.uint8("description"))
	return r.end("Alert")
}

// Append appends the content of a record.
func (m *AlertMessage) Append(b []byte) []byte { return append(b, m.Level, byte(m.Description)) }
