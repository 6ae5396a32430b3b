package handshake_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"shakedown"
	"shakedown/handshake"
	"shakedown/internal/server"
)

// TestInterop asks every server for everything in interopRows, in both kinds of
// work, and holds asked against observed, the server's own count against ours,
// and all of it against docs/interop.md, which -update writes.
func TestInterop(t *testing.T) {
	doc := readInteropDoc(t)
	var mu sync.Mutex
	pki := t.TempDir()
	t.Run("servers", func(t *testing.T) {
		for _, d := range server.Drivers() {
			t.Run(d.Name(), func(t *testing.T) {
				t.Parallel()
				if err := d.Available(); err != nil {
					t.Skipf("%s is not installed: %v", d.Name(), err)
				}
				m := &matrix{driver: d, pki: pki, dir: t.TempDir(), servers: map[string]*counted{}, cells: map[string]string{}}
				for _, row := range interopRows() {
					t.Run(row.name, func(t *testing.T) { m.run(t, row) })
				}
				t.Run("counts", m.compareCounts)
				mu.Lock()
				defer mu.Unlock()
				doc.take(t, d, m.cells)
			})
		}
	})
	doc.finish(t)
}

// matrix is a column of docs/interop.md in the making.
type matrix struct {
	driver  server.Driver
	pki     string
	dir     string              // where servers keep their files: their logs outlive the row
	servers map[string]*counted // by spec
	cells   map[string]string   // by row: yes, or why not
}

// counted is a server with our account of it.
type counted struct {
	*server.Server
	full, resumed int64
	unsure        bool // a handshake failed, so that its count may differ from ours
}

// starting keeps servers from making the same certificates at the same time.
var starting sync.Mutex

// run asks for one row.
func (m *matrix) run(t *testing.T, row interopRow) {
	if (row.slow || patience(m.driver.Name(), row.name) > 0) && testing.Short() {
		t.Skip("slow: left out with -short")
	}
	i := slices.IndexFunc(row.specs, func(s server.Spec) bool { return m.driver.Can(s) == nil })
	if i < 0 {
		m.cells[row.name] = m.driver.Can(row.specs[0]).Error()
		return
	}
	reason, excepted := exception(m.driver.Name(), row.name)
	m.cells[row.name] = "yes"
	if excepted {
		m.cells[row.name] = reason
	}
	s, err := m.start(row.specs[i])
	if err != nil {
		if !excepted {
			t.Fatal(err)
		}
		t.Logf("as stated (%s): %v", reason, err)
		return
	}
	s.unsure = s.unsure || countedTwice(m.driver.Name(), row.name)
	for _, work := range []shakedown.Work{shakedown.WorkFull, shakedown.WorkMinimal} {
		err := s.attempt(t.Context(), row, work)
		for until := time.Now().Add(patience(m.driver.Name(), row.name)); err != nil && time.Now().Before(until); time.Sleep(time.Second) {
			s.unsure = true
			err = s.attempt(t.Context(), row, work)
		}
		if err != nil {
			s.unsure = true
		}
		switch {
		case excepted && err == nil:
			t.Errorf("work %s: it does after all, though docs/interop.md says: %s", work, reason)
		case excepted:
			t.Logf("work %s, as stated (%s): %v", work, reason, err)
		case err != nil:
			t.Errorf("work %s: %v", work, err)
		}
	}
}

// start starts a server, or returns the one started for the same spec.
func (m *matrix) start(spec server.Spec) (*counted, error) {
	if spec.Stapling == server.StaplingOff {
		spec.PKI = m.pki
	}
	if s := m.servers[spec.String()]; s != nil {
		return s, nil
	}
	starting.Lock()
	defer starting.Unlock()
	s, err := m.driver.Start(context.Background(), spec, filepath.Join(m.dir, strconv.Itoa(len(m.servers))))
	if err != nil {
		return nil, err
	}
	c := &counted{Server: s}
	m.servers[spec.String()] = c
	return c, nil
}

// compareCounts ends the servers and compares what they counted with what was
// done.
func (m *matrix) compareCounts(t *testing.T) {
	var all sync.WaitGroup // some take a second to end
	for _, s := range m.servers {
		all.Go(func() { s.Stop() }) //nolint:errcheck // the error is asked for again below
	}
	all.Wait()
	compared := 0
	for spec, s := range m.servers {
		if err := s.Stop(); err != nil {
			t.Errorf("%s: %v", spec, err)
		}
		c, err := s.Connections(context.Background())
		switch {
		case err != nil:
			// The question is put by Go's client, which knows less than ours.
			t.Logf("%s: not compared: %v", spec, err)
		case s.unsure:
			t.Logf("%s: not compared, since a handshake failed: %v", spec, c)
		case c.Full == server.NotTold || c.Untold > 0:
			compared++
			if c.Handshakes != server.NotTold && c.Handshakes != s.full+s.resumed {
				t.Errorf("%s: %d handshakes were made, the server says: %v", spec, s.full+s.resumed, c)
			}
		default:
			compared++
			if c.Full != s.full || c.Resumed != s.resumed {
				t.Errorf("%s: %d full and %d resumed handshakes were made, the server says: %v", spec, s.full, s.resumed, c)
			}
		}
	}
	t.Logf("compared with the account of %d of %d servers", compared, len(m.servers))
	if compared*3 < len(m.servers) {
		t.Error("too few to prove anything")
	}
}

// attempt takes the row's handshake, and one to get a session before it where
// the mode needs one. The error says how it differed from what was asked.
func (s *counted) attempt(ctx context.Context, row interopRow, work shakedown.Work) error {
	cfg := s.config(row, row.config, work)
	var session *handshake.Session
	if cfg.Mode.Resumes() {
		prime := cfg
		if row.prime != nil {
			prime = s.config(row, *row.prime, work)
		}
		var err error
		if session, err = s.fetch(ctx, prime); err != nil {
			return fmt.Errorf("fetching a session: %w", err)
		}
	}
	e, err := s.exchange(ctx, &cfg, session)
	if err != nil {
		return err
	}
	asked := e.Asked
	if row.other != nil {
		row.other(&asked)
	}
	if m := asked.Mismatch(&e.Observed); m != nil {
		return errors.New(strings.Join(m, "; "))
	}
	if want := shakedown.VerificationOK; cfg.Roots != nil && e.Observed.Chain != nil && e.Observed.Verification != want {
		return fmt.Errorf("verification %s, want %s", e.Observed.Verification, want)
	}
	if row.check != nil {
		return row.check(e)
	}
	return nil
}

// config completes a row's Config for this server.
func (s *counted) config(row interopRow, cfg handshake.Config, work shakedown.Work) handshake.Config {
	cfg.Work, cfg.ServerName, cfg.Request = work, s.Name, []byte(get)
	if answers(s.Server) {
		// The server has read our Finished, and counted it, once it answers.
		cfg.Complete = shakedown.CompleteResponse
	}
	rootsIn(&cfg, s.Roots)
	if row.change != nil {
		row.change(&cfg, s.Server)
	}
	return cfg
}

// answers reports whether the server answers requests: those that print early
// data do not.
func answers(s *server.Server) bool {
	return !s.Spec.EarlyData || s.Driver == "nginx" || s.Driver == "haproxy" || s.Driver == "nss"
}

func (s *counted) dial(ctx context.Context) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "tcp", s.Addr.String())
}

// fetch gets a session by a full handshake.
func (s *counted) fetch(ctx context.Context, cfg handshake.Config) (*handshake.Session, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	client, err := handshake.NewClient(&cfg)
	if err != nil {
		return nil, err
	}
	conn, err := s.dial(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	session, err := handshake.Fetch(ctx, conn, client)
	if err == nil || errors.Is(err, handshake.ErrNoSession) {
		s.full++
	}
	return session, err
}

// exchange takes one handshake.
func (s *counted) exchange(ctx context.Context, cfg *handshake.Config, session *handshake.Session) (exchanged, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	conn, err := s.dial(ctx)
	if err != nil {
		return exchanged{}, err
	}
	defer conn.Close()
	client, err := handshake.NewClient(cfg)
	if err != nil {
		return exchanged{}, err
	}
	c := handshake.NewConn(conn, client, time.Now(), handshake.Recorder{})
	if err := c.Handshake(ctx, session); err != nil {
		return exchanged{}, err
	}
	r := c.Result
	switch {
	case r.Failure != nil:
		return exchanged{}, fmt.Errorf("%s: %w", r.Failure.Class, r.Failure)
	case r.Observed.Mode == shakedown.ModeFull:
		s.full++
	default:
		s.resumed++
	}
	return exchanged{s.Server, c.Machine, r}, nil
}
