package server

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The formats of Apache's logs. Both begin with its name for the connection;
// values a client chooses stand last.
const (
	apacheErrorFormat = `%-{c}L %P %M`
	apacheLogFormat   = `%{c}L %{SSL_SESSION_RESUMED}x %{SSL_PROTOCOL}x %{SSL_CIPHER}x %{SSL_TLS_SNI}x`
)

// Lines of the error log, by the number that Apache gives each.
const (
	apacheAccepted    = "AH01964:" // Connection to child established
	apacheEstablished = "AH02041:" // Protocol: TLSv1.3, Cipher: TLS_AES_256_GCM_SHA384 (256/256 bits)
	apachePlainText   = "AH01996:" // SSL handshake failed: HTTP spoken on HTTPS port
	apacheBroken      = "AH01998:" // Connection closed to child with abortive shutdown
	apacheWorker      = "AH02471:" // start_threads: Using epoll
)

// readApacheLogs counts handshakes. All that were completed are in the error
// log; of those that were followed by a request the access log says whether
// they resumed.
func readApacheLogs(accessLog, errorLog string) (Counts, error) {
	c := Counts{
		Versions: map[string]int64{}, Suites: map[string]int64{}, Names: map[string]int64{},
		Basis: "mod_ssl's log of connections and handshakes, the access log for which of them resumed; handshakes without a request are untold",
	}
	told := map[string]bool{} // connections that the access log tells of
	// Read first: whoever is in it is in the other.
	err := eachLine(accessLog, func(text string) error {
		fields := strings.SplitN(text, " ", 5)
		if len(fields) != 5 {
			return fmt.Errorf("a line of Apache's access log has %d fields, not 5: %q", len(fields), text)
		}
		if fields[2] == "-" {
			return nil // plain text on the TLS port, answered with an error
		}
		c.Requests++
		if told[fields[0]] {
			return nil
		}
		told[fields[0]] = true
		if fields[1] == "Resumed" {
			c.Resumed++
		} else {
			c.Full++
		}
		c.Names[strings.TrimPrefix(fields[4], "-")]++
		return nil
	})
	if err != nil {
		return c, err
	}
	established := map[string]bool{}
	err = eachLine(errorLog, func(text string) error {
		connection, number, rest := apacheLine(text)
		switch number {
		case apacheAccepted:
			c.Accepted++
		case apachePlainText, apacheBroken:
			if !established[connection] {
				c.Failed++
			}
		case apacheEstablished:
			if established[connection] {
				return nil
			}
			established[connection] = true
			c.Handshakes++
			var version, suite string
			if _, err := fmt.Sscanf(rest, "Protocol: %s Cipher: %s", &version, &suite); err != nil {
				return fmt.Errorf("a line of Apache's error log names no protocol: %q", text)
			}
			c.Versions[strings.Replace(strings.TrimSuffix(version, ","), "TLSv", "TLS ", 1)]++
			c.Suites[suiteName(suite)]++
		}
		return nil
	})
	c.Untold = c.Handshakes - c.Full - c.Resumed
	return c, err
}

// apacheLine divides a line of the error log.
func apacheLine(text string) (connection, number, rest string) {
	fields := strings.SplitN(text, " ", 4)
	if len(fields) != 4 {
		return "", "", ""
	}
	return fields[0], fields[2], fields[3]
}

// apacheWorkers lists the processes that have begun to accept connections since
// the log began, dead ones too. A log that cannot be read has none yet.
func apacheWorkers(errorLog string) (pids []int) {
	eachLine(errorLog, func(text string) error { //nolint:errcheck // it is looked at again
		if _, number, _ := apacheLine(text); number == apacheWorker {
			pid, err := strconv.Atoi(strings.Fields(text)[1])
			if err == nil && !slices.Contains(pids, pid) {
				pids = append(pids, pid)
			}
		}
		return nil
	})
	return pids
}
