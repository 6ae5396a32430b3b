package shakedown

// SignatureScheme is a signature algorithm (RFC 8446, section 4.2.3).
type SignatureScheme uint16

// The schemes of RFC 8446, RFC 8998 and draft-ietf-tls-mldsa. In TLS 1.2 the
// ecdsa schemes name a hash and no curve.
const (
	RSAPKCS1SHA1        SignatureScheme = 0x0201
	ECDSASHA1           SignatureScheme = 0x0203
	RSAPKCS1SHA224      SignatureScheme = 0x0301
	ECDSASHA224         SignatureScheme = 0x0303
	RSAPKCS1SHA256      SignatureScheme = 0x0401
	RSAPKCS1SHA384      SignatureScheme = 0x0501
	RSAPKCS1SHA512      SignatureScheme = 0x0601
	ECDSASecp256r1      SignatureScheme = 0x0403
	ECDSASecp384r1      SignatureScheme = 0x0503
	ECDSASecp521r1      SignatureScheme = 0x0603
	SM2SigSM3           SignatureScheme = 0x0708
	RSAPSSRSAESHA256    SignatureScheme = 0x0804
	RSAPSSRSAESHA384    SignatureScheme = 0x0805
	RSAPSSRSAESHA512    SignatureScheme = 0x0806
	Ed25519             SignatureScheme = 0x0807
	Ed448               SignatureScheme = 0x0808
	RSAPSSPSSSHA256     SignatureScheme = 0x0809
	RSAPSSPSSSHA384     SignatureScheme = 0x080A
	RSAPSSPSSSHA512     SignatureScheme = 0x080B
	MLDSA44             SignatureScheme = 0x0904
	MLDSA65             SignatureScheme = 0x0905
	MLDSA87             SignatureScheme = 0x0906
	LegacyRSAMD5SHA1    SignatureScheme = 0xFF01 // TLS 1.1 and before: not on the wire
	LegacyECDSASHA1Only SignatureScheme = 0xFF03 // TLS 1.1 and before: not on the wire
)

var signatureNames = map[SignatureScheme]string{
	RSAPKCS1SHA1: "rsa_pkcs1_sha1", ECDSASHA1: "ecdsa_sha1",
	RSAPKCS1SHA224: "rsa_pkcs1_sha224", ECDSASHA224: "ecdsa_sha224",
	RSAPKCS1SHA256: "rsa_pkcs1_sha256", RSAPKCS1SHA384: "rsa_pkcs1_sha384", RSAPKCS1SHA512: "rsa_pkcs1_sha512",
	ECDSASecp256r1: "ecdsa_secp256r1_sha256", ECDSASecp384r1: "ecdsa_secp384r1_sha384", ECDSASecp521r1: "ecdsa_secp521r1_sha512",
	SM2SigSM3:        "sm2sig_sm3",
	RSAPSSRSAESHA256: "rsa_pss_rsae_sha256", RSAPSSRSAESHA384: "rsa_pss_rsae_sha384", RSAPSSRSAESHA512: "rsa_pss_rsae_sha512",
	Ed25519: "ed25519", Ed448: "ed448",
	RSAPSSPSSSHA256: "rsa_pss_pss_sha256", RSAPSSPSSSHA384: "rsa_pss_pss_sha384", RSAPSSPSSSHA512: "rsa_pss_pss_sha512",
	MLDSA44: "mldsa44", MLDSA65: "mldsa65", MLDSA87: "mldsa87",
	LegacyRSAMD5SHA1: "rsa_md5_sha1 (before TLS 1.2)", LegacyECDSASHA1Only: "ecdsa_sha1 (before TLS 1.2)",
}

// String returns the scheme's name in the RFC's spelling.
func (s SignatureScheme) String() string { return name(signatureNames, s, 4) }

// ParseSignatureScheme accepts RFC names and numbers.
func ParseSignatureScheme(s string) (SignatureScheme, error) {
	return parse("signature scheme", signatureNames, nil, s)
}

// MarshalText implements encoding.TextMarshaler with [SignatureScheme.String].
func (s SignatureScheme) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler with [ParseSignatureScheme].
func (s *SignatureScheme) UnmarshalText(b []byte) (err error) {
	*s, err = ParseSignatureScheme(string(b))
	return err
}
