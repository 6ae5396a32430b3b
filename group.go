package shakedown

// Group is a key exchange group (RFC 8446, section 4.2.7).
type Group uint16

// The groups of RFC 8422, RFC 7919, RFC 8998 and
// draft-ietf-tls-ecdhe-mlkem.
const (
	Secp256r1          Group = 0x0017
	Secp384r1          Group = 0x0018
	Secp521r1          Group = 0x0019
	X25519             Group = 0x001D
	X448               Group = 0x001E
	CurveSM2           Group = 0x0029
	FFDHE2048          Group = 0x0100
	FFDHE3072          Group = 0x0101
	FFDHE4096          Group = 0x0102
	FFDHE6144          Group = 0x0103
	FFDHE8192          Group = 0x0104
	SecP256r1MLKEM768  Group = 0x11EB
	X25519MLKEM768     Group = 0x11EC
	SecP384r1MLKEM1024 Group = 0x11ED
	CurveSM2MLKEM768   Group = 0x11EE
)

var groupNames = map[Group]string{
	Secp256r1: "secp256r1", Secp384r1: "secp384r1", Secp521r1: "secp521r1",
	X25519: "x25519", X448: "x448", CurveSM2: "curveSM2",
	FFDHE2048: "ffdhe2048", FFDHE3072: "ffdhe3072", FFDHE4096: "ffdhe4096",
	FFDHE6144: "ffdhe6144", FFDHE8192: "ffdhe8192",
	SecP256r1MLKEM768: "SecP256r1MLKEM768", X25519MLKEM768: "X25519MLKEM768",
	SecP384r1MLKEM1024: "SecP384r1MLKEM1024", CurveSM2MLKEM768: "curveSM2MLKEM768",
	0x001A: "brainpoolP256r1", 0x001B: "brainpoolP384r1", 0x001C: "brainpoolP512r1",
	0x001F: "brainpoolP256r1tls13", 0x0020: "brainpoolP384r1tls13", 0x0021: "brainpoolP512r1tls13",
	0x0016: "secp256k1", 0x0200: "MLKEM512", 0x0201: "MLKEM768", 0x0202: "MLKEM1024",
	0x6399: "X25519Kyber768Draft00",
}

var groupAliases = map[string]Group{
	"p256": Secp256r1, "prime256v1": Secp256r1, "p384": Secp384r1, "p521": Secp521r1,
	"sm2": CurveSM2, "sm2p256v1": CurveSM2,
}

// String returns the group's name in the RFC's spelling, such as "x25519".
func (g Group) String() string { return name(groupNames, g, 4) }

// ParseGroup accepts RFC names, the usual others ("P-256", "prime256v1") and
// numbers.
func ParseGroup(s string) (Group, error) { return parse("group", groupNames, groupAliases, s) }

// MarshalText implements encoding.TextMarshaler with [Group.String].
func (g Group) MarshalText() ([]byte, error) { return []byte(g.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler with [ParseGroup].
func (g *Group) UnmarshalText(b []byte) (err error) {
	*g, err = ParseGroup(string(b))
	return err
}
