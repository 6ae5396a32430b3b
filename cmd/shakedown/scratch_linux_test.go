package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestScratch: what a demo that was killed left goes, what one that runs has stays.
func TestScratch(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	running, remove, err := scratch()
	if err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(os.TempDir(), "shakedown-demo-1")
	young := filepath.Join(os.TempDir(), "shakedown-demo-2")
	other := filepath.Join(os.TempDir(), "shakedown-other-3")
	for _, dir := range []string{left, young, other} {
		if err := os.MkdirAll(filepath.Join(dir, "pki"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(os.TempDir(), "shakedown-demo-4")
	if err := os.Symlink(other, link); err != nil {
		t.Fatal(err)
	}
	past := time.Now().Add(-2 * scratchAge)
	for _, dir := range []string{running, left, other} {
		if err := os.Chtimes(dir, past, past); err != nil {
			t.Fatal(err)
		}
	}
	sweep()
	for dir, stays := range map[string]bool{running: true, left: false, young: true, other: true, link: true} {
		if _, err := os.Lstat(dir); (err == nil) != stays {
			t.Errorf("%s: stays %v, want %v", filepath.Base(dir), err == nil, stays)
		}
	}
	remove()
	if _, err := os.Stat(running); err == nil {
		t.Error("the directory is not removed at the end")
	}
}
