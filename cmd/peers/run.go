//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"shakedown"
	"shakedown/handshake"
	"shakedown/internal/server"
	"shakedown/internal/stats"
)

type options struct {
	rounds      int
	length      time.Duration
	serverCPU   string
	clientCPU   string
	connections int
	only        string
	capture     bool

	self        string
	shakedown   string // the binary under test
	bareAddress string
	flights     map[setup]string
	spin        map[setup]time.Duration // of the server without TLS
}

// sample is what one tool did in one round.
type sample struct {
	connections int64
	resumed     int64 // as far as nginx tells
	told        int64 // of those, it told whether they resumed
	cpu         time.Duration
}

func run(ctx context.Context, o options, stdout, stderr io.Writer) error {
	dir, err := os.MkdirTemp("", "shakedown-peers-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := o.prepare(ctx, dir, stderr); err != nil {
		return err
	}
	if o.capture {
		return o.checkCapture(ctx, dir, stdout)
	}
	bareServer, err := o.startBare(ctx)
	if err != nil {
		return err
	}
	defer bareServer()
	o.flights, o.spin = make(map[setup]string), make(map[setup]time.Duration)
	for _, u := range setups() {
		if !strings.Contains(u.String(), o.only) {
			continue
		}
		if err := o.compare(ctx, dir, u, stdout, stderr); err != nil {
			return fmt.Errorf("%s: %w", u, err)
		}
	}
	return nil
}

// prepare builds the binary under test and finds out what is there.
func (o *options) prepare(ctx context.Context, dir string, stderr io.Writer) (err error) {
	if err := (server.Nginx{}).Available(); err != nil {
		return err
	}
	if o.self, err = os.Executable(); err != nil {
		return err
	}
	o.shakedown = filepath.Join(dir, "shakedown")
	build := exec.CommandContext(ctx, "go", "build", "-o", o.shakedown, "./cmd/shakedown")
	build.Stderr = stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("building shakedown (run this from the module's root): %w", err)
	}
	for _, t := range tools() {
		if !t.available() {
			fmt.Fprintf(stderr, "%s is not installed and left out\n", t.program)
		}
	}
	return nil
}

// startBare starts the server without TLS, on the server's core.
func (o *options) startBare(ctx context.Context) (stop func(), err error) {
	cmd := exec.CommandContext(ctx, "taskset", "-c", o.serverCPU, o.self, "bare", "-role", "server")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	o.bareAddress = strings.TrimSpace(line)
	return func() { cmd.Process.Kill(); cmd.Wait() }, err
}

// compare measures every tool in one setup, in rounds of shuffled order.
func (o *options) compare(ctx context.Context, dir string, u setup, stdout, stderr io.Writer) error {
	spec := server.Spec{
		Certificates: []server.KeyKind{u.certificate}, CPUs: o.serverCPU, Cache: server.CacheShared,
		Versions: []shakedown.Version{version(u)}, PKI: filepath.Join(dir, "pki"),
	}
	list := slices.DeleteFunc(tools(), func(t tool) bool { return !t.available() })
	samples := make(map[string][]sample)
	rng := rand.New(rand.NewPCG(1, uint64(len(samples))))
	for round := range o.rounds {
		s, err := (server.Nginx{}).Start(ctx, spec, filepath.Join(dir, "nginx"))
		if err != nil {
			return err
		}
		if o.flights[u], err = measureFlights(ctx, s, u); err != nil {
			s.Stop()
			return err
		}
		if o.spin[u] == 0 {
			if o.spin[u], err = o.serverTime(ctx, s, u); err != nil {
				s.Stop()
				return err
			}
		}
		rng.Shuffle(len(list), func(a, b int) { list[a], list[b] = list[b], list[a] })
		for _, t := range list {
			got, err := o.measure(ctx, &t, s, u)
			if err != nil {
				s.Stop()
				return fmt.Errorf("round %d: %s: %w", round+1, t.name, err)
			}
			if got != nil {
				samples[t.name] = append(samples[t.name], *got)
			}
		}
		if err := s.Stop(); err != nil {
			return err
		}
	}
	return show(stdout, u, samples)
}

func version(u setup) shakedown.Version {
	if u.version == "1.2" {
		return shakedown.TLS12
	}
	return shakedown.TLS13
}

// measureFlights takes one handshake and returns the bytes of its flights.
func measureFlights(ctx context.Context, s *server.Server, u setup) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	cfg := handshake.Config{
		ServerName: s.Name, Versions: []shakedown.Version{version(u)}, Work: shakedown.WorkMinimal,
		Groups: []shakedown.Group{shakedown.X25519, shakedown.Secp256r1},
	}
	if u.resume {
		cfg.Mode = shakedown.ModeTicket
		if u.version == "1.3" {
			cfg.Mode = shakedown.ModePSK
		}
	}
	client, err := handshake.NewClient(&cfg)
	if err != nil {
		return "", err
	}
	var session *handshake.Session
	if u.resume {
		conn, err := net.Dial("tcp", s.Addr.String())
		if err != nil {
			return "", err
		}
		session, err = handshake.Fetch(ctx, conn, client)
		conn.Close()
		if err != nil {
			return "", err
		}
	}
	conn, err := net.Dial("tcp", s.Addr.String())
	if err != nil {
		return "", err
	}
	defer conn.Close()
	c := handshake.NewConn(conn, client, time.Now(), handshake.Recorder{})
	if err := c.Handshake(ctx, session); err != nil {
		return "", err
	}
	if f := c.Result.Failure; f != nil {
		return "", f
	}
	var sizes []string
	for _, f := range c.Result.Observed.Flights {
		sizes = append(sizes, strconv.Itoa(f.Bytes))
	}
	return strings.Join(sizes, ":"), nil
}

// serverTime returns the CPU time that nginx takes for a handshake of this setup.
func (o *options) serverTime(ctx context.Context, s *server.Server, u setup) (time.Duration, error) {
	command := ours("minimal")(o, s, u, "1")
	out, err := exec.CommandContext(ctx, "taskset", append([]string{"-c", o.clientCPU}, command...)...).Output()
	if err != nil {
		return 0, fmt.Errorf("measuring nginx: %w", err)
	}
	var got struct {
		Summary struct {
			CPU *int64 `json:"server_cpu_per_handshake_ns"`
		} `json:"summary"`
	}
	if err := json.Unmarshal(out, &got); err != nil {
		return 0, err
	}
	if got.Summary.CPU == nil {
		return 0, errors.New("nginx's CPU time was not seen")
	}
	return time.Duration(*got.Summary.CPU), nil
}

// measure runs one tool for its time.
func (o *options) measure(ctx context.Context, t *tool, s *server.Server, u setup) (*sample, error) {
	command := t.command(o, s, u, strconv.Itoa(max(int(o.length.Seconds()), 1)))
	if command == nil {
		return nil, nil
	}
	before, err := s.Connections(ctx)
	if err != nil {
		return nil, err
	}
	limit, cancel := context.WithTimeout(ctx, o.length+30*time.Second)
	defer cancel()
	var out, words bytes.Buffer
	cmd := exec.CommandContext(limit, "taskset", append([]string{"-c", o.clientCPU}, command...)...)
	cmd.Stdout, cmd.Stderr = &out, &words
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, lastLine(words.String()))
	}
	got := &sample{cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
	if t.name == bareName {
		_, err := fmt.Sscanf(out.String(), `{"connections":%d}`, &got.connections)
		return got, err
	}
	time.Sleep(100 * time.Millisecond) // nginx writes its log when a connection ends
	after, err := s.Connections(ctx)
	if err != nil {
		return nil, err
	}
	// The account itself asks nginx's status page over plain HTTP elsewhere.
	got.connections = after.Accepted - before.Accepted
	got.resumed = after.Resumed - before.Resumed
	got.told = after.Full + after.Resumed - before.Full - before.Resumed
	if got.connections == 0 {
		return nil, errors.New("nginx saw no connection of it: " + lastLine(words.String()+out.String()))
	}
	return got, nil
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}

// show prints the setup's table: medians over rounds and ratios to our minimal
// work, paired by round.
func show(w io.Writer, u setup, samples map[string][]sample) error {
	fmt.Fprintf(w, "\n%s\n", u)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "client\thandshakes\tper client CPU second (95%)\tCPU each\tresumed\tminimal is\trounds")
	reference := rates(samples["shakedown minimal"])
	for _, t := range tools() {
		list := samples[t.name]
		if len(list) == 0 {
			continue
		}
		own := rates(list)
		e := stats.Median(own)
		var total, resumed, told int64
		var cpu time.Duration
		for _, s := range list {
			total, resumed, told, cpu = total+s.connections, resumed+s.resumed, told+s.told, cpu+s.cpu
		}
		ratio := ""
		if t.name != "shakedown minimal" && len(own) == len(reference) {
			c, err := stats.ComparePaired(own, reference, 0.05)
			if err != nil {
				return err
			}
			ratio = fmt.Sprintf("%.2fx [%.2f, %.2f]", c.Ratio, c.Low, c.High)
		}
		share := "not told by nginx"
		if told > 0 {
			share = fmt.Sprintf("%.1f%% of %d", 100*float64(resumed)/float64(told), told)
		}
		if t.name == bareName {
			share = "-"
		}
		fmt.Fprintf(tw, "%s\t%d\t%.0f [%.0f, %.0f]\t%s\t%s\t%s\t%d\n", t.name, total, e.Median, e.Low, e.High,
			(cpu / time.Duration(total)).Round(100*time.Nanosecond), share, ratio, len(list))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	for _, t := range tools() {
		if t.note != "" && len(samples[t.name]) > 0 {
			fmt.Fprintf(w, "%s: %s\n", t.name, t.note)
		}
	}
	return nil
}

func rates(list []sample) (out []float64) {
	for _, s := range list {
		out = append(out, float64(s.connections)/s.cpu.Seconds())
	}
	return out
}
