package shakedown

// Extension is an extension type (RFC 8446, section 4.2).
type Extension uint16

// The extensions a TLS client meets (IANA "TLS ExtensionType Values").
const (
	ExtServerName                 Extension = 0
	ExtMaxFragmentLength          Extension = 1
	ExtStatusRequest              Extension = 5
	ExtSupportedGroups            Extension = 10
	ExtECPointFormats             Extension = 11
	ExtSignatureAlgorithms        Extension = 13
	ExtALPN                       Extension = 16
	ExtSignedCertificateTimestamp Extension = 18
	ExtPadding                    Extension = 21
	ExtEncryptThenMAC             Extension = 22
	ExtExtendedMasterSecret       Extension = 23
	ExtCompressCertificate        Extension = 27
	ExtRecordSizeLimit            Extension = 28
	ExtSessionTicket              Extension = 35
	ExtPreSharedKey               Extension = 41
	ExtEarlyData                  Extension = 42
	ExtSupportedVersions          Extension = 43
	ExtCookie                     Extension = 44
	ExtPSKKeyExchangeModes        Extension = 45
	ExtCertificateAuthorities     Extension = 47
	ExtOIDFilters                 Extension = 48
	ExtPostHandshakeAuth          Extension = 49
	ExtSignatureAlgorithmsCert    Extension = 50
	ExtKeyShare                   Extension = 51
	ExtQUICTransportParameters    Extension = 57
	ExtEncryptedClientHello       Extension = 0xFE0D
	ExtRenegotiationInfo          Extension = 0xFF01
)

var extensionNames = map[Extension]string{
	ExtServerName: "server_name", ExtMaxFragmentLength: "max_fragment_length", ExtStatusRequest: "status_request",
	ExtSupportedGroups: "supported_groups", ExtECPointFormats: "ec_point_formats",
	ExtSignatureAlgorithms: "signature_algorithms", ExtALPN: "application_layer_protocol_negotiation",
	ExtSignedCertificateTimestamp: "signed_certificate_timestamp", ExtPadding: "padding",
	ExtEncryptThenMAC: "encrypt_then_mac", ExtExtendedMasterSecret: "extended_master_secret",
	ExtCompressCertificate: "compress_certificate", ExtRecordSizeLimit: "record_size_limit",
	ExtSessionTicket: "session_ticket", ExtPreSharedKey: "pre_shared_key", ExtEarlyData: "early_data",
	ExtSupportedVersions: "supported_versions", ExtCookie: "cookie", ExtPSKKeyExchangeModes: "psk_key_exchange_modes",
	ExtCertificateAuthorities: "certificate_authorities", ExtOIDFilters: "oid_filters",
	ExtPostHandshakeAuth: "post_handshake_auth", ExtSignatureAlgorithmsCert: "signature_algorithms_cert",
	ExtKeyShare: "key_share", ExtQUICTransportParameters: "quic_transport_parameters",
	ExtEncryptedClientHello: "encrypted_client_hello", ExtRenegotiationInfo: "renegotiation_info",
}

// String returns the extension's name in the RFC's spelling.
func (e Extension) String() string {
	if IsGREASE(e) {
		return "GREASE"
	}
	return name(extensionNames, e, 4)
}

// ParseExtension accepts RFC names and numbers.
func ParseExtension(s string) (Extension, error) {
	if s == "GREASE" {
		return 0x0A0A, nil // which of them it was is not told
	}
	return parse("extension", extensionNames, nil, s)
}

// UnmarshalText implements encoding.TextUnmarshaler with [ParseExtension].
func (e *Extension) UnmarshalText(b []byte) (err error) {
	*e, err = ParseExtension(string(b))
	return err
}

// MarshalText implements encoding.TextMarshaler with [Extension.String].
func (e Extension) MarshalText() ([]byte, error) { return []byte(e.String()), nil }
