package main

import (
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// scratchAge is how old a directory has to be to count as left behind: longer than
// it takes from making one to holding it.
const scratchAge = time.Minute

// hold locks a directory for as long as this process lives, whatever ends it, or
// until release is called. Process IDs would not do: containers that share the
// directory for temporary files do not share these.
func hold(dir string) (release func()) {
	f, err := os.Open(dir)
	if err != nil {
		return func() {}
	}
	unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) //nolint:errcheck // without it the directory lasts a minute at the least
	return func() { f.Close() }
}

// sweep removes the directories of demos of this user that nobody holds.
func sweep() {
	found, err := filepath.Glob(filepath.Join(os.TempDir(), scratchPattern))
	if err != nil {
		return
	}
	for _, dir := range found {
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() || time.Since(info.ModTime()) < scratchAge {
			continue
		}
		if owner, ok := info.Sys().(*syscall.Stat_t); !ok || int(owner.Uid) != os.Geteuid() {
			continue
		}
		f, err := os.Open(dir)
		if err != nil {
			continue
		}
		if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			os.RemoveAll(dir) //nolint:errcheck // another demo may be at it
		}
		f.Close()
	}
}
