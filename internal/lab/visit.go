package lab

import (
	"context"
	"fmt"
	"net"
	"time"

	"shakedown"
	"shakedown/internal/server"
)

// distant is a connection whose answers take a round trip longer.
type distant struct {
	net.Conn
	rtt  time.Duration
	sent time.Time // when it was last written to
}

func (d *distant) Write(b []byte) (int, error) {
	d.sent = time.Now()
	return d.Conn.Write(b)
}

func (d *distant) Read(b []byte) (int, error) {
	n, err := d.Conn.Read(b)
	if n > 0 {
		time.Sleep(time.Until(d.sent.Add(d.rtt))) // no answer is older than what it answers
	}
	return n, err
}

// visitor makes first visits: full handshakes of a client that verifies the
// chain and, if nothing was stapled and it is told to, asks the CA before it
// goes on. The CA is a responder of our own that answers after the delay of
// the cell and, since asking takes a connection and a request, two round trips.
// It is asked about a certificate of its own, which takes as long.
type visitor struct {
	cell      *Cell
	responder *server.Responder
	about     *server.Certificate
}

// newVisitor starts the responder if one is needed. Close ends it.
func newVisitor(c *Cell) (*visitor, error) {
	v := &visitor{cell: c}
	if !c.Load.AskCA {
		return v, nil
	}
	ca, err := server.NewAuthority(server.FamilyFor(server.P256))
	if err != nil {
		return nil, err
	}
	if v.about, err = ca.Issue(server.LeafRequest{Key: server.P256, Names: server.DefaultNames()}); err != nil {
		return nil, err
	}
	answer := c.Spec.OCSP
	answer.Delay += 2 * c.Load.RTT
	v.responder, err = server.StartResponder(answer, ca)
	return v, err
}

func (v *visitor) Close() {
	if v.responder != nil {
		v.responder.Close()
	}
}

// visit returns how long it took from the planned instant until the first byte
// of the response could be used, and whether the CA was asked.
func (v *visitor) visit(ctx context.Context, s *server.Server) (time.Duration, bool, error) {
	cfg := at(v.cell.plan, s).Config
	cfg.Mode, cfg.Work, cfg.Roots, cfg.Complete = shakedown.ModeFull, shakedown.WorkFull, s.Roots, shakedown.CompleteResponse
	r, err := probe(ctx, s, &cfg, v.cell.Load.RTT)
	if err != nil {
		return 0, false, fmt.Errorf("a visit failed: %w", err)
	}
	response, ok := r.Phases.At(shakedown.PhaseResponse)
	if !ok {
		return 0, false, fmt.Errorf("a visit got no response")
	}
	if v.responder == nil || r.Observed.Staple != nil {
		return response, false, nil
	}
	begun := time.Now()
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	if _, _, err := server.QueryOCSP(ctx, v.responder.URL(), v.about); err != nil {
		return 0, false, fmt.Errorf("asking the CA: %w", err)
	}
	// The question comes before the request is sent, but takes as long after it.
	return response + time.Since(begun), true, nil
}
