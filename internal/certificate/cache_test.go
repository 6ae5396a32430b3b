package certificate

import (
	"slices"
	"testing"
)

func TestCache(t *testing.T) {
	w := theWorld()
	var c Cache
	a, b := chain(w.leaf, w.intermediate), chain(w.leaf)
	lookup := func(list [][]byte) *Parsed {
		t.Helper()
		p, err := c.Lookup(list)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	pa, pb := lookup(a), lookup(b)
	if pa == pb || lookup(a) != pa || lookup(b) != pb {
		t.Error("chains are mixed up")
	}
	// Equal bytes elsewhere are the same chain; one byte less or a boundary moved is another.
	if p := lookup([][]byte{slices.Clone(a[0]), slices.Clone(a[1])}); p != pa {
		t.Error("equal bytes were not found")
	}
	if p := lookup([][]byte{a[0], a[1][:len(a[1])-1]}); p == pa {
		t.Error("a shorter chain was found")
	}
	joined := slices.Concat(a[0], a[1])
	if p := lookup([][]byte{joined[:len(a[0])+1], joined[len(a[0])+1:]}); p == pa {
		t.Error("a chain with other boundaries was found")
	}
	if _, err := c.Lookup(nil); err == nil {
		t.Error("no error for no certificate")
	}
}

// TestCacheBound: the oldest chain is dropped for the 65th.
func TestCacheBound(t *testing.T) {
	var c Cache
	lookup := func(i int) *Parsed {
		p, err := c.Lookup([][]byte{{byte(i)}})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	var first [cacheSize + 3]*Parsed
	for i := range first {
		first[i] = lookup(i)
	}
	if len(c.chains) != cacheSize {
		t.Errorf("%d chains are kept", len(c.chains))
	}
	for i := 3; i < len(first); i++ {
		if lookup(i) != first[i] {
			t.Errorf("chain %d was dropped", i)
		}
	}
	for i := range 3 {
		if lookup(i) == first[i] {
			t.Errorf("chain %d was kept", i)
		}
	}
}

func TestCacheHitAllocatesNothing(t *testing.T) {
	w := theWorld()
	var c Cache
	a, b := chain(w.leaf, w.intermediate), chain(w.leaf, w.intermediate, w.root)
	n := testing.AllocsPerRun(100, func() {
		c.Lookup(a) //nolint:errcheck // it is not empty
		c.Lookup(a) //nolint:errcheck
		c.Lookup(b) //nolint:errcheck
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkLookup(b *testing.B) {
	w := theWorld()
	b.Run("last", func(b *testing.B) {
		var c Cache
		list := chain(w.leaf, w.intermediate)
		b.ReportAllocs()
		for b.Loop() {
			c.Lookup(list) //nolint:errcheck
		}
	})
	b.Run("other", func(b *testing.B) { // the worst: the cache is full and the last two alternate
		var c Cache
		var lists [][][]byte
		for range cacheSize {
			lists = append(lists, chain(issue(leafTemplate(), w.leaf.key, w.intermediate), w.intermediate))
			c.Lookup(lists[len(lists)-1]) //nolint:errcheck
		}
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			c.Lookup(lists[cacheSize-1-i%2]) //nolint:errcheck
		}
	})
	b.Run("new", func(b *testing.B) {
		list := chain(w.leaf, w.intermediate)
		b.ReportAllocs()
		for b.Loop() {
			Parse(list) //nolint:errcheck
		}
	})
}

func BenchmarkVerify(b *testing.B) {
	w := theWorld()
	p, roots := parse(b, chain(w.leaf, w.intermediate)...), w.roots()
	b.ReportAllocs()
	for b.Loop() {
		if err := Verify(p, roots, "server.test", now); err != nil {
			b.Fatal(err)
		}
	}
}
