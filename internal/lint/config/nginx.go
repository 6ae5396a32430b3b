package config

import (
	"fmt"
	"math"
	"path"
	"strings"
)

// Nginx writes a whole nginx.conf. It was tried on 1.22.1, 1.26.3, 1.27.5 and 1.31.4; older releases are refused.
func Nginx(a Answers) (File, error) {
	if err := a.check(); err != nil {
		return nil, err
	}
	if a.Nginx.Before(1, 22, 0) {
		return nil, fmt.Errorf("nginx %s is older than what this was tried on (1.22.1)", a.Nginx)
	}
	if a.OpenSSL.Before(1, 1, 1) {
		return nil, fmt.Errorf("OpenSSL %s has no TLS 1.3", a.OpenSSL)
	}
	keys := a.keyFiles()
	if keys && a.TicketDir == "" {
		return nil, fmt.Errorf("nginx %s needs ticket key files here (hosts: %d): say in which directory they are", a.Nginx, max(1, a.Hosts))
	}
	var f File
	f.add("worker_processes auto;", "a handshake is CPU work: one worker for each core")
	f.add("events {}", "")
	f.add("", "")
	f.add("http {", "")
	a.tls(&f)
	a.sessions(&f, keys)
	a.log(&f)
	a.refuse(&f)
	for _, s := range a.Sites {
		a.site(&f, s)
	}
	f.add("}", "")
	return f, nil
}

// keyFiles: a fleet must share keys; a single host leaves them to nginx where that survives a reload and is sound.
func (a *Answers) keyFiles() bool {
	automatic := !a.Nginx.Before(1, 30, 6) && (a.Nginx.Before(1, 31, 0) || !a.Nginx.Before(1, 31, 5))
	return a.fleet() || !automatic
}

func (a *Answers) tls(f *File) {
	f.add("    ssl_protocols TLSv1.2 TLSv1.3;", "here, so that every default server has it")
	f.add("    ssl_ciphers "+a.suites()+";", "TLS 1.2 only: forward secret suites for the certificates at hand")
	f.add("    ssl_prefer_server_ciphers on;", "ECDSA for every client that can, whatever it lists first")
	f.add("    ssl_conf_command Options PrioritizeChaCha;", "but ChaCha20 for clients that lead with it (no AES in hardware)")
	list, reason := a.groups()
	f.add("    ssl_ecdh_curve "+list+";", reason)
}

func (a *Answers) sessions(f *File, keys bool) {
	size, reason := 20, "about 53,000 TLS 1.2 sessions (2682 for each MB), for clients without tickets"
	if flooded := a.Nginx.Before(1, 23, 2); flooded {
		if a.SessionsPerSecond > 0 {
			size = max(size, int(math.Ceil(a.SessionsPerSecond*86400/2682)))
			reason = fmt.Sprintf("%.0f sessions a second for a day, 2682 for each MB", a.SessionsPerSecond)
		}
		f.add("    # shakedown:ignore RES-CACHE-13FLOOD the zone is sized for it", "")
	}
	f.add(fmt.Sprintf("    ssl_session_cache shared:TLS:%dm;", size), reason)
	f.add("    ssl_session_timeout 1d;", "also the life of tickets; 5 minutes is the default")
	f.add("    ssl_session_tickets on;", "the same for every server: mixed values break TLS 1.3 resumption before 1.29.2")
	if !keys {
		f.add("    ", "no ssl_session_ticket_key: nginx rotates keys in zone TLS, about once each ssl_session_timeout")
	}
	for _, role := range []struct{ name, reason string }{
		{"current", "encrypts; 80 random bytes, 0600 root (shakedown stek new)"},
		{"next", "decrypts only: on every host before one uses it"},
		{"previous", "decrypts only, until its tickets have expired (shakedown stek rotate)"},
	} {
		if keys {
			f.add("    ssl_session_ticket_key "+path.Join(a.TicketDir, role.name+".key")+";", role.reason)
		}
	}
	if a.EarlyData {
		f.add("    ssl_early_data on;", "for every server, as the default one decides; the backend must answer 425 where a repeat does harm")
	}
}

func (a *Answers) log(f *File) {
	f.add("", "")
	f.add("    map $connection_requests $tls_first { 1 1; default 0; }", "")
	f.add("    log_format tls '$ssl_protocol $ssl_cipher $ssl_curve $ssl_session_reused $ssl_early_data $ssl_server_name';", "\"r\" is a resumed session, \".\" a full handshake")
	f.add("    access_log /var/log/nginx/tls.log tls if=$tls_first;", "one line for each connection; a server with its own access_log repeats it")
}

// listen writes the listen lines; HTTP/2 is a parameter before 1.25.1 and a directive after.
func (a *Answers) listen(f *File, parameters string) {
	port := a.Port
	if port == 0 {
		port = 443
	}
	if a.Nginx.Before(1, 25, 1) {
		parameters = " http2" + parameters
	}
	f.add(fmt.Sprintf("        listen %d ssl%s;", port, parameters), "")
	f.add(fmt.Sprintf("        listen [::]:%d ssl%s;", port, parameters), "")
}

func (a *Answers) refuse(f *File) {
	f.add("", "")
	if !a.Nginx.Before(1, 25, 1) {
		f.add("    http2 on;", "")
	}
	f.add("    server {", "owns session state and groups of the sockets, IPv4 and IPv6 alike; refuses names not served")
	a.listen(f, " default_server")
	f.add("        server_name _;", "")
	f.add("        ssl_reject_handshake on;", "alert unrecognized_name before any signature")
	f.add("    }", "")
}

func (a *Answers) site(f *File, s Site) {
	f.add("", "")
	if a.RSAOnly && len(s.Certificates) == 1 && s.Certificates[0].Kind == RSA {
		f.add("    # shakedown:ignore CERT-RSA-ONLY clients that know RSA alone are served", "")
	}
	f.add("    server {", "")
	a.listen(f, "")
	f.add("        server_name "+strings.Join(s.Names, " ")+";", "")
	staples := true
	for _, c := range s.Certificates {
		f.add("        ssl_certificate "+c.Chain+";", string(c.Kind)+": leaf, then intermediates")
		f.add("        ssl_certificate_key "+c.Key+";", "")
		staples = staples && c.Staples
	}
	if staples {
		f.add("        ssl_stapling on;", "the certificates name a responder; without one it would do nothing")
		f.add("        resolver 127.0.0.53;", "a local resolver that answers; without one addresses stay as at the start")
	}
	if a.ClientCA != "" {
		f.add("        ssl_client_certificate "+a.ClientCA+";", "its subject names are sent to every client: keep it short")
		f.add("        ssl_verify_client on;", "")
	}
	switch {
	case a.Backend == "":
		root := a.Root
		if root == "" {
			root = "/var/www/html"
		}
		f.add("        root "+root+";", "")
	case a.EarlyData:
		f.add("        location / {", "")
		f.add("            proxy_set_header Host $host;", "")
		f.add("            proxy_set_header Early-Data $ssl_early_data;", "RFC 8470: the backend sees what may be a repeat")
		f.add("            proxy_pass http://"+a.Backend+";", "")
		f.add("        }", "")
	default:
		f.add("        location / {", "")
		f.add("            proxy_set_header Host $host;", "")
		f.add("            proxy_pass http://"+a.Backend+";", "")
		f.add("        }", "")
	}
	f.add("    }", "")
}
