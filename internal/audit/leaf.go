package audit

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"shakedown"
	"shakedown/handshake"
	"shakedown/internal/check"
)

// leaf is a certificate that the server showed.
type leaf struct {
	kind string // RSA or ECDSA, as cipher suites name it
	key  string
	der  []byte
	err  error // it was not had
}

var schemes = map[string][]shakedown.SignatureScheme{
	"RSA":   {shakedown.RSAPSSRSAESHA256, shakedown.RSAPSSRSAESHA384, shakedown.RSAPSSRSAESHA512, shakedown.RSAPKCS1SHA256, shakedown.RSAPKCS1SHA384, shakedown.RSAPKCS1SHA512},
	"ECDSA": {shakedown.ECDSASecp256r1, shakedown.ECDSASecp384r1, shakedown.ECDSASecp521r1, shakedown.Ed25519},
}

// leaves takes a handshake for each kind of certificate that check found, for the bytes of it: check tells what it is, not
// which.
func (p *Plan) leaves(ctx context.Context, address netip.AddrPort, name string, seen *check.Observation) []leaf {
	var list []leaf
	asked := map[string]bool{}
	for _, c := range seen.Certificates {
		kind := "ECDSA"
		if strings.HasPrefix(c.Chain.Key(), "RSA") {
			kind = "RSA"
		}
		if asked[kind] {
			continue // two nodes with different ones, perhaps: which comes is left to chance
		}
		asked[kind] = true
		l := leaf{kind: kind, key: c.Chain.Key()}
		l.der, l.err = p.fetch(ctx, address, handshake.Config{ServerName: name, Versions: c.Versions, SignatureSchemes: schemes[kind]})
		list = append(list, l)
	}
	return list
}

func (p *Plan) fetch(ctx context.Context, address netip.AddrPort, cfg handshake.Config) ([]byte, error) {
	limit := p.Timeout
	if limit == 0 {
		limit = check.DefaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	client, err := handshake.NewClient(&cfg)
	if err != nil {
		return nil, err
	}
	planned := time.Now()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address.String())
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	c := handshake.NewConn(conn, client, planned, handshake.Recorder{})
	if err := c.Handshake(ctx, nil); err != nil {
		return nil, err
	}
	if f := c.Result.Failure; f != nil {
		return nil, fmt.Errorf("%s", f.Text)
	}
	chain := c.Machine.Certificates()
	if len(chain) == 0 {
		return nil, fmt.Errorf("no certificate came")
	}
	return chain[0], nil
}

// fingerprint is the beginning of the SHA-256, enough to tell certificates apart.
func fingerprint(der []byte) string {
	sum := sha256.Sum256(der)
	return fmt.Sprintf("SHA-256 %X...", sum[:8])
}
