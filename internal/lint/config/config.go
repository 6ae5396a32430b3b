// Package config writes TLS configurations that are right by the rules of package lint, each line with its reason.
//
// All TLS state stands at the level every server inherits from, so that whichever server is the default one of a socket
// has it. What is written for a release is what that release does well; a release nothing is known of is refused.
package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"shakedown/internal/nginx"
)

// Kind is what a certificate's key is.
type Kind string

// The kinds of certificates that change what is written.
const (
	ECDSA Kind = "ECDSA"
	RSA   Kind = "RSA"
)

// Certificate is a chain with its key, as files.
type Certificate struct {
	Chain, Key string
	Kind       Kind
	// Staples is true when the leaf names an http:// OCSP responder.
	Staples bool
}

// Site is one server: the names it answers for and their certificates.
type Site struct {
	Names        []string
	Certificates []Certificate
}

// Answers is what has to be known. The zero value of a member means no or one.
type Answers struct {
	Sites []Site
	// Nginx and OpenSSL are the releases; OpenSSL decides the groups.
	Nginx, OpenSSL nginx.Version
	// Hosts answer for the same names.
	Hosts int
	// RSAOnly is true when clients that know RSA alone must be served although there is no ECDSA certificate.
	RSAOnly bool
	// ClientCA is a file; with it clients must show a certificate of that authority.
	ClientCA string
	// EarlyData lets TLS 1.3 clients send the first request with the first flight.
	EarlyData bool
	// TicketDir holds current.key, next.key and previous.key.
	TicketDir string
	// Backend is where requests go, such as "127.0.0.1:8080"; empty: files below Root.
	Backend, Root string
	// SessionsPerSecond at the peak, for the size of the cache; 0: not known.
	SessionsPerSecond float64
	// Port to listen on.
	Port int
}

// Line is one line with the reason for it; a line without needs none.
type Line struct {
	Text   string
	Reason string
}

// File is a configuration.
type File []Line

// reasonColumn is where reasons begin behind short lines.
const reasonColumn = 64

// String writes the file with its reasons as comments: behind the line where there is room, else above it.
func (f File) String() string {
	var b strings.Builder
	for _, l := range f {
		indent := l.Text[:len(l.Text)-len(strings.TrimLeft(l.Text, " "))]
		switch {
		case l.Reason == "":
			b.WriteString(l.Text + "\n")
		case l.Text == indent || len(l.Text) >= reasonColumn:
			fmt.Fprintf(&b, "%s# %s\n", indent, l.Reason)
			if l.Text != indent {
				b.WriteString(l.Text + "\n")
			}
		default:
			fmt.Fprintf(&b, "%-*s # %s\n", reasonColumn-1, l.Text, l.Reason)
		}
	}
	return b.String()
}

func (f *File) add(text, reason string) { *f = append(*f, Line{text, reason}) }

// check returns what is missing from the answers.
func (a *Answers) check() error {
	if len(a.Sites) == 0 {
		return errors.New("no site is given")
	}
	for _, s := range a.Sites {
		if len(s.Names) == 0 {
			return errors.New("a site has no name")
		}
		if len(s.Certificates) == 0 {
			return fmt.Errorf("%s has no certificate", s.Names[0])
		}
		for _, word := range s.Names {
			if err := plainWord(word); err != nil {
				return err
			}
		}
		for _, c := range s.Certificates {
			if err := errors.Join(plainWord(c.Chain), plainWord(c.Key)); err != nil {
				return err
			}
		}
	}
	return errors.Join(plainWord(a.ClientCA), plainWord(a.TicketDir), plainWord(a.Backend), plainWord(a.Root))
}

// plainWord refuses what would be more than one word of a configuration.
func plainWord(s string) error {
	if strings.ContainsAny(s, " \t\r\n;{}\"'\\$#") {
		return fmt.Errorf("%q cannot stand in a configuration without quoting: give it another name", s)
	}
	return nil
}

// kinds returns the kinds of certificates of all sites, ECDSA first.
func (a *Answers) kinds() []Kind {
	var kinds []Kind
	for _, s := range a.Sites {
		for _, c := range s.Certificates {
			if !slices.Contains(kinds, c.Kind) {
				kinds = append(kinds, c.Kind)
			}
		}
	}
	slices.Sort(kinds)
	return kinds
}

// suites is the TLS 1.2 list for the kinds of certificates at hand: forward secret, authenticated, ECDSA first.
func (a *Answers) suites() string {
	var names []string
	for _, cipher := range []string{"AES128-GCM-SHA256", "AES256-GCM-SHA384", "CHACHA20-POLY1305"} {
		for _, kind := range a.kinds() {
			names = append(names, "ECDHE-"+string(kind)+"-"+cipher)
		}
	}
	return strings.Join(names, ":")
}

// groups is the list for the OpenSSL at hand.
func (a *Answers) groups() (list, reason string) {
	if !a.OpenSSL.Before(3, 5, 0) {
		return "X25519MLKEM768:X25519:prime256v1:secp384r1", "one flat list: no client is asked for another key share; post-quantum where both can"
	}
	return "X25519:prime256v1:secp384r1", fmt.Sprintf("no MLKEM: OpenSSL %s would refuse the whole list", a.OpenSSL)
}

func (a *Answers) fleet() bool { return a.Hosts > 1 }
