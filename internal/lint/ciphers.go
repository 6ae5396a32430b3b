package lint

import (
	_ "embed"
	"slices"
	"strconv"
	"strings"
	"sync"

	"shakedown"
)

//go:embed ciphers.tsv
var ciphersTSV string

// suite is a cipher suite of TLS 1.2 and before, in OpenSSL's words.
type suite struct {
	name, protocol, kx, auth, enc, bits, mac string
	high, byDefault                          bool
	number                                   shakedown.CipherSuite
}

// allSuites reads the table once.
var allSuites = sync.OnceValue(func() []suite {
	var list []suite
	for line := range strings.Lines(ciphersTSV) {
		if f := strings.Split(strings.TrimSpace(line), "\t"); !strings.HasPrefix(line, "#") {
			number, _ := strconv.ParseUint(f[9], 0, 16) // a test reads them all
			list = append(list, suite{f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7] == "high", f[8] == "default", shakedown.CipherSuite(number)})
		}
	}
	return list
})

// is reports whether the suite belongs to one keyword of a cipher string (openssl-ciphers(1), "CIPHER STRINGS").
func (s suite) is(word string) bool {
	null := s.auth == "None"
	switch word {
	case s.name, "ALL":
		return true
	case "HIGH":
		return s.high
	case "COMPLEMENTOFDEFAULT":
		return !s.byDefault
	case "kRSA", "RSA":
		return s.kx == "RSA"
	case "aRSA":
		return s.auth == "RSA"
	case "aECDSA", "ECDSA":
		return s.auth == "ECDSA"
	case "aDSS", "DSS":
		return s.auth == "DSS"
	case "aNULL":
		return null
	case "kDHE", "kEDH", "DH":
		return s.kx == "DH"
	case "DHE", "EDH":
		return s.kx == "DH" && !null
	case "ADH":
		return s.kx == "DH" && null
	case "kECDHE", "kEECDH", "ECDH":
		return s.kx == "ECDH"
	case "ECDHE", "EECDH":
		return s.kx == "ECDH" && !null
	case "AECDH":
		return s.kx == "ECDH" && null
	case "AES", "AES128", "AES256":
		return strings.HasPrefix(s.enc, "AES") && strings.HasSuffix("AES"+s.bits, strings.TrimPrefix(word, "AES"))
	case "CAMELLIA128", "CAMELLIA256", "ARIA128", "ARIA256":
		return strings.HasPrefix(s.enc, word[:len(word)-3]) && s.bits == word[len(word)-3:]
	case "AESGCM", "ARIAGCM", "CHACHA20", "CAMELLIA", "AESCCM8":
		return s.enc == word
	case "AESCCM", "ARIA":
		return strings.HasPrefix(s.enc, word)
	case "SHA", "SHA1":
		return s.mac == "SHA1"
	case "SHA256", "SHA384":
		return s.mac == word
	case "TLSv1.2", "SSLv3":
		return s.protocol == word
	case "TLSv1", "TLSv1.0":
		return s.protocol == "TLSv1"
	}
	return false
}

// expandCiphers evaluates a cipher string as OpenSSL 3.0 does (ssl_ciph.c): ":" adds, "-" takes out, "!" bars, "+" moves to
// the end. Words it does not know are skipped, as OpenSSL skips them. Security levels are not applied.
func expandCiphers(text string) []suite {
	type entry struct {
		suite
		active bool
	}
	var list []*entry
	for _, s := range allSuites() {
		list = append(list, &entry{suite: s})
	}
	// move takes the entries that match out of list and returns them in order.
	move := func(match func(*entry) bool) (moved []*entry) {
		list = slices.DeleteFunc(slices.Clone(list), func(e *entry) bool {
			if match(e) {
				moved = append(moved, e)
				return true
			}
			return false
		})
		return moved
	}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(": ,;", r) }) {
		if word == "DEFAULT" {
			word = "ALL"
			move(func(e *entry) bool { return !e.byDefault })
		}
		if word == "@STRENGTH" {
			slices.SortStableFunc(list, func(a, b *entry) int { return strings.Compare(b.bits, a.bits) })
			continue
		}
		op := byte(0)
		if strings.IndexByte("!-+", word[0]) >= 0 {
			op, word = word[0], word[1:]
		}
		match := func(e *entry) bool {
			for part := range strings.SplitSeq(word, "+") {
				if !e.is(part) {
					return false
				}
			}
			return true
		}
		switch op {
		case '!':
			move(match)
		case '-':
			moved := move(func(e *entry) bool { return e.active && match(e) })
			for _, e := range moved {
				e.active = false
			}
			list = append(moved, list...)
		case '+':
			list = append(list, move(func(e *entry) bool { return e.active && match(e) })...)
		default:
			moved := move(func(e *entry) bool { return !e.active && match(e) })
			for _, e := range moved {
				e.active = true
			}
			list = append(list, moved...)
		}
	}
	var out []suite
	for _, e := range list {
		if e.active {
			out = append(out, e.suite)
		}
	}
	return out
}
