package handshake

import "shakedown"

// EventKind says what an Event tells.
type EventKind uint8

const (
	// EventWait: nothing more to tell until more bytes are fed.
	EventWait EventKind = iota
	// EventWrite: Bytes are to be sent to the server.
	EventWrite
	// EventPhase: Phase was reached. A phase reached by sending comes after the
	// EventWrite with the bytes.
	EventPhase
	// EventMessage: Message was sent or received; told only when
	// Machine.LogMessages is set.
	EventMessage
	// EventTicket: a NewSessionTicket came; it is the last in
	// Observed.Tickets, and Machine.Session makes a session of it.
	EventTicket
	// EventData: Bytes are application data from the server.
	EventData
	// EventDone: the handshake is complete in the sense of Config.Complete.
	EventDone
	// EventFailed: the handshake failed; Machine.Failure tells why. Nothing
	// follows.
	EventFailed
	// EventClosed: the server sent close_notify after the handshake was complete.
	EventClosed
)

// Event is what a Machine tells its driver. Bytes are valid until the next call
// of Next, Feed or Start of any Machine of the same Workspace.
type Event struct {
	Kind    EventKind
	Phase   shakedown.Phase
	Bytes   []byte
	Message Message
}

// Message is one protocol message as it crossed the wire.
type Message struct {
	Direction shakedown.Direction `json:"direction"`
	// Name is the message's name in the RFC's spelling, such as "ServerHello",
	// or "Alert (handshake_failure)".
	Name string `json:"type"`
	// Bytes of the message with its header, before encryption.
	Bytes int `json:"bytes"`
	// Records is in how many records it lay, wholly or in part.
	Records int `json:"records"`
	// Encrypted: the records were protected.
	Encrypted bool `json:"encrypted"`
}
