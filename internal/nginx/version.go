package nginx

import (
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

// Version is a release of nginx or OpenSSL: major, minor, patch.
type Version struct{ Major, Minor, Patch int }

// ParseVersion reads "1.22.1", "1.27" or "3.0.22"; what follows the digits ("-dev", "k") is dropped.
func ParseVersion(s string) (Version, error) {
	m := versionRE.FindStringSubmatch(s)
	if m == nil {
		return Version{}, fmt.Errorf("%q is not a version like 1.22.1", s)
	}
	var n [3]int
	for i := range n {
		if m[i+1] == "" {
			continue
		}
		var err error
		if n[i], err = strconv.Atoi(m[i+1]); err != nil {
			return Version{}, fmt.Errorf("%q is not a version: %w", s, err)
		}
	}
	return Version{n[0], n[1], n[2]}, nil
}

var versionRE = regexp.MustCompile(`^(\d{1,6})(?:\.(\d{1,6}))?(?:\.(\d{1,6}))?(?:[-+.a-z].*)?$`)

func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch) }

// Before reports whether v is older than major.minor.patch.
func (v Version) Before(major, minor, patch int) bool {
	return cmp.Or(cmp.Compare(v.Major, major), cmp.Compare(v.Minor, minor), cmp.Compare(v.Patch, patch)) < 0
}

// IsZero reports whether the version is unknown.
func (v Version) IsZero() bool { return v == Version{} }

// Binary is what an installed nginx says of itself.
type Binary struct {
	Path    string
	Version Version
	// OpenSSL is the library it runs with, zero when it is another library or none.
	OpenSSL Version
	Library string // the words of nginx -V, such as "OpenSSL 3.0.22 25 Aug 2026"
}

// Installed asks the nginx found in PATH or /usr/sbin for its versions (nginx -V, which reads no configuration).
func Installed(ctx context.Context) (Binary, error) {
	path, err := exec.LookPath("nginx")
	if err != nil {
		if path, err = exec.LookPath("/usr/sbin/nginx"); err != nil {
			return Binary{}, fmt.Errorf("nginx is not installed: %w", err)
		}
	}
	out, err := exec.CommandContext(ctx, path, "-V").CombinedOutput()
	if err != nil {
		return Binary{}, fmt.Errorf("%s -V: %w", path, err)
	}
	return parseBinary(path, string(out))
}

func parseBinary(path, out string) (Binary, error) {
	b := Binary{Path: path}
	var err error
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		if v, ok := strings.CutPrefix(line, "nginx version: "); ok {
			_, v, _ = strings.Cut(v, "/")
			v, _, _ = strings.Cut(v, " ")
			if b.Version, err = ParseVersion(v); err != nil {
				return b, fmt.Errorf("%s -V: %w", path, err)
			}
		}
		// "built with OpenSSL X" is followed by "(running with OpenSSL Y)" when the library was exchanged.
		lib, ok := strings.CutPrefix(line, "built with ")
		if !ok {
			continue
		}
		if _, running, ok := strings.Cut(lib, "running with "); ok {
			lib = strings.TrimSuffix(running, ")")
		}
		b.Library = lib
		if f := strings.Fields(lib); len(f) > 1 && f[0] == "OpenSSL" {
			if b.OpenSSL, err = ParseVersion(f[1]); err != nil {
				return b, fmt.Errorf("%s -V: %w", path, err)
			}
		}
	}
	if b.Version.IsZero() {
		return b, fmt.Errorf("%s -V names no version", path)
	}
	return b, nil
}
