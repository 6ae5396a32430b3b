// Shakedown tells what a TLS handshake costs on a server, which settings make
// it cost that, and what to change.
//
//	shakedown VERB [flags] [TARGET]
//
// Data goes to stdout, words to stderr. Exit codes: 0 done and nothing to
// complain of, 1 done but something was not met, 2 could not be done.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(run()) }

// run is main as a function that returns. The first ^C ends the run, which
// still reports; a second one ends the program at once.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // the signal has its usual effect again
	return Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}
