package config

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// HAProxy writes the TLS parts of a haproxy.cfg. It was tried on haproxy 2.6.12 and 3.0.11. Each certificate file holds
// chain and key. Answers.TicketDir, if set, holds tickets.keys.
func HAProxy(a Answers) (File, error) {
	if err := a.check(); err != nil {
		return nil, err
	}
	if a.fleet() && a.TicketDir == "" {
		return nil, errors.New("several hosts need a ticket key file in common: say in which directory it is")
	}
	if a.Backend == "" {
		return nil, errors.New("haproxy serves no files: say where the backend is")
	}
	list, reason := a.groups()
	port := a.Port
	if port == 0 {
		port = 443
	}
	bind := fmt.Sprintf("    bind :::%d v4v6 ssl", port)
	var certificates []string
	for _, s := range a.Sites {
		for _, c := range s.Certificates {
			if word := " crt " + c.Chain; !slices.Contains(certificates, word) {
				certificates = append(certificates, word)
			}
		}
	}
	bind += strings.Join(certificates, "") + " curves " + list + " alpn h2,http/1.1"
	if a.ClientCA != "" {
		bind += " verify required ca-file " + a.ClientCA
	}
	if a.EarlyData {
		bind += " allow-0rtt"
	}
	if a.TicketDir != "" {
		bind += " tls-ticket-keys " + path.Join(a.TicketDir, "tickets.keys")
	}
	var f File
	f.add("global", "")
	f.add("    ssl-default-bind-options ssl-min-ver TLSv1.2", "tickets stay on: no-tls-tickets would leave TLS 1.3 to the cache alone")
	f.add("    ssl-default-bind-ciphers "+a.suites(), "TLS 1.2 only; the server's order counts unless prefer-client-ciphers is given")
	f.add("    tune.ssl.lifetime 86400", "life of sessions in seconds; unset, tickets say 7200 whatever the manual says")
	f.add("    tune.ssl.cachesize 100000", "blocks of about 200 bytes, for clients without tickets; 0 with no-tls-tickets would end resumption")
	f.add("", "")
	f.add("defaults", "")
	f.add("    mode http", "")
	for _, t := range []string{"connect 5s", "client 60s", "server 60s"} {
		f.add("    timeout "+t, "")
	}
	f.add("", "")
	f.add("frontend tls", "")
	f.add("    ", reason)
	if a.TicketDir != "" {
		f.add("    ", "tickets.keys: three base64 lines, the last but one encrypts; without it a restart loses all tickets")
	}
	f.add(bind, "")
	if a.EarlyData {
		f.add("    http-request wait-for-handshake if !{ method GET HEAD OPTIONS }", "early requests that change something wait until a repeat is excluded")
	}
	f.add("    default_backend site", "")
	f.add("", "")
	f.add("backend site", "")
	f.add("    server one "+a.Backend, "")
	return f, nil
}
