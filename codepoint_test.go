package shakedown

import (
	"encoding"
	"encoding/json"
	"testing"
	"time"
)

// roundTrip prints v and reads it again.
func roundTrip[T any, P interface {
	*T
	encoding.TextUnmarshaler
}](t *testing.T, v T, text string) {
	t.Helper()
	b, err := any(v).(encoding.TextMarshaler).MarshalText()
	if err != nil || string(b) != text {
		t.Errorf("%v prints as %q (%v), want %q", v, b, err, text)
	}
	var back T
	if err := P(&back).UnmarshalText([]byte(text)); err != nil || any(back) != any(v) {
		t.Errorf("%q reads as %v (%v)", text, back, err)
	}
}

func TestCodePoints(t *testing.T) {
	roundTrip(t, TLS13, "TLS 1.3")
	roundTrip(t, TLCP, "TLCP")
	roundTrip(t, Version(0x7F1C), "0x7F1C")
	roundTrip(t, X25519MLKEM768, "X25519MLKEM768")
	roundTrip(t, Secp256r1, "secp256r1")
	roundTrip(t, Group(0x4242), "0x4242")
	roundTrip(t, TLS_AES_128_GCM_SHA256, "TLS_AES_128_GCM_SHA256")
	roundTrip(t, CipherSuite(0xBEEF), "0xBEEF")
	roundTrip(t, RSAPSSRSAESHA256, "rsa_pss_rsae_sha256")
	roundTrip(t, SignatureScheme(0x0101), "0x0101")
	roundTrip(t, ExtKeyShare, "key_share")
	roundTrip(t, Extension(0x1234), "0x1234")
	roundTrip(t, AlertHandshakeFailure, "handshake_failure")
	roundTrip(t, Alert(0xFE), "0xFE")
}

func TestAliases(t *testing.T) {
	for _, s := range []string{"1.2", "TLSv1.2", "tls1.2", "TLS 1.2", "0x0303"} {
		if v, err := ParseVersion(s); err != nil || v != TLS12 {
			t.Errorf("%q: %v, %v", s, v, err)
		}
	}
	for _, s := range []string{"P-256", "prime256v1", "secp256r1", "p256"} {
		if g, err := ParseGroup(s); err != nil || g != Secp256r1 {
			t.Errorf("%q: %v, %v", s, g, err)
		}
	}
	for _, s := range []string{"ECDHE-RSA-AES128-GCM-SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "0xc02f"} {
		if c, err := ParseCipherSuite(s); err != nil || c != TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 {
			t.Errorf("%q: %v, %v", s, c, err)
		}
	}
	for _, s := range []string{"", "1.4", "0x", "0x10000", "0xZZ", "quic"} {
		if v, err := ParseVersion(s); err == nil {
			t.Errorf("%q was read as %v", s, v)
		}
	}
	if a, err := ParseAlert("0x100"); err == nil {
		t.Errorf("0x100 was read as alert %v", a)
	}
}

func TestGREASE(t *testing.T) {
	for v, want := range map[Group]bool{0x0A0A: true, 0x4A4A: true, 0xFAFA: true, 0x0A1A: false, 0x0A0B: false, X25519: false} {
		if IsGREASE(v) != want {
			t.Errorf("0x%04X: %v", uint16(v), !want)
		}
	}
}

func TestPhases(t *testing.T) {
	var ps Phases
	if last := ps.Last(); last != PhasePlanned {
		t.Errorf("the last phase of none is %s", last)
	}
	ps.Mark(PhaseConnected, 2*time.Millisecond)
	ps.Mark(PhaseConnected, 5*time.Millisecond)
	ps.Mark(PhaseComplete, 7*time.Millisecond)
	if d, ok := ps.Between(PhaseConnected, PhaseComplete); !ok || d != 5*time.Millisecond {
		t.Errorf("%s, %v: only the first mark counts", d, ok)
	}
	if _, ok := ps.At(PhaseTicket); ok {
		t.Error("a phase was reached that was not")
	}
	b, err := json.Marshal(ps)
	if want := `{"planned_ns":0,"connected_ns":2000000,"complete_ns":7000000}`; err != nil || string(b) != want {
		t.Errorf("%s (%v), want %s", b, err, want)
	}
	var back Phases
	if err := json.Unmarshal(b, &back); err != nil || back != ps {
		t.Errorf("%+v (%v), want %+v", back, err, ps)
	}
}

func TestMismatch(t *testing.T) {
	a := Asked{
		Mode: ModePSK, Versions: []Version{TLS13}, CipherSuites: []CipherSuite{TLS_AES_128_GCM_SHA256},
		Groups: []Group{X25519}, SignatureSchemes: []SignatureScheme{ECDSASecp256r1},
	}
	as := Observed{Mode: ModePSK, Version: TLS13, CipherSuite: TLS_AES_128_GCM_SHA256, Group: X25519}
	if m := a.Mismatch(&as); m != nil {
		t.Errorf("a handshake as asked: %v", m)
	}
	for _, other := range []Observed{
		{Mode: ModeFull, Version: TLS13, CipherSuite: TLS_AES_128_GCM_SHA256, Group: X25519, SignatureScheme: ECDSASecp256r1},
		{Mode: ModePSK, Version: TLS12, CipherSuite: TLS_AES_128_GCM_SHA256, Group: X25519},
		{Mode: ModePSK, Version: TLS13, CipherSuite: TLS_AES_256_GCM_SHA384, Group: X25519},
		{Mode: ModePSK, Version: TLS13, CipherSuite: TLS_AES_128_GCM_SHA256, Group: Secp256r1},
		{Mode: ModePSK, Version: TLS13, CipherSuite: TLS_AES_128_GCM_SHA256, SignatureScheme: Ed25519},
	} {
		if m := a.Mismatch(&other); len(m) != 1 {
			t.Errorf("%+v: %v, want one mismatch", other, m)
		}
	}
}
