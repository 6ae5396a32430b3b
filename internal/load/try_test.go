package load_test

import (
	"encoding/json"
	"os"
	"testing"
	"time"
	"fmt"

	"shakedown"
	"shakedown/handshake"
	"shakedown/internal/load"
	"shakedown/internal/server"
)

func TestTry(t *testing.T) {
	s := startServer(t, server.Nginx{}, server.Spec{Certificates: []server.KeyKind{server.P256}, CPUs: "0"})
	p := plan(s)
	p.CPUs = []int{1}
	p.Connections = 32
	p.Count = 0
	p.Duration = 4 * time.Second
	p.Warmup = time.Second
	p.ServerPIDs = []int{s.PID}
	p.Config = handshake.Config{ServerName: s.Name, Work: shakedown.WorkMinimal, Versions: []shakedown.Version{shakedown.TLS13}, Groups: []shakedown.Group{shakedown.X25519}}
	sum, err := load.Run(t.Context(), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("per s", sum.PerSecond, "client", sum.Client.PerHandshake, "user", sum.Client.User, sum.Client.CPU, "server", sum.Server.PerHandshake, sum.Limit)
	json.NewEncoder(os.Stdout).Encode(sum)
}
