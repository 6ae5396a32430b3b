//go:build linux

package main

import (
	"fmt"
	"os/exec"
	"strconv"

	"shakedown/internal/server"
)

// tool is one load generator.
type tool struct {
	name string
	// command returns what to run against s for n seconds, or nil if the tool
	// cannot do the setup.
	command func(o *options, s *server.Server, u setup, seconds string) []string
	// program that has to be installed; "" is part of this module.
	program string
	note    string
}

// setup is what every tool is to do.
type setup struct {
	certificate server.KeyKind
	version     string // 1.2 or 1.3
	resume      bool
}

func (u setup) String() string {
	mode := "full"
	if u.resume {
		mode = "resumed"
	}
	return fmt.Sprintf("%s TLS %s %s", u.certificate, u.version, mode)
}

func setups() (all []setup) {
	for _, version := range []string{"1.3", "1.2"} {
		for _, resume := range []bool{false, true} {
			for _, certificate := range []server.KeyKind{server.P256, server.RSA2048} {
				all = append(all, setup{certificate, version, resume})
			}
		}
	}
	return all
}

const bareName = "bare TCP"

// tools lists ours first: ratios are told against it.
func tools() []tool {
	return []tool{
		{name: "shakedown minimal", command: ours("minimal")},
		{name: "shakedown full", command: ours("full")},
		{name: bareName, command: bare, note: "connect, send, receive, send, reset: the same bytes at the same pace and no TLS"},
		{name: "s_time", program: "openssl", command: sTime},
		{name: "wrk", program: "wrk", command: wrk, note: "Connection: close; it resumes nearly every handshake by itself"},
		{name: "ab", program: "ab", command: ab},
		{name: "hey", program: "hey", command: hey},
	}
}

func ours(work string) func(*options, *server.Server, setup, string) []string {
	return func(o *options, s *server.Server, u setup, seconds string) []string {
		mode := "full"
		switch {
		case u.resume && u.version == "1.3":
			mode = "psk"
		case u.resume:
			mode = "ticket"
		}
		args := []string{
			o.shakedown, "bench", s.Addr.String(), "--sni", s.Name, "--version", u.version, "--group", "x25519,secp256r1",
			"--mode", mode, "--work", work, "--connections", strconv.Itoa(o.connections), "--threads", "1",
			"--duration", seconds + "s", "--warmup", "0s", "-o", "json",
		}
		if work == "full" {
			args = append(args, "--ca", s.RootsFile)
		}
		return args
	}
}

func sTime(_ *options, s *server.Server, u setup, seconds string) []string {
	version, mode := "-tls1_3", "-new"
	if u.version == "1.2" {
		version = "-tls1_2"
	}
	args := []string{"openssl", "s_time", "-connect", s.Addr.String(), "-time", seconds, version}
	if u.resume {
		mode = "-reuse"
		if u.version == "1.3" {
			args = append(args, "-www", "/") // else it never reads a ticket
		}
	}
	return append(args, mode)
}

// wrk cannot be told not to resume.
func wrk(o *options, s *server.Server, u setup, seconds string) []string {
	if u.version == "1.2" {
		return nil // it takes the highest version
	}
	return []string{"wrk", "-t", "1", "-c", strconv.Itoa(o.connections), "-d", seconds + "s", "-H", "Connection: close", "https://" + s.Addr.String() + "/"}
}

func ab(o *options, s *server.Server, u setup, seconds string) []string {
	if u.resume {
		return nil
	}
	protocol := "TLS1.3"
	if u.version == "1.2" {
		protocol = "TLS1.2"
	}
	return []string{"ab", "-q", "-f", protocol, "-c", strconv.Itoa(o.connections), "-t", seconds, "-n", "1000000", "https://" + s.Addr.String() + "/"}
}

func hey(o *options, s *server.Server, u setup, seconds string) []string {
	if u.resume || u.version == "1.2" {
		return nil
	}
	return []string{"hey", "-disable-keepalive", "-cpus", "1", "-c", strconv.Itoa(o.connections), "-z", seconds + "s", "https://" + s.Addr.String() + "/"}
}

func (t *tool) available() bool {
	if t.program == "" {
		return true
	}
	_, err := exec.LookPath(t.program)
	return err == nil
}
