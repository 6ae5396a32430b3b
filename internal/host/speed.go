package host

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// Speed is the rate of an operation by OpenSSL's own account, which divides by
// the CPU time of its one thread.
type Speed struct {
	Name string  `json:"name"` // as Primitive has it
	PerS float64 `json:"per_s"`
}

// speedNames are names of primitives by the algorithms of openssl speed that
// measure them, the most telling first. The AEADs work on records.
var speedNames = []struct {
	algorithm string
	names     []string
}{
	{"rsa2048", []string{"rsa-2048 sign", "rsa-2048 verify"}},
	{"ecdsap256", []string{"ecdsa-p256 sign", "ecdsa-p256 verify"}},
	{"ecdhx25519", []string{"x25519 exchange"}},
	{"aes-128-gcm", []string{"aes-128-gcm seal"}},
	{"chacha20-poly1305", []string{"chacha20-poly1305 seal"}},
	{"aes-256-gcm", []string{"aes-256-gcm seal"}},
	{"rsa3072", []string{"rsa-3072 sign", "rsa-3072 verify"}},
	{"rsa4096", []string{"rsa-4096 sign", "rsa-4096 verify"}},
	{"ecdsap384", []string{"ecdsa-p384 sign", "ecdsa-p384 verify"}},
	{"ed25519", []string{"ed25519 sign", "ed25519 verify"}},
	{"ecdhp256", []string{"p256 exchange"}},
	{"ecdhp384", []string{"p384 exchange"}},
	{"sm2", []string{"sm2 sign", "sm2 verify"}},
}

// speeds asks openssl about as many operations as the budget has room for, each
// taking a second, and says which were left out and why.
func speeds(ctx context.Context, budget time.Duration, say func(string)) (all []Speed, notSeen []string) {
	all = []Speed{}
	var unmeasured []string
	left := int(budget / time.Second)
	for _, s := range speedNames {
		if ctx.Err() != nil {
			break
		}
		if left < len(s.names) {
			unmeasured = append(unmeasured, s.algorithm)
			continue
		}
		left -= len(s.names)
		say("openssl speed " + s.algorithm)
		rates, err := OpenSSLSpeed(ctx, s.algorithm)
		switch {
		case errors.Is(err, exec.ErrNotFound):
			return all, []string{"host: openssl speed: openssl is not installed"}
		case ctx.Err() != nil:
		case err != nil:
			notSeen = append(notSeen, "host: "+err.Error())
		default:
			for i, name := range s.names[:min(len(s.names), len(rates))] {
				all = append(all, Speed{name, rates[i]})
			}
		}
	}
	if len(unmeasured) > 0 {
		notSeen = append(notSeen, "host: openssl speed of "+strings.Join(unmeasured, ", ")+": no time, a larger budget has it")
	}
	return all, notSeen
}

// OpenSSLSpeed runs openssl speed for a second for each operation of an
// algorithm, on the first CPU that this program may use, and returns how often
// a second each was done: signatures and then verifications, exchanges alone, or
// records of 16,384 bytes sealed. The error wraps exec.ErrNotFound if there is
// no openssl.
func OpenSSLSpeed(ctx context.Context, algorithm string) ([]float64, error) {
	program, err := look("openssl")
	if err != nil {
		return nil, fmt.Errorf("openssl speed: %w", err)
	}
	arguments := []string{"speed", "-mr", "-seconds", "1"}
	if strings.HasSuffix(algorithm, "-gcm") || strings.HasSuffix(algorithm, "-poly1305") {
		arguments = append(arguments, "-aead", "-bytes", strconv.Itoa(recordSize), "-evp")
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, append(arguments, algorithm)...)
	var out bytes.Buffer
	cmd.Stdout = &out
	done := make(chan error, 1)
	go func() {
		// A child inherits the CPUs of the thread that starts it. The thread is
		// not given back, so that nobody else is bound by them.
		runtime.LockOSThread()
		if cpus, err := AllowedCPUs(); err == nil && len(cpus) > 1 {
			if err := Pin(cpus[0]); err != nil {
				done <- err
				return
			}
		}
		done <- cmd.Run()
	}()
	if err := <-done; err != nil {
		return nil, fmt.Errorf("openssl speed %s: %w", algorithm, err)
	}
	rates, err := parseSpeed(out.Bytes())
	if err != nil {
		return nil, fmt.Errorf("openssl speed %s: %w", algorithm, err)
	}
	return rates, nil
}

// parseSpeed reads the output of openssl speed -mr for one algorithm, such as
// "+F2:2:2048:2863.0:53435.0" for RSA with signatures and verifications per
// second, "+F6:0:253:Ed25519:24245:9443", "+F5:3:256:16596:0.000060" for an
// exchange with its rate and its time, or "+F:25:AES-128-GCM:4938776975.61" with
// bytes per second. OpenSSL 1.1.1 has seconds in the place of rates.
func parseSpeed(out []byte) ([]float64, error) {
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		fields := strings.Split(strings.TrimSpace(lines.Text()), ":")
		if !strings.HasPrefix(fields[0], "+F") || len(fields) < 4 || fields[0] != "+F" && len(fields) < 5 {
			continue
		}
		values := fields[3:]
		if _, err := strconv.ParseFloat(values[0], 64); err != nil { // the name of a curve comes first
			values = values[1:]
		}
		scale := 1.0
		switch fields[0] {
		case "+F": // -evp with one size of data
			scale = recordSize
			values = values[:min(1, len(values))]
		case "+F5", "+F8": // the second value is the first one's inverse
			values = values[:min(1, len(values))]
		}
		var rates []float64
		for _, text := range values {
			v, err := strconv.ParseFloat(text, 64)
			if err != nil || !(v > 0) || math.IsInf(v, 0) || v > 1e13 {
				return nil, fmt.Errorf("unreadable line %q", lines.Text())
			}
			if v > 1 {
				v = 1 / v // nothing that is measured here takes a second
			}
			rates = append(rates, 1/(v*scale))
		}
		if len(rates) > 0 {
			return rates, nil
		}
	}
	return nil, errors.New("no result in its output")
}
