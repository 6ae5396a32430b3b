package server

import (
	"encoding/json"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"shakedown"
)

func TestSpecTravels(t *testing.T) {
	none := 0
	spec := Spec{
		Port: 8443, Workers: 4, CPUs: "0,2-3", Reuseport: true, Certificates: []KeyKind{RSA2048, P256}, Names: []string{"a.example"},
		MustStaple: true, PKI: "pki", Versions: []shakedown.Version{shakedown.TLS12, shakedown.TLS13},
		Suites: []shakedown.CipherSuite{shakedown.TLS_AES_128_GCM_SHA256, 0xFEFE}, Groups: []shakedown.Group{shakedown.X25519, 0x1234},
		PreferServer: true, DHBits: 2048, Tickets: TicketsKeyFile, TicketKeys: []string{"k"}, NumTickets: &none, Cache: CacheShared, CacheSize: 1 << 20,
		SessionTimeoutSeconds: 60, Stapling: StaplingResponder,
		OCSP:      OCSPAnswer{Status: "revoked", Delay: time.Second, NextUpdate: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)},
		EarlyData: true, MaxEarlyData: 16384, ALPN: []string{"h2"}, ClientAuth: ClientAuthRequire, Body: 5, BufferSize: 4096,
	}
	if err := spec.Validate(); err != nil {
		t.Fatal(err)
	}
	var back Spec
	if err := json.Unmarshal([]byte(spec.String()), &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(spec, back); diff != "" || !spec.Equal(back) {
		t.Errorf("equal %t, differences (-want +got):\n%s", spec.Equal(back), diff)
	}
	if got := (Spec{}).String(); got != "{}" {
		t.Errorf("the zero value prints as %s, want {}", got)
	}
	if spec.Equal(Spec{}) {
		t.Error("equal to the zero value")
	}
}

func TestSpecValidate(t *testing.T) {
	tls12 := []shakedown.Version{shakedown.TLS12}
	few := -1
	for _, test := range []struct {
		spec Spec
		want string
	}{
		{Spec{Workers: -1}, "workers: -1 is below zero"},
		{Spec{CPUs: "0-"}, `cpus: "0-" is no list of cores such as 0 or 0,2-3`},
		{Spec{CPUs: "3-1"}, `cpus: "3-1" is no list of cores such as 0 or 0,2-3`},
		{Spec{CPUs: "5000"}, "cpus: core 5000 is beyond 1023"},
		{Spec{Certificates: []KeyKind{"rsa1"}}, `certificates: unknown key kind "rsa1": known are rsa2048, rsa3072, rsa4096, rsa8192, rsapss2048, p256, p384, p521, ed25519, ed448`},
		{Spec{Certificates: []KeyKind{P256, P256}}, "certificates: p256 twice; a server has one certificate of a kind"},
		{Spec{Versions: []shakedown.Version{shakedown.TLCP}}, "versions: no server here speaks TLCP"},
		{Spec{Versions: tls12, EarlyData: true}, "early_data: belongs to TLS 1.3, which is not among the versions"},
		{Spec{Versions: tls12, Suites: []shakedown.CipherSuite{shakedown.TLS_AES_128_GCM_SHA256}}, "suites: TLS_AES_128_GCM_SHA256 belongs to TLS 1.3, which is not among the versions"},
		{Spec{MaxEarlyData: 1}, "max_early_data: is set without early_data"},
		{Spec{DHBits: 512}, "dh_bits: 512 is not 1024, 2048, 3072, 4096, 6144 or 8192"},
		{Spec{Tickets: "maybe"}, `tickets: unknown "maybe": known are off, key-file, per-worker`},
		{Spec{TicketKeys: []string{"f"}}, "ticket_keys: are set without tickets: key-file"},
		{Spec{NumTickets: &few}, "num_tickets: -1 is below zero"},
		{Spec{NumTickets: new(int), Versions: tls12}, "num_tickets: belongs to TLS 1.3, which is not among the versions"},
		{Spec{Cache: "big"}, `cache: unknown "big": known are none, off, builtin, shared`},
		{Spec{CacheSize: 1}, "cache_size: is set without cache: builtin or shared"},
		{Spec{Stapling: "yes"}, `stapling: unknown "yes": known are file, responder`},
		{Spec{OCSP: OCSPAnswer{Status: "fine"}}, `ocsp: unknown OCSP status "fine": known are good, revoked, unknown`},
		{Spec{ClientAuth: "always"}, `client_auth: unknown "always": known are request, require`},
		{Spec{ALPN: []string{""}}, "alpn: a protocol name has 1 to 255 bytes, not 0 (RFC 7301)"},
		{Spec{Body: -1, Workers: -2}, "body: -1 is below zero\nworkers: -2 is below zero"},
	} {
		err := test.spec.Validate()
		if err == nil || err.Error() != test.want {
			t.Errorf("%v:\n got %v\nwant %s", test.spec, err, test.want)
		}
	}
	if err := (Spec{}).Validate(); err != nil {
		t.Errorf("the zero value: %v", err)
	}
}

// TestDriversRefuse checks that what a driver cannot do has a reason, and that
// Start gives it before anything is made.
func TestDriversRefuse(t *testing.T) {
	for _, test := range []struct {
		driver string
		spec   Spec
		want   string
	}{
		{"embedded", Spec{EarlyData: true}, "no early data over TCP"},
		{"embedded", Spec{Certificates: []KeyKind{Ed448}}, "no keys of kind ed448"},
		{"embedded", Spec{DHBits: 2048}, "no finite-field DHE"},
		{"embedded", Spec{Cache: CacheShared}, "no session cache"},
		{"embedded", Spec{NumTickets: new(int)}, "number of tickets"},
		{"nginx", Spec{NumTickets: new(int)}, "number of tickets"},
		{"nginx", Spec{Tickets: TicketsPerWorker}, "always share their ticket keys"},
		{"nginx", Spec{Stapling: StaplingFile, Certificates: []KeyKind{RSA2048, P256}}, "wrong for all but one"},
		{"nginx", Spec{Certificates: []KeyKind{P256, P384}}, "one EC certificate, not p256 and p384"},
		{"nginx", Spec{EarlyData: true, MaxEarlyData: 1}, "cannot be changed to 1"},
		{"nginx", Spec{Groups: []shakedown.Group{0x1234}}, "no group 0x1234"},
		{"openssl", Spec{Workers: 2}, "one connection at a time"},
		{"haproxy", Spec{Cache: CacheBuiltin}, "not builtin"},
		{"gnutls", Spec{Groups: []shakedown.Group{shakedown.X25519MLKEM768}}, "no group X25519MLKEM768"},
		{"nss", Spec{Certificates: []KeyKind{Ed25519}}, "kind ed25519"},
		{"apache", Spec{EarlyData: true}, "no early data"},
		{"apache", Spec{Tickets: TicketsPerWorker}, "always share their ticket keys"},
		{"apache", Spec{Tickets: TicketsKeyFile, TicketKeys: []string{"a", "b"}}, "one ticket key"},
		{"apache", Spec{Stapling: StaplingFile}, "does not read them from files"},
		{"apache", Spec{Cache: CacheBuiltin}, "not builtin"},
		{"apache", Spec{ALPN: []string{"h2"}}, "[h2] alone"},
		{"apache", Spec{Body: 20000}, "8000 bytes at most"},
	} {
		d, err := DriverByName(test.driver)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(t.TempDir(), "new")
		err = d.Can(test.spec)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v: got %v, want a reason with %q", test.driver, test.spec, err, test.want)
		}
		if _, err := d.Start(t.Context(), test.spec, dir); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: Start: got %v", test.driver, err)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s: a directory was made for a server that cannot be", test.driver)
		}
	}
	if _, err := DriverByName("ngnix"); err == nil || !strings.Contains(err.Error(), "known are embedded, nginx, openssl") {
		t.Errorf("a typo: %v", err)
	}
	missing := Nginx{Path: filepath.Join(t.TempDir(), "nginx")}
	if err := missing.Available(); err == nil {
		t.Error("a program that is not there is available")
	}
}

// TestOpenSSLNames checks the rule for names against what the root package
// accepts as OpenSSL's names, and the openssl command where there is one.
func TestOpenSSLNames(t *testing.T) {
	tested := 0
	for n := range 0x10000 {
		c := shakedown.CipherSuite(n)
		if !strings.Contains(c.String(), "_WITH_") || strings.Contains(c.String(), "SM4") {
			continue
		}
		name, err := opensslSuite(c)
		if err != nil {
			t.Errorf("%s: %v", c, err)
			continue
		}
		if back, err := shakedown.ParseCipherSuite(name); err != nil || back != c {
			t.Errorf("%s is called %s, which is read as %s (%v)", c, name, back, err)
		}
		tested++
	}
	if tested < 60 {
		t.Errorf("only %d suites were tested", tested)
	}
	if _, err := opensslSuite(shakedown.ECC_SM4_CBC_SM3); err == nil {
		t.Error("OpenSSL was said to have a TLCP suite")
	}
	if got, _ := opensslSuite(shakedown.TLS_AES_128_GCM_SHA256); got != "TLS_AES_128_GCM_SHA256" {
		t.Errorf("TLS 1.3: %s", got)
	}
}

// TestDHPrimes checks that each number is a safe prime of its size and, where
// the openssl command is installed, that it calls the larger ones by name.
func TestDHPrimes(t *testing.T) {
	for _, bits := range []int{1024, 2048, 3072, 4096, 6144, 8192} {
		p, err := dhPrime(bits)
		if err != nil {
			t.Fatal(err)
		}
		half := new(big.Int).Rsh(p, 1)
		if p.BitLen() != bits || bits <= 3072 && (!p.ProbablyPrime(2) || !half.ProbablyPrime(2)) {
			t.Errorf("%d bits: not a safe prime of that size", bits)
		}
		openssl, err := exec.LookPath("openssl")
		if err != nil || bits == 1024 {
			continue
		}
		m := &material{spec: Spec{DHBits: bits}, dir: t.TempDir()}
		file, err := m.dhFile()
		if err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(openssl, "dhparam", "-in", file, "-noout", "-text").CombinedOutput()
		if want := "ffdhe" + big.NewInt(int64(bits)).String(); err != nil || !strings.Contains(string(out), want) {
			t.Errorf("openssl does not recognise %s (%v):\n%.200s", want, err, out)
		}
	}
}

func TestParseStubStatus(t *testing.T) {
	const page = "Active connections: 1 \nserver accepts handled requests\n 15 14 9 \nReading: 0 Writing: 1 Waiting: 0 \n"
	if got, err := parseStubStatus(page); got != 15 || err != nil {
		t.Errorf("got %d, %v; want 15", got, err)
	}
	for n := range strings.Index(page, " 9 ") {
		if got, err := parseStubStatus(page[:n]); err == nil {
			t.Errorf("%q was read as %d", page[:n], got)
		}
	}
}

// TestReadLogs reads logs written by hand, with every kind of line.
func TestReadLogs(t *testing.T) {
	write := func(text string) string {
		file := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	nginx := func(access, errors string) func() (Counts, error) {
		return func() (Counts, error) { return readNginxLogs(write(access), write(errors)) }
	}
	for name, test := range map[string]struct {
		read func() (Counts, error)
		want Counts
	}{
		"nginx": {
			nginx("1 1 . TLSv1.3 TLS_AES_256_GCM_SHA384 X25519  a.example\n"+
				"1 2 . TLSv1.3 TLS_AES_256_GCM_SHA384 X25519  a.example\n"+
				"2 1 r TLSv1.2 ECDHE-RSA-AES128-GCM-SHA256 - 1 -\n"+
				"3 1 . - - -  -\n",
				"2026/11/30 20:05:15 [notice] 1#1: start worker processes\n"+
					"2026/11/30 20:05:16 [info] 3#3: *4 client closed connection while SSL handshaking, client: 127.0.0.1, server: x\n"+
					"2026/11/30 20:05:16 [info] 3#3: *5 client closed connection while waiting for request, client: 127.0.0.1, server: x\n"+
					"2026/11/30 20:05:16 [info] 3#3: *1 client timed out while waiting for request, client: 127.0.0.1, server: x\n"),
			Counts{Handshakes: 3, Full: 1, Resumed: 1, Untold: 1, Failed: 2, Requests: 3, EarlyData: NotTold},
		},
		"haproxy": {
			func() (Counts, error) {
				return readHAProxyLog(write("[NOTICE] (1) : haproxy version\n" +
					"REQUEST 1 0 TLSv1.3 TLS_AES_256_GCM_SHA384 - a.example\n" +
					"REQUEST - 0 TLSv1.3 TLS_AES_256_GCM_SHA384 0 a.example\n" +
					"SILENT 1 0 TLSv1.3 TLS_AES_256_GCM_SHA384 0 a.example\n" +
					"REQUEST 1 1 TLSv1.2 ECDHE-RSA-AES128-GCM-SHA256 - -\n" +
					"SILENT - 1 TLSv1.3 TLS_AES_256_GCM_SHA384 0 -\n" +
					"SILENT - 0 TLSv1.3 (NONE) 24 -\n"))
			},
			Counts{Handshakes: 3, Full: 1, Resumed: 2, Failed: 1, Requests: 3, EarlyData: NotTold},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := test.read()
			if err != nil {
				t.Fatal(err)
			}
			got.Basis, got.Versions, got.Suites, got.Groups, got.Names = "", nil, nil, nil, nil
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	for _, bad := range []string{"1 1 .\n", "x 1 . TLSv1.3 a b c d\n"} {
		if _, err := nginx(bad, "")(); err == nil {
			t.Errorf("%q was read without an error", bad)
		}
	}
}
