package lab

import "testing"

func TestBuiltin(t *testing.T) {
	all, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		cells, err := p.Cells()
		if err != nil {
			t.Fatal(err)
		}
		t.Log(p.Name, len(cells), len(Possible(cells)), p.Needed(cells))
		for _, c := range cells {
			if c.Impossible != "" {
				t.Log(c.Name, c.Impossible)
			}
		}
	}
}
