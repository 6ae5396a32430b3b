package config

import (
	"errors"
	"fmt"
)

// Apache writes the TLS parts of an Apache httpd configuration, as far as was tried on 2.4.71 with OpenSSL 3.5. It writes no
// SSLSessionTicketKeyFile: with OpenSSL 3 the file is loaded and resumption fails after every other graceful restart. So
// several hosts, which need one, are refused.
func Apache(a Answers) (File, error) {
	if err := a.check(); err != nil {
		return nil, err
	}
	if a.fleet() {
		return nil, errors.New("several hosts cannot share tickets: SSLSessionTicketKeyFile is unreliable with OpenSSL 3 (resumption failed after graceful restarts). End TLS in front of them")
	}
	if a.EarlyData {
		return nil, errors.New("httpd has no early data")
	}
	list, reason := a.groups()
	port := a.Port
	if port == 0 {
		port = 443
	}
	var f File
	f.add(fmt.Sprintf("Listen %d", port), "")
	f.add("SSLProtocol -all +TLSv1.2 +TLSv1.3", "")
	f.add("SSLCipherSuite "+a.suites(), "TLS 1.2 only: forward secret suites for the certificates at hand")
	f.add("SSLHonorCipherOrder on", "off by default; with it ECDSA goes to every client that can")
	f.add("SSLOpenSSLConfCmd Groups "+list, reason)
	f.add("SSLSessionTickets on", "the default; off with no cache ends resumption")
	f.add("SSLSessionCache shmcb:/run/apache2/tls_cache(20971520)", "none by default; for clients without tickets. A graceful restart empties it and exchanges the ticket key")
	f.add("SSLSessionCacheTimeout 86400", "seconds; 300 is the default")
	for _, s := range a.Sites {
		f.add("", "")
		f.add(fmt.Sprintf("<VirtualHost *:%d>", port), "")
		f.add("    ServerName "+s.Names[0], "")
		for _, name := range s.Names[1:] {
			f.add("    ServerAlias "+name, "")
		}
		f.add("    SSLEngine on", "")
		for _, c := range s.Certificates {
			f.add("    SSLCertificateFile "+c.Chain, "")
			f.add("    SSLCertificateKeyFile "+c.Key, "")
		}
		if a.ClientCA != "" {
			f.add("    SSLCACertificateFile "+a.ClientCA, "")
			f.add("    SSLVerifyClient require", "")
		}
		if a.Backend != "" {
			f.add("    ProxyPass / http://"+a.Backend+"/", "")
		} else if a.Root != "" {
			f.add("    DocumentRoot "+a.Root, "")
		}
		f.add("</VirtualHost>", "")
	}
	return f.separate(), nil
}

// separate puts comments on lines of their own: Apache takes none behind a directive.
func (f File) separate() File {
	var out File
	for _, l := range f {
		if l.Reason != "" {
			out.add(indentOf(l.Text)+"# "+l.Reason, "")
		}
		if l.Text != indentOf(l.Text) || l.Reason == "" {
			out.add(l.Text, "")
		}
	}
	return out
}

func indentOf(s string) string {
	for i := range s {
		if s[i] != ' ' {
			return s[:i]
		}
	}
	return s
}
