package check

import (
	"testing"

	"shakedown/internal/server"
)

func TestTry(t *testing.T) {
	s := startServer(t, server.Nginx{}, server.Spec{Workers: 4})
	r := check(t, Plan{}, s)
	t.Log(r.Duration)
}
