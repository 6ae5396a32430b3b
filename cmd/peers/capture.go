//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"

	"shakedown"
	"shakedown/internal/server"
)

// checkCapture holds the latencies that bench tells against those of a packet
// capture of the same run: an open loop at half of nginx's rate. In the capture a
// handshake of TLS 1.3 lasts from the SYN to the client's Finished, its second
// packet with data.
func (o *options) checkCapture(ctx context.Context, dir string, stdout io.Writer) error {
	if _, err := exec.LookPath("tcpdump"); err != nil {
		return errors.New("tcpdump is not installed: apt-get install tcpdump")
	}
	s, err := (server.Nginx{}).Start(ctx, server.Spec{
		Certificates: []server.KeyKind{server.P256}, CPUs: o.serverCPU, Versions: []shakedown.Version{shakedown.TLS13},
	}, filepath.Join(dir, "nginx"))
	if err != nil {
		return err
	}
	defer s.Stop()
	cost, err := o.serverTime(ctx, s, setup{certificate: server.P256, version: "1.3"})
	if err != nil {
		return err
	}
	rate := 0.5 / cost.Seconds()
	file := filepath.Join(dir, "capture.pcap")
	// On the server's core, where it delays what both see and not the load alone.
	dump := exec.CommandContext(ctx, "taskset", "-c", o.serverCPU, "tcpdump", "-i", "lo", "-s", "80", "-B", "65536", "-w", file, "tcp port "+strconv.Itoa(int(s.Addr.Port())))
	words, err := dump.StderrPipe()
	if err != nil {
		return err
	}
	if err := dump.Start(); err != nil {
		return err
	}
	if _, err := bufio.NewReader(words).ReadString('\n'); err != nil { // "listening on lo"
		return fmt.Errorf("tcpdump did not start: %w", err)
	}
	go io.Copy(io.Discard, words)
	args := []string{
		"-c", o.clientCPU, o.shakedown, "bench", s.Addr.String(), "--sni", s.Name, "--version", "1.3", "--group", "x25519", "--work", "minimal",
		"--threads", "1", "--rate", strconv.FormatFloat(rate, 'f', 0, 64), "--poisson", "--connections", "1000",
		"--duration", strconv.Itoa(max(int(o.length.Seconds()), 5)) + "s", "--warmup", "0s", "-o", "json",
	}
	out, err := exec.CommandContext(ctx, "taskset", args...).Output()
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	time.Sleep(1500 * time.Millisecond) // its buffer comes once a second
	dump.Process.Signal(os.Interrupt)
	dump.Wait()
	var told struct {
		Latency struct {
			Total struct {
				N   int64         `json:"n"`
				P50 time.Duration `json:"p50_ns"`
				P99 time.Duration `json:"p99_ns"`
			} `json:"total"`
		} `json:"latency"`
	}
	if err := json.Unmarshal(out, &told); err != nil {
		return err
	}
	seen, err := readCapture(file, s.Addr.Port())
	if err != nil {
		return err
	}
	if len(seen) == 0 {
		return errors.New("the capture holds no whole handshake")
	}
	fmt.Fprintf(stdout, "open loop at %.0f/s, Poisson, half of what nginx can do on one core\n", rate)
	tw := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "latency from SYN to Finished\tn\tp50\tp99")
	p50, p99 := quantile(seen, 0.50), quantile(seen, 0.99)
	fmt.Fprintf(tw, "packet capture\t%d\t%s\t%s\n", len(seen), p50, p99)
	t := told.Latency.Total
	fmt.Fprintf(tw, "bench, from the planned instant\t%d\t%s\t%s\n", t.N, t.P50, t.P99)
	fmt.Fprintf(tw, "difference\t\t%s (%+.1f%%)\t%s (%+.1f%%)\n", t.P50-p50, 100*(float64(t.P50)/float64(p50)-1), t.P99-p99, 100*(float64(t.P99)/float64(p99)-1))
	return tw.Flush()
}

func quantile(sorted []time.Duration, q float64) time.Duration {
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

// readCapture returns the sorted durations of all whole handshakes in a pcap
// file of packets over lo (Ethernet headers, IPv4).
func readCapture(file string, port uint16) (all []time.Duration, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := bufio.NewReader(f)
	var head [24]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	unit := time.Microsecond
	switch binary.LittleEndian.Uint32(head[:]) {
	case 0xA1B2C3D4:
	case 0xA1B23C4D:
		unit = time.Nanosecond
	default:
		return nil, errors.New("not a pcap file of this byte order")
	}
	type flow struct {
		begin time.Duration
		data  int
	}
	flows := map[uint16]*flow{}
	for {
		var h [16]byte
		if _, err := io.ReadFull(r, h[:]); err != nil {
			break // the end, or a packet that was being written
		}
		at := time.Duration(binary.LittleEndian.Uint32(h[:]))*time.Second + time.Duration(binary.LittleEndian.Uint32(h[4:]))*unit
		packet := make([]byte, binary.LittleEndian.Uint32(h[8:]))
		if _, err := io.ReadFull(r, packet); err != nil {
			break
		}
		const ethernet = 14
		if len(packet) < ethernet+40 || packet[ethernet]>>4 != 4 {
			continue
		}
		ip := packet[ethernet:]
		tcp := ip[int(ip[0]&15)*4:]
		if len(tcp) < 20 || binary.BigEndian.Uint16(tcp[2:]) != port {
			continue // from the server
		}
		source, flags := binary.BigEndian.Uint16(tcp), tcp[13]
		payload := int(binary.BigEndian.Uint16(ip[2:])) - int(ip[0]&15)*4 - int(tcp[12]>>4)*4
		const syn = 2
		if flags&syn != 0 {
			flows[source] = &flow{begin: at}
		} else if c := flows[source]; c != nil && payload > 0 {
			if c.data++; c.data == 2 {
				all = append(all, at-c.begin)
			}
		}
	}
	slices.Sort(all)
	return all, nil
}
