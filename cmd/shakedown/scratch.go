package main

import "os"

// scratchPattern names the directories of demos. They hold private keys.
const scratchPattern = "shakedown-demo-*"

// scratch makes a directory for a demo and returns what removes it. A demo that
// was killed could not do that, so what such ones left is removed first.
func scratch() (dir string, remove func(), err error) {
	sweep()
	dir, err = os.MkdirTemp("", scratchPattern)
	if err != nil {
		return "", nil, err
	}
	release := hold(dir)
	return dir, func() {
		os.RemoveAll(dir) //nolint:errcheck // the next demo tries again
		release()
	}, nil
}
