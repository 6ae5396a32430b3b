package shakedown

import (
	"fmt"
	"strconv"
	"strings"
)

// name returns the name of code point v in table, or its hexadecimal form
// 0xNNNN, so that unknown numbers survive being printed and parsed again.
func name[T ~uint8 | ~uint16](table map[T]string, v T, digits int) string {
	if s, ok := table[v]; ok {
		return s
	}
	return fmt.Sprintf("0x%0*X", digits, uint64(v))
}

// parse returns the code point that text names in table: by its name, whatever
// the case and whether it has "-" or "_", by an alias, or by number ("0x1301").
func parse[T ~uint8 | ~uint16](kind string, table map[T]string, aliases map[string]T, text string) (T, error) {
	folded := fold(text)
	if v, ok := aliases[folded]; ok {
		return v, nil
	}
	for v, s := range table {
		if fold(s) == folded {
			return v, nil
		}
	}
	if digits, ok := strings.CutPrefix(folded, "0x"); ok {
		if n, err := strconv.ParseUint(digits, 16, 64); err == nil && n <= uint64(^T(0)) {
			return T(n), nil
		}
	}
	return 0, fmt.Errorf("unknown %s %q", kind, text)
}

// fold maps the spellings in use for one name onto each other.
func fold(s string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(strings.TrimSpace(s)))
}

// IsGREASE reports whether v is one of the values reserved by RFC 8701 to keep
// peers tolerant of unknown cipher suites, groups, extensions and versions.
func IsGREASE[T ~uint16](v T) bool {
	return v&0x0F0F == 0x0A0A && v>>8 == v&0xFF
}
