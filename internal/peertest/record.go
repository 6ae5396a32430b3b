package peertest

import (
	"encoding/binary"
	"io"

	"shakedown"
)

// The content types of records (RFC 8446, section 5.1).
const (
	TypeChangeCipherSpec = 20
	TypeAlert            = 21
	TypeHandshake        = 22
	TypeApplicationData  = 23
)

// Record returns a record as it stands on the wire. A body longer than 65535
// bytes does not fit and is cut.
func Record(contentType byte, version shakedown.Version, body []byte) []byte {
	body = body[:min(len(body), 0xFFFF)]
	record := []byte{contentType, byte(version >> 8), byte(version), 0, 0}
	binary.BigEndian.PutUint16(record[3:], uint16(len(body)))
	return append(record, body...)
}

// Message returns a handshake message: type, three bytes of length, body.
func Message(messageType byte, body []byte) []byte {
	return append([]byte{messageType, byte(len(body) >> 16), byte(len(body) >> 8), byte(len(body))}, body...)
}

// ReadRecord reads one record, header included. It knows nothing of types and
// versions; an end inside a record is io.ErrUnexpectedEOF.
func ReadRecord(r io.Reader) ([]byte, error) {
	record := make([]byte, 5)
	if _, err := io.ReadFull(r, record); err != nil {
		return nil, err
	}
	record = append(record, make([]byte, binary.BigEndian.Uint16(record[3:]))...)
	if _, err := io.ReadFull(r, record[5:]); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return record, nil
}
