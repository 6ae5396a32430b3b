package wire

import "shakedown"

// AppendRenegotiationInfo appends renegotiation_info (RFC 5746, section 3.2).
// In a connection's first handshake it holds nothing, after that the verify_data
// of the Finished before it, the server's preceded by the client's.
func AppendRenegotiationInfo(b, verifyData []byte) []byte { return appendVector(b, 1, verifyData) }

// ParseRenegotiationInfo returns the verify_data.
func ParseRenegotiationInfo(data []byte) ([]byte, error) {
	r := reader{rest: data}
	verifyData := r.vector(1, 0, "renegotiated_connection")
	return verifyData, r.endExtension(shakedown.ExtRenegotiationInfo)
}
