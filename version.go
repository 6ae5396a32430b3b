package shakedown

// Version is a protocol version as it stands on the wire.
type Version uint16

// The versions of RFC 8446 and before it, and that of GB/T 38636-2020. TLCP's
// number is below that of SSL 3.0: compare versions with [Version.AtLeast], not
// with <.
const (
	TLCP  Version = 0x0101
	TLS10 Version = 0x0301
	TLS11 Version = 0x0302
	TLS12 Version = 0x0303
	TLS13 Version = 0x0304
)

var versionNames = map[Version]string{
	TLCP: "TLCP", TLS10: "TLS 1.0", TLS11: "TLS 1.1", TLS12: "TLS 1.2", TLS13: "TLS 1.3",
}

var versionAliases = map[string]Version{
	"1.0": TLS10, "1.1": TLS11, "1.2": TLS12, "1.3": TLS13,
	"tlsv1": TLS10, "tlsv1.0": TLS10, "tlsv1.1": TLS11, "tlsv1.2": TLS12, "tlsv1.3": TLS13,
}

// String returns the version's name, such as "TLS 1.3".
func (v Version) String() string { return name(versionNames, v, 4) }

// AtLeast reports whether v is TLS version w or a later one. TLCP is never at
// least a TLS version.
func (v Version) AtLeast(w Version) bool { return v != TLCP && v >= w }

// ParseVersion accepts "1.3", "TLS 1.3", "TLSv1.3", "tls1.3", "tlcp" and numbers
// such as "0x0304".
func ParseVersion(s string) (Version, error) {
	return parse("TLS version", versionNames, versionAliases, s)
}

// MarshalText implements encoding.TextMarshaler with [Version.String].
func (v Version) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler with [ParseVersion].
func (v *Version) UnmarshalText(b []byte) (err error) {
	*v, err = ParseVersion(string(b))
	return err
}
