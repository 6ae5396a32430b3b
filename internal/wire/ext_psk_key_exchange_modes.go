package wire

import "shakedown"

// The modes of psk_key_exchange_modes (RFC 8446, section 4.2.9).
const (
	PSKModeKE    = 0 // the PSK alone
	PSKModeDHEKE = 1 // with a key exchange
)

// AppendPSKKeyExchangeModes appends the client's psk_key_exchange_modes.
func AppendPSKKeyExchangeModes(b, modes []byte) []byte { return appendVector(b, 1, modes) }

// ParsePSKKeyExchangeModes returns the modes.
func ParsePSKKeyExchangeModes(data []byte) ([]byte, error) {
	r := reader{rest: data}
	modes := r.vector(1, 1, "ke_modes")
	return modes, r.endExtension(shakedown.ExtPSKKeyExchangeModes)
}
