package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"
)

// software is a program and how to ask for its version. The library, if any, is
// the last match: servers say with which they were built and, then, with which
// they run.
type software struct {
	name      string
	arguments []string
	version   *regexp.Regexp
	library   *regexp.Regexp
}

var programs = []software{
	{
		name: "openssl", arguments: []string{"version"},
		version: regexp.MustCompile(`^(?:OpenSSL|LibreSSL) (\S+)`),
	},
	{
		name: "nginx", arguments: []string{"-V"},
		version: regexp.MustCompile(`(?m)^nginx version: \S+?/(\S+)`),
		library: regexp.MustCompile(`(?:built|running) with (\w+SSL \S+)`),
	},
	{
		name: "haproxy", arguments: []string{"-vv"},
		version: regexp.MustCompile(`(?m)^HA-?Proxy version (\S+)`),
		library: regexp.MustCompile(`(?m)^(?:Built with|Running on) OpenSSL version : (\w+SSL \S+)`),
	},
}

// answerTime is how long a program may take to tell its version.
const answerTime = 5 * time.Second

// installed returns the programs that are installed, and errors about those
// that would not tell their version.
func installed(ctx context.Context) ([]Software, []error) {
	found := []Software{}
	var failures []error
	for _, p := range programs {
		path, err := look(p.name)
		if errors.Is(err, exec.ErrNotFound) {
			continue
		}
		if err == nil {
			var s Software
			s, err = p.ask(ctx, path)
			if err == nil {
				found = append(found, s)
				continue
			}
		}
		failures = append(failures, fmt.Errorf("host: version of %s: %w", p.name, err))
	}
	return found, failures
}

func (p software) ask(ctx context.Context, path string) (Software, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	answer, err := exec.CommandContext(ctx, path, p.arguments...).CombinedOutput()
	if err != nil {
		return Software{}, err
	}
	return p.parse(path, answer)
}

// parse reads what the program said about itself.
func (p software) parse(path string, answer []byte) (Software, error) {
	version := p.version.FindSubmatch(answer)
	if version == nil {
		line, _, _ := bytes.Cut(answer, []byte("\n"))
		return Software{}, fmt.Errorf("%s says %.80q", path, line)
	}
	s := Software{Name: p.name, Version: string(version[1]), Path: path}
	if p.library != nil {
		for _, library := range p.library.FindAllSubmatch(answer, -1) {
			s.Library = string(library[1])
		}
	}
	return s, nil
}

// look finds a program on the path or where servers are commonly installed:
// the path of a user other than root often lacks the sbin folders.
func look(name string) (string, error) {
	path, err := exec.LookPath(name)
	for _, directory := range []string{"/usr/local/sbin", "/usr/sbin", "/usr/local/nginx/sbin"} {
		if !errors.Is(err, exec.ErrNotFound) {
			break
		}
		path, err = exec.LookPath(filepath.Join(directory, name))
		if err != nil {
			err = exec.ErrNotFound
		}
	}
	return path, err
}
