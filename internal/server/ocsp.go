package server

import (
	"bytes"
	"context"
	"crypto"
	"crypto/sha1"
	"encoding/asn1"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ocsp"
)

// OCSPAnswer says what is answered about a certificate (RFC 6960). The zero
// value is "good", this update an hour ago, next update in seven days.
type OCSPAnswer struct {
	Status     string        `json:"status,omitempty" yaml:"status,omitempty"` // good, revoked or unknown; empty: good
	ThisUpdate time.Time     `json:"this_update,omitzero" yaml:"this_update,omitempty"`
	NextUpdate time.Time     `json:"next_update,omitzero" yaml:"next_update,omitempty"`
	Delay      time.Duration `json:"delay_ns,omitempty" yaml:"delay,omitempty"` // before the responder answers
}

// response is the answer for one serial number, not yet signed.
func (o OCSPAnswer) response(serial *big.Int) (ocsp.Response, error) {
	r := ocsp.Response{SerialNumber: serial, ThisUpdate: o.ThisUpdate, NextUpdate: o.NextUpdate, IssuerHash: crypto.SHA1}
	if r.ThisUpdate.IsZero() {
		r.ThisUpdate = time.Now().Add(-time.Hour)
	}
	if r.NextUpdate.IsZero() {
		r.NextUpdate = time.Now().AddDate(0, 0, 7)
	}
	switch o.Status {
	case "", "good":
		r.Status = ocsp.Good
	case "revoked":
		r.Status, r.RevokedAt, r.RevocationReason = ocsp.Revoked, r.ThisUpdate, ocsp.KeyCompromise
	case "unknown":
		r.Status = ocsp.Unknown
	default:
		return r, fmt.Errorf("unknown OCSP status %q: known are good, revoked, unknown", o.Status)
	}
	return r, nil
}

// Staple returns a DER OCSP response for a leaf with this serial number, signed
// by the intermediate itself.
func (a *Authority) Staple(serial *big.Int, answer OCSPAnswer) ([]byte, error) {
	r, err := answer.response(serial)
	if err != nil {
		return nil, err
	}
	return ocsp.CreateResponse(a.Intermediate, a.Intermediate, r, a.key)
}

// Responder is an OCSP responder over HTTP on 127.0.0.1 for the leaves of some
// authorities. It gives the same answer for every serial number.
type Responder struct {
	url    string
	server *http.Server

	mu          sync.Mutex
	authorities []*Authority
	answer      OCSPAnswer
	requests    int
}

// StartResponder starts a responder on a free port. Close ends it.
func StartResponder(answer OCSPAnswer, authorities ...*Authority) (*Responder, error) {
	if _, err := answer.response(big.NewInt(1)); err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &Responder{url: "http://" + listener.Addr().String() + "/", authorities: authorities, answer: answer}
	r.server = &http.Server{Handler: r, ReadHeaderTimeout: 10 * time.Second}
	go r.server.Serve(listener) //nolint:errcheck // ends with ErrServerClosed
	return r, nil
}

// URL is the address to put into certificates, ending in "/".
func (r *Responder) URL() string { return r.url }

// Requests returns how many requests were received so far, right or wrong.
func (r *Responder) Requests() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.requests
}

// SetAnswer changes what is answered from the next request on.
func (r *Responder) SetAnswer(answer OCSPAnswer) error {
	if _, err := answer.response(big.NewInt(1)); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
	return nil
}

// Add adds authorities to those the responder speaks for. Certificates carry
// its URL, so it must run before they, and often their authority, exist.
func (r *Responder) Add(authorities ...*Authority) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.authorities = append(r.authorities, authorities...)
}

// Close ends the responder and its connections.
func (r *Responder) Close() error { return r.server.Close() }

// ServeHTTP answers an OCSP request by POST or GET (RFC 6960, appendix A).
func (r *Responder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	r.requests++
	answer, authorities := r.answer, r.authorities
	r.mu.Unlock()

	if !sleep(req.Context(), answer.Delay) {
		return
	}
	body, err := requestBody(req)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/ocsp-response")
	w.Write(answerRequest(body, answer, authorities)) //nolint:errcheck // the client may have gone
}

// answerRequest returns the DER response to a DER request; what cannot be
// answered gets the unsigned error responses of RFC 6960, section 2.3.
func answerRequest(body []byte, answer OCSPAnswer, authorities []*Authority) []byte {
	request, err := ocsp.ParseRequest(body)
	if err != nil {
		return ocsp.MalformedRequestErrorResponse
	}
	for _, a := range authorities {
		if !a.issued(request) {
			continue
		}
		r, err := answer.response(request.SerialNumber)
		if err != nil {
			return ocsp.InternalErrorErrorResponse
		}
		r.IssuerHash = request.HashAlgorithm
		der, err := ocsp.CreateResponse(a.Intermediate, a.Intermediate, r, a.key)
		if err != nil {
			return ocsp.InternalErrorErrorResponse
		}
		return der
	}
	return ocsp.UnauthorizedErrorResponse
}

// issued reports whether the request names this authority's intermediate as
// the issuer, by the hash of its public key.
func (a *Authority) issued(request *ocsp.Request) bool {
	var spki struct {
		Algorithm asn1.RawValue
		PublicKey asn1.BitString
	}
	if _, err := asn1.Unmarshal(a.Intermediate.RawSubjectPublicKeyInfo, &spki); err != nil {
		return false
	}
	if request.HashAlgorithm == crypto.SHA1 {
		sum := sha1.Sum(spki.PublicKey.RightAlign())
		return bytes.Equal(sum[:], request.IssuerKeyHash)
	}
	if !request.HashAlgorithm.Available() {
		return false
	}
	h := request.HashAlgorithm.New()
	h.Write(spki.PublicKey.RightAlign())
	return bytes.Equal(h.Sum(nil), request.IssuerKeyHash)
}

// requestBody returns the DER request of a POST body or a GET path.
func requestBody(req *http.Request) ([]byte, error) {
	switch req.Method {
	case http.MethodPost:
		return io.ReadAll(io.LimitReader(req.Body, 64<<10))
	case http.MethodGet:
		text, err := url.PathUnescape(strings.TrimPrefix(req.URL.EscapedPath(), "/"))
		if err != nil {
			return nil, err
		}
		return base64.StdEncoding.DecodeString(text)
	}
	return nil, errors.New("an OCSP request is a GET or a POST")
}

// sleep waits for d and reports whether it did so before ctx ended.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// QueryOCSP asks the responder at url about a certificate, as a client does
// that receives no staple, and returns the verified response and its size in
// bytes.
func QueryOCSP(ctx context.Context, url string, c *Certificate) (*ocsp.Response, int, error) {
	body, err := ocsp.CreateRequest(c.Leaf, c.Chain[1], nil)
	if err != nil {
		return nil, 0, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, 0, err
	}
	req.Header.Set("Content-Type", "application/ocsp-request")
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return nil, 0, err
	}
	defer resp.Body.Close()
	der, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return nil, 0, err
	}
	r, err := ocsp.ParseResponseForCert(der, c.Leaf, c.Chain[1])
	return r, len(der), err
}
