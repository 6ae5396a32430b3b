package certificate

import "bytes"

// cacheSize bounds a Cache, in chains: a server with several certificates, or a
// fleet behind one name, sends a few. One that sends a new chain every time
// costs a parse every time, and no more memory than this many chains.
const cacheSize = 64

// Cache keeps the distinct chains that were received, each parsed once. The
// zero value is ready. It has no lock: every load thread has its own.
type Cache struct {
	chains []*Parsed
	last   int // index of the last hit
	oldest int // index that the next new chain takes once the cache is full
}

// Lookup returns the chain with exactly these bytes, the same *Parsed each
// time while it stays in the cache. It copies bytes only if the chain is new,
// and allocates nothing if it is not. The only error is that of [Parse].
func (c *Cache) Lookup(list [][]byte) (*Parsed, error) {
	// Nearly every handshake finds the last chain again. For the others a scan
	// is as fast as a hash of kilobytes: chains differ in length or in their
	// first bytes, with the leaf's serial number.
	if len(c.chains) > 0 && c.chains[c.last].is(list) {
		return c.chains[c.last], nil
	}
	for i, p := range c.chains {
		if p.is(list) {
			c.last = i
			return p, nil
		}
	}
	p, err := Parse(list)
	if err != nil {
		return nil, err
	}
	if len(c.chains) < cacheSize {
		c.last = len(c.chains)
		c.chains = append(c.chains, p)
		return p, nil
	}
	c.last, c.chains[c.oldest] = c.oldest, p
	c.oldest = (c.oldest + 1) % cacheSize
	return p, nil
}

// is reports whether p was parsed from these bytes.
func (p *Parsed) is(list [][]byte) bool {
	if len(p.DER) != len(list) {
		return false
	}
	for i, der := range p.DER {
		if !bytes.Equal(der, list[i]) {
			return false
		}
	}
	return true
}
