//go:build !linux

package linktest

import (
	"errors"
	"os/exec"
)

func separate(*exec.Cmd) string { return "only Linux has them" }

func loopbackUp() error { return errors.ErrUnsupported }
