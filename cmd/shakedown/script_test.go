package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"shakedown/internal/server"
)

// TestMain lets the scripts run this test binary as the command shakedown.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"shakedown": main})
}

// TestScript runs the scripts of testdata/script: the program as it is typed.
// Each script has a server of its own, with an ECDSA certificate:
//
//	$ADDR  its address and $PORT    $NAME  the name to ask for
//	$CA    the roots to trust       $CLOSED  an address where nothing listens
//
// The command "exits CODE shakedown ..." is exec with the exit code to expect.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
		Setup: func(env *testscript.Env) error {
			dir := filepath.Join(env.WorkDir, ".server")
			spec := server.Spec{Certificates: []server.KeyKind{server.P256}}
			// In a process of its own: its CPU time is not to be that of the load.
			s, err := startEmbedded(context.Background(), "shakedown", spec, dir)
			if err != nil {
				return err
			}
			env.Defer(func() { s.stop() }) //nolint:errcheck // what matters is that it ends
			env.Setenv("ADDR", s.Addr.String())
			env.Setenv("PORT", strconv.Itoa(int(s.Addr.Port())))
			// The first port is for the superuser; a free one might be taken by the
			// server of another script.
			env.Setenv("CLOSED", "127.0.0.1:1")
			env.Setenv("NAME", s.Name)
			env.Setenv("CA", filepath.Join(dir, "roots.pem"))
			// A test must not depend on the certificates installed.
			env.Setenv("SSL_CERT_FILE", os.DevNull)
			env.Setenv("SSL_CERT_DIR", env.WorkDir)
			return nil
		},
	})
}

// exits runs a program that is to end with a certain code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits code program [args...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		failed, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = failed.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}
