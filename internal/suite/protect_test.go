package suite

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"shakedown"
)

// direction is one way of protecting records, to be made twice: for its sender and for
// its receiver.
type direction struct {
	name string
	make func() Protection
	// most is the longest record body that the version allows.
	most int
}

// directions returns all there are: every suite, both directions, and both orders of
// encryption and MAC for CBC.
func directions() []direction {
	var all []direction
	random, transcript := bytes.Repeat([]byte{7}, 32), bytes.Repeat([]byte{8}, maxHashSize)
	for n := range suites {
		i := &suites[n]
		k := NewKDF(i.Hash)
		if i.KeyExchange == KeyExchangeTLS13 {
			s := k.Early(nil).Handshake([]byte("shared")).Client(transcript[:i.Hash.Size()])
			all = append(all, direction{i.ID.String(), func() Protection { return i.Protection13(s) }, maxCiphertext13})
			continue
		}
		m := k.ExtendedMaster12([]byte("shared"), transcript[:i.Hash.Size()])
		for _, etm := range []bool{false, true} {
			if etm && i.Cipher != CipherAESCBC {
				continue
			}
			name := fmt.Sprintf("%v/encrypt-then-mac=%v", i.ID, etm)
			all = append(all,
				direction{name + "/client", func() Protection { c, _ := i.Protections12(m, random, random, etm); return c }, maxCiphertext12},
				direction{name + "/server", func() Protection { _, s := i.Protections12(m, random, random, etm); return s }, maxCiphertext12})
		}
	}
	return all
}

// TestProtectionRoundTrip: what is sealed opens, for every length that is near a block
// or a limit, and is no longer than Overhead says.
func TestProtectionRoundTrip(t *testing.T) {
	lengths := []int{MaxPlaintext - 1, MaxPlaintext}
	for n := range 301 {
		lengths = append(lengths, n)
	}
	for _, d := range directions() {
		t.Run(d.name, func(t *testing.T) {
			seal, open := d.make(), d.make()
			for _, n := range lengths {
				data := bytes.Repeat([]byte{byte(n)}, n)
				typ := uint8(typeHandshake)
				if n == 0 {
					typ = typeApplicationData // no other may be empty in TLS 1.3
				}
				out := seal.Seal([]byte("before"), typ, data)
				record, ok := bytes.CutPrefix(out, []byte("before"))
				if !ok {
					t.Fatalf("length %d: Seal changed what was there before", n)
				}
				if extra := len(record) - n; extra > seal.Overhead() || extra < seal.Overhead()-15 {
					t.Errorf("length %d: record is %d longer, Overhead is %d", n, extra, seal.Overhead())
				}
				gotType, got, err := open.Open(record)
				if err != nil || gotType != typ || !bytes.Equal(got, data) {
					t.Fatalf("length %d: opened type %d, %d bytes, error %v", n, gotType, len(got), err)
				}
			}
		})
	}
}

// TestProtectionPieces: what does not fit in a record becomes several.
func TestProtectionPieces(t *testing.T) {
	for _, d := range directions() {
		seal, open := d.make(), d.make()
		data := bytes.Repeat([]byte("0123456789"), 2*MaxPlaintext/10+5)
		out := seal.Seal(nil, typeApplicationData, data)
		var got []byte
		records := 0
		for len(out) > 0 {
			n := headerSize + int(out[3])<<8 + int(out[4])
			_, piece, err := open.Open(out[:n:n])
			if err != nil {
				t.Fatalf("%s: %v", d.name, err)
			}
			got, out, records = append(got, piece...), out[n:], records+1
		}
		if records != 3 || !bytes.Equal(got, data) {
			t.Errorf("%s: %d bytes came back as %d in %d records", d.name, len(data), len(got), records)
		}
	}
}

// TestProtectionTampering: a record with any one byte changed does not open, and no
// prefix of one panics.
func TestProtectionTampering(t *testing.T) {
	for _, d := range directions() {
		t.Run(d.name, func(t *testing.T) {
			record := d.make().Seal(nil, typeHandshake, []byte("one message that is longer than two blocks"))
			for n := range record {
				bad := slices.Clone(record)
				bad[n] ^= 0x80
				_, _, err := d.make().Open(bad)
				if want := n == 3 || n == 4; want != errors.Is(err, ErrRecordLength) || !want && err != ErrBadRecordMAC {
					t.Errorf("byte %d changed: error %v", n, err)
				}
			}
			for n := range record {
				cut := slices.Clone(record[:n])
				if _, _, err := d.make().Open(cut); err != ErrRecordLength {
					t.Errorf("first %d bytes: error %v", n, err)
				}
				if n < headerSize {
					continue
				}
				cut[3], cut[4] = uint8((n-headerSize)>>8), uint8(n-headerSize)
				if _, _, err := d.make().Open(cut); err != ErrBadRecordMAC {
					t.Errorf("first %d bytes with a header to match: error %v", n, err)
				}
			}
			open := d.make()
			if _, _, err := open.Open(slices.Clone(record)); err != nil {
				t.Fatal(err)
			}
			if _, _, err := open.Open(slices.Clone(record)); err != ErrBadRecordMAC {
				t.Errorf("the same record a second time: error %v", err)
			}
		})
	}
}

// TestProtectionLimits: records and plaintexts over the limits are refused as what they
// are, although they are well protected.
func TestProtectionLimits(t *testing.T) {
	for _, d := range directions() {
		record := appendHeader(nil, typeApplicationData, d.most+1)
		record = append(record, make([]byte, d.most+1)...)
		if _, _, err := d.make().Open(record); err != ErrRecordOverflow {
			t.Errorf("%s: record of %d bytes: error %v", d.name, d.most+1, err)
		}
		// Lengths that the version forbids for the plaintext alone.
		long := make([]byte, MaxPlaintext+1)
		record, ok := sealWhole(d.make(), typeHandshake, long)
		if !ok {
			continue
		}
		if _, _, err := d.make().Open(record); err != ErrRecordOverflow {
			t.Errorf("%s: plaintext of %d bytes: error %v", d.name, len(long), err)
		}
	}
}

// sealWhole seals plaintext as one record whatever its length, as a peer that does not
// keep to the limit would.
func sealWhole(p Protection, typ uint8, plaintext []byte) ([]byte, bool) {
	switch p := p.(type) {
	case *aead13:
		return sealInner(p, append(slices.Clone(plaintext), typ)), true
	case *aead12:
		n, _ := p.seq.take()
		record := appendHeader(nil, typ, p.explicit+len(plaintext)+p.aead.Overhead())
		nonce := make([]byte, p.explicit)
		record = append(record, nonce...)
		p.setNonce(n, nonce)
		p.setAdditional(n, record, len(plaintext))
		return p.aead.Seal(record, p.nonce[:], plaintext, p.additional[:]), true
	}
	return nil, false // CBC is sealed by TestProtectionPadding
}

// sealInner seals a TLSInnerPlaintext (RFC 8446, section 5.2) as it is.
func sealInner(p *aead13, inner []byte) []byte {
	record := appendHeader(nil, typeApplicationData, len(inner)+p.aead.Overhead())
	if err := p.setNonce(); err != nil {
		panic(err)
	}
	return p.aead.Seal(record, p.nonce[:], inner, record)
}

// TestProtectionInner: RFC 8446, section 5.4.
func TestProtectionInner(t *testing.T) {
	i, _ := Lookup(shakedown.TLS_AES_128_GCM_SHA256)
	s := NewKDF(i.Hash).Early(nil).Handshake(nil).Server(make([]byte, 32))
	tests := []struct {
		name  string
		inner []byte
		typ   uint8
		data  []byte
		err   error
	}{
		{"padded", []byte{1, 2, 0, 22, 0, 0, 0}, 22, []byte{1, 2, 0}, nil},
		{"padded to the limit", append([]byte{9, 23}, make([]byte, MaxPlaintext-1)...), 23, []byte{9}, nil},
		{"padded over the limit", append([]byte{9, 23}, make([]byte, MaxPlaintext)...), 0, nil, ErrRecordOverflow},
		{"empty application data", []byte{23, 0}, 23, []byte{}, nil},
		{"empty handshake", []byte{22, 0}, 0, nil, ErrEmptyContent},
		{"empty alert", []byte{21}, 0, nil, ErrEmptyContent},
		{"padding alone", make([]byte, 40), 0, nil, ErrNoContentType},
		{"nothing", nil, 0, nil, ErrNoContentType},
	}
	for _, test := range tests {
		record := sealInner(i.Protection13(s).(*aead13), test.inner)
		typ, data, err := i.Protection13(s).Open(record)
		if typ != test.typ || !bytes.Equal(data, test.data) || err != test.err {
			t.Errorf("%s: opened type %d, %d bytes, error %v", test.name, typ, len(data), err)
		}
	}
}

// TestProtectionPadding: CBC padding (RFC 5246, section 6.2.3.2) of every allowed
// length opens, and with any byte of it wrong it does not, although the MAC is right.
func TestProtectionPadding(t *testing.T) {
	for _, etm := range []bool{false, true} {
		i, _ := Lookup(shakedown.TLS_RSA_WITH_AES_128_CBC_SHA256)
		m := NewKDF(i.Hash).LoadMaster12(make([]byte, MasterSize12))
		fresh := func() *cbc12 { c, _ := i.Protections12(m, nil, nil, etm); return c.(*cbc12) }
		// seal is Seal with pad bytes of padding, the one at position wrong changed.
		seal := func(plaintext []byte, pad, wrong int) []byte {
			c := fresh()
			n, _ := c.seq.take()
			header := appendHeader(nil, typeHandshake, 0)
			body := slices.Clone(plaintext)
			if !etm {
				body = append(body, c.tag(n, header, plaintext)...)
			}
			body = append(body, bytes.Repeat([]byte{uint8(pad - 1)}, pad)...)
			if wrong >= 0 {
				body[len(body)-pad+wrong] ^= 1
			}
			c.setIV(n)
			c.encrypt.SetIV(c.iv[:])
			c.encrypt.CryptBlocks(body, body)
			body = slices.Concat(c.iv[:], body)
			if etm {
				body = append(body, c.tag(n, header, body)...)
			}
			return append(appendHeader(nil, typeHandshake, len(body)), body...)
		}
		macSize := i.MAC.Size()
		if etm {
			macSize = 0
		}
		for pad := 1; pad <= 256; pad++ {
			plaintext := bytes.Repeat([]byte{3}, (512-pad-macSize)%16+16)
			if _, got, err := fresh().Open(seal(plaintext, pad, -1)); err != nil || !bytes.Equal(got, plaintext) {
				t.Fatalf("encrypt-then-mac %v, %d bytes of padding: opened %x, error %v", etm, pad, got, err)
			}
			for wrong := range pad {
				if etm && pad == 2 && wrong == 1 {
					continue // 01 01 becomes 01 00, which is one byte of good padding
				}
				if _, _, err := fresh().Open(seal(plaintext, pad, wrong)); err != ErrBadRecordMAC {
					t.Fatalf("encrypt-then-mac %v, byte %d of %d of the padding is wrong: error %v", etm, wrong, pad, err)
				}
			}
		}
		long := bytes.Repeat([]byte{3}, MaxPlaintext+16)
		if _, _, err := fresh().Open(seal(long, 16, -1)); err != ErrRecordOverflow {
			t.Errorf("encrypt-then-mac %v, plaintext of %d bytes: error %v", etm, len(long), err)
		}
		// Padding that would begin before the record does.
		if _, _, err := fresh().Open(seal(bytes.Repeat([]byte{200}, 48), 16, 15)); err != ErrBadRecordMAC {
			t.Errorf("padding longer than the record: error %v", err)
		}
	}
}

// TestSequenceOverflow: the last number is used, none is used again.
func TestSequenceOverflow(t *testing.T) {
	for _, d := range directions() {
		seal, open := d.make(), d.make()
		for _, p := range []Protection{seal, open} {
			switch p := p.(type) {
			case *aead13:
				p.seq.next = math.MaxUint64
			case *aead12:
				p.seq.next = math.MaxUint64
			case *cbc12:
				p.seq.next = math.MaxUint64
			}
		}
		record := seal.Seal(nil, typeAlert, []byte{1, 0})
		if _, _, err := open.Open(slices.Clone(record)); err != nil {
			t.Errorf("%s: last record: %v", d.name, err)
		}
		if _, _, err := open.Open(record); err != ErrSequenceOverflow {
			t.Errorf("%s: record after the last: error %v", d.name, err)
		}
		if more := seal.Seal(nil, typeAlert, []byte{1, 0}); len(more) != 0 {
			t.Errorf("%s: sealed a record after the last", d.name)
		}
	}
}

// FuzzOpen: no record makes Open panic, and none that we did not seal opens.
func FuzzOpen(f *testing.F) {
	all := directions()
	for n, d := range all {
		f.Add(uint8(n), d.make().Seal(nil, typeHandshake, []byte("hello")))
		f.Add(uint8(n), d.make().Seal(nil, typeApplicationData, nil))
	}
	f.Fuzz(func(t *testing.T, which uint8, record []byte) {
		d := all[int(which)%len(all)]
		typ, plaintext, err := d.make().Open(slices.Clone(record))
		if err != nil {
			return
		}
		if again := d.make().Seal(nil, typ, plaintext); !bytes.Equal(again, record) {
			t.Errorf("%s: record opens that we did not seal: %x", d.name, record)
		}
	})
}
