package peertest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Proxy stands between a client and a real server and spoils what passes.
type Proxy struct {
	Addr netip.AddrPort // where clients connect to

	target   netip.AddrPort
	config   ProxyConfig
	accepted atomic.Int64
	closed   atomic.Int64
}

// ProxyConfig says what a proxy does. The zero value passes everything on as it
// came.
type ProxyConfig struct {
	ToClient []Edit // of what the server sends
	ToServer []Edit // of what the client sends
	Delivery Delivery
	// Close says for the connection of this number, counted from 0 as they were
	// accepted, whether it is closed as soon as its ClientHello was read. Nil
	// closes none.
	Close func(connection int) bool
	// CloseByReset closes those with RST instead of FIN.
	CloseByReset bool
}

// Delivery says how bytes for the client are written.
type Delivery string

// The ways to deliver.
const (
	DeliverRecords   Delivery = ""          // each record in one write
	DeliverBytes     Delivery = "bytes"     // each byte in a write
	DeliverCoalesced Delivery = "coalesced" // what comes within 20 ms in one write
)

// Op is what an edit does.
type Op string

// The operations. Cut and the rest leave a direction dead after them.
const (
	Cut       Op = "cut"       // close both connections instead of passing the record on
	CutReset  Op = "cut-reset" // the same with RST towards the client
	CutBytes  Op = "cut-bytes" // close both after Offset bytes of this direction
	Stall     Op = "stall"     // pass on neither this record nor any after it
	Drop      Op = "drop"      // leave the record out
	Duplicate Op = "duplicate" // pass it on twice
	Swap      Op = "swap"      // pass it on after the next one; without one it is lost
	Flip      Op = "flip"      // invert the lowest bit of the byte at Offset
)

// Edit is one operation on one direction of every connection.
type Edit struct {
	Op     Op
	Record int // counted from 0
	// Offset counts from the record's first header byte, or if negative from
	// its end; for CutBytes it counts the direction's bytes.
	Offset int
}

// String returns the edit as words, for names of tests.
func (e Edit) String() string {
	switch e.Op {
	case CutBytes:
		return fmt.Sprintf("%s %d", e.Op, e.Offset)
	case Flip:
		return fmt.Sprintf("%s record %d byte %d", e.Op, e.Record, e.Offset)
	}
	return fmt.Sprintf("%s record %d", e.Op, e.Record)
}

// CloseFirst closes the first n connections.
func CloseFirst(n int) func(int) bool { return func(i int) bool { return i < n } }

// CloseEvery closes every k-th connection: numbers k-1, 2k-1 and so on.
func CloseEvery(k int) func(int) bool { return func(i int) bool { return i%k == k-1 } }

// CloseShare closes this share of connections, 0 to 1, drawn by lot: the same
// numbers for the same seed.
func CloseShare(share float64, seed uint64) func(int) bool {
	return func(i int) bool { return rand.New(rand.NewPCG(seed, uint64(i))).Float64() < share }
}

// StartProxy starts a proxy that ends with the test.
func StartProxy(t testing.TB, target netip.AddrPort, config ProxyConfig) *Proxy {
	t.Helper()
	p := &Proxy{target: target, config: config}
	p.Addr = Serve(t, p.serve)
	return p
}

// Accepted returns how many connections were accepted so far.
func (p *Proxy) Accepted() int { return int(p.accepted.Load()) }

// Closed returns how many of them ProxyConfig.Close has closed.
func (p *Proxy) Closed() int { return int(p.closed.Load()) }

// serve handles one connection. Its number is drawn here, in its own goroutine;
// which of several simultaneous clients gets which number is up to the kernel
// anyway.
func (p *Proxy) serve(ctx context.Context, client net.Conn) {
	number := int(p.accepted.Add(1)) - 1
	if p.config.Close != nil && p.config.Close(number) {
		readHello(client) //nolint:errcheck // closed either way
		p.closed.Add(1)
		if p.config.CloseByReset {
			reset(client)
		}
		return
	}
	var dialer net.Dialer
	server, err := dialer.DialContext(ctx, "tcp", p.target.String())
	if err != nil {
		reset(client)
		return
	}
	defer server.Close()
	// The test's end closes the client's connection alone.
	defer context.AfterFunc(ctx, func() { server.Close() })()

	toServer := &direction{from: client, to: server, client: client, edits: p.config.ToServer}
	toClient := &direction{from: server, to: client, client: client, edits: p.config.ToClient, delivery: p.config.Delivery}
	var both sync.WaitGroup
	for _, d := range []*direction{toServer, toClient} {
		both.Go(func() {
			if err := d.run(); err == errStalled && d == toClient {
				return // the server gave up, which the client is not to learn
			}
			client.Close()
			server.Close()
		})
	}
	both.Wait()
}

// direction passes records from one connection to the other.
type direction struct {
	from, to net.Conn
	client   net.Conn // one of them
	edits    []Edit
	delivery Delivery

	records chan []byte
	sent    int    // bytes
	held    []byte // a record to be sent after the next one
}

// The reasons of a proxy itself to end a direction.
var (
	errCut     = errors.New("cut")
	errStalled = errors.New("stalled")
)

// run passes records on until either side ends or an edit says so.
func (d *direction) run() error {
	d.records = make(chan []byte, 64)
	done := make(chan struct{})
	var reader sync.WaitGroup
	defer reader.Wait()
	defer d.from.Close() // lets the reader end
	defer close(done)
	reader.Go(func() {
		defer close(d.records)
		for {
			record, err := ReadRecord(d.from)
			if err != nil {
				return
			}
			select {
			case d.records <- record:
			case <-done:
				return
			}
		}
	})
	for number := 0; ; number++ {
		record, open := <-d.records
		if !open {
			return io.EOF
		}
		out, err := d.edit(number, record)
		for d.delivery == DeliverCoalesced && err == nil {
			more, again := receiveWithin(d.records, 20*time.Millisecond)
			if !again {
				break
			}
			number++
			var edited []byte
			edited, err = d.edit(number, more)
			out = append(out, edited...)
		}
		if werr := d.write(out); werr != nil {
			return werr
		}
		if err != nil {
			return err
		}
	}
}

// receiveWithin returns the next record if one comes within d.
func receiveWithin(records <-chan []byte, d time.Duration) ([]byte, bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case record, open := <-records:
		return record, open
	case <-timer.C:
		return nil, false
	}
}

// edit returns what is to be sent in place of the record, and why that is the
// last of this direction.
func (d *direction) edit(number int, record []byte) ([]byte, error) {
	out := append([]byte(nil), record...)
	held := d.held
	d.held = nil
	for _, e := range d.edits {
		if e.Op == CutBytes {
			if d.sent+len(out) >= e.Offset {
				return out[:max(0, e.Offset-d.sent)], errCut
			}
			continue
		}
		if e.Record != number {
			continue
		}
		switch e.Op {
		case Cut:
			return nil, errCut
		case CutReset:
			reset(d.client) // now: run closes it another way
			return nil, errCut
		case Stall:
			for range d.records {
			}
			return nil, errStalled
		case Drop:
			out = nil
		case Duplicate:
			out = append(out, out...)
		case Swap:
			d.held, out = out, nil
		case Flip:
			at := e.Offset
			if at < 0 {
				at += len(out)
			}
			if at >= 0 && at < len(out) {
				out[at] ^= 1
			}
		}
	}
	out = append(out, held...)
	d.sent += len(out)
	return out, nil
}

// write delivers bytes.
func (d *direction) write(out []byte) error {
	if d.delivery != DeliverBytes {
		if len(out) == 0 {
			return nil
		}
		_, err := d.to.Write(out)
		return err
	}
	for i := range out {
		if _, err := d.to.Write(out[i : i+1]); err != nil {
			return err
		}
	}
	return nil
}
