package wire

import "shakedown"

// PointUncompressed is the only point format that RFC 8422, section 5.1.2, left.
const PointUncompressed = 0

// AppendECPointFormats appends ec_point_formats, of the client or the server.
func AppendECPointFormats(b, formats []byte) []byte { return appendVector(b, 1, formats) }

// ParseECPointFormats returns the formats. That uncompressed is among them, as
// it must be, is for the caller to check.
func ParseECPointFormats(data []byte) ([]byte, error) {
	r := reader{rest: data}
	formats := r.vector(1, 1, "ec_point_format_list")
	return formats, r.endExtension(shakedown.ExtECPointFormats)
}
