package host

import (
	"bytes"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	statText = "4321 (a (b) c) S 17 4321 4321 0 -1 4194560 1 2 3 4 5 6 70 8 20 0 1 0 91234 0 0 18446744073709551615 0\n"

	cpuText = "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\nintr 5\n"

	netstatText = "TcpExt: SyncookiesSent ListenOverflows ListenDrops TCPTimeouts\n" +
		"TcpExt: 1 22 333 4444\n" +
		"IpExt: InNoRoutes\nIpExt: 0\n"

	tcpText = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n" +
		"   0: 0100007F:01BB 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1234 1 0000000000000000 100 0 0 10 0\n" +
		"   1: 0100007F:01BB 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 1235 1 0000000000000000 20 4 30 10 -1\n"

	tcp6Text = "  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n" +
		"   0: 00000000000000000000000001000000:20FB 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 77 1 0000000000000000 100 0 0 10 0\n" +
		"   1: 0000000000000000FFFF00000100007F:20FB 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 78 1 0000000000000000 100 0 0 10 0\n"
)

// littleEndianOnly skips where /proc has the bytes of addresses in other order
// than the texts above.
func littleEndianOnly(t *testing.T) {
	t.Helper()
	if _, err := parseHexAddress("0100007F:01BB"); err != nil {
		t.Fatal(err)
	}
	if a, _ := parseHexAddress("0100007F:01BB"); a.Addr() != netip.MustParseAddr("127.0.0.1") {
		t.Skip("the recorded /proc/net/tcp is of a little-endian machine; run on one")
	}
}

func TestParseStat(t *testing.T) {
	got, err := parseStat([]byte(statText))
	want := stat{pid: 4321, parent: 17, name: "a (b) c", children: 780 * time.Millisecond, start: 91234}
	if err != nil || got != want {
		t.Errorf("parsed %+v, %v; want %+v", got, err, want)
	}
	if got, err := parseStat([]byte(strings.Replace(statText, " S ", " Z ", 1))); err != nil || !got.zombie {
		t.Errorf("a zombie is parsed as %+v, %v", got, err)
	}
	refusePrefixes(t, statText, func(data []byte) error { _, err := parseStat(data); return err })
	if own, err := processes(); err != nil || own[os.Getpid()].parent != os.Getppid() {
		t.Errorf("this process has the parent %d, %v; want %d", own[os.Getpid()].parent, err, os.Getppid())
	}
}

// refusePrefixes checks that no truncation of a text is taken for the whole.
func refusePrefixes(t *testing.T, text string, parse func([]byte) error) {
	t.Helper()
	for n := range text {
		if parse([]byte(text[:n])) == nil {
			t.Errorf("%q, cut after %d bytes, was accepted", text, n)
		}
	}
}

func TestParseSchedstat(t *testing.T) {
	const text = "744568782 2039573 55\n"
	cpu, wait, err := parseSchedstat([]byte(text))
	if err != nil || cpu != 744568782 || wait != 2039573 {
		t.Errorf("parsed %d, %d, %v", cpu, wait, err)
	}
	refusePrefixes(t, text, func(data []byte) error { _, _, err := parseSchedstat(data); return err })
	for _, bad := range []string{"a 1 1\n", "1 b 1\n", "1 1 1 1\n", "99999999999999999999 1 1\n"} {
		if _, _, err := parseSchedstat([]byte(bad)); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestParseField(t *testing.T) {
	const text = "Name:\tx\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t345\n"
	for name, want := range map[string]int64{"voluntary_ctxt_switches:": 12, "nonvoluntary_ctxt_switches:": 345} {
		if got, err := parseField([]byte(text), name); err != nil || got != want {
			t.Errorf("%s parsed as %d, %v; want %d", name, got, err, want)
		}
	}
	refusePrefixes(t, text, func(data []byte) error {
		_, err := parseField(data, "nonvoluntary_ctxt_switches:")
		return err
	})
	if _, err := parseField([]byte(text), "Name:"); err == nil {
		t.Error("a word was taken for a number")
	}
}

func TestParseCPUTimes(t *testing.T) {
	got, err := parseCPUTimes([]byte(cpuText))
	if want := (CPUTimes{1, 2, 3, 4, 5, 6, 7, 8}); err != nil || got != want {
		t.Errorf("parsed %+v, %v; want %+v", got, err, want)
	}
	first, _, _ := strings.Cut(cpuText, "\n")
	refusePrefixes(t, first+"\n", func(data []byte) error { _, err := parseCPUTimes(data); return err })
	for _, bad := range []string{"cpu0 1 2 3 4 5 6 7 8\n", "cpu 1 2 3 4 5 6 7\n", "cpu 1 2 3 4 5 6 7 x\n", "cpu 1 2 3 4 5 6 7 -8\n"} {
		if _, err := parseCPUTimes([]byte(bad)); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestParseListenDrops(t *testing.T) {
	got, err := parseListenDrops([]byte(netstatText))
	if want := (ListenDrops{Overflows: 22, Drops: 333}); err != nil || got != want {
		t.Errorf("parsed %+v, %v; want %+v", got, err, want)
	}
	whole, _, _ := strings.Cut(netstatText, "IpExt")
	refusePrefixes(t, whole, func(data []byte) error { _, err := parseListenDrops(data); return err })
	for _, bad := range []string{
		"TcpExt: ListenOverflows ListenDrops\nTcpExt: 1 x\n",
		"TcpExt: ListenOverflows ListenDrops\nTcpExt: 1\n",
		"TcpExt: ListenOverflows Other\nTcpExt: 1 2\n",
	} {
		if _, err := parseListenDrops([]byte(bad)); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestParseListening(t *testing.T) {
	littleEndianOnly(t)
	for _, test := range []struct {
		text string
		want []socket
	}{
		{tcpText, []socket{{netip.MustParseAddrPort("127.0.0.1:443"), "1234"}}},
		{tcp6Text, []socket{{netip.MustParseAddrPort("[::1]:8443"), "77"}, {netip.MustParseAddrPort("127.0.0.1:8443"), "78"}}},
	} {
		got, err := parseListening([]byte(test.text))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(socket{}), cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); diff != "" {
			t.Errorf("sockets (-want +got):\n%s", diff)
		}
		heading := strings.Index(test.text, "\n") + 1
		for n := heading + 1; n < len(test.text); n++ {
			if test.text[n-1] == '\n' {
				continue // whole lines are a shorter table, not a cut one
			}
			if _, err := parseListening([]byte(test.text[:n])); err == nil {
				t.Errorf("cut after %d bytes, the table was accepted", n)
			}
		}
	}
}

func TestParseHexAddress(t *testing.T) {
	for _, bad := range []string{"", ":", "0100007F", "0100007F:", "0100007F:1BB", "0100007F:001BB", "0100007F:G1BB",
		"100007F:01BB", "01007F:01BB", "0100007G:01BB", "0100007F00000000:01BB"} {
		if got, err := parseHexAddress(bad); err == nil {
			t.Errorf("%q was taken for %v", bad, got)
		}
	}
}

// Whatever /proc holds, parsers answer or fail, and fail for what is cut short.
func FuzzParseProc(f *testing.F) {
	for _, seed := range []string{statText, cpuText, netstatText, tcpText, tcp6Text, "1 2 3\n", "Pss:\t12 kB\n", ""} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := parseStat(data); err == nil && !bytes.Contains(data, []byte("("+s.name+")")) {
			t.Errorf("name %q is not in %q", s.name, data)
		}
		if _, _, err := parseSchedstat(data); err == nil && !bytes.HasSuffix(data, []byte("\n")) {
			t.Errorf("schedstat %q without an end was accepted", data)
		}
		if _, err := parseField(data, "Pss:"); err == nil && !bytes.Contains(data, []byte("Pss:")) {
			t.Errorf("a field was found in %q", data)
		}
		if _, err := parseCPUTimes(data); err == nil && !bytes.HasPrefix(data, []byte("cpu")) {
			t.Errorf("CPU times were found in %q", data)
		}
		if _, err := parseListenDrops(data); err == nil && !bytes.Contains(data, []byte("ListenDrops")) {
			t.Errorf("listen drops were found in %q", data)
		}
		sockets, err := parseListening(data)
		if err == nil && len(sockets) > bytes.Count(data, []byte("\n")) {
			t.Errorf("%d sockets were found in %q", len(sockets), data)
		}
		for _, s := range sockets {
			if !s.address.IsValid() {
				t.Errorf("an invalid address was found in %q", data)
			}
		}
	})
}
