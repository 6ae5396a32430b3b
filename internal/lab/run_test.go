package lab

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

func TestTiny(t *testing.T) {
	for _, d := range []string{"embedded", "nginx"} {
		t.Run(d, func(t *testing.T) {
			p, err := Open("combined")
			if err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(t.TempDir(), "run")
			r, err := Run(t.Context(), p, Options{Dir: dir, Overrides: Overrides{Server: d, Rounds: 2, Turn: 200e6}, Command: []string{os.Args[0], serveArgument}, Say: func(s string) {}, Warn: func(s string) { t.Log(s) }})
			if err != nil {
				t.Fatal(err)
			}
			o, err := Analyse(r)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := json.MarshalIndent(o, "", " ")
			os.WriteFile("/tmp/labwork/"+d+".json", text, 0o600)
		})
	}
}
