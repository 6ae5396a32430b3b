package handshake_test

import (
	"context"
	"math/rand/v2"
	"net"
	"slices"
	"sort"
	"testing"
	"time"

	"shakedown"
	"shakedown/handshake"
	"shakedown/internal/server"
)

// A replay is a handshake that really took place, its server's flights recorded.
// With the client's randomness and clock fixed it can be taken again without a
// server, any number of times, and every check of the client still holds.
type replay struct {
	client  *handshake.Client
	session *handshake.Session
	rand    *fixedRand
	flights [][]byte
	machine *handshake.Machine
	buffer  []byte
}

// fixedRand gives the same bytes after every reset.
type fixedRand struct {
	source *rand.ChaCha8
	seed   [32]byte
}

func newFixedRand() *fixedRand {
	f := &fixedRand{seed: [32]byte{1, 2, 3}}
	f.source = rand.NewChaCha8(f.seed)
	return f
}

func (f *fixedRand) reset()                     { f.source.Seed(f.seed) }
func (f *fixedRand) Read(b []byte) (int, error) { return f.source.Read(b) }

// recordingConn keeps what the server sent, flight by flight.
type recordingConn struct {
	net.Conn
	flights [][]byte
	spoke   bool // we sent last
}

func (c *recordingConn) Write(b []byte) (int, error) {
	c.spoke = true
	return c.Conn.Write(b)
}

func (c *recordingConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.spoke || len(c.flights) == 0 {
		c.flights, c.spoke = append(c.flights, nil), false
	}
	last := len(c.flights) - 1
	c.flights[last] = append(c.flights[last], b[:n]...)
	return n, err
}

// record takes one handshake with s and keeps it.
func record(t testing.TB, s *server.Server, cfg handshake.Config) *replay {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	r := &replay{rand: newFixedRand(), machine: handshake.NewMachine(nil)}
	now := time.Now()
	var err error
	if cfg.Mode.Resumes() {
		client, err := handshake.NewClient(&cfg)
		if err != nil {
			t.Fatal(err)
		}
		conn := dialTCP(t, s)
		r.session, err = handshake.Fetch(ctx, conn, client)
		conn.Close()
		if err != nil {
			t.Fatal(err)
		}
		now = time.Now()
	}
	cfg.Rand, cfg.Time = r.rand, func() time.Time { return now }
	if r.client, err = handshake.NewClient(&cfg); err != nil {
		t.Fatal(err)
	}
	conn := &recordingConn{Conn: dialTCP(t, s)}
	defer conn.Close()
	c := handshake.NewConn(conn, r.client, now, handshake.Recorder{})
	if err := c.Handshake(ctx, r.session); err != nil {
		t.Fatal(err)
	}
	if f := c.Result.Failure; f != nil {
		t.Fatal(f)
	}
	if m := c.Result.Asked.Mismatch(&c.Result.Observed); m != nil {
		t.Fatal(m)
	}
	r.flights = conn.flights
	return r
}

func dialTCP(t testing.TB, s *server.Server) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", s.Addr.String())
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// run takes the handshake again. alter, unless nil, may change each flight.
func (r *replay) run(alter func(flight int, b []byte) []byte) *shakedown.Failure {
	r.rand.reset()
	m := r.machine
	if err := m.Start(r.client, r.session); err != nil {
		return &shakedown.Failure{Class: shakedown.ClassOurs, Text: err.Error()}
	}
	for flight := 0; ; {
		switch m.Next().Kind {
		case handshake.EventDone:
			return nil
		case handshake.EventFailed:
			return m.Failure()
		case handshake.EventWait:
			if flight == len(r.flights) {
				return m.Close(net.ErrClosed)
			}
			r.buffer = append(r.buffer[:0], r.flights[flight]...)
			b := r.buffer
			if alter != nil {
				b = alter(flight, b)
			}
			flight++
			m.Feed(b)
		}
	}
}

// TestReplay proves that a replay does the whole handshake: it ends well, and
// does not once any one byte of the server's handshake is changed.
func TestReplay(t *testing.T) {
	s := startServer(t, server.Embedded{}, server.Spec{Certificates: both})
	for _, v := range []shakedown.Version{shakedown.TLS12, shakedown.TLS13} {
		r := record(t, s, handshake.Config{Versions: []shakedown.Version{v}, Groups: []shakedown.Group{shakedown.X25519}, Work: shakedown.WorkMinimal, ServerName: s.Name})
		if f := r.run(nil); f != nil {
			t.Fatalf("%s: %v", v, f)
		}
		flights := slices.Clone(r.flights)
		for flight, b := range flights {
			// Go's server sends its tickets behind its Finished: they are not
			// part of the handshake.
			needed := sort.Search(len(b), func(n int) bool {
				return r.run(func(at int, b []byte) []byte {
					if at == flight {
						return b[:n]
					}
					return b
				}) == nil
			})
			for i := range needed {
				f := r.run(func(n int, b []byte) []byte {
					if n == flight {
						b[i] ^= 1
					}
					return b
				})
				// The version of a record is the one thing that RFC 8446
				// section 5.1 has clients ignore.
				if f == nil && !isRecordVersion(b, i) {
					t.Errorf("%s: byte %d of flight %d changed, and the handshake went on", v, i, flight)
				}
			}
		}
	}
}

// isRecordVersion reports whether byte i of the records in b is the low byte of
// a record's version.
func isRecordVersion(b []byte, i int) bool {
	for at := 0; at < len(b); at += 5 + int(b[at+3])<<8 + int(b[at+4]) {
		if i == at+2 {
			return true
		}
	}
	return false
}

// BenchmarkHandshake measures what the client does in one handshake, the server
// and the network left out.
func BenchmarkHandshake(b *testing.B) {
	for _, c := range benchCases() {
		for _, work := range []shakedown.Work{shakedown.WorkMinimal, shakedown.WorkFull} {
			b.Run(c.name+"/"+string(work), func(b *testing.B) {
				s := startServer(b, c.driver, c.spec)
				c.config.ServerName, c.config.Work = s.Name, work
				if work == shakedown.WorkFull {
					c.config.Roots = s.Roots
				}
				r := record(b, s, c.config)
				b.ReportAllocs()
				for b.Loop() {
					if f := r.run(nil); f != nil {
						b.Fatal(f)
					}
				}
			})
		}
	}
}

type benchCase struct {
	name   string
	driver server.Driver
	spec   server.Spec
	config handshake.Config
}

func benchCases() []benchCase {
	ecdsa := server.Spec{Certificates: []server.KeyKind{server.P256}, EarlyData: true, Cache: server.CacheShared}
	rsa := server.Spec{Certificates: []server.KeyKind{server.RSA2048}, DHBits: 2048}
	hybrid := server.Spec{Certificates: []server.KeyKind{server.P256}}
	one := func(v shakedown.Version, mode shakedown.Mode, g shakedown.Group, suites ...shakedown.CipherSuite) handshake.Config {
		cfg := handshake.Config{Versions: []shakedown.Version{v}, Mode: mode, CipherSuites: suites}
		if g != 0 {
			cfg.Groups = []shakedown.Group{g}
		}
		if v == shakedown.TLS12 && g != 0 {
			cfg.Groups = []shakedown.Group{g, shakedown.Secp256r1}
		}
		if mode == shakedown.ModeEarlyData {
			cfg.Request = []byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
		}
		return cfg
	}
	nginx, goTLS, openssl := server.Nginx{}, server.Embedded{}, server.OpenSSL{}
	const full = shakedown.ModeFull
	return []benchCase{
		{"tls13/ecdsa/x25519", nginx, ecdsa, one(shakedown.TLS13, full, shakedown.X25519)},
		{"tls13/ecdsa/secp256r1", nginx, ecdsa, one(shakedown.TLS13, full, shakedown.Secp256r1)},
		{"tls13/ecdsa/secp384r1", nginx, ecdsa, one(shakedown.TLS13, full, shakedown.Secp384r1)},
		{"tls13/ecdsa/secp521r1", nginx, ecdsa, one(shakedown.TLS13, full, shakedown.Secp521r1)},
		{"tls13/ecdsa/X25519MLKEM768", goTLS, hybrid, one(shakedown.TLS13, full, shakedown.X25519MLKEM768)},
		{"tls13/ecdsa/SecP256r1MLKEM768", goTLS, hybrid, one(shakedown.TLS13, full, shakedown.SecP256r1MLKEM768)},
		{"tls13/ecdsa/SecP384r1MLKEM1024", goTLS, hybrid, one(shakedown.TLS13, full, shakedown.SecP384r1MLKEM1024)},
		{"tls13/rsa/x25519", nginx, rsa, one(shakedown.TLS13, full, shakedown.X25519)},
		{"tls13/rsa/ffdhe2048", openssl, rsa, one(shakedown.TLS13, full, shakedown.FFDHE2048)},
		{"tls13/psk", nginx, ecdsa, one(shakedown.TLS13, shakedown.ModePSK, shakedown.X25519)},
		{"tls13/early-data", nginx, ecdsa, one(shakedown.TLS13, shakedown.ModeEarlyData, shakedown.X25519)},
		{"tls12/ecdsa/x25519", nginx, ecdsa, one(shakedown.TLS12, full, shakedown.X25519)},
		{"tls12/rsa/x25519", nginx, rsa, one(shakedown.TLS12, full, shakedown.X25519)},
		{"tls12/static-rsa", openssl, rsa, one(shakedown.TLS12, full, 0, shakedown.TLS_RSA_WITH_AES_128_GCM_SHA256)},
		{"tls12/dhe-rsa-2048", nginx, rsa, one(shakedown.TLS12, full, 0, shakedown.TLS_DHE_RSA_WITH_AES_128_GCM_SHA256)},
		{"tls12/session-id", nginx, ecdsa, one(shakedown.TLS12, shakedown.ModeSessionID, shakedown.X25519)},
		{"tls12/ticket", nginx, ecdsa, one(shakedown.TLS12, shakedown.ModeTicket, shakedown.X25519)},
	}
}
