package server

import (
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// material is what a spec needs before any server starts: certificates, ticket
// keys, staples, a responder.
type material struct {
	spec      Spec // with defaults
	dir       string
	roots     *x509.CertPool
	rootsFile string

	authorities []*Authority // in the order of certs
	certs       []*Certificate
	files       []CertificateFiles
	staples     []string // files, in the order of certs; only with StaplingFile
	ticketKeys  []string // files; only with TicketsKeyFile
	client      *Certificate
	clientFiles CertificateFiles
	clientCAs   string // PEM file
	responder   *Responder
}

// prepare makes the material for spec in dir, keeping what is there already.
// The caller closes it.
func prepare(spec Spec, dir string) (m *material, err error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	spec = spec.withDefaults()
	// Servers resolve names in their configuration against places of their own.
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	pki := spec.PKI
	if pki == "" {
		pki = filepath.Join(dir, "pki")
	} else if pki, err = filepath.Abs(pki); err != nil {
		return nil, err
	}
	for _, d := range []string{dir, pki} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, err
		}
	}
	made := &material{spec: spec, dir: dir, roots: x509.NewCertPool(), rootsFile: filepath.Join(dir, "roots.pem")}
	m = made
	defer func() {
		if err != nil {
			made.close()
		}
	}()
	if spec.Stapling == StaplingResponder {
		if m.responder, err = StartResponder(spec.OCSP); err != nil {
			return nil, err
		}
	}
	if err := m.certificates(pki); err != nil {
		return nil, err
	}
	if spec.ClientAuth != ClientAuthNone {
		if err := m.clientCertificate(pki); err != nil {
			return nil, err
		}
	}
	if spec.Tickets == TicketsKeyFile {
		if err := m.ticketKeyFiles(); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// close ends what the material keeps running.
func (m *material) close() {
	if m.responder != nil {
		m.responder.Close()
	}
}

// certificates opens or makes a leaf for each kind, the staples, and the file
// of roots.
func (m *material) certificates(pki string) error {
	var roots []*x509.Certificate
	for _, kind := range m.spec.Certificates {
		a, err := openAuthority(pki, FamilyFor(kind))
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(roots, a.Root.Equal) {
			roots = append(roots, a.Root)
			m.roots.AddCert(a.Root)
			if m.responder != nil {
				m.responder.Add(a)
			}
		}
		request := LeafRequest{Key: kind, Names: m.spec.Names, MustStaple: m.spec.MustStaple}
		if m.responder != nil {
			request.OCSPURL = m.responder.URL()
		}
		c, files, err := openLeaf(pki, string(kind), a, request)
		if err != nil {
			return err
		}
		m.authorities, m.certs, m.files = append(m.authorities, a), append(m.certs, c), append(m.files, files)
		if m.spec.Stapling == StaplingFile {
			der, err := a.Staple(c.Leaf.SerialNumber, m.spec.OCSP)
			if err != nil {
				return err
			}
			staple := filepath.Join(m.dir, "staple-"+string(kind)+".der")
			if err := writePrivate(staple, der); err != nil {
				return err
			}
			m.staples = append(m.staples, staple)
		}
	}
	return writePrivate(m.rootsFile, certificatesPEM(roots...))
}

// clientCertificate makes an authority for clients and one client.
func (m *material) clientCertificate(pki string) error {
	a, err := openAuthority(pki, Family{P256, P256})
	if err != nil {
		return err
	}
	m.client, m.clientFiles, err = openLeaf(pki, "client", a, LeafRequest{Key: P256, Names: []string{"client." + DefaultName}, Client: true})
	if err != nil {
		return err
	}
	m.clientCAs = filepath.Join(m.dir, "client-roots.pem")
	return writePrivate(m.clientCAs, certificatesPEM(a.Root))
}

// openLeaf returns the leaf kept in dir under name if it was made for the same
// request and is valid for another hour, or issues one.
func openLeaf(dir, name string, a *Authority, request LeafRequest) (*Certificate, CertificateFiles, error) {
	files := certificateFiles(dir, name)
	asked, err := json.Marshal(request)
	if err != nil {
		return nil, files, err
	}
	requestFile := filepath.Join(dir, name+".json")
	if kept, err := os.ReadFile(requestFile); err == nil && string(kept) == string(asked) {
		c, err := readCertificate(files, a.Root)
		if err != nil {
			return nil, files, err
		}
		if time.Until(c.Leaf.NotAfter) > time.Hour && c.Leaf.CheckSignatureFrom(a.Intermediate) == nil {
			return c, files, nil
		}
	}
	c, err := a.Issue(request)
	if err != nil {
		return nil, files, err
	}
	if _, err := c.Write(dir, name); err != nil {
		return nil, files, err
	}
	return c, files, writePrivate(requestFile, asked)
}

// ticketKeyFiles checks the files named, or makes one.
func (m *material) ticketKeyFiles() error {
	if len(m.spec.TicketKeys) == 0 {
		file := filepath.Join(m.dir, "ticket.key")
		if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
			if err := NewTicketKey(file); err != nil {
				return err
			}
		}
		m.ticketKeys = []string{file}
		return nil
	}
	for _, file := range m.spec.TicketKeys {
		file, err := filepath.Abs(file)
		if err != nil {
			return err
		}
		if _, err := os.Stat(file); err != nil {
			return fmt.Errorf("ticket_keys: %w", err)
		}
		m.ticketKeys = append(m.ticketKeys, file)
	}
	return nil
}

// NewTicketKey writes 80 random bytes to file, a ticket key of nginx's longer
// form (name 16, HMAC 32, AES 32). To rotate, write and [Server.Reload].
func NewTicketKey(file string) error {
	key := make([]byte, 80)
	rand.Read(key) //nolint:errcheck // never fails
	return writePrivate(file, key)
}

// server returns the part of a Server that the material decides.
func (m *material) server(driver string) *Server {
	return &Server{
		Driver: driver, Spec: m.spec, Name: m.spec.Names[0], Dir: m.dir,
		Roots: m.roots, RootsFile: m.rootsFile, Certificates: m.certs,
		Client: m.client, ClientFiles: m.clientFiles, Responder: m.responder,
	}
}
