package server

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
	"time"
)

// nginxLogFlush is how long a line of the access log may stay in a worker.
const nginxLogFlush = 200 * time.Millisecond

// nginxConfig returns the configuration for the spec: one TLS server on addr, a
// status page on status. Paths are absolute or relative to the prefix.
func nginxConfig(m *material, addr, status netip.AddrPort) (string, error) {
	s := m.spec
	var b strings.Builder
	line := func(indent int, format string, args ...any) {
		fmt.Fprintf(&b, strings.Repeat("    ", indent)+format+"\n", args...)
	}
	if os.Geteuid() == 0 {
		// Workers of a master that is root become another user, who could not
		// read a directory that is private to root.
		line(0, "user root;")
	}
	line(0, "daemon off;")
	line(0, "worker_processes %d;", s.Workers)
	affinity, err := nginxAffinity(s)
	if err != nil {
		return "", err
	}
	if affinity != "" {
		line(0, "worker_cpu_affinity %s;", affinity)
	}
	line(0, "pid nginx.pid;")
	// At level info, connections that end without a request leave a line.
	line(0, "error_log error.log info;")
	line(0, "events { worker_connections 16384; }")
	line(0, "http {")
	line(1, "log_format shakedown '%s';", nginxLogFormat)
	line(1, "access_log access.log shakedown buffer=64k flush=%dms;", nginxLogFlush.Milliseconds())
	for _, name := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		line(1, "%s_temp_path temporary/%s;", name, name)
	}
	line(1, "server_tokens off;")
	line(1, "keepalive_requests 1000000000;")
	line(1, "lingering_close off;")
	line(1, "server {")
	listen := "listen " + addr.String() + " ssl backlog=4096"
	if s.Reuseport {
		listen += " reuseport"
	}
	if len(s.ALPN) == 2 {
		listen += " http2"
	}
	line(2, "%s;", listen)
	// The variable is empty once the handshake is complete, as it is by the time
	// the log is written: keep its value from when the request came.
	line(2, "set $early $ssl_early_data;")
	if err := nginxTLS(m, line); err != nil {
		return "", err
	}
	line(2, "default_type text/plain;")
	if s.Body > 0 {
		line(2, "root html;")
		line(2, "location / { rewrite ^ /body break; }")
	} else {
		line(2, `location / { return 200 "ok\n"; }`)
	}
	line(1, "}")
	line(1, "server {")
	line(2, "listen %s;", status)
	line(2, "access_log off;")
	line(2, "location / { stub_status; }")
	line(1, "}")
	line(0, "}")
	return b.String(), nil
}

// nginxTLS writes the directives of the TLS server.
func nginxTLS(m *material, line func(int, string, ...any)) error {
	s := m.spec
	for _, f := range m.files {
		line(2, "ssl_certificate %s;", f.Chain)
		line(2, "ssl_certificate_key %s;", f.Key)
	}
	// Before 1.23.4, nginx's own default had no TLS 1.3.
	versions := []string{"TLSv1.2", "TLSv1.3"}
	if len(s.Versions) > 0 {
		versions = nil
	}
	for _, v := range s.Versions {
		versions = append(versions, strings.TrimSuffix(opensslVersion(v), ".0"))
	}
	line(2, "ssl_protocols %s;", strings.Join(versions, " "))
	ciphers, err := opensslCiphers(s)
	if err != nil {
		return err
	}
	if ciphers != "" {
		line(2, "ssl_ciphers %s;", ciphers)
	}
	suites, err := opensslSuites(s, true)
	if err != nil {
		return err
	}
	if suites != "" {
		line(2, "ssl_conf_command Ciphersuites %s;", suites)
	}
	groups, err := opensslGroups(s.Groups)
	if err != nil {
		return err
	}
	if groups != "" {
		line(2, "ssl_ecdh_curve %s;", groups)
	}
	if s.PreferServer {
		line(2, "ssl_prefer_server_ciphers on;")
	}
	if s.DHBits > 0 {
		file, err := m.dhFile()
		if err != nil {
			return err
		}
		line(2, "ssl_dhparam %s;", file)
	}
	if s.Tickets == TicketsOff {
		line(2, "ssl_session_tickets off;")
	}
	for _, key := range m.ticketKeys {
		line(2, "ssl_session_ticket_key %s;", key)
	}
	if cache := nginxCache(s); cache != "" {
		line(2, "ssl_session_cache %s;", cache)
	}
	if s.SessionTimeoutSeconds > 0 {
		line(2, "ssl_session_timeout %d;", s.SessionTimeoutSeconds)
	}
	if s.Stapling != StaplingOff {
		line(2, "ssl_stapling on;")
	}
	for _, staple := range m.staples {
		line(2, "ssl_stapling_file %s;", staple)
	}
	if s.EarlyData {
		line(2, "ssl_early_data on;")
	}
	if s.BufferSize > 0 {
		line(2, "ssl_buffer_size %d;", s.BufferSize)
	}
	if s.ClientAuth != ClientAuthNone {
		mode := map[ClientAuth]string{ClientAuthRequest: "optional", ClientAuthRequire: "on"}[s.ClientAuth]
		line(2, "ssl_client_certificate %s;", m.clientCAs)
		line(2, "ssl_verify_client %s;", mode)
	}
	return nil
}

// nginxCache is the value of ssl_session_cache, "" for nginx's default.
func nginxCache(s Spec) string {
	switch s.Cache {
	case CacheBuiltin:
		if s.CacheSize > 0 {
			return fmt.Sprintf("builtin:%d", s.CacheSize)
		}
		return "builtin"
	case CacheShared:
		size := s.CacheSize
		if size == 0 {
			size = 1 << 20
		}
		return fmt.Sprintf("shared:shakedown:%d", size)
	}
	return string(s.Cache)
}

// nginxAffinity is the value of worker_cpu_affinity: for each worker a mask
// whose rightmost digit is core 0.
func nginxAffinity(s Spec) (string, error) {
	cpus, err := parseCPUs(s.CPUs)
	if err != nil || len(cpus) == 0 {
		return "", err
	}
	var masks []string
	for worker := range s.Workers {
		masks = append(masks, "1"+strings.Repeat("0", cpus[worker%len(cpus)]))
	}
	return strings.Join(masks, " "), nil
}
