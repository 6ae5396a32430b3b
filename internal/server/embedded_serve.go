package server

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"shakedown"
)

// embeddedServer is a running embedded server.
type embeddedServer struct {
	material  *material
	head      string // of the response, without its last empty line
	body      string
	listeners []net.Listener
	configs   []*atomic.Pointer[tls.Config] // one for each worker
	running   sync.WaitGroup

	mu     sync.Mutex
	tally  Counts
	open   map[net.Conn]struct{}
	closed bool
}

// handshakeDeadline ends handshakes of clients that stall, as nginx's
// client_header_timeout does.
const handshakeDeadline = 60 * time.Second

// newEmbeddedServer returns a server that does not listen yet.
func newEmbeddedServer(m *material) *embeddedServer {
	body := "ok\n"
	if m.spec.Body > 0 {
		body = strings.Repeat("x", m.spec.Body)
	}
	return &embeddedServer{
		material: m,
		head:     fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n", len(body)),
		body:     body,
		open:     map[net.Conn]struct{}{},
		tally: Counts{
			Versions: map[string]int64{}, Suites: map[string]int64{}, Groups: map[string]int64{}, Names: map[string]int64{},
			Basis: "counted by the embedded server itself, every connection and handshake",
		},
	}
}

// accept is one worker: it accepts connections until its listener is closed.
func (e *embeddedServer) accept(listener net.Listener, config *atomic.Pointer[tls.Config]) {
	for {
		conn, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			// Out of descriptors: they come back when connections end.
			time.Sleep(5 * time.Millisecond)
			continue
		}
		if !e.begin(conn) {
			conn.Close()
			return
		}
		e.running.Go(func() {
			defer e.end(conn)
			e.serve(tls.Server(conn, config.Load()))
		})
	}
}

// begin counts a connection; it returns false when the server is stopping.
func (e *embeddedServer) begin(conn net.Conn) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return false
	}
	e.tally.Accepted++
	e.open[conn] = struct{}{}
	return true
}

// end closes a connection.
func (e *embeddedServer) end(conn net.Conn) {
	conn.Close()
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.open, conn)
}

// serve handles one connection: the handshake, then requests until the client
// has enough.
func (e *embeddedServer) serve(conn *tls.Conn) {
	conn.SetDeadline(time.Now().Add(handshakeDeadline)) //nolint:errcheck // a closed connection fails below
	err := conn.Handshake()
	e.mu.Lock()
	if err != nil {
		e.tally.Failed++
		e.mu.Unlock()
		return
	}
	e.tally.add(conn.ConnectionState())
	e.mu.Unlock()
	conn.SetDeadline(time.Time{}) //nolint:errcheck // as above

	reader := bufio.NewReader(conn)
	for {
		request, err := http.ReadRequest(reader)
		if err != nil {
			break
		}
		if _, err := io.Copy(io.Discard, request.Body); err != nil {
			break
		}
		e.mu.Lock()
		e.tally.Requests++
		e.mu.Unlock()
		if err := e.respond(conn, request); err != nil || request.Close {
			break
		}
	}
	conn.Close() // with close_notify
}

// respond answers a request in one write.
func (e *embeddedServer) respond(conn *tls.Conn, request *http.Request) error {
	response := make([]byte, 0, len(e.head)+len(e.body)+32)
	response = append(response, e.head...)
	if request.Close {
		response = append(response, "Connection: close\r\n"...)
	}
	response = append(response, "\r\n"...)
	if request.Method != http.MethodHead {
		response = append(response, e.body...)
	}
	_, err := conn.Write(response)
	return err
}

// add counts a completed handshake.
func (c *Counts) add(state tls.ConnectionState) {
	c.Handshakes++
	if state.DidResume {
		c.Resumed++
	} else {
		c.Full++
	}
	c.Versions[shakedown.Version(state.Version).String()]++
	c.Suites[shakedown.CipherSuite(state.CipherSuite).String()]++
	group := "-" // static RSA, or a session resumed in TLS 1.2
	if state.CurveID != 0 {
		group = shakedown.Group(state.CurveID).String()
	}
	c.Groups[group]++
	c.Names[state.ServerName]++
}

// counts implements instance.
func (e *embeddedServer) counts(context.Context) (Counts, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.tally
	for _, m := range []*map[string]int64{&c.Versions, &c.Suites, &c.Groups, &c.Names} {
		*m = maps.Clone(*m)
	}
	return c, nil
}

// reload implements instance: ticket keys and staples are read again; keys that
// were random are new ones, as with any server.
func (e *embeddedServer) reload(ctx context.Context) error {
	configs, err := embeddedConfigs(ctx, e.material)
	if err != nil {
		return err
	}
	for i, config := range configs {
		e.configs[i].Store(config)
	}
	return nil
}

// stop implements instance.
func (e *embeddedServer) stop() error {
	e.mu.Lock()
	e.closed = true
	for conn := range e.open {
		conn.Close()
	}
	e.mu.Unlock()
	for _, l := range e.listeners {
		l.Close()
	}
	e.running.Wait()
	return nil
}
