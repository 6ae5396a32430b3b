package wire

import (
	"encoding/hex"
	"strings"
	"testing"

	"shakedown"
)

// TestMalformed holds every rule that is more than a length to its reason and
// its alert.
func TestMalformed(t *testing.T) {
	const illegal, malformed = shakedown.AlertIllegalParameter, shakedown.AlertDecodeError
	random := strings.Repeat("00", 32)
	for _, test := range []struct {
		name  string
		parse func([]byte) error
		body  string
		want  string // Error's text after "malformed "
		alert shakedown.Alert
	}{
		{"long session identifier", (&ServerHello{}).Parse, "0303" + random + "21" + random + "00 1301 00",
			"ServerHello: session_id has more than 32 bytes", malformed},
		{"no suites", (&ClientHello{}).Parse, "0303" + random + "00 0000 0100",
			"ClientHello: cipher_suites has 0 bytes, fewer than 2", malformed},
		{"half a suite", (&ClientHello{}).Parse, "0303" + random + "00 0003 130113 0100",
			"ClientHello: ends within cipher_suites", malformed},
		{"no compression method", (&ClientHello{}).Parse, "0303" + random + "00 0002 1301 00",
			"ClientHello: legacy_compression_methods has 0 bytes, fewer than 1", malformed},
		{"repeated extension", (&EncryptedExtensions{}).Parse, "000c 0000 0000 0010 0000 0000 0000",
			"EncryptedExtensions: an extension stands twice", illegal},
		{"extensions end early", (&EncryptedExtensions{}).Parse, "0003 0000 00",
			"EncryptedExtensions: ends within extension_data", malformed},
		{"trailing bytes", (&ServerHelloDone{}).Parse, "0000", "ServerHelloDone: 2 bytes too many", malformed},
		{"repeated extension of a certificate", (&CertificateTLS13{}).Parse, "00 00000e 000001 aa 0008 0005 0000 0005 0000",
			"Certificate: an extension stands twice", illegal},
		{"empty certificate", (&CertificateTLS13{}).Parse, "00 000005 000000 0000",
			"Certificate: cert_data has 0 bytes, fewer than 1", malformed},
		{"empty certificate of TLS 1.2", (&CertificateTLS12{}).Parse, "000003 000000",
			"Certificate: certificate has 0 bytes, fewer than 1", malformed},
		{"nothing compressed", (&CompressedCertificate{}).Parse, "0001 000001 000000",
			"CompressedCertificate: compressed_certificate_message has 0 bytes, fewer than 1", malformed},
		{"request without extensions", (&CertificateRequestTLS13{}).Parse, "00 0000",
			"CertificateRequest: extensions has 0 bytes, fewer than 2", malformed},
		{"status of another type", (&CertificateStatus{}).Parse, "02 000001 00",
			"CertificateStatus: its status_type is not ocsp, the only one a client asks for", illegal},
		{"explicit curve", (&ServerKeyExchangeECDHE{}).Parse, "01 0017 01 04 0401 0000",
			"ServerKeyExchange: its curve_type is not named_curve, the only one allowed", illegal},
		{"no point", (&ServerKeyExchangeECDHE{}).Parse, "03 0017 00 0401 0000",
			"ServerKeyExchange: point has 0 bytes, fewer than 1", malformed},
		{"empty Finished", (&Finished{}).Parse, "", "Finished: has no verify_data", malformed},
		{"ticket of TLS 1.3 without ticket", (&NewSessionTicketTLS13{}).Parse, "00000000 00000000 00 0000 0000",
			"NewSessionTicket: ticket has 0 bytes, fewer than 1", malformed},
		{"request_update 2", (&KeyUpdate{}).Parse, "02", "KeyUpdate: its request_update is neither 0 nor 1", illegal},
		{"change_cipher_spec 2", ParseChangeCipherSpec, "02", "ChangeCipherSpec: it is not the byte 1", shakedown.AlertUnexpectedMessage},
		{"two change_cipher_spec", ParseChangeCipherSpec, "0101", "ChangeCipherSpec: 1 byte too many", malformed},
		{"long alert", (&AlertMessage{}).Parse, "020000", "Alert: 1 byte too many", malformed},

		{"server_name of a server", func(b []byte) error { return ParseEmpty(shakedown.ExtServerName, b) }, "00",
			"server_name extension: 1 byte too many", malformed},
		{"two host names", errorOf(ParseServerName), "0008 00 0001 61 00 0001 62",
			"server_name extension: has two host names", illegal},
		{"no host name", errorOf(ParseServerName), "0004 01 0001 61", "server_name extension: has no host name", malformed},
		{"two shares for a group", errorOf(into(ParseKeyShares)), "000a 001d 0001 01 001d 0001 02",
			"key_share extension: has two shares for one group", illegal},
		{"empty share", errorOf(ParseKeyShare), "001d 0000", "key_share extension: key_exchange has 0 bytes, fewer than 1", malformed},
		{"odd versions", errorOf(into(ParseClientVersions)), "03 030403", "supported_versions extension: ends within versions", malformed},
		{"too few binders", errorOf(parseOffer), "000e 0001 aa 00000001 0001 bb 00000001 0021 20" + random,
			"pre_shared_key extension: has more identities than binders, or fewer", illegal},
		{"short binder", errorOf(parseOffer), "0007 0001 aa 00000001 0002 01 00",
			"pre_shared_key extension: binder has 1 byte, fewer than 32", malformed},
		{"two protocols chosen", errorOf(ParseSelectedALPN), "0006 02 6832 02 6833",
			"application_layer_protocol_negotiation extension: has more than one protocol", illegal},
		{"empty protocol", errorOf(into(ParseALPN)), "0004 00 02 6832",
			"application_layer_protocol_negotiation extension: protocol_name has 0 bytes, fewer than 1", malformed},
		{"status_request of another type", ParseStatusRequest, "02 0000 0000",
			"status_request extension: its status_type is not ocsp, the only one defined", illegal},
		{"empty responder", ParseStatusRequest, "01 0002 0000 0000",
			"status_request extension: responder_id has 0 bytes, fewer than 1", malformed},
		{"empty sct", errorOf(into(ParseSignedCertificateTimestamps)), "0002 0000",
			"signed_certificate_timestamp extension: serialized_sct has 0 bytes, fewer than 1", malformed},
		{"fragment length 0", errorOf(ParseMaxFragmentLength), "00", "max_fragment_length extension: is none of the four lengths", illegal},
		{"fragment length 5", errorOf(ParseMaxFragmentLength), "05", "max_fragment_length extension: is none of the four lengths", illegal},
		{"record size 63", errorOf(ParseRecordSizeLimit), "003f", "record_size_limit extension: is less than 64", illegal},
		{"padding", ParsePadding, "000100", "padding extension: is not all zeroes", illegal},
	} {
		t.Run(test.name, func(t *testing.T) {
			body, err := hex.DecodeString(strings.ReplaceAll(test.body, " ", ""))
			if err != nil {
				t.Fatal(err)
			}
			e, ok := test.parse(body).(*Error)
			if !ok {
				t.Fatalf("%x parsed", body)
			}
			if got := strings.TrimPrefix(e.Error(), "malformed "); got != test.want || e.Alert != test.alert {
				t.Errorf("got %q, %v\nwant %q, %v", got, e.Alert, test.want, test.alert)
			}
		})
	}
}

// TestEmptyVectors holds the vectors that may not be empty to that.
func TestEmptyVectors(t *testing.T) {
	for _, test := range []struct {
		field string
		parse func([]byte) error
		body  string
	}{
		{"certificate_types", (&CertificateRequestTLS12{}).Parse, "00 0002 0403 0000"},
		{"supported_signature_algorithms", (&CertificateRequestTLS12{}).Parse, "01 01 0000 0000"},
		{"distinguished_name", (&CertificateRequestTLS12{}).ParseLegacy, "01 01 0002 0000"},
		{"response", (&CertificateStatus{}).Parse, "01 000000"},
		{"dh_p", (&ServerKeyExchangeDHE{}).ParseAnonymous, "0000 0001 02 0001 03"},
		{"dh_g", (&ServerKeyExchangeDHE{}).ParseAnonymous, "0001 01 0000 0001 03"},
		{"dh_Ys", (&ServerKeyExchangeDHE{}).ParseAnonymous, "0001 01 0001 02 0000"},
		{"ecdh_Yc", (&ClientKeyExchangeECDHE{}).Parse, "00"},
		{"dh_Yc", (&ClientKeyExchangeDHE{}).Parse, "0000"},
		{"encrypted_pre_master_secret", (&ClientKeyExchangeRSA{}).Parse, "0000"},
		{"server_name_list", errorOf(ParseServerName), "0000"},
		{"name", errorOf(ParseServerName), "0003 00 0000"},
		{"named_group_list", errorOf(into(ParseSupportedGroups)), "0000"},
		{"supported_signature_algorithms", errorOf(into(ParseSignatureAlgorithms)), "0000"},
		{"versions", errorOf(into(ParseClientVersions)), "00"},
		{"cookie", errorOf(ParseCookie), "0000"},
		{"ke_modes", errorOf(ParsePSKKeyExchangeModes), "00"},
		{"identities", errorOf(parseOffer), "0000 0000"},
		{"identity", errorOf(parseOffer), "0006 0000 00000000 0000"},
		{"binders", errorOf(parseOffer), "0007 0001 aa 00000000 0000"},
		{"protocol_name_list", errorOf(into(ParseALPN)), "0000"},
		{"protocol_name_list", errorOf(ParseSelectedALPN), "0000"},
		{"protocol_name", errorOf(ParseSelectedALPN), "0003 00 00 00"},
		{"sct_list", errorOf(into(ParseSignedCertificateTimestamps)), "0000"},
		{"algorithms", errorOf(into(ParseCompressCertificate)), "00"},
		{"ec_point_format_list", errorOf(ParseECPointFormats), "00"},
	} {
		body, err := hex.DecodeString(strings.ReplaceAll(test.body, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		e, ok := test.parse(body).(*Error)
		if !ok || e.Alert != shakedown.AlertDecodeError || !strings.HasPrefix(e.Reason, test.field+" has 0 bytes, fewer than ") {
			t.Errorf("%s: %x: %v", test.field, body, e)
		}
	}
}

func errorOf[T any](parse func([]byte) (T, error)) func([]byte) error {
	return func(b []byte) error {
		_, err := parse(b)
		return err
	}
}
