package shakedown

// Alert is the description of a TLS alert (RFC 8446, section 6).
type Alert uint8

// The alerts of RFC 8446, of the versions before it, and of GB/T 38636-2020.
const (
	AlertCloseNotify                  Alert = 0
	AlertUnexpectedMessage            Alert = 10
	AlertBadRecordMAC                 Alert = 20
	AlertDecryptionFailed             Alert = 21
	AlertRecordOverflow               Alert = 22
	AlertDecompressionFailure         Alert = 30
	AlertHandshakeFailure             Alert = 40
	AlertNoCertificate                Alert = 41
	AlertBadCertificate               Alert = 42
	AlertUnsupportedCertificate       Alert = 43
	AlertCertificateRevoked           Alert = 44
	AlertCertificateExpired           Alert = 45
	AlertCertificateUnknown           Alert = 46
	AlertIllegalParameter             Alert = 47
	AlertUnknownCA                    Alert = 48
	AlertAccessDenied                 Alert = 49
	AlertDecodeError                  Alert = 50
	AlertDecryptError                 Alert = 51
	AlertTooManyCIDsRequested         Alert = 52
	AlertExportRestriction            Alert = 60
	AlertProtocolVersion              Alert = 70
	AlertInsufficientSecurity         Alert = 71
	AlertInternalError                Alert = 80
	AlertInappropriateFallback        Alert = 86
	AlertUserCanceled                 Alert = 90
	AlertNoRenegotiation              Alert = 100
	AlertMissingExtension             Alert = 109
	AlertUnsupportedExtension         Alert = 110
	AlertCertificateUnobtainable      Alert = 111
	AlertUnrecognizedName             Alert = 112
	AlertBadCertificateStatusResponse Alert = 113
	AlertBadCertificateHashValue      Alert = 114
	AlertUnknownPSKIdentity           Alert = 115
	AlertCertificateRequired          Alert = 116
	AlertNoApplicationProtocol        Alert = 120
	AlertECHRequired                  Alert = 121
)

var alertNames = map[Alert]string{
	AlertCloseNotify: "close_notify", AlertUnexpectedMessage: "unexpected_message", AlertBadRecordMAC: "bad_record_mac",
	AlertDecryptionFailed: "decryption_failed", AlertRecordOverflow: "record_overflow",
	AlertDecompressionFailure: "decompression_failure", AlertHandshakeFailure: "handshake_failure",
	AlertNoCertificate: "no_certificate", AlertBadCertificate: "bad_certificate",
	AlertUnsupportedCertificate: "unsupported_certificate", AlertCertificateRevoked: "certificate_revoked",
	AlertCertificateExpired: "certificate_expired", AlertCertificateUnknown: "certificate_unknown",
	AlertIllegalParameter: "illegal_parameter", AlertUnknownCA: "unknown_ca", AlertAccessDenied: "access_denied",
	AlertDecodeError: "decode_error", AlertDecryptError: "decrypt_error",
	AlertTooManyCIDsRequested: "too_many_cids_requested", AlertExportRestriction: "export_restriction",
	AlertProtocolVersion: "protocol_version", AlertInsufficientSecurity: "insufficient_security",
	AlertInternalError: "internal_error", AlertInappropriateFallback: "inappropriate_fallback",
	AlertUserCanceled: "user_canceled", AlertNoRenegotiation: "no_renegotiation",
	AlertMissingExtension: "missing_extension", AlertUnsupportedExtension: "unsupported_extension",
	AlertCertificateUnobtainable: "certificate_unobtainable", AlertUnrecognizedName: "unrecognized_name",
	AlertBadCertificateStatusResponse: "bad_certificate_status_response",
	AlertBadCertificateHashValue:      "bad_certificate_hash_value", AlertUnknownPSKIdentity: "unknown_psk_identity",
	AlertCertificateRequired: "certificate_required", AlertNoApplicationProtocol: "no_application_protocol",
	AlertECHRequired: "ech_required",
	200:              "unsupported_site2site", 201: "no_area", 202: "unsupported_areatype",
	203: "bad_ibcparam", 204: "unsupported_ibcparam", 205: "identity_need",
}

// String returns the alert's name in the RFC's spelling, such as
// "handshake_failure".
func (a Alert) String() string { return name(alertNames, a, 2) }

// ParseAlert accepts RFC names and numbers.
func ParseAlert(s string) (Alert, error) { return parse("alert", alertNames, nil, s) }

// MarshalText implements encoding.TextMarshaler with [Alert.String].
func (a Alert) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler with [ParseAlert].
func (a *Alert) UnmarshalText(b []byte) (err error) {
	*a, err = ParseAlert(string(b))
	return err
}
