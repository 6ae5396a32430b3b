package certificate

import (
	"bytes"
	"compress/zlib"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"shakedown/internal/wire"
)

var algorithms = []uint16{wire.CompressionZlib, wire.CompressionBrotli, wire.CompressionZstd}

func compress(t testing.TB, algorithm uint16, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	switch algorithm {
	case wire.CompressionZlib:
		w = zlib.NewWriter(&b)
	case wire.CompressionBrotli:
		w = brotli.NewWriter(&b)
	case wire.CompressionZstd:
		encoder, err := zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1))
		if err != nil {
			t.Fatal(err)
		}
		w = encoder
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// message is what is compressed in these tests: a chain, a certificate twice.
func message() []byte {
	w := theWorld()
	return bytes.Join(chain(w.leaf, w.intermediate, w.leaf), nil)
}

func TestDecompress(t *testing.T) {
	want := message()
	for _, algorithm := range algorithms {
		t.Run(AlgorithmName(algorithm), func(t *testing.T) {
			data := compress(t, algorithm, want)
			got, err := Decompress(algorithm, data, len(want))
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("%d bytes, %v", len(got), err)
			}
			for _, test := range []struct {
				name string
				data []byte
				size int
				text string
			}{
				{"longer than announced", data, len(want) - 1, "it is longer than"},
				{"shorter than announced", data, len(want) + 1, "it ends after"},
				{"trailing byte", append(bytes.Clone(data), 0), len(want), ""},
				{"twice", append(bytes.Clone(data), data...), len(want), ""},
				{"empty", nil, len(want), ""},
				{"nothing announced", data, 0, "1 to 16777215 are possible"},
				{"negative", data, -1, "1 to 16777215 are possible"},
				{"too much", data, 1 << 24, "1 to 16777215 are possible"},
				{"noise", bytes.Repeat([]byte{0xA5}, 100), len(want), ""},
			} {
				if out, err := Decompress(algorithm, test.data, test.size); err == nil || out != nil || !strings.Contains(err.Error(), test.text) {
					t.Errorf("%s: %d bytes, %v", test.name, len(out), err)
				}
			}
			for n := range len(data) {
				if out, err := Decompress(algorithm, data[:n], len(want)); err == nil {
					t.Errorf("prefix of %d of %d bytes gives %d", n, len(data), len(out))
				}
			}
		})
	}
}

// TestDecompressChecksum: zlib's Adler-32 comes after the last byte.
func TestDecompressChecksum(t *testing.T) {
	data := compress(t, wire.CompressionZlib, message())
	data[len(data)-1] ^= 1
	if _, err := Decompress(wire.CompressionZlib, data, len(message())); err == nil {
		t.Error("a wrong checksum passed")
	}
}

// TestDecompressBomb: sixty million zeros compressed take no more memory than
// announced, beside the algorithm's window.
func TestDecompressBomb(t *testing.T) {
	for _, algorithm := range algorithms {
		data := compress(t, algorithm, make([]byte, 60<<20))
		Decompress(algorithm, data, 1000) //nolint:errcheck // what is made once is made
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Decompress(algorithm, data, 1000)
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), "longer than the 1000 bytes") {
			t.Errorf("%s: %v", AlgorithmName(algorithm), err)
		}
		used := after.TotalAlloc - before.TotalAlloc
		t.Logf("%s: %d bytes compressed, %d bytes allocated", AlgorithmName(algorithm), len(data), used)
		if used > 17<<20 {
			t.Errorf("%s: %d bytes allocated", AlgorithmName(algorithm), used)
		}
	}
}

func TestAlgorithmName(t *testing.T) {
	for algorithm, want := range map[uint16]string{1: "zlib", 2: "brotli", 3: "zstd", 0x4001: "0x4001"} {
		if got := AlgorithmName(algorithm); got != want {
			t.Errorf("AlgorithmName(%d) = %q, want %q", algorithm, got, want)
		}
	}
	if _, err := Decompress(9, []byte{1}, 1); err == nil || !strings.Contains(err.Error(), "0x0009, which was not offered") {
		t.Errorf("unknown algorithm: %v", err)
	}
}

func FuzzDecompress(f *testing.F) {
	want := message()
	for _, algorithm := range algorithms {
		f.Add(algorithm, compress(f, algorithm, want), len(want))
		f.Add(algorithm, compress(f, algorithm, make([]byte, 1<<16)), 1<<16)
	}
	f.Fuzz(func(t *testing.T, algorithm uint16, data []byte, size int) {
		size %= 1 << 17 // so that the fuzzer's time is not spent on clearing memory
		out, err := Decompress(algorithm%4, data, size)
		if err == nil && len(out) != size || err != nil && out != nil {
			t.Fatalf("%d bytes of %d, %v", len(out), size, err)
		}
	})
}

func BenchmarkDecompress(b *testing.B) {
	want := message()
	for _, algorithm := range algorithms {
		data := compress(b, algorithm, want)
		b.Run(AlgorithmName(algorithm), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Decompress(algorithm, data, len(want)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
