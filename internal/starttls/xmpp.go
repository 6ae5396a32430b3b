package starttls

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"

	"shakedown"
)

// Namespaces of XMPP (RFC 6120, sections 4.8 and 5).
const (
	xmppStreams = "http://etherx.jabber.org/streams"
	xmppTLS     = "urn:ietf:params:xml:ns:xmpp-tls"
)

// xmppSteps opens a stream from client to server. It has to name the domain that
// is wanted (RFC 6120, section 4.7.2).
func xmppSteps(serverName string) ([]step, error) {
	if serverName == "" {
		return nil, &shakedown.Failure{
			Class: shakedown.ClassOurs, Text: "a stream begins with the domain that is wanted, and there is no name",
			Hint: "give the domain with --sni",
		}
	}
	var header bytes.Buffer
	header.WriteString("<?xml version='1.0'?><stream:stream xmlns='jabber:client' xmlns:stream='" + xmppStreams + "' version='1.0' to='")
	if err := xml.EscapeText(&header, []byte(serverName)); err != nil {
		return nil, err
	}
	header.WriteString("'>")
	return []step{
		{"stream header", header.Bytes(), "stream features", xmppFeatures},
		{"starttls", []byte("<starttls xmlns='" + xmppTLS + "'/>"), "answer to starttls", xmppAnswer},
	}, nil
}

// errMore asks for more bytes.
var errMore = errors.New("more bytes are needed")

// xmppFeatures parses the server's stream header and features (RFC 6120, section
// 4.3.2), and white space behind them (section 4.6.1).
func xmppFeatures(b []byte) (int, error) {
	x := newXMLReader(b)
	header, err := x.start(true)
	if err != nil {
		return x.failed(err)
	}
	if header.Name != (xml.Name{Space: xmppStreams, Local: "stream"}) {
		return 0, misbehaved(b, "it begins with element %s, not with stream", header.Name.Local)
	}
	features, err := x.start(false)
	switch {
	case err != nil:
		// Features are sent from version 1.0 on (section 4.7.5).
		if errors.Is(err, errMore) && !hasVersion(header) {
			return 0, refused(b, noTLS, "the server's XMPP is older than version 1.0")
		}
		return x.failed(err)
	case features.Name == xml.Name{Space: xmppStreams, Local: "error"}:
		return 0, refused(b, noService, "it may serve another domain: give that with --sni")
	case features.Name != xml.Name{Space: xmppStreams, Local: "features"}:
		return 0, misbehaved(b, "element %s stands where the features should", features.Name.Local)
	}
	offered := false
	if err := x.skip(func(e xml.StartElement) { offered = offered || e.Name == xml.Name{Space: xmppTLS, Local: "starttls"} }); err != nil {
		return x.failed(err)
	}
	if !offered {
		return 0, refused(b, noTLS, hintOff)
	}
	n := x.end()
	for n < len(b) && bytes.IndexByte([]byte(" \t\r\n"), b[n]) >= 0 {
		n++
	}
	return n, nil
}

// xmppAnswer parses the answer to starttls: proceed, or failure (RFC 6120,
// section 5.4.2).
func xmppAnswer(b []byte) (int, error) {
	x := newXMLReader(b)
	answer, err := x.start(false)
	switch {
	case err != nil:
		return x.failed(err)
	case answer.Name == xml.Name{Space: xmppTLS, Local: "failure"}, answer.Name.Local == "error":
		return 0, refused(b, noTLS, hintOff)
	case answer.Name != xml.Name{Space: xmppTLS, Local: "proceed"}:
		return 0, misbehaved(b, "element %s is neither proceed nor failure", answer.Name.Local)
	}
	if err := x.skip(func(xml.StartElement) {}); err != nil {
		return x.failed(err)
	}
	return x.end(), nil
}

func hasVersion(e xml.StartElement) bool {
	for _, a := range e.Attr {
		if a.Name == (xml.Name{Local: "version"}) {
			return true
		}
	}
	return false
}

// xmlReader goes through the elements of a stream as far as it has come.
type xmlReader struct {
	b       []byte
	decoder *xml.Decoder
}

// newXMLReader leaves away what does not end in >, so that nothing is cut within
// a character or a reference.
func newXMLReader(b []byte) *xmlReader {
	whole := b[:bytes.LastIndexByte(b, '>')+1]
	return &xmlReader{b, xml.NewDecoder(bytes.NewReader(whole))}
}

// start returns the next element's start, which nothing but white space may stand
// before, and if declared is set, an XML declaration.
func (x *xmlReader) start(declared bool) (xml.StartElement, error) {
	for first := true; ; first = false {
		token, err := x.token()
		if err != nil {
			return xml.StartElement{}, err
		}
		switch t := token.(type) {
		case xml.StartElement:
			return t, nil
		case xml.ProcInst:
			if declared && first && t.Target == "xml" {
				continue
			}
		case xml.CharData:
			if len(bytes.TrimSpace(t)) == 0 {
				continue
			}
		}
		return xml.StartElement{}, misbehaved(x.b, "there is something that is no element")
	}
}

// skip goes to the end of the element that start returned, telling of its children.
func (x *xmlReader) skip(child func(xml.StartElement)) error {
	for depth := 1; depth > 0; {
		token, err := x.token()
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.StartElement:
			if depth == 1 {
				child(t)
			}
			depth++
		case xml.EndElement:
			depth--
		case xml.CharData:
		default: // comments and the like are not allowed (RFC 6120, section 11.1)
			return misbehaved(x.b, "there is something that is neither element nor text")
		}
	}
	return nil
}

// token returns the next token, or errMore.
func (x *xmlReader) token() (xml.Token, error) {
	token, err := x.decoder.Token()
	var syntax *xml.SyntaxError
	switch {
	case err == nil:
		return token, nil
	case err == io.EOF, errors.As(err, &syntax) && syntax.Msg == "unexpected EOF":
		return nil, errMore
	}
	return nil, misbehaved(x.b, "it is not XML (%v)", err)
}

// end is how many bytes have been gone through.
func (x *xmlReader) end() int { return int(x.decoder.InputOffset()) }

// failed is what a parser returns for err.
func (x *xmlReader) failed(err error) (int, error) {
	if errors.Is(err, errMore) {
		return 0, nil
	}
	return 0, err
}
