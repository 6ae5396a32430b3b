package peertest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"shakedown"
)

// Behaviour is what a peer does with one connection. The connection is closed
// when it returns, and its context ends when the test does; reads and writes
// then fail. It reports nothing: what counts is what the client makes of it.
type Behaviour func(ctx context.Context, conn net.Conn)

// Serve runs the behaviour on every connection to the address it returns, each
// in a goroutine, until the test ends.
func Serve(t testing.TB, b Behaviour) netip.AddrPort {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := newSessions(t)
	t.Cleanup(func() { listener.Close() })
	s.running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.start(conn, b)
		}
	})
	return listener.Addr().(*net.TCPAddr).AddrPort()
}

// Pipe runs the behaviour at the other end of the connection it returns. What
// the client writes never blocks: it is kept until the behaviour reads it.
func Pipe(t testing.TB, b Behaviour) net.Conn {
	t.Helper()
	client, server := net.Pipe()
	s := newSessions(t)
	t.Cleanup(func() { client.Close() })
	buffered := &bufferedConn{Conn: server}
	buffered.arrived.L = &buffered.mu
	s.running.Go(buffered.fill)
	s.start(buffered, b)
	return client
}

// sessions are the connections of one test.
type sessions struct {
	ctx     context.Context
	running sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn
	done  bool
}

// newSessions returns sessions that end with the test. The cleanup registered
// here runs after those registered later, such as that of a listener.
func newSessions(t testing.TB) *sessions {
	ctx, cancel := context.WithCancel(context.Background())
	s := &sessions{ctx: ctx}
	t.Cleanup(func() {
		cancel()
		s.mu.Lock()
		s.done = true
		for _, c := range s.conns {
			c.Close()
		}
		s.mu.Unlock()
		s.running.Wait()
	})
	return s
}

// start runs b on conn in a goroutine.
func (s *sessions) start(conn net.Conn, b Behaviour) {
	if !s.add(conn) {
		return
	}
	s.running.Go(func() {
		defer conn.Close()
		b(s.ctx, conn)
	})
}

// add has conn closed when the test ends; it closes it and returns false if
// the test has ended.
func (s *sessions) add(conn net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done {
		conn.Close()
		return false
	}
	s.conns = append(s.conns, conn)
	return true
}

// bufferedConn reads ahead without limit, so that the other end of a net.Pipe,
// which has no buffer, can write when it likes.
type bufferedConn struct {
	net.Conn

	mu      sync.Mutex
	arrived sync.Cond
	data    bytes.Buffer
	err     error
}

// fill reads until the connection ends.
func (b *bufferedConn) fill() {
	chunk := make([]byte, 4096)
	for {
		n, err := b.Conn.Read(chunk)
		b.mu.Lock()
		b.data.Write(chunk[:n])
		b.err = err
		b.arrived.Broadcast()
		b.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// Read implements io.Reader.
func (b *bufferedConn) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.data.Len() == 0 && b.err == nil {
		b.arrived.Wait()
	}
	if b.data.Len() > 0 {
		return b.data.Read(p)
	}
	return 0, b.err
}

// readHello reads the client's first record, so that what follows comes in
// answer to it.
func readHello(conn net.Conn) error {
	_, err := ReadRecord(conn)
	return err
}

// answer is the behaviour that reads the ClientHello, writes b, and then waits
// for the client to end the connection.
func answer(b []byte) Behaviour {
	return func(_ context.Context, conn net.Conn) {
		if readHello(conn) != nil {
			return
		}
		if _, err := conn.Write(b); err != nil {
			return
		}
		io.Copy(io.Discard, conn) //nolint:errcheck // it ends when the client does
	}
}

// endless is the behaviour that reads the ClientHello and then writes b for
// ever.
func endless(b []byte) Behaviour {
	return func(_ context.Context, conn net.Conn) {
		if readHello(conn) != nil {
			return
		}
		chunk := bytes.Repeat(b, 1+4096/len(b))
		for {
			if _, err := conn.Write(chunk); err != nil {
				return
			}
		}
	}
}

// CloseAtOnce closes the connection as soon as it is accepted. What the client
// has sent is not read, so a reset may follow.
func CloseAtOnce(context.Context, net.Conn) {}

// CloseAfterHello reads the ClientHello and closes in order (FIN).
func CloseAfterHello(_ context.Context, conn net.Conn) {
	readHello(conn) //nolint:errcheck // closed either way
}

// ResetAtOnce resets the connection (RST) as soon as it is accepted.
func ResetAtOnce(_ context.Context, conn net.Conn) { reset(conn) }

// ResetAfterHello reads the ClientHello and resets the connection.
func ResetAfterHello(_ context.Context, conn net.Conn) {
	readHello(conn) //nolint:errcheck // reset either way
	reset(conn)
}

// reset closes a TCP connection with RST; a pipe knows no difference.
func reset(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		tcp.SetLinger(0) //nolint:errcheck // fails on closed connections only
	}
	conn.Close()
}

// NeverAnswer reads what comes and says nothing.
func NeverAnswer(_ context.Context, conn net.Conn) {
	io.Copy(io.Discard, conn) //nolint:errcheck // it ends when the client does
}

// Garbage answers with bytes that are no record.
func Garbage(ctx context.Context, conn net.Conn) {
	answer(bytes.Repeat([]byte{0xC3, 0x5A, 0xFF, 0x00, 0x99}, 40))(ctx, conn)
}

// HTTPAnswer answers as a web server does when spoken to in TLS on a plain port.
func HTTPAnswer(ctx context.Context, conn net.Conn) {
	answer([]byte("HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\nThis is not a TLS port.\n"))(ctx, conn)
}

// Trickle answers with an endless ServerHello record, a byte at each interval.
func Trickle(interval time.Duration) Behaviour {
	return func(ctx context.Context, conn net.Conn) {
		if readHello(conn) != nil {
			return
		}
		record := Record(TypeHandshake, shakedown.TLS12, bytes.Repeat([]byte{2, 0, 63, 0}, 4096))
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for i := 0; ; i++ {
			if _, err := conn.Write(record[i%len(record):][:1]); err != nil {
				return
			}
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return
			}
		}
	}
}

// EndlessEmptyRecords answers with handshake records of length zero for ever,
// which RFC 8446, section 5.1, forbids.
func EndlessEmptyRecords(ctx context.Context, conn net.Conn) {
	endless(Record(TypeHandshake, shakedown.TLS12, nil))(ctx, conn)
}

// EndlessEmptyData answers with application data records of length zero for
// ever.
func EndlessEmptyData(ctx context.Context, conn net.Conn) {
	endless(Record(TypeApplicationData, shakedown.TLS12, nil))(ctx, conn)
}

// EndlessChangeCipherSpec answers with change_cipher_spec records for ever.
func EndlessChangeCipherSpec(ctx context.Context, conn net.Conn) {
	endless(Record(TypeChangeCipherSpec, shakedown.TLS12, []byte{1}))(ctx, conn)
}

// EndlessWarnings answers with warning alerts (no_renegotiation) for ever.
func EndlessWarnings(ctx context.Context, conn net.Conn) {
	endless(Record(TypeAlert, shakedown.TLS12, []byte{1, byte(shakedown.AlertNoRenegotiation)}))(ctx, conn)
}

// OversizedRecord answers with a handshake record of 2^14+257 bytes, one more
// than any record may have (RFC 8446, section 5.2).
func OversizedRecord(ctx context.Context, conn net.Conn) {
	answer(Record(TypeHandshake, shakedown.TLS12, make([]byte, 1<<14+257)))(ctx, conn)
}

// WrongRecordVersion answers with a record of SSL 2's time: version 0x0002.
func WrongRecordVersion(ctx context.Context, conn net.Conn) {
	answer(Record(TypeHandshake, 0x0002, []byte{2, 0, 0, 0}))(ctx, conn)
}

// UnknownRecordType answers with a record of type 99.
func UnknownRecordType(ctx context.Context, conn net.Conn) {
	answer(Record(99, shakedown.TLS12, []byte("what?")))(ctx, conn)
}

// HugeHandshake answers with the header of a ServerHello of 2^24-1 bytes and
// then with zeros for ever.
func HugeHandshake(_ context.Context, conn net.Conn) {
	if readHello(conn) != nil {
		return
	}
	if _, err := conn.Write(Record(TypeHandshake, shakedown.TLS12, []byte{2, 0xFF, 0xFF, 0xFF})); err != nil {
		return
	}
	zeros := Record(TypeHandshake, shakedown.TLS12, make([]byte, 1<<14))
	for {
		if _, err := conn.Write(zeros); err != nil {
			return
		}
	}
}

// FatalAlert answers with a fatal alert of any number, known or not.
func FatalAlert(alert shakedown.Alert) Behaviour {
	return answer(Record(TypeAlert, shakedown.TLS12, []byte{2, byte(alert)}))
}

// Fault is a behaviour with its name.
type Fault struct {
	Name string
	Do   Behaviour
	// Silent peers say nothing wrong, or nothing at all: only a time-out ends it.
	Silent bool
}

// Faults returns every behaviour here, with fitting parameters.
func Faults() []Fault {
	return []Fault{
		{Name: "close at once", Do: CloseAtOnce},
		{Name: "close after hello", Do: CloseAfterHello},
		{Name: "reset at once", Do: ResetAtOnce},
		{Name: "reset after hello", Do: ResetAfterHello},
		{Name: "never answer", Do: NeverAnswer, Silent: true},
		{Name: "garbage", Do: Garbage},
		{Name: "http answer", Do: HTTPAnswer},
		{Name: "trickle", Do: Trickle(20 * time.Millisecond), Silent: true},
		{Name: "endless empty records", Do: EndlessEmptyRecords},
		{Name: "endless empty data", Do: EndlessEmptyData},
		{Name: "endless change_cipher_spec", Do: EndlessChangeCipherSpec},
		{Name: "endless warnings", Do: EndlessWarnings},
		{Name: "oversized record", Do: OversizedRecord},
		{Name: "wrong record version", Do: WrongRecordVersion},
		{Name: "unknown record type", Do: UnknownRecordType},
		{Name: "huge handshake", Do: HugeHandshake},
		{Name: "fatal alert", Do: FatalAlert(shakedown.AlertHandshakeFailure)},
		{Name: "unknown alert", Do: FatalAlert(213)},
	}
}

// String returns the name.
func (f Fault) String() string { return fmt.Sprintf("fault %q", f.Name) }
