package wire

import (
	"bytes"
	"testing"

	"shakedown"
)

// recordSamples returns the contents of records that are not handshake messages.
func recordSamples() []sample {
	writeAlert := func(b []byte, m AlertMessage) []byte { return m.Append(b) }
	parseAlert := func(b []byte) (m AlertMessage, err error) {
		err = m.Parse(b)
		return m, err
	}
	writeChange := func(b []byte, _ struct{}) []byte { return AppendChangeCipherSpec(b) }
	return []sample{
		body("alert", "02 28", AlertMessage{LevelFatal, shakedown.AlertHandshakeFailure}, writeAlert, parseAlert),
		body("change_cipher_spec", "01", struct{}{}, writeChange, none(ParseChangeCipherSpec)),
	}
}

func TestRecordHeader(t *testing.T) {
	raw := []byte{22, 3, 1, 0x40, 0x01}
	h, ok := ParseRecordHeader(append(raw[:5:5], "content"...))
	if want := (RecordHeader{Handshake, shakedown.TLS10, MaxPlaintext + 1}); h != want || !ok {
		t.Errorf("got %v, %t; want %v", h, ok, want)
	}
	if got := h.Append([]byte("x")); !bytes.Equal(got, append([]byte("x"), raw...)) {
		t.Errorf("appended %x", got)
	}
	for n := range raw {
		if _, ok := ParseRecordHeader(raw[:n:n]); ok {
			t.Errorf("%d bytes are a header", n)
		}
	}
}

func TestHandshakeHeader(t *testing.T) {
	raw := []byte{11, 1, 2, 3}
	typ, length, ok := ParseHandshakeHeader(append(raw[:4:4], "body"...))
	if typ != TypeCertificate || length != 0x010203 || !ok {
		t.Errorf("got %v, %d, %t", typ, length, ok)
	}
	if got := AppendHandshakeHeader([]byte("x"), typ, length); !bytes.Equal(got, append([]byte("x"), raw...)) {
		t.Errorf("appended %x", got)
	}
	for n := range raw {
		if _, _, ok := ParseHandshakeHeader(raw[:n:n]); ok {
			t.Errorf("%d bytes are a header", n)
		}
	}
}

func TestNames(t *testing.T) {
	for got, want := range map[string]string{
		ChangeCipherSpec.String(): "change_cipher_spec", AlertRecord.String(): "alert", Handshake.String(): "handshake",
		ApplicationData.String(): "application_data", Heartbeat.String(): "heartbeat", ContentType(0x80).String(): "0x80",
		TypeServerHello.String(): "ServerHello", TypeCertificateStatus.String(): "CertificateStatus",
		TypeMessageHash.String(): "MessageHash", HandshakeType(0x43).String(): "0x43",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
