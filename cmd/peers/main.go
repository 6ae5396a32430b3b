//go:build linux

// Command peers measures Shakedown beside other load generators, on an nginx of
// its own, in one interleaved run: `make bench`.
//
// What is compared is the work of the client: handshakes per second of the
// client's own CPU time, user and system, as the kernel accounts it for the
// child process. Handshakes are those that nginx counted, so that a tool that
// resumes where it should not, or does not where it should, is seen to. Machines
// are shared and noisy: only ratios within this one run say anything.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"
)

func main() {
	if len(os.Args) > 2 && os.Args[1] == "bare" {
		os.Exit(bareMain(os.Args[2:]))
	}
	var o options
	flag.IntVar(&o.rounds, "rounds", 7, "rounds, each with every tool in another order")
	flag.DurationVar(&o.length, "length", time.Second, "time for each tool in each round")
	flag.StringVar(&o.serverCPU, "server-cpu", "0", "core of the server")
	flag.StringVar(&o.clientCPU, "client-cpu", "1", "core of the clients")
	flag.IntVar(&o.connections, "connections", 32, "connections at once, for the tools that have several")
	flag.StringVar(&o.only, "only", "", "measure only the setups whose name holds this text")
	flag.BoolVar(&o.capture, "capture", false, "hold bench's latencies against a packet capture instead (needs root and tcpdump)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(2)
	}
}
