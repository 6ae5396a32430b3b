package lab

import (
	"context"
	"fmt"
	"os"
	"testing"

	"shakedown/internal/server"
)

// serveArgument makes the test program the process of an embedded server.
const serveArgument = "serve-embedded-for-test"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == serveArgument {
		if err := server.ServeEmbedded(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}
