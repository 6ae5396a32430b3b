package server

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// nginxLogFormat is the access log's: connection, number of the request on it,
// and the handshake's properties. Values a client chooses stand last.
const nginxLogFormat = `$connection $connection_requests $ssl_session_reused $ssl_protocol $ssl_cipher $ssl_curve $early $ssl_server_name`

// readNginxLogs counts handshakes. A connection that made a request is in the
// access log, with all its properties. One that completed its handshake and
// then ended without a request is in the error log as "while waiting for
// request"; one that never completed it, as "while SSL handshaking". One that
// is still open without a request is in neither.
func readNginxLogs(accessLog, errorLog string) (Counts, error) {
	c := Counts{
		Versions: map[string]int64{}, Suites: map[string]int64{}, Groups: map[string]int64{}, Names: map[string]int64{},
		Basis: "nginx's status page for connections, its access log for handshakes followed by a request, its error log for the others; connections still open without a request are not among the handshakes",
		// $ssl_early_data is 1 only while the handshake is incomplete: a client
		// whose Finished comes with its request is logged without it.
		EarlyData: NotTold,
	}
	known := map[uint64]bool{} // connections whose handshake is counted
	if err := eachLine(accessLog, func(text string) error { return c.addAccess(text, known) }); err != nil {
		return c, err
	}
	err := eachLine(errorLog, func(text string) error {
		switch connection, ok := nginxConnection(text); {
		case !ok:
		case strings.Contains(text, " while SSL handshaking,"):
			c.Failed++
		case strings.Contains(text, " while waiting for request,") && !known[connection]:
			known[connection] = true
			c.Untold++
		}
		return nil
	})
	c.Handshakes = c.Full + c.Resumed + c.Untold
	return c, err
}

// addAccess counts one line of the access log.
func (c *Counts) addAccess(text string, known map[uint64]bool) error {
	fields := strings.SplitN(text, " ", 8)
	if len(fields) != 8 {
		return fmt.Errorf("a line of nginx's access log has %d fields, not 8: %q", len(fields), text)
	}
	connection, err := strconv.ParseUint(fields[0], 10, 64)
	if err != nil {
		return fmt.Errorf("a line of nginx's access log begins with no number: %q", text)
	}
	tls := fields[3] != "-"
	if tls {
		c.Requests++
	}
	if known[connection] {
		return nil
	}
	known[connection] = true
	if !tls {
		c.Failed++ // plain text on the TLS port is answered with an error
		return nil
	}
	if fields[2] == "r" {
		c.Resumed++
	} else {
		c.Full++
	}
	c.Versions[strings.Replace(fields[3], "TLSv", "TLS ", 1)]++
	c.Suites[suiteName(fields[4])]++
	c.Groups[groupName(fields[5])]++
	c.Names[strings.TrimPrefix(fields[7], "-")]++
	return nil
}

// nginxConnection returns the number after "*" in a line of the error log.
func nginxConnection(text string) (uint64, bool) {
	_, after, found := strings.Cut(text, ": *")
	digits, _, _ := strings.Cut(after, " ")
	n, err := strconv.ParseUint(digits, 10, 64)
	return n, found && err == nil
}

// eachLine calls do with every line of a file; a file that is not there has
// none.
func eachLine(file string, do func(string) error) error {
	f, err := os.Open(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	scanner := bufio.NewScanner(f)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		if err := do(scanner.Text()); err != nil {
			return err
		}
	}
	return scanner.Err()
}
