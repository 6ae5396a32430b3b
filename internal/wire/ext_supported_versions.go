package wire

import (
	"encoding/binary"

	"shakedown"
)

// AppendClientVersions appends the client's supported_versions (RFC 8446,
// section 4.2.1).
func AppendClientVersions(b []byte, versions []shakedown.Version) []byte {
	return appendCodes(b, 1, versions)
}

// ParseClientVersions reads the client's versions into dst[:0].
func ParseClientVersions(dst []shakedown.Version, data []byte) ([]shakedown.Version, error) {
	r := reader{rest: data}
	dst = codes(dst, &r, 1, "versions")
	return dst, r.endExtension(shakedown.ExtSupportedVersions)
}

// AppendSelectedVersion appends the supported_versions of a ServerHello or
// HelloRetryRequest.
func AppendSelectedVersion(b []byte, v shakedown.Version) []byte {
	return binary.BigEndian.AppendUint16(b, uint16(v))
}

// ParseSelectedVersion reads the supported_versions of a ServerHello or
// HelloRetryRequest.
func ParseSelectedVersion(data []byte) (shakedown.Version, error) {
	r := reader{rest: data}
	v := shakedown.Version(r.uint16("selected_version"))
	return v, r.endExtension(shakedown.ExtSupportedVersions)
}
