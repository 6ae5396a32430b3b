package wire

import (
	"bytes"
	"fmt"
	"testing"
)

func FuzzHello(f *testing.F)       { fuzz(f, helloSamples()) }
func FuzzCertificate(f *testing.F) { fuzz(f, certificateSamples()) }
func FuzzKeyExchange(f *testing.F) { fuzz(f, keyExchangeSamples()) }
func FuzzClosing(f *testing.F)     { fuzz(f, closingSamples()) }
func FuzzExtension(f *testing.F)   { fuzz(f, extensionSamples()) }
func FuzzRecord(f *testing.F)      { fuzz(f, recordSamples()) }

// fuzz checks that what parses is appended as the same bytes, or where a body
// can be written in more than one way as bytes that say the same.
func fuzz(f *testing.F, samples []sample) {
	vectors := readVectors(f)
	for i, s := range samples {
		f.Add(uint8(i), s.body)
		for _, v := range vectors {
			if _, err := s.again(v.body()); err == nil {
				f.Add(uint8(i), v.body())
			}
		}
	}
	f.Fuzz(func(t *testing.T, kind uint8, data []byte) {
		s := samples[int(kind)%len(samples)]
		value, err := s.parse(data)
		if err != nil {
			checkError(t, err)
			return
		}
		once, err := s.again(data)
		if err != nil {
			t.Fatalf("%s: parses into a used value but not into a new one: %v", s.name, err)
		}
		if !bytes.Equal(once, data) {
			// Printed, for the value may be the one that is parsed into again.
			before := fmt.Sprintf("%+v", value)
			value, err := s.parse(once)
			if after := fmt.Sprintf("%+v", value); !s.loose || err != nil || after != before {
				t.Fatalf("%s: %x was appended as %x: %s became %s, %v", s.name, data, once, before, after, err)
			}
		}
		twice, err := s.again(once)
		if err != nil || !bytes.Equal(twice, once) {
			t.Fatalf("%s: %x was appended as %x, %v", s.name, once, twice, err)
		}
	})
}
