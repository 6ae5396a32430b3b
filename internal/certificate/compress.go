package certificate

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"shakedown/internal/wire"
)

// MaxCertificateBytes bounds a decompressed Certificate message, in bytes: what
// its 24-bit length can announce (RFC 8879, section 4).
const MaxCertificateBytes = 1<<24 - 1

// AlgorithmName returns the name of a certificate compression algorithm, such
// as "zlib" (RFC 8879, section 7.3), or its number in hexadecimal.
func AlgorithmName(algorithm uint16) string {
	switch algorithm {
	case wire.CompressionZlib:
		return "zlib"
	case wire.CompressionBrotli:
		return "brotli"
	case wire.CompressionZstd:
		return "zstd"
	}
	return fmt.Sprintf("0x%04X", algorithm)
}

// Decompress returns the Certificate message that data is the compression of.
// It is size bytes long as announced, or there is an error, for which RFC 8879
// (section 4) demands the alert bad_certificate. Not one byte more is
// decompressed; beside the result there is only the algorithm's own window,
// which is 16 MiB at most with brotli and small with the others.
func Decompress(algorithm uint16, data []byte, size int) ([]byte, error) {
	if size < 1 || size > MaxCertificateBytes {
		return nil, fmt.Errorf("server announces a certificate message of %d bytes: 1 to %d are possible", size, MaxCertificateBytes)
	}
	var out []byte
	var err error
	switch algorithm {
	case wire.CompressionZlib:
		out, err = inflate(data, size)
	case wire.CompressionBrotli:
		out, err = readExactly(brotli.NewReader(bytes.NewReader(data)), size)
	case wire.CompressionZstd:
		out, err = decodeZstd(data, size)
	default:
		return nil, fmt.Errorf("server compressed its certificate with %s, which was not offered", AlgorithmName(algorithm))
	}
	if err != nil {
		return nil, fmt.Errorf("server's %s-compressed certificate: %w", AlgorithmName(algorithm), err)
	}
	return out, nil
}

func inflate(data []byte, size int) ([]byte, error) {
	source := bytes.NewReader(data)
	r, err := zlib.NewReader(source)
	if err != nil {
		return nil, err
	}
	out, err := readExactly(r, size)
	if err == nil && source.Len() > 0 {
		return nil, fmt.Errorf("%d bytes follow it", source.Len())
	}
	return out, err
}

// readExactly reads r, which must end after size bytes.
func readExactly(r io.Reader, size int) ([]byte, error) {
	out := make([]byte, size)
	if n, err := io.ReadFull(r, out); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("it ends after %d bytes and %d were announced", n, size)
	} else if err != nil {
		return nil, err
	}
	// The end is where checksums are compared.
	var more [1]byte
	if n, err := io.ReadFull(r, more[:]); n > 0 {
		return nil, fmt.Errorf("it is longer than the %d bytes announced", size)
	} else if err != io.EOF {
		return nil, err
	}
	return out, nil
}

// zstdDecoder is costly to make and may be used by several goroutines at once.
var zstdDecoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderMaxMemory(MaxCertificateBytes+1))
})

func decodeZstd(data []byte, size int) ([]byte, error) {
	decoder, err := zstdDecoder()
	if err != nil {
		return nil, err
	}
	out, err := decoder.DecodeAll(data, make([]byte, 0, size))
	if errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		return nil, fmt.Errorf("it is longer than the %d bytes announced", size)
	}
	if err != nil {
		return nil, err
	}
	if len(out) != size {
		return nil, fmt.Errorf("it ends after %d bytes and %d were announced", len(out), size)
	}
	return out, nil
}
