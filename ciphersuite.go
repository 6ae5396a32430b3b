package shakedown

// CipherSuite is a cipher suite (RFC 8446, appendix B.4; IANA "TLS Cipher
// Suites"; GB/T 38636-2020). The constants bear the registry's own names.
type CipherSuite uint16

// The cipher suites known by name. Others survive as numbers.
const (
	TLS_RSA_WITH_NULL_MD5                         CipherSuite = 0x0001
	TLS_RSA_WITH_NULL_SHA                         CipherSuite = 0x0002
	TLS_RSA_WITH_RC4_128_MD5                      CipherSuite = 0x0004
	TLS_RSA_WITH_RC4_128_SHA                      CipherSuite = 0x0005
	TLS_RSA_WITH_3DES_EDE_CBC_SHA                 CipherSuite = 0x000A
	TLS_DHE_RSA_WITH_3DES_EDE_CBC_SHA             CipherSuite = 0x0016
	TLS_RSA_WITH_AES_128_CBC_SHA                  CipherSuite = 0x002F
	TLS_DHE_DSS_WITH_AES_128_CBC_SHA              CipherSuite = 0x0032
	TLS_DHE_RSA_WITH_AES_128_CBC_SHA              CipherSuite = 0x0033
	TLS_DH_anon_WITH_AES_128_CBC_SHA              CipherSuite = 0x0034
	TLS_RSA_WITH_AES_256_CBC_SHA                  CipherSuite = 0x0035
	TLS_DHE_DSS_WITH_AES_256_CBC_SHA              CipherSuite = 0x0038
	TLS_DHE_RSA_WITH_AES_256_CBC_SHA              CipherSuite = 0x0039
	TLS_DH_anon_WITH_AES_256_CBC_SHA              CipherSuite = 0x003A
	TLS_RSA_WITH_NULL_SHA256                      CipherSuite = 0x003B
	TLS_RSA_WITH_AES_128_CBC_SHA256               CipherSuite = 0x003C
	TLS_RSA_WITH_AES_256_CBC_SHA256               CipherSuite = 0x003D
	TLS_DHE_DSS_WITH_AES_128_CBC_SHA256           CipherSuite = 0x0040
	TLS_RSA_WITH_CAMELLIA_128_CBC_SHA             CipherSuite = 0x0041
	TLS_DHE_DSS_WITH_CAMELLIA_128_CBC_SHA         CipherSuite = 0x0044
	TLS_DHE_RSA_WITH_CAMELLIA_128_CBC_SHA         CipherSuite = 0x0045
	TLS_DH_anon_WITH_CAMELLIA_128_CBC_SHA         CipherSuite = 0x0046
	TLS_DHE_RSA_WITH_AES_128_CBC_SHA256           CipherSuite = 0x0067
	TLS_DHE_DSS_WITH_AES_256_CBC_SHA256           CipherSuite = 0x006A
	TLS_DHE_RSA_WITH_AES_256_CBC_SHA256           CipherSuite = 0x006B
	TLS_DH_anon_WITH_AES_128_CBC_SHA256           CipherSuite = 0x006C
	TLS_DH_anon_WITH_AES_256_CBC_SHA256           CipherSuite = 0x006D
	TLS_RSA_WITH_CAMELLIA_256_CBC_SHA             CipherSuite = 0x0084
	TLS_DHE_DSS_WITH_CAMELLIA_256_CBC_SHA         CipherSuite = 0x0087
	TLS_DHE_RSA_WITH_CAMELLIA_256_CBC_SHA         CipherSuite = 0x0088
	TLS_DH_anon_WITH_CAMELLIA_256_CBC_SHA         CipherSuite = 0x0089
	TLS_RSA_WITH_AES_128_GCM_SHA256               CipherSuite = 0x009C
	TLS_RSA_WITH_AES_256_GCM_SHA384               CipherSuite = 0x009D
	TLS_DHE_RSA_WITH_AES_128_GCM_SHA256           CipherSuite = 0x009E
	TLS_DHE_RSA_WITH_AES_256_GCM_SHA384           CipherSuite = 0x009F
	TLS_DHE_DSS_WITH_AES_128_GCM_SHA256           CipherSuite = 0x00A2
	TLS_DHE_DSS_WITH_AES_256_GCM_SHA384           CipherSuite = 0x00A3
	TLS_DH_anon_WITH_AES_128_GCM_SHA256           CipherSuite = 0x00A6
	TLS_DH_anon_WITH_AES_256_GCM_SHA384           CipherSuite = 0x00A7
	TLS_RSA_WITH_CAMELLIA_128_CBC_SHA256          CipherSuite = 0x00BA
	TLS_DHE_DSS_WITH_CAMELLIA_128_CBC_SHA256      CipherSuite = 0x00BD
	TLS_DHE_RSA_WITH_CAMELLIA_128_CBC_SHA256      CipherSuite = 0x00BE
	TLS_DH_anon_WITH_CAMELLIA_128_CBC_SHA256      CipherSuite = 0x00BF
	TLS_RSA_WITH_CAMELLIA_256_CBC_SHA256          CipherSuite = 0x00C0
	TLS_DHE_DSS_WITH_CAMELLIA_256_CBC_SHA256      CipherSuite = 0x00C3
	TLS_DHE_RSA_WITH_CAMELLIA_256_CBC_SHA256      CipherSuite = 0x00C4
	TLS_DH_anon_WITH_CAMELLIA_256_CBC_SHA256      CipherSuite = 0x00C5
	TLS_SM4_GCM_SM3                               CipherSuite = 0x00C6
	TLS_SM4_CCM_SM3                               CipherSuite = 0x00C7
	TLS_EMPTY_RENEGOTIATION_INFO_SCSV             CipherSuite = 0x00FF
	TLS_AES_128_GCM_SHA256                        CipherSuite = 0x1301
	TLS_AES_256_GCM_SHA384                        CipherSuite = 0x1302
	TLS_CHACHA20_POLY1305_SHA256                  CipherSuite = 0x1303
	TLS_AES_128_CCM_SHA256                        CipherSuite = 0x1304
	TLS_AES_128_CCM_8_SHA256                      CipherSuite = 0x1305
	TLS_FALLBACK_SCSV                             CipherSuite = 0x5600
	TLS_ECDHE_ECDSA_WITH_NULL_SHA                 CipherSuite = 0xC006
	TLS_ECDHE_ECDSA_WITH_RC4_128_SHA              CipherSuite = 0xC007
	TLS_ECDHE_ECDSA_WITH_3DES_EDE_CBC_SHA         CipherSuite = 0xC008
	TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA          CipherSuite = 0xC009
	TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA          CipherSuite = 0xC00A
	TLS_ECDHE_RSA_WITH_NULL_SHA                   CipherSuite = 0xC010
	TLS_ECDHE_RSA_WITH_RC4_128_SHA                CipherSuite = 0xC011
	TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA           CipherSuite = 0xC012
	TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA            CipherSuite = 0xC013
	TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA            CipherSuite = 0xC014
	TLS_ECDH_anon_WITH_NULL_SHA                   CipherSuite = 0xC015
	TLS_ECDH_anon_WITH_AES_128_CBC_SHA            CipherSuite = 0xC018
	TLS_ECDH_anon_WITH_AES_256_CBC_SHA            CipherSuite = 0xC019
	TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256       CipherSuite = 0xC023
	TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA384       CipherSuite = 0xC024
	TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256         CipherSuite = 0xC027
	TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384         CipherSuite = 0xC028
	TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256       CipherSuite = 0xC02B
	TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384       CipherSuite = 0xC02C
	TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256         CipherSuite = 0xC02F
	TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384         CipherSuite = 0xC030
	TLS_ECDHE_ECDSA_WITH_CAMELLIA_128_CBC_SHA256  CipherSuite = 0xC072
	TLS_ECDHE_ECDSA_WITH_CAMELLIA_256_CBC_SHA384  CipherSuite = 0xC073
	TLS_ECDHE_RSA_WITH_CAMELLIA_128_CBC_SHA256    CipherSuite = 0xC076
	TLS_ECDHE_RSA_WITH_CAMELLIA_256_CBC_SHA384    CipherSuite = 0xC077
	TLS_RSA_WITH_AES_128_CCM                      CipherSuite = 0xC09C
	TLS_RSA_WITH_AES_256_CCM                      CipherSuite = 0xC09D
	TLS_DHE_RSA_WITH_AES_128_CCM                  CipherSuite = 0xC09E
	TLS_DHE_RSA_WITH_AES_256_CCM                  CipherSuite = 0xC09F
	TLS_RSA_WITH_AES_128_CCM_8                    CipherSuite = 0xC0A0
	TLS_RSA_WITH_AES_256_CCM_8                    CipherSuite = 0xC0A1
	TLS_DHE_RSA_WITH_AES_128_CCM_8                CipherSuite = 0xC0A2
	TLS_DHE_RSA_WITH_AES_256_CCM_8                CipherSuite = 0xC0A3
	TLS_ECDHE_ECDSA_WITH_AES_128_CCM              CipherSuite = 0xC0AC
	TLS_ECDHE_ECDSA_WITH_AES_256_CCM              CipherSuite = 0xC0AD
	TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8            CipherSuite = 0xC0AE
	TLS_ECDHE_ECDSA_WITH_AES_256_CCM_8            CipherSuite = 0xC0AF
	TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256   CipherSuite = 0xCCA8
	TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 CipherSuite = 0xCCA9
	TLS_DHE_RSA_WITH_CHACHA20_POLY1305_SHA256     CipherSuite = 0xCCAA
	ECDHE_SM4_CBC_SM3                             CipherSuite = 0xE011
	ECC_SM4_CBC_SM3                               CipherSuite = 0xE013
	ECDHE_SM4_GCM_SM3                             CipherSuite = 0xE051
	ECC_SM4_GCM_SM3                               CipherSuite = 0xE053
)

var cipherSuiteNames = map[CipherSuite]string{
	TLS_RSA_WITH_NULL_MD5:                         "TLS_RSA_WITH_NULL_MD5",
	TLS_RSA_WITH_NULL_SHA:                         "TLS_RSA_WITH_NULL_SHA",
	TLS_RSA_WITH_RC4_128_MD5:                      "TLS_RSA_WITH_RC4_128_MD5",
	TLS_RSA_WITH_RC4_128_SHA:                      "TLS_RSA_WITH_RC4_128_SHA",
	TLS_RSA_WITH_3DES_EDE_CBC_SHA:                 "TLS_RSA_WITH_3DES_EDE_CBC_SHA",
	TLS_DHE_RSA_WITH_3DES_EDE_CBC_SHA:             "TLS_DHE_RSA_WITH_3DES_EDE_CBC_SHA",
	TLS_RSA_WITH_AES_128_CBC_SHA:                  "TLS_RSA_WITH_AES_128_CBC_SHA",
	TLS_DHE_DSS_WITH_AES_128_CBC_SHA:              "TLS_DHE_DSS_WITH_AES_128_CBC_SHA",
	TLS_DHE_RSA_WITH_AES_128_CBC_SHA:              "TLS_DHE_RSA_WITH_AES_128_CBC_SHA",
	TLS_DH_anon_WITH_AES_128_CBC_SHA:              "TLS_DH_anon_WITH_AES_128_CBC_SHA",
	TLS_RSA_WITH_AES_256_CBC_SHA:                  "TLS_RSA_WITH_AES_256_CBC_SHA",
	TLS_DHE_DSS_WITH_AES_256_CBC_SHA:              "TLS_DHE_DSS_WITH_AES_256_CBC_SHA",
	TLS_DHE_RSA_WITH_AES_256_CBC_SHA:              "TLS_DHE_RSA_WITH_AES_256_CBC_SHA",
	TLS_DH_anon_WITH_AES_256_CBC_SHA:              "TLS_DH_anon_WITH_AES_256_CBC_SHA",
	TLS_RSA_WITH_NULL_SHA256:                      "TLS_RSA_WITH_NULL_SHA256",
	TLS_RSA_WITH_AES_128_CBC_SHA256:               "TLS_RSA_WITH_AES_128_CBC_SHA256",
	TLS_RSA_WITH_AES_256_CBC_SHA256:               "TLS_RSA_WITH_AES_256_CBC_SHA256",
	TLS_DHE_DSS_WITH_AES_128_CBC_SHA256:           "TLS_DHE_DSS_WITH_AES_128_CBC_SHA256",
	TLS_RSA_WITH_CAMELLIA_128_CBC_SHA:             "TLS_RSA_WITH_CAMELLIA_128_CBC_SHA",
	TLS_DHE_DSS_WITH_CAMELLIA_128_CBC_SHA:         "TLS_DHE_DSS_WITH_CAMELLIA_128_CBC_SHA",
	TLS_DHE_RSA_WITH_CAMELLIA_128_CBC_SHA:         "TLS_DHE_RSA_WITH_CAMELLIA_128_CBC_SHA",
	TLS_DH_anon_WITH_CAMELLIA_128_CBC_SHA:         "TLS_DH_anon_WITH_CAMELLIA_128_CBC_SHA",
	TLS_DHE_RSA_WITH_AES_128_CBC_SHA256:           "TLS_DHE_RSA_WITH_AES_128_CBC_SHA256",
	TLS_DHE_DSS_WITH_AES_256_CBC_SHA256:           "TLS_DHE_DSS_WITH_AES_256_CBC_SHA256",
	TLS_DHE_RSA_WITH_AES_256_CBC_SHA256:           "TLS_DHE_RSA_WITH_AES_256_CBC_SHA256",
	TLS_DH_anon_WITH_AES_128_CBC_SHA256:           "TLS_DH_anon_WITH_AES_128_CBC_SHA256",
	TLS_DH_anon_WITH_AES_256_CBC_SHA256:           "TLS_DH_anon_WITH_AES_256_CBC_SHA256",
	TLS_RSA_WITH_CAMELLIA_256_CBC_SHA:             "TLS_RSA_WITH_CAMELLIA_256_CBC_SHA",
	TLS_DHE_DSS_WITH_CAMELLIA_256_CBC_SHA:         "TLS_DHE_DSS_WITH_CAMELLIA_256_CBC_SHA",
	TLS_DHE_RSA_WITH_CAMELLIA_256_CBC_SHA:         "TLS_DHE_RSA_WITH_CAMELLIA_256_CBC_SHA",
	TLS_DH_anon_WITH_CAMELLIA_256_CBC_SHA:         "TLS_DH_anon_WITH_CAMELLIA_256_CBC_SHA",
	TLS_RSA_WITH_AES_128_GCM_SHA256:               "TLS_RSA_WITH_AES_128_GCM_SHA256",
	TLS_RSA_WITH_AES_256_GCM_SHA384:               "TLS_RSA_WITH_AES_256_GCM_SHA384",
	TLS_DHE_RSA_WITH_AES_128_GCM_SHA256:           "TLS_DHE_RSA_WITH_AES_128_GCM_SHA256",
	TLS_DHE_RSA_WITH_AES_256_GCM_SHA384:           "TLS_DHE_RSA_WITH_AES_256_GCM_SHA384",
	TLS_DHE_DSS_WITH_AES_128_GCM_SHA256:           "TLS_DHE_DSS_WITH_AES_128_GCM_SHA256",
	TLS_DHE_DSS_WITH_AES_256_GCM_SHA384:           "TLS_DHE_DSS_WITH_AES_256_GCM_SHA384",
	TLS_DH_anon_WITH_AES_128_GCM_SHA256:           "TLS_DH_anon_WITH_AES_128_GCM_SHA256",
	TLS_DH_anon_WITH_AES_256_GCM_SHA384:           "TLS_DH_anon_WITH_AES_256_GCM_SHA384",
	TLS_RSA_WITH_CAMELLIA_128_CBC_SHA256:          "TLS_RSA_WITH_CAMELLIA_128_CBC_SHA256",
	TLS_DHE_DSS_WITH_CAMELLIA_128_CBC_SHA256:      "TLS_DHE_DSS_WITH_CAMELLIA_128_CBC_SHA256",
	TLS_DHE_RSA_WITH_CAMELLIA_128_CBC_SHA256:      "TLS_DHE_RSA_WITH_CAMELLIA_128_CBC_SHA256",
	TLS_DH_anon_WITH_CAMELLIA_128_CBC_SHA256:      "TLS_DH_anon_WITH_CAMELLIA_128_CBC_SHA256",
	TLS_RSA_WITH_CAMELLIA_256_CBC_SHA256:          "TLS_RSA_WITH_CAMELLIA_256_CBC_SHA256",
	TLS_DHE_DSS_WITH_CAMELLIA_256_CBC_SHA256:      "TLS_DHE_DSS_WITH_CAMELLIA_256_CBC_SHA256",
	TLS_DHE_RSA_WITH_CAMELLIA_256_CBC_SHA256:      "TLS_DHE_RSA_WITH_CAMELLIA_256_CBC_SHA256",
	TLS_DH_anon_WITH_CAMELLIA_256_CBC_SHA256:      "TLS_DH_anon_WITH_CAMELLIA_256_CBC_SHA256",
	TLS_SM4_GCM_SM3:                               "TLS_SM4_GCM_SM3",
	TLS_SM4_CCM_SM3:                               "TLS_SM4_CCM_SM3",
	TLS_EMPTY_RENEGOTIATION_INFO_SCSV:             "TLS_EMPTY_RENEGOTIATION_INFO_SCSV",
	TLS_AES_128_GCM_SHA256:                        "TLS_AES_128_GCM_SHA256",
	TLS_AES_256_GCM_SHA384:                        "TLS_AES_256_GCM_SHA384",
	TLS_CHACHA20_POLY1305_SHA256:                  "TLS_CHACHA20_POLY1305_SHA256",
	TLS_AES_128_CCM_SHA256:                        "TLS_AES_128_CCM_SHA256",
	TLS_AES_128_CCM_8_SHA256:                      "TLS_AES_128_CCM_8_SHA256",
	TLS_FALLBACK_SCSV:                             "TLS_FALLBACK_SCSV",
	TLS_ECDHE_ECDSA_WITH_NULL_SHA:                 "TLS_ECDHE_ECDSA_WITH_NULL_SHA",
	TLS_ECDHE_ECDSA_WITH_RC4_128_SHA:              "TLS_ECDHE_ECDSA_WITH_RC4_128_SHA",
	TLS_ECDHE_ECDSA_WITH_3DES_EDE_CBC_SHA:         "TLS_ECDHE_ECDSA_WITH_3DES_EDE_CBC_SHA",
	TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA:          "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
	TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA:          "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
	TLS_ECDHE_RSA_WITH_NULL_SHA:                   "TLS_ECDHE_RSA_WITH_NULL_SHA",
	TLS_ECDHE_RSA_WITH_RC4_128_SHA:                "TLS_ECDHE_RSA_WITH_RC4_128_SHA",
	TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA:           "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA",
	TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA:            "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
	TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA:            "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
	TLS_ECDH_anon_WITH_NULL_SHA:                   "TLS_ECDH_anon_WITH_NULL_SHA",
	TLS_ECDH_anon_WITH_AES_128_CBC_SHA:            "TLS_ECDH_anon_WITH_AES_128_CBC_SHA",
	TLS_ECDH_anon_WITH_AES_256_CBC_SHA:            "TLS_ECDH_anon_WITH_AES_256_CBC_SHA",
	TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256:       "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256",
	TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA384:       "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA384",
	TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256:         "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256",
	TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384:         "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384",
	TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256:       "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
	TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384:       "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
	TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256:         "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
	TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384:         "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
	TLS_ECDHE_ECDSA_WITH_CAMELLIA_128_CBC_SHA256:  "TLS_ECDHE_ECDSA_WITH_CAMELLIA_128_CBC_SHA256",
	TLS_ECDHE_ECDSA_WITH_CAMELLIA_256_CBC_SHA384:  "TLS_ECDHE_ECDSA_WITH_CAMELLIA_256_CBC_SHA384",
	TLS_ECDHE_RSA_WITH_CAMELLIA_128_CBC_SHA256:    "TLS_ECDHE_RSA_WITH_CAMELLIA_128_CBC_SHA256",
	TLS_ECDHE_RSA_WITH_CAMELLIA_256_CBC_SHA384:    "TLS_ECDHE_RSA_WITH_CAMELLIA_256_CBC_SHA384",
	TLS_RSA_WITH_AES_128_CCM:                      "TLS_RSA_WITH_AES_128_CCM",
	TLS_RSA_WITH_AES_256_CCM:                      "TLS_RSA_WITH_AES_256_CCM",
	TLS_DHE_RSA_WITH_AES_128_CCM:                  "TLS_DHE_RSA_WITH_AES_128_CCM",
	TLS_DHE_RSA_WITH_AES_256_CCM:                  "TLS_DHE_RSA_WITH_AES_256_CCM",
	TLS_RSA_WITH_AES_128_CCM_8:                    "TLS_RSA_WITH_AES_128_CCM_8",
	TLS_RSA_WITH_AES_256_CCM_8:                    "TLS_RSA_WITH_AES_256_CCM_8",
	TLS_DHE_RSA_WITH_AES_128_CCM_8:                "TLS_DHE_RSA_WITH_AES_128_CCM_8",
	TLS_DHE_RSA_WITH_AES_256_CCM_8:                "TLS_DHE_RSA_WITH_AES_256_CCM_8",
	TLS_ECDHE_ECDSA_WITH_AES_128_CCM:              "TLS_ECDHE_ECDSA_WITH_AES_128_CCM",
	TLS_ECDHE_ECDSA_WITH_AES_256_CCM:              "TLS_ECDHE_ECDSA_WITH_AES_256_CCM",
	TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8:            "TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8",
	TLS_ECDHE_ECDSA_WITH_AES_256_CCM_8:            "TLS_ECDHE_ECDSA_WITH_AES_256_CCM_8",
	TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256:   "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
	TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256: "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
	TLS_DHE_RSA_WITH_CHACHA20_POLY1305_SHA256:     "TLS_DHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
	ECDHE_SM4_CBC_SM3:                             "ECDHE_SM4_CBC_SM3",
	ECC_SM4_CBC_SM3:                               "ECC_SM4_CBC_SM3",
	ECDHE_SM4_GCM_SM3:                             "ECDHE_SM4_GCM_SM3",
	ECC_SM4_GCM_SM3:                               "ECC_SM4_GCM_SM3",
}

// cipherSuiteAliases are OpenSSL's names, folded, which is how most people who
// run servers know the suites of TLS 1.2.
var cipherSuiteAliases = map[string]CipherSuite{
	"nullmd5":                     TLS_RSA_WITH_NULL_MD5,
	"nullsha":                     TLS_RSA_WITH_NULL_SHA,
	"rc4md5":                      TLS_RSA_WITH_RC4_128_MD5,
	"rc4sha":                      TLS_RSA_WITH_RC4_128_SHA,
	"descbc3sha":                  TLS_RSA_WITH_3DES_EDE_CBC_SHA,
	"dhersadescbc3sha":            TLS_DHE_RSA_WITH_3DES_EDE_CBC_SHA,
	"aes128sha":                   TLS_RSA_WITH_AES_128_CBC_SHA,
	"dhedssaes128sha":             TLS_DHE_DSS_WITH_AES_128_CBC_SHA,
	"dhersaaes128sha":             TLS_DHE_RSA_WITH_AES_128_CBC_SHA,
	"adhaes128sha":                TLS_DH_anon_WITH_AES_128_CBC_SHA,
	"aes256sha":                   TLS_RSA_WITH_AES_256_CBC_SHA,
	"dhedssaes256sha":             TLS_DHE_DSS_WITH_AES_256_CBC_SHA,
	"dhersaaes256sha":             TLS_DHE_RSA_WITH_AES_256_CBC_SHA,
	"adhaes256sha":                TLS_DH_anon_WITH_AES_256_CBC_SHA,
	"nullsha256":                  TLS_RSA_WITH_NULL_SHA256,
	"aes128sha256":                TLS_RSA_WITH_AES_128_CBC_SHA256,
	"aes256sha256":                TLS_RSA_WITH_AES_256_CBC_SHA256,
	"dhedssaes128sha256":          TLS_DHE_DSS_WITH_AES_128_CBC_SHA256,
	"camellia128sha":              TLS_RSA_WITH_CAMELLIA_128_CBC_SHA,
	"dhedsscamellia128sha":        TLS_DHE_DSS_WITH_CAMELLIA_128_CBC_SHA,
	"dhersacamellia128sha":        TLS_DHE_RSA_WITH_CAMELLIA_128_CBC_SHA,
	"adhcamellia128sha":           TLS_DH_anon_WITH_CAMELLIA_128_CBC_SHA,
	"dhersaaes128sha256":          TLS_DHE_RSA_WITH_AES_128_CBC_SHA256,
	"dhedssaes256sha256":          TLS_DHE_DSS_WITH_AES_256_CBC_SHA256,
	"dhersaaes256sha256":          TLS_DHE_RSA_WITH_AES_256_CBC_SHA256,
	"adhaes128sha256":             TLS_DH_anon_WITH_AES_128_CBC_SHA256,
	"adhaes256sha256":             TLS_DH_anon_WITH_AES_256_CBC_SHA256,
	"camellia256sha":              TLS_RSA_WITH_CAMELLIA_256_CBC_SHA,
	"dhedsscamellia256sha":        TLS_DHE_DSS_WITH_CAMELLIA_256_CBC_SHA,
	"dhersacamellia256sha":        TLS_DHE_RSA_WITH_CAMELLIA_256_CBC_SHA,
	"adhcamellia256sha":           TLS_DH_anon_WITH_CAMELLIA_256_CBC_SHA,
	"aes128gcmsha256":             TLS_RSA_WITH_AES_128_GCM_SHA256,
	"aes256gcmsha384":             TLS_RSA_WITH_AES_256_GCM_SHA384,
	"dhersaaes128gcmsha256":       TLS_DHE_RSA_WITH_AES_128_GCM_SHA256,
	"dhersaaes256gcmsha384":       TLS_DHE_RSA_WITH_AES_256_GCM_SHA384,
	"dhedssaes128gcmsha256":       TLS_DHE_DSS_WITH_AES_128_GCM_SHA256,
	"dhedssaes256gcmsha384":       TLS_DHE_DSS_WITH_AES_256_GCM_SHA384,
	"adhaes128gcmsha256":          TLS_DH_anon_WITH_AES_128_GCM_SHA256,
	"adhaes256gcmsha384":          TLS_DH_anon_WITH_AES_256_GCM_SHA384,
	"camellia128sha256":           TLS_RSA_WITH_CAMELLIA_128_CBC_SHA256,
	"dhedsscamellia128sha256":     TLS_DHE_DSS_WITH_CAMELLIA_128_CBC_SHA256,
	"dhersacamellia128sha256":     TLS_DHE_RSA_WITH_CAMELLIA_128_CBC_SHA256,
	"adhcamellia128sha256":        TLS_DH_anon_WITH_CAMELLIA_128_CBC_SHA256,
	"camellia256sha256":           TLS_RSA_WITH_CAMELLIA_256_CBC_SHA256,
	"dhedsscamellia256sha256":     TLS_DHE_DSS_WITH_CAMELLIA_256_CBC_SHA256,
	"dhersacamellia256sha256":     TLS_DHE_RSA_WITH_CAMELLIA_256_CBC_SHA256,
	"adhcamellia256sha256":        TLS_DH_anon_WITH_CAMELLIA_256_CBC_SHA256,
	"ecdheecdsanullsha":           TLS_ECDHE_ECDSA_WITH_NULL_SHA,
	"ecdheecdsarc4sha":            TLS_ECDHE_ECDSA_WITH_RC4_128_SHA,
	"ecdheecdsadescbc3sha":        TLS_ECDHE_ECDSA_WITH_3DES_EDE_CBC_SHA,
	"ecdheecdsaaes128sha":         TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA,
	"ecdheecdsaaes256sha":         TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA,
	"ecdhersanullsha":             TLS_ECDHE_RSA_WITH_NULL_SHA,
	"ecdhersarc4sha":              TLS_ECDHE_RSA_WITH_RC4_128_SHA,
	"ecdhersadescbc3sha":          TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA,
	"ecdhersaaes128sha":           TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA,
	"ecdhersaaes256sha":           TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA,
	"aecdhnullsha":                TLS_ECDH_anon_WITH_NULL_SHA,
	"aecdhaes128sha":              TLS_ECDH_anon_WITH_AES_128_CBC_SHA,
	"aecdhaes256sha":              TLS_ECDH_anon_WITH_AES_256_CBC_SHA,
	"ecdheecdsaaes128sha256":      TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256,
	"ecdheecdsaaes256sha384":      TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA384,
	"ecdhersaaes128sha256":        TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256,
	"ecdhersaaes256sha384":        TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384,
	"ecdheecdsaaes128gcmsha256":   TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
	"ecdheecdsaaes256gcmsha384":   TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
	"ecdhersaaes128gcmsha256":     TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	"ecdhersaaes256gcmsha384":     TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	"ecdheecdsacamellia128sha256": TLS_ECDHE_ECDSA_WITH_CAMELLIA_128_CBC_SHA256,
	"ecdheecdsacamellia256sha384": TLS_ECDHE_ECDSA_WITH_CAMELLIA_256_CBC_SHA384,
	"ecdhersacamellia128sha256":   TLS_ECDHE_RSA_WITH_CAMELLIA_128_CBC_SHA256,
	"ecdhersacamellia256sha384":   TLS_ECDHE_RSA_WITH_CAMELLIA_256_CBC_SHA384,
	"aes128ccm":                   TLS_RSA_WITH_AES_128_CCM,
	"aes256ccm":                   TLS_RSA_WITH_AES_256_CCM,
	"dhersaaes128ccm":             TLS_DHE_RSA_WITH_AES_128_CCM,
	"dhersaaes256ccm":             TLS_DHE_RSA_WITH_AES_256_CCM,
	"aes128ccm8":                  TLS_RSA_WITH_AES_128_CCM_8,
	"aes256ccm8":                  TLS_RSA_WITH_AES_256_CCM_8,
	"dhersaaes128ccm8":            TLS_DHE_RSA_WITH_AES_128_CCM_8,
	"dhersaaes256ccm8":            TLS_DHE_RSA_WITH_AES_256_CCM_8,
	"ecdheecdsaaes128ccm":         TLS_ECDHE_ECDSA_WITH_AES_128_CCM,
	"ecdheecdsaaes256ccm":         TLS_ECDHE_ECDSA_WITH_AES_256_CCM,
	"ecdheecdsaaes128ccm8":        TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8,
	"ecdheecdsaaes256ccm8":        TLS_ECDHE_ECDSA_WITH_AES_256_CCM_8,
	"ecdhersachacha20poly1305":    TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
	"ecdheecdsachacha20poly1305":  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
	"dhersachacha20poly1305":      TLS_DHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
	"ecdhesm2sm4cbcsm3":           ECDHE_SM4_CBC_SM3,
	"eccsm2sm4cbcsm3":             ECC_SM4_CBC_SM3,
	"ecdhesm2sm4gcmsm3":           ECDHE_SM4_GCM_SM3,
	"eccsm2sm4gcmsm3":             ECC_SM4_GCM_SM3,
}

// String returns the suite's registered name.
func (c CipherSuite) String() string { return name(cipherSuiteNames, c, 4) }

// ParseCipherSuite accepts registered names, OpenSSL's names and numbers.
func ParseCipherSuite(s string) (CipherSuite, error) {
	return parse("cipher suite", cipherSuiteNames, cipherSuiteAliases, s)
}

// MarshalText implements encoding.TextMarshaler with [CipherSuite.String].
func (c CipherSuite) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler with [ParseCipherSuite].
func (c *CipherSuite) UnmarshalText(b []byte) (err error) {
	*c, err = ParseCipherSuite(string(b))
	return err
}
