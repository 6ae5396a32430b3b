package starttls

import (
	"bytes"
	"fmt"
)

// ldapOID names StartTLS, as a request and in its answer (RFC 4511, section 4.14).
const ldapOID = "1.3.6.1.4.1.1466.20037"

// BER tags of what is exchanged (RFC 4511, appendix B).
const (
	berInteger           = 0x02
	berOctetString       = 0x04
	berEnumerated        = 0x0a
	berSequence          = 0x30
	ldapExtendedRequest  = 0x77
	ldapExtendedResponse = 0x78
	ldapRequestName      = 0x80
	ldapResponseName     = 0x8a
)

var ldapSteps = []step{
	{"StartTLS", ldapRequest(), "answer to StartTLS", ldapAnswer},
}

// ldapRequest returns the extended request, with message ID 1.
func ldapRequest() []byte {
	name := append([]byte{ldapRequestName, byte(len(ldapOID))}, ldapOID...)
	request := append([]byte{ldapExtendedRequest, byte(len(name))}, name...)
	body := append([]byte{berInteger, 1, 1}, request...)
	return append([]byte{berSequence, byte(len(body))}, body...)
}

// ldapAnswer parses the ExtendedResponse (RFC 4511, section 4.12). Result code 0
// is success; others say why not, protocolError that StartTLS is unknown.
func ldapAnswer(b []byte) (int, error) {
	message, n, err := berElement(b, berSequence)
	if err != nil || n == 0 {
		return 0, err
	}
	id, message, err := berField(message, berInteger)
	if err != nil {
		return 0, err
	}
	response, controls, err := berField(message, ldapExtendedResponse)
	if err != nil {
		return 0, err
	}
	code, response, err := berField(response, berEnumerated)
	if err != nil {
		return 0, err
	}
	if _, response, err = berField(response, berOctetString); err != nil { // matchedDN
		return 0, err
	}
	text, response, err := berField(response, berOctetString)
	if err != nil {
		return 0, err
	}
	notice := bytes.Equal(id, []byte{0}) // of disconnection (section 4.4.1)
	switch {
	case len(code) != 1 || !notice && !bytes.Equal(id, []byte{1}):
		return 0, misbehaved(b[:n], "its message ID or result code is not to be understood")
	case notice:
		return 0, refused(text, noService, hintService)
	case code[0] != 0:
		return 0, refused(text, fmt.Sprintf("%s (result code %d)", noTLS, code[0]), hintOff)
	}
	// What is left is optional: a referral, the response's name and value, controls.
	for _, rest := range [][]byte{response, controls} {
		for len(rest) > 0 {
			tag, value, size, err := berAny(rest)
			switch {
			case err != nil:
				return 0, err
			case size == 0:
				return 0, misbehaved(rest, "a part of it ends too early")
			case tag == ldapResponseName && string(value) != ldapOID:
				return 0, misbehaved(value, "it answers to another request")
			}
			rest = rest[size:]
		}
	}
	return n, nil
}

// berField takes an element of this tag, which is complete, off b.
func berField(b []byte, tag byte) (value, rest []byte, err error) {
	value, n, err := berElement(b, tag)
	if err == nil && n == 0 {
		err = misbehaved(b, "a part of it ends too early")
	}
	return value, b[n:], err
}

// berElement reads an element of this tag. n is its length, 0 if it is incomplete.
func berElement(b []byte, tag byte) (value []byte, n int, err error) {
	if len(b) > 0 && b[0] != tag {
		return nil, 0, misbehaved(b, "a part of it has tag %#x, not %#x", b[0], tag)
	}
	_, value, n, err = berAny(b)
	return value, n, err
}

// berAny reads an element. Its length is definite (RFC 4511, section 5.1), and in
// BER may have more bytes than it needs: Active Directory uses four.
func berAny(b []byte) (tag byte, value []byte, n int, err error) {
	if len(b) < 2 {
		return 0, nil, 0, nil
	}
	size, at := int(b[1]), 2
	if size >= 0x80 {
		count := size & 0x7f
		if count == 0 || count > 4 {
			return 0, nil, 0, misbehaved(b, "a length of it has %d bytes", count)
		}
		if len(b) < at+count {
			return 0, nil, 0, nil
		}
		size = 0
		for _, c := range b[at : at+count] {
			size = size<<8 | int(c)
		}
		at += count
	}
	if size > maxAnswer-at {
		return 0, nil, 0, misbehaved(b, "a part of it has %d bytes", size)
	}
	if len(b) < at+size {
		return 0, nil, 0, nil
	}
	return b[0], b[at : at+size], at + size, nil
}
