package server

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/netip"
	"os/exec"
	"path/filepath"
	"strings"
)

// Driver starts one kind of server.
type Driver interface {
	// Name is the driver's name, such as "nginx".
	Name() string
	// Available returns nil if the server can be started on this machine, and
	// otherwise an error that says what to install.
	Available() error
	// Can returns nil if this kind of server can be what the spec says, and
	// otherwise an error with the reason. It does not look at the machine.
	Can(Spec) error
	// Start starts a server that keeps its files in dir, which is made if it is
	// not there. It returns when the server accepts connections. The server stops
	// when ctx ends, if it was not stopped before.
	//
	// A server that does not come up leaves nothing running; the error is a
	// *StartError with the server's own words.
	Start(ctx context.Context, spec Spec, dir string) (*Server, error)
}

// Drivers returns all drivers, the embedded one first.
func Drivers() []Driver {
	return []Driver{Embedded{}, Nginx{}, OpenSSL{}, HAProxy{}, GnuTLS{}, NSS{}, Stunnel{}, Apache{}}
}

// DriverByName returns the driver of that name; the error lists the names.
func DriverByName(name string) (Driver, error) {
	var names []string
	for _, d := range Drivers() {
		if d.Name() == name {
			return d, nil
		}
		names = append(names, d.Name())
	}
	return nil, fmt.Errorf("unknown server %q: known are %s", name, strings.Join(names, ", "))
}

// Server is a running server. Its exported members do not change.
type Server struct {
	Driver string
	Spec   Spec
	Addr   netip.AddrPort // on 127.0.0.1
	Name   string         // to ask for in SNI; the leaf has it
	PID    int            // of the first process; its workers are its children
	Dir    string         // where its files are
	Log    string         // file of what it says of itself; empty if it says nothing

	Roots        *x509.CertPool // to trust
	RootsFile    string         // the same as a PEM file
	Certificates []*Certificate // in the order of Spec.Certificates
	// Client is a certificate that the server accepts of a client, nil if it
	// wants none; its files are ClientFiles.
	Client      *Certificate
	ClientFiles CertificateFiles
	// Responder is the OCSP responder started along, nil if there is none.
	Responder *Responder

	instance instance
	stop     func() error // may be called again
}

// instance is what a driver does to a server after it started.
type instance interface {
	// counts returns the server's own account.
	counts(context.Context) (Counts, error)
	// reload has the server read its configuration again.
	reload(context.Context) error
	// stop ends the server and all its processes, politely if it can be done
	// within a few seconds. It is called once.
	stop() error
}

// Connections returns the server's own account of what happened since Start.
// How exact that is and what it costs, Counts.Basis says; after Stop it is the
// final account.
func (s *Server) Connections(ctx context.Context) (Counts, error) { return s.instance.counts(ctx) }

// Reload has the server read its configuration, certificates and ticket keys
// again without closing its port, and returns when the new ones are in force.
// The error wraps errors.ErrUnsupported for servers that cannot.
func (s *Server) Reload(ctx context.Context) error { return s.instance.reload(ctx) }

// Stop ends the server. It may be called again; the first call's error is
// returned each time.
func (s *Server) Stop() error { return s.stop() }

// StartError says that a server did not come up.
type StartError struct {
	Driver string
	Err    error  // why, as far as it can be told from outside
	Output string // the last lines the server itself wrote
}

// Error returns the reason followed by the server's own words.
func (e *StartError) Error() string {
	text := fmt.Sprintf("%s did not start: %v", e.Driver, e.Err)
	if e.Output != "" {
		text += ": " + e.Output
	}
	return text
}

// Unwrap returns Err.
func (e *StartError) Unwrap() error { return e.Err }

// errPortTaken says that another program took the port between its choice and
// its use; another port will do.
var errPortTaken = errors.New("the port was taken by another program")

// unsupported is the answer to a reload of a server that has none.
func unsupported(driver string) error {
	return fmt.Errorf("%s cannot read its configuration again while it runs: %w", driver, errors.ErrUnsupported)
}

// findProgram looks a program up in PATH and where Debian keeps servers, which
// is in the PATH of root alone. The package is what to install.
func findProgram(path, name, debianPackage string) (string, error) {
	if path != "" {
		return exec.LookPath(path)
	}
	if found, err := exec.LookPath(name); err == nil {
		return found, nil
	}
	for _, dir := range []string{"/usr/sbin", "/usr/local/sbin", "/usr/local/bin"} {
		if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return found, nil
		}
	}
	return "", fmt.Errorf("%s is not installed (Debian: apt install %s)", name, debianPackage)
}
