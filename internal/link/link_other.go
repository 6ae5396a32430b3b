//go:build !linux

package link

import (
	"errors"
	"net/netip"
)

// Link is a network between a namespace of its own and the servers of this
// machine, which this system cannot make.
type Link struct{}

// Open returns an error: there is no link on this system.
func Open(Config, []netip.AddrPort) (*Link, error) {
	return nil, errors.New("link: emulating a network is not supported on this system, only on Linux; --rtt holds flights back without it")
}

// Go is not called, since there is no Link.
func (*Link) Go(func()) error { return errors.ErrUnsupported }

// Stats is not called, since there is no Link.
func (*Link) Stats() (Stats, error) { return Stats{}, errors.ErrUnsupported }

// Close is not called, since there is no Link.
func (*Link) Close() error { return nil }
