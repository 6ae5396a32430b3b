package handshake_test

import (
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
)

// exceptions are what a server cannot do for a reason that its driver does not
// know. Each is tried and has to fail.
var exceptions = []struct {
	servers string // separated by spaces
	version string // that serverVersion holds; "" for any
	rows    string // a regular expression
	reason  string
}{
	{"embedded", "", `psk, psk_ke`, "crypto/tls resumes by psk_dhe_ke alone"},
	{"nginx openssl haproxy stunnel apache", "", `psk, psk_ke`, "OpenSSL takes psk_ke only with SSL_OP_ALLOW_NO_DHE_KEX, which is not its default (TestPSKOnly sets it)"},
	{"gnutls", "", `psk, psk_ke`, "GnuTLS gives no ticket to a client that offers psk_ke alone"},
	{"nss", "", `psk, psk_ke`, "NSS resumes by psk_dhe_ke alone"},
	{"nginx openssl haproxy stunnel apache", "OpenSSL 3.0", `MLKEM`, "OpenSSL before 3.5 has no hybrid groups"},
	{"nginx openssl haproxy stunnel apache", "", `record_size_limit`, "OpenSSL does not know record_size_limit"},
	{"embedded", "", `record_size_limit|max_fragment_length`, "crypto/tls knows neither max_fragment_length nor record_size_limit"},
	{"nss", "", `max_fragment_length`, "NSS does not know max_fragment_length"},
	{"gnutls", "", `TLS 1.2 max_fragment_length 512`, "GnuTLS 3.7 sends application data beyond the limit in TLS 1.2, which OpenSSL's client refuses too"},
	{"gnutls", "", `HelloRetryRequest, early data rejected`, "GnuTLS 3.7 does not skip early data behind a HelloRetryRequest: it sends bad_record_mac, to OpenSSL's client too"},
	{"nginx openssl haproxy stunnel apache gnutls nss", "", `TLS 1.3 no tickets asked for`, "it sends tickets to clients without psk_key_exchange_modes too, though none could use them"},
	{"embedded nss", "", `encrypt_then_mac`, "it does not know encrypt_then_mac"},
	{"haproxy", "2.6", `/rsa_pss_rsae_`, "with two certificates, haproxy takes a client that offers RSA-PSS alone for one without RSA"},
	{"nss", "", `CCM`, "NSS has no AES-CCM suites"},
	{"nss", "", `status_request`, "selfserv signs its staples with SHA-1, which is not accepted"},
}

// exception returns why the server cannot do what the row asks, if it is known.
func exception(driver, row string) (reason string, ok bool) {
	for _, e := range exceptions {
		if slices.Contains(strings.Fields(e.servers), driver) && strings.Contains(serverVersion(driver), e.version) && regexp.MustCompile(e.rows).MatchString(row) {
			return e.reason, true
		}
	}
	return "", false
}

// countedTwice reports whether the server counts the row's resumption twice:
// OpenSSL looks the session up for each of the two ClientHellos.
func countedTwice(driver, row string) bool {
	return driver == "openssl" && row == "HelloRetryRequest, psk"
}

// patience is how long a server is asked again. NSS rejects early data for its
// first ten seconds, in which it cannot tell a replay (RFC 8446, section 8.2).
func patience(driver, row string) time.Duration {
	if driver == "nss" && strings.Contains(row, "early-data") {
		return 30 * time.Second
	}
	return 0
}

// serverVersion returns what docs/interop.md is about: a server's version and
// that of its library.
func serverVersion(driver string) string {
	openssl := ask(`OpenSSL \S+`, "openssl", "version")
	switch driver {
	case "embedded":
		return runtime.Version()
	case "stunnel":
		return ask(`stunnel \S+`, "stunnel4", "-version") + ", " + openssl
	case "nginx":
		return ask(`nginx/\S+`, "nginx", "-v") + ", " + openssl
	case "haproxy":
		return ask(`version \S+`, "haproxy", "-v") + ", " + openssl
	case "apache":
		return ask(`Apache/\S+`, "apache2", "-v") + ", " + openssl
	case "openssl":
		return openssl
	case "gnutls":
		return ask(`gnutls-serv \S+`, "gnutls-serv", "--version")
	case "nss":
		return ask(`\S+`, "dpkg-query", "-W", "-f", "NSS_${Version}", "libnss3")
	}
	return "of unknown version"
}

// ask runs a program and returns what of its output the expression matches.
func ask(expression, program string, args ...string) string {
	path, err := exec.LookPath(program)
	if err != nil {
		path = "/usr/sbin/" + program
	}
	out, _ := exec.Command(path, args...).CombinedOutput() //nolint:errcheck // the output tells
	if found := regexp.MustCompile(expression).FindString(string(out)); found != "" {
		return strings.ReplaceAll(found, "_", " ")
	}
	return "of unknown version"
}
