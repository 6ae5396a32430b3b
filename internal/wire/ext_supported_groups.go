package wire

import "shakedown"

// AppendSupportedGroups appends supported_groups (RFC 8446, section 4.2.7),
// which a server sends too, in EncryptedExtensions.
func AppendSupportedGroups(b []byte, groups []shakedown.Group) []byte {
	return appendCodes(b, 2, groups)
}

// ParseSupportedGroups reads the groups into dst[:0].
func ParseSupportedGroups(dst []shakedown.Group, data []byte) ([]shakedown.Group, error) {
	r := reader{rest: data}
	dst = codes(dst, &r, 2, "named_group_list")
	return dst, r.endExtension(shakedown.ExtSupportedGroups)
}
