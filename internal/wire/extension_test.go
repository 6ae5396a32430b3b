package wire

import (
	"encoding/hex"
	"strings"
	"testing"

	"shakedown"
)

// body returns the sample of an extension's body. It is written in hexadecimal,
// so that Append is held to bytes it did not make itself.
func body[T any](name, data string, want T, write func([]byte, T) []byte, parse func([]byte) (T, error)) sample {
	raw, err := hex.DecodeString(strings.ReplaceAll(data, " ", ""))
	if err != nil {
		panic(err)
	}
	return sample{
		name:  name,
		body:  raw,
		want:  want,
		parse: func(b []byte) (any, error) { return parse(b) },
		again: func(b []byte) ([]byte, error) {
			v, err := parse(b)
			if err != nil {
				return nil, err
			}
			return write(nil, v), nil
		},
	}
}

// into gives a parser that reuses a slice the form of one that does not.
func into[T any](parse func([]T, []byte) ([]T, error)) func([]byte) ([]T, error) {
	return func(b []byte) ([]T, error) { return parse(nil, b) }
}

// none gives a body without a value the form of one that has one.
func none(parse func([]byte) error) func([]byte) (struct{}, error) {
	return func(b []byte) (struct{}, error) { return struct{}{}, parse(b) }
}

type offer struct {
	IDs     []PSKIdentity
	Binders [][]byte
}

func writeOffer(b []byte, o offer) []byte { return AppendOfferedPSKs(b, o.IDs, o.Binders) }

func parseOffer(b []byte) (o offer, err error) {
	o.IDs, o.Binders, err = ParseOfferedPSKs(nil, nil, b)
	return o, err
}

func writeStatusRequest(b []byte, _ struct{}) []byte { return AppendStatusRequest(b) }

func parseNothing(b []byte) error { return ParseEmpty(shakedown.ExtEarlyData, b) }

func writeNothing(b []byte, _ struct{}) []byte { return b }

func parseTicket(b []byte) ([]byte, error) { return ParseSessionTicket(b), nil }

func parsePadding(b []byte) (int, error) { return len(b), ParsePadding(b) }

func extensionSamples() []sample {
	binder := strings.Repeat("b1", 32)
	rawBinder, _ := hex.DecodeString(binder)
	ticket := body("session_ticket", "010203", []byte{1, 2, 3}, AppendSessionTicket, parseTicket)
	padding := body("padding", "0000", 2, AppendPadding, parsePadding)
	ticket.open, padding.open = true, true
	ticket.whole, padding.whole = []int{0, 1, 2}, []int{0, 1}
	name := body("server_name", "0006 00 0003 612e62", "a.b", AppendServerName, ParseServerName)
	status := body("status_request", "01 0000 0000", struct{}{}, writeStatusRequest, none(ParseStatusRequest))
	name.loose, status.loose = true, true
	return []sample{
		name, status, ticket, padding,
		body("extension without body", "", struct{}{}, writeNothing, none(parseNothing)),
		body("supported_groups", "0004 001d 11ec", []shakedown.Group{shakedown.X25519, shakedown.X25519MLKEM768},
			AppendSupportedGroups, into(ParseSupportedGroups)),
		body("signature_algorithms", "0004 0403 0804",
			[]shakedown.SignatureScheme{shakedown.ECDSASecp256r1, shakedown.RSAPSSRSAESHA256},
			AppendSignatureAlgorithms, into(ParseSignatureAlgorithms)),
		body("supported_versions of a client", "04 0304 0303", []shakedown.Version{shakedown.TLS13, shakedown.TLS12},
			AppendClientVersions, into(ParseClientVersions)),
		body("supported_versions of a server", "0304", shakedown.TLS13, AppendSelectedVersion, ParseSelectedVersion),
		body("key_share of a client", "000b 001d 0002 0102 0017 0001 04",
			[]KeyShare{{shakedown.X25519, []byte{1, 2}}, {shakedown.Secp256r1, []byte{4}}},
			AppendKeyShares, into(ParseKeyShares)),
		body("key_share of a client without any", "0000", nil, AppendKeyShares, into(ParseKeyShares)),
		body("key_share of a server", "001d 0002 0102", KeyShare{shakedown.X25519, []byte{1, 2}}, AppendKeyShare, ParseKeyShare),
		body("key_share of a retry", "0017", shakedown.Secp256r1, AppendSelectedGroup, ParseSelectedGroup),
		body("cookie", "0002 abcd", []byte{0xAB, 0xCD}, AppendCookie, ParseCookie),
		body("psk_key_exchange_modes", "02 01 00", []byte{PSKModeDHEKE, PSKModeKE},
			AppendPSKKeyExchangeModes, ParsePSKKeyExchangeModes),
		body("pre_shared_key of a client", "0010 0001 aa 00000001 0003 bbbbbb ffffffff 0042 20"+binder+"20"+binder,
			offer{[]PSKIdentity{{[]byte{0xAA}, 1}, {[]byte{0xBB, 0xBB, 0xBB}, 1<<32 - 1}}, [][]byte{rawBinder, rawBinder}},
			writeOffer, parseOffer),
		body("pre_shared_key of a server", "0001", 1, AppendSelectedIdentity, ParseSelectedIdentity),
		body("early_data of a ticket", "00004000", 16384, AppendMaxEarlyData, ParseMaxEarlyData),
		body("alpn of a client", "000c 02 6832 08 687474702f312e31", []string{"h2", "http/1.1"}, AppendALPN, into(ParseALPN)),
		body("alpn of a server", "0003 02 6832", "h2",
			func(b []byte, name string) []byte { return AppendALPN(b, []string{name}) }, ParseSelectedALPN),
		body("status_request of a certificate", "01 000003 303132", []byte("012"),
			AppendCertificateStatusBody, ParseCertificateStatusBody),
		body("signed_certificate_timestamp", "0007 0002 aabb 0001 cc", [][]byte{{0xAA, 0xBB}, {0xCC}},
			AppendSignedCertificateTimestamps, into(ParseSignedCertificateTimestamps)),
		body("max_fragment_length", "02", Fragment1024, AppendMaxFragmentLength, ParseMaxFragmentLength),
		body("record_size_limit", "4001", 16385, AppendRecordSizeLimit, ParseRecordSizeLimit),
		body("compress_certificate", "06 0002 0001 0003", []uint16{CompressionBrotli, CompressionZlib, CompressionZstd},
			AppendCompressCertificate, into(ParseCompressCertificate)),
		body("ec_point_formats", "01 00", []byte{PointUncompressed}, AppendECPointFormats, ParseECPointFormats),
		body("renegotiation_info", "03 010203", []byte{1, 2, 3}, AppendRenegotiationInfo, ParseRenegotiationInfo),
		body("renegotiation_info at first", "00", []byte{}, AppendRenegotiationInfo, ParseRenegotiationInfo),
	}
}

func TestParseServerNamePassesOverOtherTypes(t *testing.T) {
	data := []byte{0, 10, 9, 0, 1, 'x', 0, 0, 3, 'a', '.', 'b'}
	if name, err := ParseServerName(data); name != "a.b" || err != nil {
		t.Errorf("got %q, %v", name, err)
	}
}

func TestFragmentLengthBytes(t *testing.T) {
	for l, want := range map[FragmentLength]int{Fragment512: 512, Fragment1024: 1024, Fragment2048: 2048, Fragment4096: 4096} {
		if got := l.Bytes(); got != want {
			t.Errorf("%d is %d bytes, want %d", l, got, want)
		}
	}
}

func TestParseOfChoicesDoesNotAllocate(t *testing.T) {
	share, version := []byte{0, 29, 0, 1, 9}, []byte{3, 4}
	if n := testing.AllocsPerRun(100, func() {
		if s, err := ParseKeyShare(share); err != nil || s.Group != shakedown.X25519 {
			t.Error(s, err)
		}
		if v, err := ParseSelectedVersion(version); err != nil || v != shakedown.TLS13 {
			t.Error(v, err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestExtensionsFind(t *testing.T) {
	e := Extensions{{Type: shakedown.ExtServerName}, {Type: shakedown.ExtCookie, Data: []byte{1}}}
	if data, ok := e.Find(shakedown.ExtCookie); !ok || len(data) != 1 {
		t.Errorf("cookie: %x, %t", data, ok)
	}
	if data, ok := e.Find(shakedown.ExtServerName); !ok || len(data) != 0 {
		t.Errorf("server_name: %x, %t", data, ok)
	}
	if _, ok := e.Find(shakedown.ExtALPN); ok {
		t.Error("found what is not there")
	}
}

// TestManyExtensions holds the two ways of looking for a repeated extension to
// the same answer, up to the largest block there can be.
func TestManyExtensions(t *testing.T) {
	for _, n := range []int{1, 2, 32, 33, 34, 1000, 65535 / 4} {
		many := make(Extensions, n)
		for i := range many {
			many[i].Type = shakedown.Extension(i * 4)
		}
		var m EncryptedExtensions
		if err := m.Parse((&EncryptedExtensions{many}).Append(nil)[HandshakeHeaderLen:]); err != nil {
			t.Errorf("%d extensions: %v", n, err)
		}
		if n == 1 {
			continue
		}
		many[n-1].Type = many[0].Type
		err := m.Parse((&EncryptedExtensions{many}).Append(nil)[HandshakeHeaderLen:])
		if e, ok := err.(*Error); !ok || e.Alert != shakedown.AlertIllegalParameter {
			t.Errorf("%d extensions, the last like the first: %v", n, err)
		}
	}
}
